/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command line may go on with, for shells that complete it:
 *
 *     dtrain __complete SHELL WORD...     the words behind `dtrain` up to the cursor; the last one
 *                                         is being written, and may be empty
 *
 * Prints a line for each word that the last one may become, followed by a tab and its meaning.
 * After a word that ends in '=' or '.', the user continues to type. The shell itself lists files:
 * ":files PREFIX", ":directories PREFIX", ":jobs PREFIX", ":runs PREFIX" ask for them, where PREFIX
 * stands before the path in the last word.
 * All of it is read off the words that the tables of verbs use for operands and values ("JOB
 * [key.path=value...]", "FILE"), and off the keys of job files, so that nothing is written down
 * twice. The shells' own part is in cmd/shell.
 */
#ifndef CMD_COMPLETE_H
#define CMD_COMPLETE_H

#include "verb.h"

int complete_print(struct words words);

#endif

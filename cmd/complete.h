/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes command lines for shells:
 *
 *     dtrain __complete SHELL WORD...     the words after `dtrain` up to the cursor; the last one
 *                                         is incomplete, and may be empty
 *
 * Prints a line for each word that the last one may become, followed by a tab and its meaning.
 * After a word that ends in '=' or '.', the user continues to type. The shell itself lists files:
 * the lines ":files PREFIX", ":directories PREFIX", ":jobs PREFIX" and ":runs PREFIX" ask for them,
 * where PREFIX is what precedes the path in the last word. Proposals follow from the words that the
 * tables of verbs have for operands and values ("JOB [key.path=value...]", "FILE"), and from the
 * keys of job files, so that nothing is written twice. The code for shells is in cmd/shell.
 */
#ifndef CMD_COMPLETE_H
#define CMD_COMPLETE_H

#include "verb.h"

int complete_print(struct words words);

#endif

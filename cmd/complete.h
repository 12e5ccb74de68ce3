/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand where on a command line, for shells that complete it. It is read off the words that the tables of verbs use for operands and
 * values ("JOB [key.path=value...]", "FILE"), and off the list of keys of job files, so that nothing is written down twice.
 */
#ifndef CMD_COMPLETE_H
#define CMD_COMPLETE_H

#include "verb.h"

enum {
    FOLLOW_FILE = 1,
    FOLLOW_DIRECTORY = 2,
    FOLLOW_JOB = 4,  /* a job file, then, where it stands beside it, */
    FOLLOW_KEY = 8,  /* overrides */
    FOLLOW_VERB = 16,
    FOLLOW_RUN = 32,   /* directories of runs, and those on the way to them */
    FOLLOW_SLICE = 64,
    FOLLOW_ERROR = 128, /* DT017 */
    FOLLOW_MAYBE = 256, /* the value may be missing: what an operand is, is none */
};

struct follow {
    unsigned kinds;  /* of FOLLOW_..., in any combination */
    char words[400]; /* these words, too: "auto openblas onednn" */
};
struct follow follow_option(const struct option *o);
struct follow follow_operands(const struct verb *verb);

/* A key that an override may name, and what is known of its values. */
struct key {
    char *path, *values, *help; /* values: "true false"; "" where they are not known */
};
enum { MOST_KEYS = 2048 };
struct keys {
    struct key at[MOST_KEYS];
    int n;
};
/* Words that are many, apart by blanks. The caller frees them. */
char *slice_words(void);
char *error_words(void);
void keys_open(struct keys *keys);
void keys_close(struct keys *keys);

/* Verbs of two words: the i-th first word ("data"), NULL behind the last; each is told once. */
const char *verb_group(int i);
/* The second word where `first` is the verb's first of two, else NULL. */
const char *verb_second(const struct verb *verb, const char *first);

/* A shell: one file, one row in shells.h. */
struct shell {
    const char *name;
    void (*print)(FILE *to, const struct keys *keys);
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a substitution. */
#ifndef DT_JOB_SUBSTITUTE_H
#define DT_JOB_SUBSTITUTE_H

#include "base/hash_index.h"
#include "job/job.h"

/* The variables of a Repeat, and those of the Repeat around it. */
typedef struct dt_substitution_scope {
    const dt_tree *variables;
    const struct dt_substitution_scope *outer;
} dt_substitution_scope;

typedef struct dt_substitution {
    dt_arena *arena;
    dt_job *job; /* receives the variables that were used */
    /* path of the current value, from the top: "dataset.train" */
    const char *key;
    dt_tree *let;                       /* a mapping; NULL: none */
    int n_let;                          /* words whose values are final */
    dt_hash_index words;                /* [n_let] */
    int unknown;                        /* words without a meaning so far */
    bool *used;                         /* [let->n] */
    const dt_substitution_scope *scope; /* scope of the current value */
    const char *name, *run_dir;         /* NULL: may not be used yet */
    const char *recorded_dir;           /* run_dir as recorded; NULL: the same */
    const dt_tree *done[3];             /* nodes that were substituted before */
    size_t bytes;                       /* bytes that substitution has added so far */
} dt_substitution;

/* The length of the word at `from`: letters, digits and '_', no leading digit; 0: there is none. */
size_t dt_word_length(const char *from, const char *to);
/* Substitutes in all texts of the tree. Returns all faults. */
dt_status *dt_substitute(dt_substitution *c, dt_tree *t) DT_MUST_USE;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The state while words and variables of a job are replaced. */
#ifndef DT_JOB_SUBSTITUTE_H
#define DT_JOB_SUBSTITUTE_H

#include "base/hash_index.h"
#include "job/job.h"

/* The variables of a Repeat, linked to those of the Repeat that contains it. */
typedef struct dt_substitution_scope {
    const dt_tree *variables;
    const struct dt_substitution_scope *outer;
} dt_substitution_scope;

typedef struct dt_substitution {
    dt_arena *arena;
    dt_job *job; /* its `variable` lists the environment variables that were used */
    /* path of the current value, from the top: "dataset.train" */
    const char *key;
    dt_tree *let; /* the mapping `let`; NULL: the job has none */
    /* number of words whose values are final; later words cannot be used yet */
    int n_let;
    dt_hash_index words; /* [n_let] finds a word by its name */
    int unknown;         /* number of words found so far that have no value */
    bool *used;          /* [let->n] whether a text used the word */
    /* variables of the Repeat that contains the current value */
    const dt_substitution_scope *scope;
    /* values of {name} and {run_dir}; NULL: they cannot be used yet */
    const char *name, *run_dir;
    const char *recorded_dir; /* run_dir as it is recorded; NULL: the same text */
    /* nodes that are finished, and must not be substituted again */
    const dt_tree *done[3];
    size_t bytes; /* bytes that substitution has added so far */
} dt_substitution;

/* The length of the word at `from`: letters, digits and '_', no leading digit; 0: there is no
 * word. */
size_t dt_word_length(const char *from, const char *to);
/* Substitutes in all texts of the tree. Returns all faults. */
dt_status *dt_substitute(dt_substitution *c, dt_tree *t) DT_MUST_USE;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The state while words of `let` and variables of a job are replaced by their values. */
#ifndef DT_JOB_SUBSTITUTE_H
#define DT_JOB_SUBSTITUTE_H

#include "base/hash_index.h"
#include "job/job.h"

/* The variables of a Repeat, and a link to those of the Repeat around it. */
typedef struct dt_substitution_scope {
    const dt_tree *variables;
    const struct dt_substitution_scope *outer;
} dt_substitution_scope;

typedef struct dt_substitution {
    dt_arena *arena;
    dt_job *job; /* the job; its `variable` receives the environment variables that texts use */
    /* path of the current value, from the top: "dataset.train" */
    const char *key;
    dt_tree *let; /* the mapping `let`; NULL: the job has none */
    /* number of words whose values are final; later words cannot be used yet */
    int n_let;
    dt_hash_index words; /* [n_let] finds a word by its name */
    int unknown;         /* number of undefined words that were found so far */
    bool *used;          /* [let->n] whether a text uses each word of `let` */
    /* variables of the Repeat in which the current value is */
    const dt_substitution_scope *scope;
    /* values of {name} and {run_dir}; NULL: they are not known yet, so that texts cannot use
     * them */
    const char *name, *run_dir;
    const char *recorded_dir; /* the value of {run_dir} in records; NULL: the same as run_dir */
    /* nodes that have been finished before, and must not be substituted again */
    const dt_tree *done[3];
    size_t bytes; /* bytes that substitution has added so far */
} dt_substitution;

/* Returns the length of the word that begins at `from`: letters, digits and '_', no leading digit;
 * 0: no word begins there. */
size_t dt_word_length(const char *from, const char *to);
/* Substitutes words in all texts of the tree. Returns an error that lists all faults. */
dt_status *dt_substitute(dt_substitution *c, dt_tree *t) DT_MUST_USE;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a substitution. */
#ifndef DT_JOB_SUBSTITUTE_H
#define DT_JOB_SUBSTITUTE_H

#include "job/job.h"

/* The variables of a Repeat, inside another one's. */
typedef struct dt_substitution_scope {
    const dt_tree *variables;
    const struct dt_substitution_scope *outer;
} dt_substitution_scope;

typedef struct dt_substitution {
    dt_arena *arena;
    dt_job *job;                        /* collects the variables */
    const char *key;                    /* of the current value, from the top: "dataset.train" */
    dt_tree *let;                       /* a mapping; NULL: none */
    int n_let;                          /* words that have their values */
    bool *used;                         /* [let->n] */
    const dt_substitution_scope *scope; /* of the current value */
    const char *name, *run_dir;         /* NULL: cannot be used here */
    const char *recorded_dir;           /* run_dir as recorded; NULL: the same */
    const dt_tree *done[3];             /* nodes that were substituted before */
    size_t bytes;                       /* grown so far */
} dt_substitution;

/* Letters, digits and '_', no leading digit: how many there are at `from`. */
size_t dt_word_length(const char *from, const char *to);
/* All texts of the tree. All faults. */
dt_status *dt_substitute(dt_substitution *c, dt_tree *t) DT_MUST_USE;

#endif

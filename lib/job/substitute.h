/* SPDX-License-Identifier: Apache-2.0 */
/* Substitution at work, for the files that do it: substitute.c, let.c. */
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
    dt_job *job;                        /* is told the variables */
    const char *key;                    /* of what is looked at, from the top: "dataset.train" */
    dt_tree *let;                       /* a mapping; NULL: none */
    int n_let;                          /* words that have their values */
    bool *used;                         /* [let->n] */
    const dt_substitution_scope *scope; /* of what is looked at */
    const char *name, *run_dir;         /* NULL: cannot be used here */
    const char *recorded_dir;           /* run_dir as it is recorded; NULL: as it is */
    const dt_tree *done[3];             /* nodes that were looked at before */
    size_t bytes;                       /* grown so far */
} dt_substitution;

/* Letters, digits and '_', no leading digit: how many there are at `from`. */
size_t dt_word_length(const char *from, const char *to);
/* All texts of the tree. All faults. */
dt_status *dt_substitute(dt_substitution *c, dt_tree *t) DT_MUST_USE;

/* ---- let.c ---- */

/* Finds the job's `let` and substitutes in its values. All faults. */
dt_status *dt_let_find(dt_job *j, dt_substitution *c) DT_MUST_USE;
/* The value of a word of n bytes, which counts as used; NULL: there is none. */
const dt_tree *dt_let_value(const dt_substitution *c, const char *word, size_t n);
/* A Repeat's variables may not be words of let. All faults. */
dt_status *dt_let_check_variables(const dt_substitution *c, const dt_tree *variables) DT_MUST_USE;
/* Words that nobody used. All faults. */
dt_status *dt_let_check_used(const dt_job *j, const dt_substitution *c) DT_MUST_USE;

#endif

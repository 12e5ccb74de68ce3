/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduled function is split into two programs. A worker computes gradients and values to
 * assign; it does not change variables itself, since changes are recorded instead (dt_deferral).
 * The coordinator runs the second program, the update, which applies these values to its variables
 * and slots as they are at that time.
 */
#ifndef DT_STRATEGY_CLOSURE_KIND_H
#define DT_STRATEGY_CLOSURE_KIND_H

#include "strategy/packed_variables.h"
#include "strategy/step.h"

/* A scheduled function compiled for one signature, that is, for arguments of certain names, types
 * and shapes. */
typedef struct dt_closure_kind {
    dt_function *function; /* the function that was scheduled; a counted reference */
    char *signature;
    dt_arena *arena;
    dt_traced worker;
    dt_compiled *update; /* the coordinator's program; NULL: workers push no values for it */
    /* The program that computes which rows of tables the worker looks up. Result i has the numbers
     * of rows of table[i]. Its `compiled` is NULL if the function looks up no rows. */
    dt_traced numbers;
    dt_variable **table;
    /* whether at least one of these tables is sent by rows, which the worker must ask for */
    bool asks;
    int n_pushed;
    /* [n_pushed] variables for which workers push a gradient or a new value: the result name[i] of
     * the worker's program, which is an argument of the update. Holds references. */
    dt_variable **pushed;
    /* [n_pushed] for each pushed variable: the name of the worker's result and of the update's
     * argument */
    const char **name;
    /* [n_changes] the changes of variables that the update makes */
    struct dt_closure_change *change;
    int n_changes;
    /* The graph that computes pushed values from the parts that workers send. NULL: workers send
     * whole values. */
    dt_graph *tail;
    bool changes; /* whether the function changes any variable, so that pushes contain slices */
} dt_closure_kind;

/* Records and compiles the function for these arguments. May set call->sizing to EXACT. */
dt_status *dt_closure_kind_make(dt_closure_kind **out, dt_function *f,
                                dt_step_call *call) DT_MUST_USE;
void dt_closure_kind_free(dt_closure_kind *k);
bool dt_closure_kind_fits(const dt_closure_kind *k, const dt_function *f, dt_step_call *call);
/* These say of a variable whether the worker's program reads it, whether either program changes it,
 * and whether the worker needs only the rows that it looks up, and pushes no value for the whole
 * variable. */
bool dt_closure_kind_reads(const dt_closure_kind *k, const dt_variable *v);
bool dt_closure_kind_changes(const dt_closure_kind *k, const dt_variable *v);
bool dt_closure_kind_by_rows(const dt_closure_kind *k, const dt_variable *v);
/* Fills *h, which says which results of the worker and arguments of the update belong to the
 * variables of s. update: the compiled update, or a part of it; NULL: there is no update. Memory
 * comes from `arena`, which s was made with. */
dt_status *dt_closure_kind_match(const dt_closure_kind *k, const dt_packed_variables *s,
                                 const dt_compiled *update, dt_arena *arena,
                                 dt_halves *h) DT_MUST_USE;
/* Whether an optimizer of the update needs the gradients of all its variables in one process. */
bool dt_closure_kind_is_joint(const dt_closure_kind *k);
/* Whether result i of the worker goes back to the caller of the scheduled function. Other results
 * are applied to variables. */
bool dt_closure_kind_returns(const dt_closure_kind *k, int i);

#endif

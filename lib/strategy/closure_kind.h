/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduled function in two halves. Changes of variables are recorded, not made (dt_deferral): a
 * worker computes gradients and values to be assigned, and the coordinator applies them by a second
 * program, to its variables and slots at that time.
 */
#ifndef DT_STRATEGY_CLOSURE_KIND_H
#define DT_STRATEGY_CLOSURE_KIND_H

#include "strategy/packed_variables.h"
#include "strategy/step.h"

/* A function for arguments of one signature. */
typedef struct dt_closure_kind {
    dt_function *function; /* counted */
    char *signature;
    dt_arena *arena;
    dt_traced worker;
    dt_compiled *update; /* NULL: the function defers no changes */
    /* computes the row numbers that the worker looks up in table[result]; compiled NULL: there are
     * none */
    dt_traced numbers;
    dt_variable **table;
    bool asks; /* some of these tables are sent by rows */
    int n_pushed;
    /* [n] whose values are results of the worker and arguments of the update, by name; counted */
    dt_variable **pushed;
    const char **name; /* [n] */
    bool changes;      /* whether it changes any variable, so that pushes contain slices */
    dt_halves halves;  /* for the current packed variables */
    dt_view *argument, *no_result; /* of the update */
} dt_closure_kind;

/* Records it for these arguments. call->sizing may become EXACT. */
dt_status *dt_closure_kind_make(dt_closure_kind **out, dt_function *f,
                                dt_step_call *call) DT_MUST_USE;
void dt_closure_kind_free(dt_closure_kind *k);
bool dt_closure_kind_fits(const dt_closure_kind *k, const dt_function *f, dt_step_call *call);
/* Whether the worker reads the variable; whether either half changes it; and whether the worker
 * needs no more of it than the rows that it looks up, and gives no whole value for it back. */
bool dt_closure_kind_reads(const dt_closure_kind *k, const dt_variable *v);
bool dt_closure_kind_changes(const dt_closure_kind *k, const dt_variable *v);
bool dt_closure_kind_by_rows(const dt_closure_kind *k, const dt_variable *v);
/* Fills halves for variables that are sent now. arena: theirs. */
dt_status *dt_closure_kind_match(dt_closure_kind *k, const dt_packed_variables *s,
                                 dt_arena *arena) DT_MUST_USE;
/* Whether result i is the caller's, and not a value for a variable. */
bool dt_closure_kind_returns(const dt_closure_kind *k, int i);

#endif

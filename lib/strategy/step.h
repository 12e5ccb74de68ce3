/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of one call of a step function: its arguments and its recordings. */
#ifndef DT_STRATEGY_STEP_H
#define DT_STRATEGY_STEP_H

#include "strategy/values.h"

/*
 * What is known about the first dimension of distributed arguments while a step is recorded.
 *   ANY    It is B: any number of rows, which may differ between replicas. Tried first, because
 *          one recording serves every batch.
 *   EXACT  The number of rows is known and the same on every replica. For steps that join
 *          replicas' values directly (an all_reduce of a vector).
 *   TOTAL  It is B, but the number of rows of all replicas together is known. For all_gather of
 *          parts of different sizes.
 *   EACH   Every replica has shapes, and a recording, of its own (function.c). For arguments that
 *          differ in another dimension.
 */
typedef enum dt_sizing { DT_SIZES_ANY, DT_SIZES_EXACT, DT_SIZES_TOTAL, DT_SIZES_EACH } dt_sizing;

typedef struct dt_traced {
    dt_strategy *strategy;
    char *signature;
    dt_sizing sizing;
    /* the compiled recording; NULL if a recording with these arguments needs known sizes */
    dt_compiled *compiled;
    /* [results] whether the result is returned as one value for all replicas: a constant, an
     * argument that is not distributed, or a merged value, but not the new value of a variable */
    bool *single;
    /* [results] whether the result is a constant, which has the same value on each replica */
    bool *constant;
} dt_traced;

struct dt_function {
    int refs;
    void (*step)(dt_trace *t, void *user);
    void *user;
    int n, cap;
    dt_traced *trace;
};

/* One call of a step function by dt_strategy_run, or of a function that a program schedules on a
 * coordinator, while it is in progress. */
typedef struct dt_step_call {
    dt_strategy *strategy;
    const dt_values *args; /* the arguments of the step; NULL: the step has no arguments */
    /* [replicas + 1] the first row of each replica. Without an argument that has rows, each replica
     * has one row. */
    int32_t *offsets;
    bool even; /* whether all replicas have the same number of rows */
    dt_sizing sizing;
    dt_each *each; /* with DT_SIZES_EACH: which replica's step is being recorded */
    /* Where changes of variables are recorded instead of made; NULL: the step changes variables
     * itself. */
    const dt_deferral *deferral;
} dt_step_call;

/* Checks the arguments against the strategy and each other, and fills offsets and even; or sets
 * sizing to EACH, if shapes differ between replicas in a dimension other than the first. */
dt_status *dt_step_check(dt_step_call *c) DT_MUST_USE;
/* Whether any argument has rows: a value per replica with at least one dimension. */
bool dt_step_has_rows(const dt_step_call *c);
/* Appends the signature of the call: names, types and sizes of arguments, and which of them have a
 * value per replica. Sizes are included as far as c->sizing fixes them. */
void dt_step_sign(const dt_step_call *c, dt_str *out);
/* Returns the values of all replicas joined, as compiled steps take them. Sets *owned to memory
 * that the caller must free after the run, or to NULL. */
dt_status *dt_step_argument(const dt_step_call *c, const dt_value_entry *e, dt_view *out,
                            void **owned) DT_MUST_USE;

/* Calls the function to record it for all replicas, or with EACH for the current replica. */
dt_status *dt_function_trace(const dt_function *f, const dt_step_call *c,
                             dt_graph **out) DT_MUST_USE;
/* Returns for each argument of g whether it has a value per replica. The caller frees the list. */
bool *dt_distributed_arguments(const dt_graph *g, const dt_values *args);
/* Returns for each result of g whether it is one value for all replicas. constant: [results]
 * whether it is a constant. The caller frees the list. */
bool *dt_single_results(const dt_graph *g, const bool *distributed, const bool *constant);
/* Records the function and compiles the recording. */
dt_status *dt_step_record(dt_function *f, const dt_step_call *c, dt_traced *out) DT_MUST_USE;
void dt_traced_release(dt_traced *t);
/* The memory of a run of a step. Results may point into arguments, so they are valid until the step
 * runs again or this memory is released. */
typedef struct dt_ran {
    int n;
    dt_view *arg; /* [n] the arguments that the run got */
    void **owned; /* [n] memory of arguments to free after the run; NULL: the argument is lent */
    dt_view *result;
} dt_ran;
/* Runs the step. *out must be released, also after an error. */
dt_status *dt_traced_run(const dt_traced *t, const dt_step_call *c, dt_ran *out) DT_MUST_USE;
void dt_ran_release(dt_ran *r);
dt_function *dt_function_ref(dt_function *f);

#endif

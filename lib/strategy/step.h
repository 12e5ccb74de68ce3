/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a step function's call: its arguments and its recorded traces. */
#ifndef DT_STRATEGY_STEP_H
#define DT_STRATEGY_STEP_H

#include "strategy/values.h"

/*
 * What a trace knows about the first dimension of distributed arguments.
 *   ANY    B: any number of rows, which may differ between replicas. Tried first: one trace serves
 *          every batch.
 *   EXACT  their number, the same on every replica. For steps that join replicas' values as they
 *          are (an all_reduce of a vector).
 *   TOTAL  B, but all replicas' rows together are known. For all_gather of uneven parts.
 *   EACH   every replica has shapes, and a trace, of its own (each.c). For arguments that differ in
 *          another dimension.
 */
typedef enum dt_sizing { DT_SIZES_ANY, DT_SIZES_EXACT, DT_SIZES_TOTAL, DT_SIZES_EACH } dt_sizing;

typedef struct dt_traced {
    dt_strategy *strategy;
    char *signature;
    dt_sizing sizing;
    dt_compiled *compiled; /* NULL: for these arguments sizes must be known */
    /* by result: the same for all by its nature (constants, arguments given once, merged values) */
    bool *single;
    bool *constant; /* by result: each replica made it */
} dt_traced;

struct dt_function {
    int refs;
    void (*step)(dt_trace *t, void *user);
    void *user;
    int n, cap;
    dt_traced *trace;
};

/* One call of run. */
typedef struct dt_step_call {
    dt_strategy *strategy;
    const dt_values *args; /* NULL: none */
    int32_t *offsets;      /* [replicas + 1] rows of the replicas; one each when nothing has rows */
    bool even;             /* all replicas have the same number */
    dt_sizing sizing;
    dt_each *each;               /* EACH: the current replica */
    const dt_deferral *deferral; /* NULL: the step changes variables itself */
} dt_step_call;

/* Checks the arguments against the strategy and each other, and fills offsets and even. */
dt_status *dt_step_check(dt_step_call *c) DT_MUST_USE;
/* Whether an argument has rows, so that their number can be known. */
bool dt_step_has_rows(const dt_step_call *c);
/* The type one replica sees. */
dt_type dt_step_type(const dt_step_call *c, const dt_value_entry *e);
/* Appends names, dtypes, the sizes that the sizing fixes, and which arguments have a value per
 * replica. */
void dt_step_sign(const dt_step_call *c, dt_str *out);
/* All replicas' values one after the other, as compiled steps take them. *owned: memory to be freed
 * after the run. */
dt_status *dt_step_argument(const dt_step_call *c, const dt_value_entry *e, dt_view *out,
                            void **owned) DT_MUST_USE;

/* Calls the function to record it: for all replicas, or for the current one. */
dt_status *dt_function_trace(const dt_function *f, const dt_step_call *c,
                             dt_graph **out) DT_MUST_USE;
/* By argument of g: whether there is a value for each replica. The caller frees it. */
bool *dt_distributed_arguments(const dt_graph *g, const dt_values *args);
/* By result of g: whether it is one value for all by its nature. constant: by result, which
 * constants are. The caller frees it. */
bool *dt_single_results(const dt_graph *g, const bool *distributed, const bool *constant);
/* Runs the step where arguments differ in shape: EACH. */
dt_status *dt_step_run_each(const dt_function *f, dt_step_call *c, dt_values **results) DT_MUST_USE;
/* Calls the function to record it, and compiles. */
dt_status *dt_step_record(dt_function *f, const dt_step_call *c, dt_traced *out) DT_MUST_USE;
void dt_traced_release(dt_traced *t);
/* A step that has run: its results are good until it runs again, or this is released, because some
 * may be arguments. */
typedef struct dt_ran {
    int n;
    dt_view *arg; /* [n] */
    void **owned; /* [n] memory of arguments */
    dt_view *result;
} dt_ran;
/* *out is to be released, also after an error. */
dt_status *dt_traced_run(const dt_traced *t, const dt_step_call *c, dt_ran *out) DT_MUST_USE;
void dt_ran_release(dt_ran *r);
dt_function *dt_function_ref(dt_function *f);

#endif

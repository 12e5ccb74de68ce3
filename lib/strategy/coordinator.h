/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a coordinator. Its workers are forks of it, so each has a copy of these structs. */
#ifndef DT_STRATEGY_COORDINATOR_H
#define DT_STRATEGY_COORDINATOR_H

#include "strategy/packed_variables.h"
#include "strategy/parameter_tasks.h"
#include "strategy/step.h"

/* ---- scheduled functions, compiled (closure_kind.c) ---- */

/*
 * A scheduled function is split into two programs. A worker computes gradients and values to
 * assign, and pushes them: an assignment or optimizer step is recorded as a change that the
 * coordinator makes (dt_deferral). The second program, the update, applies these values to the
 * variables and slots as they are at that time. The coordinator runs it or, if tasks of type ps
 * have the variables, each task runs its part.
 */

/* A scheduled function compiled for arguments of certain names, types and shapes (its
 * signature). */
typedef struct dt_closure_kind {
    dt_function *function; /* the function that was scheduled; a counted reference */
    char *signature;
    dt_arena *arena;
    dt_traced worker;
    dt_compiled *update; /* the update; NULL: workers push no values for it */
    /* The program that computes which rows of tables the worker looks up. Result i has the numbers
     * of rows of table[i]. Its `compiled` is NULL if the function looks up no rows. */
    dt_traced numbers;
    dt_variable **table;
    /* whether at least one of these tables is sent by rows, which the worker must ask for */
    bool asks;
    int n_pushed;
    /* [n_pushed] variables for which workers push a gradient or a new value. Holds references. */
    dt_variable **pushed;
    /* [n_pushed] the name of each pushed value in the graphs of both programs */
    const char **name;
    /* [n_changes] the changes of variables that the update makes */
    struct dt_closure_change *change;
    int n_changes;
    /* The graph that computes pushed values from the parts that workers send. NULL: workers send
     * whole values. */
    dt_graph *tail;
    /* whether the function changes any variable; a worker then answers PUSH, else ANSWER */
    bool changes;
} dt_closure_kind;

/* Records and compiles the function for these arguments. May set call->sizing to EXACT. */
dt_status *dt_closure_kind_make(dt_closure_kind **out, dt_function *f,
                                dt_step_call *call) DT_MUST_USE;
void dt_closure_kind_free(dt_closure_kind *k);
bool dt_closure_kind_fits(const dt_closure_kind *k, const dt_function *f, dt_step_call *call);
/* For a variable: `reads` is whether the worker's program reads it; `changes`, whether either
 * program changes it; `by_rows`, whether the worker needs at most the rows of it that it looks up,
 * and neither changes it nor pushes a value for the whole of it. */
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

/* ---- the coordinator ---- */

/* What a worker keeps for one dt_per_worker: the iterator of its data set, or the values that the
 * program's function has made for it. */
typedef struct dt_worker_values {
    dt_iterator *elements;
    dt_values *values;
} dt_worker_values;

struct dt_per_worker {
    int refs;
    /* the program's function that makes a data set for each worker; NULL: `values` makes values
     * instead */
    dt_dataset_fn dataset;
    dt_value_fn values;
    void *user;
    /* the values that the coordinator got from the function, as worker 0 would, to know names and
     * types */
    dt_values *sample;
};

struct dt_remote {
    int refs;
    /* The coordinator that will provide the value, without a counted reference. NULL: the function
     * has finished, failed or been cancelled. */
    dt_coordinator *coordinator;
    dt_remote_state state;
    dt_values *values; /* the values, if the state is FINISHED */
    int error;         /* if the state is FAILED: the number of the error, and its text */
    char *text;
    int64_t staleness;
};

struct dt_coordinator {
    int refs;
    dt_strategy *strategy;
    int n_kinds, cap_kinds, n_own, cap_own, n_tasks, cap_tasks;
    dt_closure_kind **kind; /* [n_kinds] compiled functions */
    dt_per_worker **own;    /* [n_own] data sets and values per worker */
    /* [n_tasks] scheduled functions that have not finished, ascending by number */
    struct task *task;
    int64_t next; /* the number of the first closure of the next pool */
    /* The workers. NULL: no function was scheduled yet, or the pool was closed, because it failed
     * or new workers are needed. */
    dt_worker_pool *pool;
    dt_arena *arena;          /* memory of the data that belongs to the pool */
    dt_worker_pool_spec spec; /* the options with which the pool is opened */
    /* The variables of this process, and a program for each kind of function. The store has no
     * variables if tasks of type ps own them. */
    dt_parameter_store held;
    dt_ps_tasks ps;
    int n_lodged;
    struct dt_lodged *lodged; /* [n_lodged] variables that are on tasks of type ps */
    /* The sum of variable->written over all variables that are sent to workers, when it was last
     * computed. A larger sum means that the program has set a variable. */
    unsigned written;
    /* counts of the pools before this one, and of functions that have ended */
    dt_coordinator_counts past;
    /* The number of the first error that has not been returned to the program yet; 0: there was no
     * error. */
    int error;
    char *text;
    /* The following members are used in a worker only. */
    struct {
        int number;
        dt_worker_values *own; /* [n_own] this worker's iterators and values */
        dt_values *args;       /* arguments of the current closure */
        int kind;              /* index in kind[] of the function of the current closure */
    } worker;
};

/* The first part of a message with arguments: the index of the function in kind[], and the indices
 * in own[] of the data sets and values per worker that it uses. */
typedef struct dt_work_head {
    int32_t kind, n_own, own[DT_MOST_PER_WORKER];
} dt_work_head;

/* coordinator_pool.c: starts workers that have all functions and data sets, and gives the variables
 * to tasks of type ps. Closing brings them back. */
dt_status *dt_coordinator_open_pool(dt_coordinator *c) DT_MUST_USE;
void dt_coordinator_close_pool(dt_coordinator *c);
/* Makes functions that are given out from now on see variables that the program may have set. With
 * dt_closures.in_order, the copies of versions are kept, so only functions that get a later version
 * see them. */
dt_status *dt_coordinator_notice_sets(dt_coordinator *c) DT_MUST_USE;
/* Changes the variables by the values that a function of kind number `kind` has pushed, or orders
 * the tasks of type ps to do so. */
dt_status *dt_coordinator_apply(dt_coordinator *c, int kind, const dt_arrival *a) DT_MUST_USE;

/* Adds the entries of `from` to `into`. distributed: the entries have rows, whose number may
 * differ between calls. Fails with ARGUMENT if a name is used twice. */
dt_status *dt_arguments_add(dt_values *into, const dt_values *from, bool distributed) DT_MUST_USE;
/* coordinator_worker.c: returns the functions that workers of this coordinator compute with. */
dt_worker_body dt_scheduled_body(dt_coordinator *c);
/* Sets *out to the worker's next arguments for p. On the first call, when b is empty, calls the
 * program's function for this worker. Fails with END_OF_DATA at the end of a data set. */
dt_status *dt_per_worker_next(const dt_per_worker *p, dt_strategy *s, int worker,
                              dt_worker_values *b, dt_values **out) DT_MUST_USE;
void dt_worker_values_release(dt_worker_values *b);

#endif

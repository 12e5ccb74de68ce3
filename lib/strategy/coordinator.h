/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a coordinator, which it shares with its workers: they are forks of it. */
#ifndef DT_STRATEGY_COORDINATOR_H
#define DT_STRATEGY_COORDINATOR_H

#include "strategy/closure_kind.h"
#include "strategy/worker_pool.h"

/* Data set and values of one worker. */
typedef struct dt_worker_values {
    dt_iterator *elements;
    dt_values *values;
} dt_worker_values;

struct dt_per_worker {
    int refs;
    dt_dataset_fn dataset; /* NULL: `values` makes them */
    dt_value_fn values;
    void *user;
    dt_values *sample; /* the values that this process got */
};

struct dt_remote {
    int refs;
    /* lent while the value is pending; NULL: it has been computed, or the coordinator is gone */
    dt_coordinator *coordinator;
    dt_remote_state state;
    dt_values *values; /* FINISHED */
    int error;         /* FAILED: its number and text */
    char *text;
    int64_t staleness;
};

/* A scheduled function that has not finished. */
typedef struct dt_task {
    int64_t number;
    int kind;
    char *more; /* [n] bytes that are sent to a worker with it */
    int64_t n;
    dt_remote *remote; /* counted */
} dt_task;

struct dt_coordinator {
    int refs;
    dt_strategy *strategy;
    int n_kinds, cap_kinds, n_own, cap_own, n_tasks, cap_tasks;
    dt_closure_kind **kind; /* [n] */
    dt_per_worker **own;    /* [n] */
    dt_task *task;          /* [n] by number */
    int64_t next;           /* number of the first closure of the next pool */
    dt_worker_pool *pool;   /* NULL: none yet, or closed to be replaced */
    dt_arena *arena;        /* of the pool */
    dt_packed_variables packed;
    unsigned written;           /* the number of changes of these by the host at the last check */
    dt_coordinator_counts past; /* of former pools, and of functions */
    int error; /* of the first function that failed since the last one was reported; 0: none */
    char *text;
    /* in a worker */
    struct {
        int number;
        dt_worker_values *own; /* [n_own] */
        dt_values *args;       /* of its closure */
        int kind;              /* the closure's function */
    } worker;
};

/* The head of a message with arguments: the kind of the function, and the n_own data sets and
 * values per worker that it uses. */
typedef struct dt_work_head {
    int32_t kind, n_own, own[DT_MOST_PER_WORKER];
} dt_work_head;

/* Adds the entries of `from` to `into`. distributed: with rows that may differ. ARGUMENT: a name is
 * used twice. */
dt_status *dt_arguments_add(dt_values *into, const dt_values *from, bool distributed) DT_MUST_USE;
/* coordinator_worker.c: what a worker computes. */
dt_worker_body dt_scheduled_body(dt_coordinator *c);
/* Sets *out to the worker's next arguments. Calls the user's function for this worker first if b is
 * empty. END_OF_DATA. */
dt_status *dt_per_worker_next(const dt_per_worker *p, dt_strategy *s, int worker,
                              dt_worker_values *b, dt_values **out) DT_MUST_USE;
void dt_worker_values_release(dt_worker_values *b);

#endif

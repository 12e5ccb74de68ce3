/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a coordinator. Its workers are forks of it, so they share these structs. */
#ifndef DT_STRATEGY_COORDINATOR_H
#define DT_STRATEGY_COORDINATOR_H

#include "strategy/closure_kind.h"
#include "strategy/worker_pool.h"

/* In a worker: its own iterator and its own values for one dt_per_worker. */
typedef struct dt_worker_values {
    dt_iterator *elements;
    dt_values *values;
} dt_worker_values;

struct dt_per_worker {
    int refs;
    /* makes a data set; NULL: the function `values` makes values instead */
    dt_dataset_fn dataset;
    dt_value_fn values;
    void *user;
    dt_values *sample; /* the coordinator's own values, which give names and types */
};

struct dt_remote {
    int refs;
    /* Not counted. NULL: the value has been computed, or the coordinator was destroyed. */
    dt_coordinator *coordinator;
    dt_remote_state state;
    dt_values *values; /* if FINISHED */
    int error;         /* if FAILED: error number and text */
    char *text;
    int64_t staleness;
};

/* A scheduled function that has not finished. */
typedef struct dt_task {
    int64_t number;
    int kind;
    char *more; /* [n] encoded arguments, which are sent with the closure */
    int64_t n;
    dt_remote *remote; /* holds a reference */
} dt_task;

struct dt_coordinator {
    int refs;
    dt_strategy *strategy;
    int n_kinds, cap_kinds, n_own, cap_own, n_tasks, cap_tasks;
    dt_closure_kind **kind; /* [n_kinds] */
    dt_per_worker **own;    /* [n_own] */
    dt_task *task;          /* [n_tasks] ascending by number */
    int64_t next;           /* number of the first closure of the next pool */
    dt_worker_pool *pool;   /* NULL: not opened yet, or closed because new workers are needed */
    dt_arena *arena;        /* for the data of the pool */
    dt_packed_variables packed;
    /* sum of variable->written over all packed variables when it was last checked */
    unsigned written;
    dt_coordinator_counts past; /* counts of earlier pools, and of finished functions */
    /* number of the first error that has not been returned to the program yet; 0: none */
    int error;
    char *text;
    /* only used in a worker */
    struct {
        int number;
        dt_worker_values *own; /* [n_own] */
        dt_values *args;       /* arguments of the current closure */
        int kind;              /* index in kind[] of the current closure's function */
    } worker;
};

/* The head of a message with arguments: index of the function in kind[], and indices in own[] of
 * the data sets and values per worker that it uses. */
typedef struct dt_work_head {
    int32_t kind, n_own, own[DT_MOST_PER_WORKER];
} dt_work_head;

/* Adds the entries of `from` to `into`. distributed: the entries have rows, whose number may
 * differ between calls. Fails with ARGUMENT if a name is used twice. */
dt_status *dt_arguments_add(dt_values *into, const dt_values *from, bool distributed) DT_MUST_USE;
/* coordinator_worker.c: what workers of this coordinator compute. */
dt_worker_body dt_scheduled_body(dt_coordinator *c);
/* Sets *out to the worker's next arguments. If b is empty, first calls the user's function for
 * this worker. Fails with END_OF_DATA at the end of a data set. */
dt_status *dt_per_worker_next(const dt_per_worker *p, dt_strategy *s, int worker,
                              dt_worker_values *b, dt_values **out) DT_MUST_USE;
void dt_worker_values_release(dt_worker_values *b);

#endif

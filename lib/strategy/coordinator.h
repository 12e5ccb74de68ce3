/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a coordinator: what it shares with its workers, which are forks of it. */
#ifndef DT_STRATEGY_COORDINATOR_H
#define DT_STRATEGY_COORDINATOR_H

#include "strategy/closure_kind.h"
#include "strategy/worker_pool.h"

struct dt_per_worker {
    int refs;
    dt_dataset_fn dataset; /* or */
    dt_value_fn values;
    void *user;
    dt_values *sample; /* as this process got it */
};

struct dt_remote {
    int refs;
    /* lent while it is pending; NULL: it is done, or the coordinator is gone */
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
    char *more; /* [n] what a worker gets with it */
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
    dt_worker_pool *pool;   /* NULL: none yet, or not with what there is now */
    dt_arena *arena;        /* of the pool */
    dt_packed_variables packed;
    unsigned written;           /* changes of these by the host, when that was last looked at */
    dt_coordinator_counts past; /* of former pools, and of functions */
    int error; /* of the first function that failed since the last one was reported; 0: none */
    char *text;
};

/* What a message says before its values: the kind, how many of the worker's own things, and
 * which. */
typedef struct dt_work_head {
    int32_t kind, n_own, own[DT_MOST_PER_WORKER];
} dt_work_head;

/* The entries of `from` into `into`; ARGUMENT: a name is taken. distributed: with rows that may
 * differ. */
dt_status *dt_arguments_add(dt_values *into, const dt_values *from, bool distributed) DT_MUST_USE;
/* coordinator_worker.c: a dt_worker_main; user: the dt_coordinator. */
int dt_scheduled_worker(int worker, const int *link, void *user);
/* What each worker has of its own. */
typedef struct dt_belongings {
    dt_iterator *elements;
    dt_values *values;
} dt_belongings;
/* Calls the user's function for that worker of so many, the first time, and sets *out to the
 * arguments. END_OF_DATA. */
dt_status *dt_per_worker_next(const dt_per_worker *p, dt_strategy *s, int worker, dt_belongings *b,
                              dt_values **out) DT_MUST_USE;
void dt_belongings_release(dt_belongings *b);

#endif

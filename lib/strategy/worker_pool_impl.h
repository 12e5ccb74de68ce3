/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a worker pool, for the files worker_pool*.c. */
#ifndef DT_STRATEGY_WORKER_POOL_IMPL_H
#define DT_STRATEGY_WORKER_POOL_IMPL_H

#include "strategy/worker_pool.h"

/* if this many programs in a row end before they can compute, no more are started in their place */
enum { DT_POOL_STARTS = 8 };

/* A worker, as the pool sees it. */
typedef struct dt_pool_peer {
    pid_t pid;
    /* there: the worker is connected; busy: it has a closure; late: it did not answer in time, so
     * that its closure was given to another worker */
    bool there, busy, late;
    bool coming; /* a program that was started, but has not reported that it can compute */
    /* number of programs, one after the other, that were started here and have not been able to
     * compute */
    int starts;
    bool reported; /* the worker's silence has been reported */
    bool answered; /* the worker has got the rows for its closure, or needs none */
    /* the pool's `still` when the worker last got the values that never change; 0: never */
    int64_t still;
    int64_t given_ns;
} dt_pool_peer;

struct dt_worker_pool {
    dt_worker_pool_spec spec;
    /* starts workers on this machine; NULL: workers are started separately */
    dt_worker_launcher *launcher;
    dt_carrier *carrier;
    dt_closures closures;
    dt_pool_peer *worker; /* [how->workers] the workers */
    dt_arrival *pushed;   /* [n] pushes that wait to be applied */
    int n_pushed, cap_pushed;
    dt_packed_versions copies; /* of the weights */
    /* Revision of the values that updates never change. It increases when the owner sets them. */
    int64_t still;
    /* the last copy of the weights that had these values and was sent to a worker */
    dt_shared *with_still;
    bool set; /* the owner may have set some of these values since they were last compared */
    int64_t alone_ns;      /* when the last worker was lost, in nanoseconds */
    bool failed;           /* no more closures can be computed */
    int64_t lost;          /* number of lost workers */
    int64_t lost_in_a_row; /* workers lost since a closure was last finished */
    /* longest time in seconds that an answer took; answers whose lateness was reported do not
     * count */
    double slowest_s;
};

/* Handles an arrival, and takes ownership of it. A push is kept until it may be applied. */
dt_status *dt_worker_pool_take(dt_worker_pool *c, const dt_arrival *a) DT_MUST_USE;
void dt_worker_pool_release(dt_worker_pool *c, const dt_arrival *a);

/* Starts a program for worker w on this machine. */
dt_status *dt_worker_pool_start(dt_worker_pool *c, int w) DT_MUST_USE;

#endif

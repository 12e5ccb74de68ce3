/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a worker pool, for the files worker_pool*.c. */
#ifndef DT_STRATEGY_WORKER_POOL_IMPL_H
#define DT_STRATEGY_WORKER_POOL_IMPL_H

#include "strategy/worker_pool.h"

/* If this many programs in a row that were started for one worker end before they can compute, no
 * more are started in place of that worker. */
enum { DT_POOL_STARTS = 8 };

/* One worker of the pool. */
typedef struct dt_pool_peer {
    pid_t pid;
    /* there: the worker is connected; busy: it has a closure; late: it did not answer in time, so
     * that its closure was given to another worker */
    bool there, busy, late;
    /* whether this is a program that was started, but has not reported yet that it can compute */
    bool coming;
    /* Number of programs that were started for this worker since one of them could compute. */
    int starts;
    bool reported; /* whether the worker's silence has been reported for its current closure */
    /* whether the worker has got the rows of tables that its closure looks up, or need not ask for
     * any */
    bool answered;
    /* The pool's `still` when this worker last got the values that no update changes; 0: it never
     * got them. */
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
    /* messages with the weights, for the versions that a worker may pull */
    dt_packed_versions copies;
    /* Revision of the values that updates never change. It increases when the owner sets them. */
    int64_t still;
    /* The last message sent to a worker that had the values which updates never change; NULL: none
     * was sent. */
    dt_shared *with_still;
    /* whether the owner may have set some of these values since they were last compared */
    bool set;
    /* the time when a worker was last lost without another one being started in its place, in
     * nanoseconds */
    int64_t alone_ns;
    bool failed;           /* whether no more closures can be computed */
    int64_t lost;          /* number of workers that were lost so far */
    int64_t lost_in_a_row; /* number of workers that were lost since a closure was last finished */
    /* The longest time in seconds that an answer took. Answers whose lateness was reported do not
     * count. */
    double slowest_s;
};

/* Handles an arrival, and takes ownership of it. A push is kept until it may be applied. */
dt_status *dt_worker_pool_take(dt_worker_pool *c, const dt_arrival *a) DT_MUST_USE;
void dt_worker_pool_release(dt_worker_pool *c, const dt_arrival *a);

/* Starts a process for worker w on this machine. */
dt_status *dt_worker_pool_start(dt_worker_pool *c, int w) DT_MUST_USE;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers of a parameter server, as the coordinator sees them. The pool starts workers, notices
 * lost ones and replaces them. Idle workers get closures (closures.h), and their pushes wait until
 * they may be applied. The owner of the pool defines closures and applies pushes. A closure is a
 * step of `fit`, or a function that a program has scheduled.
 */
#ifndef DT_STRATEGY_WORKER_POOL_H
#define DT_STRATEGY_WORKER_POOL_H

#include "base/clock.h"
#include "base/str.h"
#include "net/worker_launcher.h"
#include "net/carrier.h"
#include "strategy/closures.h"
#include "strategy/packed_variables.h"
#include "strategy/strategy.h"

/* A closure with its message, as a worker receives it. */
typedef struct dt_work {
    dt_frame frame;
    /* [frame.more] the arguments of the closure, or the rows of tables that the worker has
     * requested */
    const char *more;
    /* Whether `more` has the rows that the worker requested. They have been copied to the variables
     * already. */
    bool asked;
    char *weights; /* The values of the weights, in the layout of messages (packed_variables.h). */
} dt_work;

/* What a worker computes. The serve loop (worker_pool_open.c) moves variables and messages, and
 * calls these functions of the pool's owner with `user`. An error of `ask` or `compute` belongs
 * to the closure, and is reported to the coordinator. */
typedef struct dt_worker_body {
    /* Called once in the worker, before its first closure. NULL: nothing to prepare. */
    void (*begin)(void *user, int worker);
    /* Reads the closure, and writes its request for rows of tables (dt_rows_ask). */
    dt_status *(*ask)(void *user, const dt_work *work, dt_str *request);
    /* Computes from the variables, which have the values of the closure's version. Sets *kind to
     * the kind of the answer; for PUSH fills gradients. Appends to `more`, which is empty. */
    dt_status *(*compute)(void *user, const dt_work *work, dt_frame_kind *kind, char *gradients,
                          dt_str *more);
    /* called once when the worker ends; NULL: the owner has nothing to release */
    void (*end)(void *user);
    /* The argument of these functions. It must be complete before any worker is started, since
     * forked workers copy it. */
    void *user;
} dt_worker_body;

typedef struct dt_worker_pool_spec {
    const dt_servers_spec *how;
    const dt_packed_variables *packed; /* the layout of the variables in messages */
    const char *closure;               /* the word for a closure in messages, such as "batch" */
    dt_worker_body body;
    /* The text that the launcher prints if this process is gone, as in dt_worker_launcher_spec. */
    const char *last_words;
    /* The functions of the pool's owner, which are called with `user`. */
    /* Returns whether a worker must ask for the rows of tables that the closure of that number
     * looks up, before it can compute that closure (packed_variables.h). */
    bool (*asks)(void *user, int64_t number);
    /* Returns *n bytes to send with a closure; lent. The function may be NULL: nothing is sent. */
    const void *(*describe)(void *user, int64_t number, int64_t *n);
    /* Whether a push is complete. If not, it is dropped; its worker is dropped as well if it
     * still has the closure. */
    bool (*is_whole)(void *user, const dt_arrival *a);
    /* Called when a worker could not compute a closure, after the closure was removed. */
    dt_status *(*failed)(void *user, const dt_arrival *a);
    void (*warn)(void *user, const char *text);
    /* receives reports about workers that the pool waits for; may be NULL */
    void (*say)(void *user, const char *text);
    void *user;
} dt_worker_pool_spec;

typedef struct dt_worker_pool dt_worker_pool;
/* Starts the workers, or waits for those that are started separately. If workers are forked, the
 * caller must have a single thread. */
dt_status *dt_worker_pool_open(dt_worker_pool **out, const dt_worker_pool_spec *spec) DT_MUST_USE;
/* Closes the pool and ends its workers; c may be NULL. */
void dt_worker_pool_close(dt_worker_pool *c);
/* Returns the table of closures. The owner begins, extends and ends its windows. */
dt_closures *dt_worker_pool_closures(dt_worker_pool *c);
/* Drops the copies of the weights. Call this when weights were changed by anything but updates. */
void dt_worker_pool_forget(dt_worker_pool *c);
/* Gives out closures, and handles one message if there is one before the deadline. Sets *came to
 * whether there was one. */
dt_status *dt_worker_pool_wait(dt_worker_pool *c, int64_t deadline_ns, bool *came) DT_MUST_USE;
/* Sets *out to the push that must be applied next, which belongs to the caller until
 * dt_worker_pool_finish. Returns false if no push can be applied yet. */
bool dt_worker_pool_ready(dt_worker_pool *c, dt_arrival *out);
/* Ends the work on a push that was applied, and frees it. updated: whether it has changed weights.
 * Sets *stale (may be NULL) to the number of updates between the push's pull and its own update; 0
 * if it has changed nothing. */
dt_status *dt_worker_pool_finish(dt_worker_pool *c, const dt_arrival *a, bool updated,
                                 int64_t *stale) DT_MUST_USE;
/* Return the number of connected workers, and how many workers were lost so far. */
int dt_worker_pool_workers(const dt_worker_pool *c);
int64_t dt_worker_pool_lost(const dt_worker_pool *c);
/* Returns the error that a worker has reported in a FAILED message, with a note that names the
 * worker and the closure. closure: the word for it, such as "batch". */
dt_status *dt_worker_pool_failure(const dt_arrival *a, const char *closure) DT_MUST_USE;

/* Runs this process as a worker: connects to the coordinator, and computes until the coordinator
 * has no more work. spec->say reports long waits. Fails with WORKER_GONE if the coordinator is
 * lost. */
dt_status *dt_worker_pool_serve(const dt_worker_pool_spec *spec) DT_MUST_USE;

/* Fills *out with the coordinator's address, NULL if only tasks of type ps have addresses, and with
 * the settings for listening or connecting. key: memory for the key, which *out refers to. */
struct dt_zmq_carrier_spec;
dt_status *dt_worker_pool_address(const dt_worker_pool_spec *q, dt_run_key *key,
                                  struct dt_zmq_carrier_spec *out) DT_MUST_USE;
/* Marks the pool as failed, for a reason that the owner reports. Closing it then does not tell
 * workers that all work is done. */
void dt_worker_pool_fail(dt_worker_pool *c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers of a parameter server, seen from the coordinator: they come and go, idle ones get
 * closures (closures.h), and their pushes wait until they may be applied. The owner of the pool
 * defines closures and applies pushes: steps of `fit`, or functions that a program has scheduled.
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

/* A closure that a worker was given. */
typedef struct dt_work {
    dt_frame frame;
    const char *more; /* [frame.more] rows that it asked for, or its arguments */
    bool asked;       /* `more` contains the rows, which are already in the variables */
    char *weights;    /* packed as in messages */
} dt_work;

/* What a worker computes. The serve loop (worker_serve.c) moves variables and messages; these
 * functions of the pool's owner compute, and get `user`. An error is the closure's, and is reported
 * to the coordinator. */
typedef struct dt_worker_body {
    /* Called once, in the worker. NULL: nothing to prepare. */
    void (*begin)(void *user, int worker);
    /* Reads the closure, and writes its request for rows (dt_rows_ask). */
    dt_status *(*ask)(void *user, const dt_work *work, dt_str *request);
    /* Computes with the variables, which have the values of the closure's version. Sets the kind of
     * the answer; PUSH: fills gradients. `more` is empty before. */
    dt_status *(*compute)(void *user, const dt_work *work, dt_frame_kind *kind, char *gradients,
                          dt_str *more);
    void (*end)(void *user); /* NULL: nothing to release */
    void *user;              /* its state before any worker is started */
} dt_worker_body;

typedef struct dt_worker_pool_spec {
    const dt_servers_spec *how;
    const dt_packed_variables *packed; /* the weights */
    const char *closure;               /* its name in messages: "batch" */
    dt_worker_body body;
    const char *last_words; /* of dt_worker_launcher_open */
    /* Functions of the owner, which get `user`. */
    bool (*asks)(void *user, int64_t number); /* whether the closure's worker asks for rows */
    /* n bytes that are sent with a closure; NULL: there are none */
    const void *(*describe)(void *user, int64_t number, int64_t *n);
    /* whether a push is complete; if not, it is dropped, and its worker too if it has the
     * closure */
    bool (*is_whole)(void *user, const dt_arrival *a);
    /* a worker could not compute the closure, which has been removed */
    dt_status *(*failed)(void *user, const dt_arrival *a);
    void (*warn)(void *user, const char *text);
    void (*say)(void *user, const char *text); /* reports awaited workers */
    void *user;
} dt_worker_pool_spec;

typedef struct dt_worker_pool dt_worker_pool;
/* The caller must have a single thread. */
dt_status *dt_worker_pool_open(dt_worker_pool **out, const dt_worker_pool_spec *spec) DT_MUST_USE;
void dt_worker_pool_close(dt_worker_pool *c); /* takes NULL */
/* Windows are begun, extended and ended by the owner. */
dt_closures *dt_worker_pool_closures(dt_worker_pool *c);
/* Call it when weights have changed by other means than updates. */
void dt_worker_pool_forget(dt_worker_pool *c);
/* Gives out closures, and takes one arrival if there is one before the deadline. *came: there was
 * one. */
dt_status *dt_worker_pool_wait(dt_worker_pool *c, int64_t deadline_ns, bool *came) DT_MUST_USE;
/* The push to be applied next, which belongs to the caller until dt_worker_pool_finish. False: none
 * can be applied yet. */
bool dt_worker_pool_ready(dt_worker_pool *c, dt_arrival *out);
/* Ends a push that has been applied. updated: it has changed weights. Frees its memory. *stale (may
 * be NULL): the number of updates between its pull and its own update. */
dt_status *dt_worker_pool_finish(dt_worker_pool *c, const dt_arrival *a, bool updated,
                                 int64_t *stale) DT_MUST_USE;
/* The number of connected workers, and of lost ones. */
int dt_worker_pool_workers(const dt_worker_pool *c);
int64_t dt_worker_pool_lost(const dt_worker_pool *c);
/* A worker's report of its failure, as an error. */
dt_status *dt_worker_pool_failure(const dt_arrival *a, const char *closure) DT_MUST_USE;

/* Serves as a worker that was started separately (how->launch): connects to the coordinator and
 * computes until the coordinator has no more to do. say: of dt_link_wait. WORKER_GONE: the
 * coordinator is lost. */
dt_status *dt_worker_pool_serve(const dt_worker_pool_spec *spec) DT_MUST_USE;

/* ---- worker_serve.c ---- */

/* Pulls, computes and pushes until END. Errors of the link only. */
dt_status *dt_worker_serve(dt_worker_link *link, const dt_packed_variables *packed,
                           const dt_worker_body *body) DT_MUST_USE;

#endif

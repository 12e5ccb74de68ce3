/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers of a parameter server, seen from the coordinator: they come and go, closures
 * (closures.h) are given to those that have nothing to do, and what they push waits until it may be
 * applied. What a closure is, and what applying means, is its owner's affair: a step of `fit` or a
 * function that a program has scheduled.
 */
#ifndef DT_STRATEGY_WORKER_POOL_H
#define DT_STRATEGY_WORKER_POOL_H

#include "base/clock.h"
#include "base/str.h"
#include "fabric/worker_launcher.h"
#include "fabric/servers.h"
#include "strategy/closures.h"
#include "strategy/packed_variables.h"
#include "strategy/strategy.h"

typedef struct dt_worker_pool_spec {
    const dt_servers_spec *how;
    const dt_packed_variables *packed; /* the weights */
    const char *closure;               /* what messages call one: "batch" */
    dt_worker_main body;
    void *body_user;        /* as it is before any worker is started */
    const char *last_words; /* of dt_worker_launcher_open */
    /* Of the owner, who gets `user`. */
    bool (*asks)(void *user, int64_t number); /* whether the closure's worker asks for rows */
    /* n bytes that go with a closure; NULL: none ever do */
    const void *(*describe)(void *user, int64_t number, int64_t *n);
    /* false: it is dropped, and so is its worker if the closure is its own */
    bool (*is_whole)(void *user, const dt_arrival *a);
    /* the closure could not be computed; it is not out any more */
    dt_status *(*failed)(void *user, const dt_arrival *a);
    void (*warn)(void *user, const char *text);
    void (*say)(void *user, const char *text); /* who is awaited */
    void *user;
} dt_worker_pool_spec;

typedef struct dt_worker_pool dt_worker_pool;
/* The caller has no threads but this one. */
dt_status *dt_worker_pool_open(dt_worker_pool **out, const dt_worker_pool_spec *spec) DT_MUST_USE;
void dt_worker_pool_close(dt_worker_pool *c); /* takes NULL */
/* Windows are begun, extended and ended by the owner. */
dt_closures *dt_worker_pool_closures(dt_worker_pool *c);
/* Weights have changed by other means than updates. */
void dt_worker_pool_forget(dt_worker_pool *c);
/* Gives out what may be, and takes what has come or comes until then. *came: something did. */
dt_status *dt_worker_pool_wait(dt_worker_pool *c, int64_t deadline_ns, bool *came) DT_MUST_USE;
/* The push to be applied next, which belongs to the caller until dt_worker_pool_finish; false: none
 * may be yet. */
bool dt_worker_pool_ready(dt_worker_pool *c, dt_arrival *out);
/* It has been applied, if it changes weights. Frees what it has. *stale (may be NULL): updates
 * between its pull and its own. */
dt_status *dt_worker_pool_finish(dt_worker_pool *c, const dt_arrival *a, bool updated,
                                 int64_t *stale) DT_MUST_USE;
/* Workers that are there, those that have been lost. */
int dt_worker_pool_workers(const dt_worker_pool *c);
int64_t dt_worker_pool_lost(const dt_worker_pool *c);
/* What a worker said of its failure, as an error. */
dt_status *dt_worker_pool_failure(const dt_arrival *a, const char *closure) DT_MUST_USE;

/* The worker's side: a link to the coordinator of either kind. */
typedef struct dt_worker_link {
    const int *fd; /* [servers] inherited; NULL: post */
    struct dt_post_link *post;
    const dt_extents *slices;
} dt_worker_link;
/* As dt_link_pull and dt_link_push. */
dt_status *dt_worker_pull(const dt_worker_link *l, dt_frame *m, void *weights,
                          char **more) DT_MUST_USE;
dt_status *dt_worker_push(const dt_worker_link *l, const dt_frame *m, const void *gradients,
                          const void *more) DT_MUST_USE;
/* An error of its own becomes a message that dt_worker_pool_failure reads. Takes `bad`. */
dt_status *dt_worker_push_failure(const dt_worker_link *l, const dt_frame *work,
                                  dt_status *bad) DT_MUST_USE;
/* The exit code of a worker that the pool started. Takes the error, if any, and prints it. */
int dt_worker_end(int worker, dt_status *s);
/* Of a process that is a worker by itself (how->launch): meets the coordinator. say: of
 * dt_post_wait. */
dt_status *dt_worker_pool_join(struct dt_post_link *out,
                               const dt_worker_pool_spec *spec) DT_MUST_USE;

#endif

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
#include "fabric/worker_launcher.h"
#include "fabric/servers.h"
#include "strategy/closures.h"
#include "strategy/packed_variables.h"
#include "strategy/strategy.h"

typedef struct dt_worker_pool_spec {
    const dt_servers_spec *how;
    const dt_packed_variables *packed; /* the weights */
    const char *closure;               /* its name in messages: "batch" */
    dt_worker_main body;
    void *body_user;        /* its state before any worker is started */
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
/* Sends an error of the worker as a message that dt_worker_pool_failure reads. Takes `bad`. */
dt_status *dt_worker_push_failure(const dt_worker_link *l, const dt_frame *work,
                                  dt_status *bad) DT_MUST_USE;
/* The exit code of a worker that the pool started. Takes the error, if any, and prints it. */
int dt_worker_end(int worker, dt_status *s);
/* Connects a worker that was started separately (how->launch) to the coordinator. say: of
 * dt_post_wait. */
dt_status *dt_worker_pool_join(struct dt_post_link *out,
                               const dt_worker_pool_spec *spec) DT_MUST_USE;

#endif

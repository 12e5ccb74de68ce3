/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a coordinator and its workers exchange messages. There are two carriers: threads that serve
 * inherited sockets, for workers that the coordinator starts (servers.h), and ZeroMQ, for workers
 * of any machine (posts.h). Both move the same frames. They know nothing of closures.
 */
#ifndef DT_NET_CARRIER_H
#define DT_NET_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

/* Bytes [offset, offset + bytes) of weights, and of gradients, which are laid out alike. */
typedef struct dt_extent {
    int64_t offset, bytes;
} dt_extent;
typedef struct dt_extents {
    int servers;
    const int *n;                  /* [servers] */
    const dt_extent *const *slice; /* [servers][n] */
    int64_t bytes;                 /* of everything */
    /* The last slices of each server, and the last bytes, which never change: only WORK_ALL has
     * them. n_still NULL: there are none. */
    const int *n_still; /* [servers] */
    int64_t still_bytes;
} dt_extents;

/* A worker that needs rows of tables is named its closure (ASSIGN), and asks for them (WANT)
 * before it gets the WORK. */
typedef enum dt_frame_kind {
    DT_FRAME_WORK = 1,
    DT_FRAME_PUSH,
    DT_FRAME_ANSWER,
    DT_FRAME_FAILED,
    DT_FRAME_END,
    DT_FRAME_HELLO,
    DT_FRAME_ASSIGN,
    DT_FRAME_WANT,
    DT_FRAME_WORK_ALL
} dt_frame_kind;
/* WORK, WORK_ALL and PUSH are followed by slices on every link, and all messages by `more` bytes on
 * link 0. */
typedef struct dt_frame {
    uint32_t magic, kind;
    int64_t number, version; /* of the closure; of the weights */
    int64_t more;
} dt_frame;
enum { DT_MOST_MORE = 1 << 26 };
/* The `more` of a FAILED frame: the number of the error as an int32, then its text. Takes the
 * error. */
void dt_failure_write(dt_status *why, dt_str *more);
/* `otherwise` replaces a number that is missing or unknown, and `text` a missing text. */
dt_status *dt_failure_read(const char *more, int64_t n, dt_error otherwise,
                           const char *text) DT_MUST_USE;

/* A copy of the weights that several links send. */
typedef struct dt_shared {
    _Atomic int refs;
    _Alignas(64) char data[];
} dt_shared;
dt_status *dt_shared_new(dt_shared **out, int64_t bytes) DT_MUST_USE;
dt_shared *dt_shared_ref(dt_shared *s);
void dt_shared_unref(dt_shared *s); /* takes NULL */

typedef struct dt_arrival {
    int worker;
    /* gone: the worker has closed a link; came: a separately started worker has connected. If one
     * is set, only `worker` is set besides. */
    bool gone, came;
    dt_frame message;
    void *slices; /* PUSH: all slices at their offsets; the caller's until dt_carrier_recycle */
    char *more;   /* the caller's; ends with a 0 that is not counted */
} dt_arrival;

/* ---- the coordinator's side ---- */

typedef struct dt_carrier dt_carrier;
typedef struct dt_carrier_row {
    /* Sends a message to an idle worker. weights: counted until they are sent; more: message->more
     * bytes, copied. */
    void (*give)(dt_carrier *c, int worker, const dt_frame *message, dt_shared *weights,
                 const void *more);
    /* Waits for an arrival, at most until the deadline. False: there is none. */
    bool (*next)(dt_carrier *c, int64_t deadline_ns, dt_arrival *out);
    /* Takes the slices of an arrival, which may be NULL. */
    void (*recycle)(dt_carrier *c, void *slices);
    /* Ends the link to the worker: none of its messages is returned until it comes again. */
    void (*drop)(dt_carrier *c, int worker);
    /* Sends the worker the error, which it ends with. Takes the error. NULL: the carrier has no
     * such message; the worker finds its link closed. */
    void (*refuse)(dt_carrier *c, int worker, dt_status *why);
    /* well: sends END to all workers; otherwise they find that the coordinator is gone. */
    void (*close)(dt_carrier *c, bool well);
} dt_carrier_row;
/* The first member of what a carrier has. */
struct dt_carrier {
    const dt_carrier_row *row;
};

static inline void dt_carrier_give(dt_carrier *c, int worker, const dt_frame *message,
                                   dt_shared *weights, const void *more) {
    c->row->give(c, worker, message, weights, more);
}
static inline bool dt_carrier_next(dt_carrier *c, int64_t deadline_ns, dt_arrival *out) {
    return c->row->next(c, deadline_ns, out);
}
static inline void dt_carrier_recycle(dt_carrier *c, void *slices) { c->row->recycle(c, slices); }
static inline void dt_carrier_drop(dt_carrier *c, int worker) { c->row->drop(c, worker); }
static inline void dt_carrier_refuse(dt_carrier *c, int worker, dt_status *why) {
    if (c->row->refuse) c->row->refuse(c, worker, why);
    else dt_status_free(why);
}
/* Takes NULL. */
static inline void dt_carrier_close(dt_carrier *c, bool well) {
    if (c) c->row->close(c, well);
}

/* ---- the worker's side ---- */

typedef struct dt_worker_link dt_worker_link;
typedef struct dt_worker_link_row {
    /* Waits for the next message. WORK: weights are filled, and the caller frees *more. END is the
     * last message. WORKER_GONE: the coordinator is gone. A refusal is its error. */
    dt_status *(*pull)(dt_worker_link *l, dt_frame *m, void *weights, char **more);
    dt_status *(*push)(dt_worker_link *l, const dt_frame *m, const void *gradients,
                       const void *more);
    void (*close)(dt_worker_link *l);
} dt_worker_link_row;
typedef struct dt_link_wait {
    double patience_s;
    void (*say)(void *user, const char *line); /* every few seconds; NULL: no reports */
    void *user;
} dt_link_wait;
struct dt_worker_link {
    const dt_worker_link_row *row;
    int worker;
    const dt_extents *slices; /* lent */
    const int *fd;            /* [servers] the inherited sockets, lent */
    /* of ZeroMQ */
    struct dt_messenger *m;
    int peer;
    dt_link_wait wait;
    const char *address; /* of the coordinator; lent */
    double silence_s;    /* silence after which the coordinator counts as lost */
    double longest_s;    /* the longest wait for an answer so far */
};

static inline dt_status *dt_link_pull(dt_worker_link *l, dt_frame *m, void *weights, char **more) {
    return l->row->pull(l, m, weights, more);
}
static inline dt_status *dt_link_push(dt_worker_link *l, const dt_frame *m, const void *gradients,
                                      const void *more) {
    return l->row->push(l, m, gradients, more);
}
/* Takes a link that was never joined, all 0. */
static inline void dt_link_close(dt_worker_link *l) {
    if (l->row) l->row->close(l);
}

#endif

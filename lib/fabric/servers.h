/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter servers: threads of one process that send weights to workers and receive their answers.
 * Each thread moves its slices of both. They move bytes and know nothing of closures. Weights are
 * sent from a copy that does not change, so the slices that a worker gets are always of the same
 * version, and an answer is handed over when all servers have received their slices.
 *
 *     coordinator ── dt_servers_give ──▶ server 0 ══ link 0 ══▶ ┐                       ┌ ══ link 0 ══▶ server 0 ── dt_servers_next ──▶ coordinator
 *                                        server 1 ══ link 1 ══▶ ┴ pull ── work ── push ─┴ ══ link 1 ══▶ server 1
 */
#ifndef DT_FABRIC_SERVERS_H
#define DT_FABRIC_SERVERS_H

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
    void *slices; /* PUSH: all slices at their offsets; the caller's until dt_servers_recycle */
    char *more;   /* the caller's; ends with a 0 that is not counted */
} dt_arrival;

typedef struct dt_servers dt_servers;
/* Slices are lent. Workers have numbers below `workers`. */
dt_status *dt_servers_open(dt_servers **out, const dt_extents *slices, int workers) DT_MUST_USE;
/* Takes the links, one for each server: non-blocking streams. Drops the arrivals of an earlier
 * process of that number that dt_servers_next has not returned. */
void dt_servers_add(dt_servers *s, int worker, const int *link);
void dt_servers_drop(dt_servers *s, int worker);
/* Sends a message to an idle worker. weights: counted until they are sent; more: message->more
 * bytes, copied. */
void dt_servers_give(dt_servers *s, int worker, const dt_frame *message, dt_shared *weights,
                     const void *more);
/* Waits for an arrival, at most until the deadline. False: there is none. */
bool dt_servers_next(dt_servers *s, int64_t deadline_ns, dt_arrival *out);
void dt_servers_recycle(dt_servers *s, void *slices); /* takes NULL */
/* Sends END to all workers. Takes NULL. */
void dt_servers_close(dt_servers *s);

/* ---- the worker's side: links are blocking streams. WORKER_GONE: the other end is closed ---- */

/* Waits for the next message. WORK: weights are filled, and the caller frees *more. END is the last
 * message. */
dt_status *dt_link_pull(const int *link, const dt_extents *slices, dt_frame *m, void *weights,
                        char **more) DT_MUST_USE;
dt_status *dt_link_push(const int *link, const dt_extents *slices, const dt_frame *m,
                        const void *gradients, const void *more) DT_MUST_USE;

#endif

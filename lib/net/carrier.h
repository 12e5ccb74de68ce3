/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a coordinator, its workers and tasks of type ps exchange messages. There are two carriers:
 * threads, called servers, with inherited sockets, for workers that the coordinator starts
 * (servers.h), and ZeroMQ, for workers on any machine and for tasks of type ps (zmq_carrier.h).
 * Both carry the same frames and know nothing about the work that the frames describe.
 */
#ifndef DT_NET_CARRIER_H
#define DT_NET_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "base/str.h"

/* A slice: bytes [offset, offset + bytes) of the weights, or of the gradients, which have the
 * same layout. */
typedef struct dt_byte_range {
    int64_t offset, bytes;
} dt_byte_range;
typedef struct dt_byte_ranges {
    int servers;
    /* [servers] number of slices that each server sends and receives */
    const int *n;
    const dt_byte_range *const *slice; /* [servers][n] the slices of each server */
    int64_t bytes;                     /* bytes of the buffer that contains all slices */
    /* Slices of values that never change come last: n_still[s] slices of server s, and the last
     * still_bytes of the buffer. Only a WORK_ALL frame carries them. n_still is NULL if all values
     * may change. */
    const int *n_still; /* [servers] number of each server's slices that never change */
    int64_t still_bytes;
} dt_byte_ranges;

/* Kinds of frames. If a worker needs only some rows of tables, the coordinator first gives it a
 * closure, such as a batch to compute (ASSIGN), the worker requests the rows (WANT), and the WORK
 * frame brings them. The coordinator sends SET, GET, APPLY and PROGRAMS to the tasks of type ps. */
typedef enum dt_frame_kind {
    DT_FRAME_WORK = 1,
    DT_FRAME_PUSH,
    DT_FRAME_ANSWER,
    DT_FRAME_FAILED,
    DT_FRAME_END,
    DT_FRAME_HELLO,
    DT_FRAME_ASSIGN,
    DT_FRAME_WANT,
    DT_FRAME_WORK_ALL,
    DT_FRAME_SET,
    DT_FRAME_GET,
    DT_FRAME_APPLY,
    DT_FRAME_PROGRAMS
} dt_frame_kind;
/* The head of a message. After the head of WORK, WORK_ALL and PUSH, slices follow on every link.
 * After every head, `more` bytes follow on link 0. */
typedef struct dt_frame {
    uint32_t magic, kind;
    /* number: of the closure; HELLO over ZeroMQ: of the worker; SET: an offset; GET: of a variable;
     * END: whether it is only a pause; ANSWER of a task of type ps: depends on the question.
     * version: of the weights; PUSH to a task of type ps: number of the program. */
    int64_t number, version;
    int64_t more;
} dt_frame;
enum { DT_MOST_MORE = 1 << 26 };
/* Writes the `more` bytes of a FAILED frame: the error number as an int32, then the error text.
 * Takes ownership of the error. */
void dt_failure_write(dt_status *why, dt_str *more);
/* Reads what dt_failure_write wrote. `otherwise` is used if the error number is missing or
 * unknown, `text` if the error text is missing. */
dt_status *dt_failure_read(const char *more, int64_t n, dt_error otherwise,
                           const char *text) DT_MUST_USE;

/* A reference-counted copy of the weights, which several links may be sending at the same time. */
typedef struct dt_shared {
    _Atomic int refs;
    _Alignas(64) char data[];
} dt_shared;
dt_status *dt_shared_new(dt_shared **out, int64_t bytes) DT_MUST_USE;
dt_shared *dt_shared_ref(dt_shared *s);
void dt_shared_unref(dt_shared *s); /* drops a reference; s may be NULL */

typedef struct dt_arrival {
    int worker;
    /* gone: the worker is lost, because its link is closed, it sent an invalid message, or there is
     * no memory for its push; came: a separately started process has connected. If either is set,
     * no member but `worker` is valid. */
    bool gone, came;
    dt_frame message;
    /* In a PUSH: the memory with all slices, else NULL. The caller owns it and returns it by
     * dt_carrier_recycle. */
    void *slices;
    char *more; /* the `more` bytes of the frame, followed by a zero byte; owned by the caller */
} dt_arrival;

/* ---- carriers ---- */

typedef struct dt_carrier dt_carrier;
typedef struct dt_carrier_row {
    /* Sends a message to an idle worker. Keeps a reference to the weights, which are NULL if the
     * message has none, until they are sent, and copies the message->more bytes at `more`. */
    void (*give)(dt_carrier *c, int worker, const dt_frame *message, dt_shared *weights,
                 const void *more);
    /* Waits for an arrival, at most until the deadline. Returns false if nothing arrived. */
    bool (*next)(dt_carrier *c, int64_t deadline_ns, dt_arrival *out);
    /* Takes back the `slices` of an arrival, which may be NULL, for use by later arrivals. */
    void (*recycle)(dt_carrier *c, void *slices);
    /* Ends the link to the worker. Messages that have already arrived may still be returned. */
    void (*drop)(dt_carrier *c, int worker);
    /* Sends the worker an error, with which the worker then fails. Takes ownership of the error.
     * NULL: this carrier cannot send errors, and the worker only finds its link closed. */
    void (*refuse)(dt_carrier *c, int worker, dt_status *why);
    /* Closes the carrier. well: sends END to all workers first. Otherwise workers over ZeroMQ find
     * the links closed, and report that the coordinator is gone; workers that the coordinator has
     * started get END in any case. */
    void (*close)(dt_carrier *c, bool well);
} dt_carrier_row;
/* A carrier. Each kind begins its own struct with this one. */
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
/* Closes a carrier (dt_carrier_row.close); c may be NULL. */
static inline void dt_carrier_close(dt_carrier *c, bool well) {
    if (c) c->row->close(c, well);
}

/* ---- links ---- */

typedef struct dt_worker_link dt_worker_link;
typedef struct dt_worker_link_row {
    /* Waits for the next message. WORK and WORK_ALL fill `weights`, and the caller frees *more.
     * After END no message follows. Fails with WORKER_GONE if the other end is gone, with
     * WORKERS_DISAGREE if it sent an invalid message, or with the error that it sent. */
    dt_status *(*pull)(dt_worker_link *l, dt_frame *m, void *weights, char **more);
    dt_status *(*push)(dt_worker_link *l, const dt_frame *m, const void *gradients,
                       const void *more);
    void (*close)(dt_worker_link *l);
} dt_worker_link_row;
typedef struct dt_link_wait {
    double patience_s;
    void (*say)(void *user, const char *line); /* receives a line about a long wait; may be NULL */
    void *user;
} dt_link_wait;
struct dt_worker_link {
    const dt_worker_link_row *row;
    int worker;
    const dt_byte_ranges *slices; /* the layout of weights and gradients in messages; lent */
    /* [servers] the sockets that this process has inherited, one for each server; lent */
    const int *fd;
    /* In a worker that is a program and was started by the coordinator: the coordinator's process
     * id. 0: the worker was forked, or started separately. */
    pid_t coordinator;
    /* The following members are used by links over ZeroMQ; `wait` and longest_s by all links. */
    struct dt_messenger *m;
    int peer;
    dt_link_wait wait;
    const char *address; /* the address on which the other end listens; lent */
    const char *host;    /* what messages call the other end; lent */
    double silence_s;    /* seconds of silence after which the other end counts as lost */
    double longest_s;    /* the longest wait for a message so far, in seconds */
};

static inline dt_status *dt_link_pull(dt_worker_link *l, dt_frame *m, void *weights, char **more) {
    return l->row->pull(l, m, weights, more);
}
static inline dt_status *dt_link_push(dt_worker_link *l, const dt_frame *m, const void *gradients,
                                      const void *more) {
    return l->row->push(l, m, gradients, more);
}
/* Closes a link. Does nothing if all its members are 0 because it was never joined. */
static inline void dt_link_close(dt_worker_link *l) {
    if (l->row) l->row->close(l);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transports between ranks. A fabric is a table of functions. `mpi` connects the processes that
 * mpirun or srun started, `sockets` those that this program started on one machine, and `zmq` those
 * that know where to meet. Ranks form a group and send messages to each other. No rank waits
 * forever: a message that does not come in time, a rank that has left, and a message other than the
 * expected one are errors that name the rank and the expected message.
 *
 *     dt_process_group_open(&group, &dt_fabric_mpi, 0)             every process
 *     dt_process_group_join(group, group->own, 10.0, &member)
 *         dt_tree_all_reduce(member, shards, DT_FLOAT32, item, 1)
 *     dt_member_leave(member)                            ranks that still wait for it see this
 *     dt_process_group_close(group)                                when all have left
 */
#ifndef DT_NET_FABRIC_H
#define DT_NET_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "coll/coll.h"
#include "conf/conf.h"
#include "graph/graph.h"

/* Identifies the collective that a message belongs to, by its number since the group was opened and
 * its properties. Sender and receiver must have equal tags, so values of different collectives are
 * never added by mistake. */
typedef struct dt_tag {
    uint32_t number;
    dt_collective collective;
    int round;
    dt_dtype dtype;
    /* number of elements or bytes that the collective exchanges; the same on all ranks */
    int64_t elements;
    int64_t step; /* number of the training step; 0: the collective is not part of a step */
    char of[40];  /* name of the first value, such as "dense/kernel"; "": the name is unknown */
    /* The flags (dt_member.flags) of all ranks, as far as the sender knows them. Tags are compared
     * without their flags. */
    uint32_t flags;
} dt_tag;

/* A fabric, a row of functions. Each fabric's own structs begin with dt_process_group and
 * dt_member. */
typedef struct dt_fabric dt_fabric;
struct dt_rendezvous;
typedef struct dt_process_group {
    const dt_fabric *fabric;
    int ranks;
    int own;     /* the rank of this process; -1: all ranks are in this process, as in tests */
    bool joined; /* whether this process has joined with its rank */
    /* Whether a rank was lost, or this one ends with an error. Nothing more is then exchanged, and
     * ranks do not wait for each other at the end. */
    bool broken;
} dt_process_group;
typedef struct dt_member { /* A rank's membership in a process group. */
    dt_process_group *group;
    int rank;
    double patience_s; /* seconds to wait for a message */
    /* Called with a line of text during a long wait for a rank; may be NULL. */
    void (*say)(void *user, const char *line);
    void *user;
    uint32_t number; /* number of collectives that this member has taken part in */
    /* The number of the training step for the tags of later collectives; 0: not part of a step. */
    int64_t step;
    /* The name of a collective's first value, for its tag; NULL: the value has no name. */
    const char *of;
    void *room; /* memory for arrays that are exchanged, which each collective uses anew */
    size_t room_bytes;
    /* Up to 8 bits that travel with every sum. A rank sets its own bits. After the next sum of at
     * least one element, they are the bits of all ranks together. */
    uint32_t flags;
    int64_t flag_sums;          /* number of sums so far that have carried the flags */
    struct dt_tree_plan *plans; /* plans of sums that are kept for later (tree.c) */
    int n_plans;
} dt_member;

struct dt_fabric {
    dt_kind kind;
    /* Opens a group: sets `ranks` and `own`. ranks: the expected number; 0: as many as were
     * started. rendezvous: where ranks meet if no launcher has connected them; NULL: a launcher
     * has. */
    dt_status *(*open)(dt_process_group **out, int ranks, const struct dt_rendezvous *rendezvous);
    void (*close)(dt_process_group *t);
    dt_status *(*join)(dt_member **out, dt_process_group *t, int rank, double patience_s);
    void (*leave)(dt_member *m);
    /* Sends without waiting for the receiver. Messages from one rank to another arrive in order. */
    dt_status *(*send)(dt_member *m, int to, const dt_tag *tag, const void *bytes, size_t n);
    /* Waits until the caller may change the bytes that it has sent. NULL: `send` copies them, so
     * there is nothing to wait for. */
    dt_status *(*settle)(dt_member *m);
    /* Waits for the next message of rank `from`, which must have this tag and size. Adds the flags
     * of the message to m->flags. */
    dt_status *(*recv)(dt_member *m, int from, const dt_tag *tag, void *bytes, size_t n);
};

extern const dt_fabric dt_fabric_mpi, dt_fabric_sockets, dt_fabric_zmq;
/* The environment variable of dt_fabric_sockets that describes a worker to itself: "RANK FD FD
 * ...", with a socket's descriptor for each rank and "-" for the worker's own rank. */
#define DT_SOCKETS_VARIABLE "DTRAIN_WORKER"
enum { DT_SOCKETS_RANKS = 64 };

dt_status *dt_process_group_open(dt_process_group **out, const dt_fabric *f, int ranks) DT_MUST_USE;
/* Opens a group of processes that no launcher has connected (rendezvous.h). Fails
 * like dt_rendezvous_hold. */
dt_status *dt_process_group_meet(dt_process_group **out, const dt_fabric *f,
                                 const struct dt_rendezvous *rendezvous) DT_MUST_USE;
/* Closes a group, after all members have left; t may be NULL. */
void dt_process_group_close(dt_process_group *t);
/* Joins the group as `rank`. Fails with WORKERS_DISAGREE if the group has no such rank or the rank
 * has joined already, or like dt_member_recv. A member may be used by one thread only. */
dt_status *dt_process_group_join(dt_process_group *t, int rank, double patience_s,
                                 dt_member **out) DT_MUST_USE;
void dt_member_leave(dt_member *m); /* leaves the group; m may be NULL */

/* Send and receive a message. Both fail with WORKER_LATE, WORKER_GONE or WORKERS_DISAGREE; over
 * ZeroMQ also with MESSAGES or NO_MEMORY. The bytes to send must not change before
 * dt_member_settle. */
dt_status *dt_member_send(dt_member *m, int to, const dt_tag *tag, const void *bytes,
                          size_t n) DT_MUST_USE;
dt_status *dt_member_recv(dt_member *m, int from, const dt_tag *tag, void *bytes,
                          size_t n) DT_MUST_USE;

dt_status *dt_member_settle(dt_member *m) DT_MUST_USE;

/* ---- helpers for the implementations of fabrics ---- */

/* Allocates a member of `bytes` bytes. It begins with a dt_member for the rank of this process; the
 * rest is zeroed. Fails with WORKERS_DISAGREE for another rank, or if the rank has joined
 * already. */
dt_status *dt_member_make(dt_member **out, dt_process_group *t, int rank, double patience_s,
                          size_t bytes) DT_MUST_USE;

bool dt_tag_same(const dt_tag *a, const dt_tag *b);
/* Returns a WORKERS_DISAGREE error that describes both messages: the awaited one of n bytes, and
 * the one of `bytes` bytes that arrived instead. */
dt_status *dt_tags_differ(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                          const dt_tag *came, size_t bytes) DT_MUST_USE;
/* Returns the error for a message that did not come: WORKER_LATE if `late`, otherwise
 * WORKER_GONE. */
dt_status *dt_message_missing(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                              bool late) DT_MUST_USE;

/* ---- collectives, and what they use ---- */

/* One of several values that are summed together. `parts` has the nodes of the summation tree that
 * this worker has summed, as tree_part makes them (op/workers.h), with shape (rows, nodes, width).
 * `sum` has shape (rows, width). */
typedef struct dt_tree_item {
    const void *parts;
    void *sum;
    int64_t rows, width;
} dt_tree_item;
/* Computes a += b for n elements, as collectives do. Returns false if the type cannot be summed. */
bool dt_array_add(dt_dtype dtype, void *a, const void *b, int64_t n);

/* Sums values over all workers. Rank r holds the shards that dt_shards_of_worker gives it. The
 * result equals tree_sum over all shards bit by bit. Fails like dt_member_send and dt_member_recv,
 * with SCHEDULE if values of the dtype cannot be summed, or with NO_MEMORY. */
dt_status *dt_tree_all_reduce(dt_member *m, int32_t shards, dt_dtype dtype,
                              const dt_tree_item *item, int n) DT_MUST_USE;
void dt_tree_plans_release(dt_member *m);
/* Makes m->room at least this large, or fails with NO_MEMORY. The memory stays allocated for later
 * collectives. */
dt_status *dt_member_room(dt_member *m, size_t bytes) DT_MUST_USE;

/* One of several values that are divided among the ranks by rows, as dt_worker_rows_begin
 * (op/workers.h) divides them. */
typedef struct dt_rows_item {
    const void *own;
    void *whole;
    int64_t rows; /* number of rows of the whole value */
    size_t row_bytes;
} dt_rows_item;
/* fabric.c: collects every rank's rows into each item's `whole`, on every rank. Fails like
 * dt_member_send and dt_member_recv, or with NO_MEMORY. */
dt_status *dt_rows_all_gather(dt_member *m, const dt_rows_item *item, int n) DT_MUST_USE;

/* Collects bytes on rank 0: n[r] bytes from each rank r, in rank order, into all[]. */
dt_status *dt_member_collect(dt_member *m, const void *own, const size_t *n, void *all) DT_MUST_USE;
/* Collects bytes as dt_member_collect does, but on every rank. */
dt_status *dt_member_spread(dt_member *m, const void *own, const size_t *n, void *all) DT_MUST_USE;
/* Collects n bytes of every rank, in rank order, into all[ranks * n] on every rank. */
dt_status *dt_member_gather(dt_member *m, const void *own, size_t n, void *all) DT_MUST_USE;

#endif

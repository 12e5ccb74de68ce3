/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transports between ranks. A fabric is a row of functions; `mpi` joins the processes that mpirun
 * or srun started, `sockets` those that this program started on one machine, `zmq` those that know
 * each other's addresses. Ranks form a team and exchange messages in pairs. No rank waits for ever:
 * a message that does not come in time, a rank that has left, and a message other than the expected
 * one are errors that name the rank and the expected message.
 *
 *     dt_team_open(&team, &dt_fabric_mpi, 0)             every process
 *     dt_team_join(team, team->own, 10.0, &member)
 *         dt_tree_all_reduce(member, shards, DT_FLOAT32, item, 1)
 *     dt_member_leave(member)                            ranks that still wait for it see this
 *     dt_team_close(team)                                when all have left
 */
#ifndef DT_NET_FABRIC_H
#define DT_NET_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "coll/coll.h"
#include "conf/conf.h"
#include "graph/graph.h"

/* What a message is part of: the number of the collective since the team was opened, and its
 * properties. Sender and receiver must have equal tags, so that values of different collectives are
 * detected and never added. */
typedef struct dt_tag {
    uint32_t number;
    dt_collective collective;
    int round;
    dt_dtype dtype;
    int64_t elements; /* of the whole array */
    int64_t step;     /* of training; 0: of none */
    char of[40];      /* the first of the values: "dense/kernel"; "": unknown */
    uint32_t flags;   /* all ranks' dt_member.flags, as far as the sender knows; not compared */
} dt_tag;

/* A fabric's own structs begin with these. */
typedef struct dt_fabric dt_fabric;
struct dt_rendezvous;
typedef struct dt_team {
    const dt_fabric *fabric;
    int ranks;
    int own; /* the rank of this process; -1: all ranks are in it */
    /* a rank was lost, or this one ends with an error: nothing more is exchanged, and ranks do not
     * wait for each other at the end */
    bool broken;
} dt_team;
typedef struct dt_member { /* dt_env has one */
    dt_team *team;
    int rank;
    double patience_s; /* how long it waits for a message */
    /* called with a message while it waits for a silent rank; may be NULL */
    void (*say)(void *user, const char *line);
    void *user;
    uint32_t number; /* collectives run so far */
    int64_t step;    /* for the tags of those to come */
    const char *of;  /* likewise; NULL: "" */
    void *room;      /* for arrays that are exchanged, kept from one collective to the next */
    size_t room_bytes;
    /* Bits that travel with every sum: a rank sets its own, and after the next sum of at least one
     * element each has those of all. 8 bits. */
    uint32_t flags;
    int64_t flag_sums;          /* sums so far that carried them */
    struct dt_tree_plan *plans; /* of tree.c */
    int n_plans;
} dt_member;

struct dt_fabric {
    dt_kind kind;
    /* Sets ranks and own; ranks 0: as many as were started. rendezvous: where ranks that no launcher
     * has connected find each other; NULL: nowhere. */
    dt_status *(*open)(dt_team **out, int ranks, const struct dt_rendezvous *rendezvous);
    void (*close)(dt_team *t);
    dt_status *(*join)(dt_member **out, dt_team *t, int rank, double patience_s);
    void (*leave)(dt_member *m);
    /* Does not wait for the receiver. Messages of a pair arrive in order. */
    dt_status *(*send)(dt_member *m, int to, const dt_tag *tag, const void *bytes, size_t n);
    /* Waits until all bytes sent so far may be changed; NULL: `send` copies. */
    dt_status *(*settle)(dt_member *m);
    /* Waits, asleep, until the next message of `from` is there, which must have this tag and
     * size. Adds its flags to m->flags. */
    dt_status *(*recv)(dt_member *m, int from, const dt_tag *tag, void *bytes, size_t n);
};

extern const dt_fabric dt_fabric_mpi, dt_fabric_sockets, dt_fabric_zmq;
/* The environment variable that a process sets for each worker that it starts, for
 * dt_fabric_sockets: "RANK FD FD ...", a descriptor for each rank, - for its own. */
#define DT_SOCKETS_VARIABLE "DTRAIN_WORKER"
enum { DT_SOCKETS_RANKS = 64 };

dt_status *dt_team_open(dt_team **out, const dt_fabric *f, int ranks) DT_MUST_USE;
/* The same for processes that no launcher has connected (rendezvous.h). Errors of dt_rendezvous_hold. */
dt_status *dt_team_meet(dt_team **out, const dt_fabric *f,
                        const struct dt_rendezvous *rendezvous) DT_MUST_USE;
void dt_team_close(dt_team *t); /* takes NULL; no member may be left in it */
/* WORKERS_DISAGREE: there is no such rank, or it has joined already. A member belongs to one
 * thread. */
dt_status *dt_team_join(dt_team *t, int rank, double patience_s, dt_member **out) DT_MUST_USE;
void dt_member_leave(dt_member *m); /* takes NULL */

/* WORKER_LATE, WORKER_GONE, WORKERS_DISAGREE. Do not change sent bytes before dt_member_settle. */
dt_status *dt_member_send(dt_member *m, int to, const dt_tag *tag, const void *bytes,
                          size_t n) DT_MUST_USE;
dt_status *dt_member_recv(dt_member *m, int from, const dt_tag *tag, void *bytes,
                          size_t n) DT_MUST_USE;

dt_status *dt_member_settle(dt_member *m) DT_MUST_USE;

/* ---- for fabrics ---- */

bool dt_tag_same(const dt_tag *a, const dt_tag *b);
/* WORKERS_DISAGREE with both sides: a message of n bytes was awaited from a rank, and another
 * came. */
dt_status *dt_tags_differ(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                          const dt_tag *came, size_t bytes) DT_MUST_USE;
/* WORKER_LATE, or WORKER_GONE where the rank is gone. */
dt_status *dt_message_missing(const dt_member *m, int from, const dt_tag *awaited, size_t n,
                              bool late) DT_MUST_USE;

/* ---- collectives ---- */

/* One of several values that are summed together: nodes of a tree (op/workers.h) as tree_part makes
 * them, (rows, nodes, width) -> (rows, width). */
typedef struct dt_tree_item {
    const void *parts;
    void *sum;
    int64_t rows, width;
} dt_tree_item;
/* a += b, as collectives add. False: the dtype cannot be summed. */
bool dt_array_add(dt_dtype dtype, void *a, const void *b, int64_t n);

/* ---- sums by the tree of `reproducible` (tree.c) ---- */

/* Sums over the workers, where rank r of n has the shards of dt_shards_of_worker. The sums have the
 * bits of tree_sum over all shards. Errors of send and recv. */
dt_status *dt_tree_all_reduce(dt_member *m, int32_t shards, dt_dtype dtype,
                              const dt_tree_item *item, int n) DT_MUST_USE;
void dt_tree_plans_release(dt_member *m);
/* Room for so many bytes that are exchanged, m->room, kept for the next ones. */
dt_status *dt_member_room(dt_member *m, size_t bytes) DT_MUST_USE;

/* One of several values that ranks hold in parts: rows of dimension 0, as dt_worker_rows_begin
 * divides them (op/workers.h). */
typedef struct dt_rows_item {
    const void *own;
    void *whole;
    int64_t rows; /* of all */
    size_t row_bytes;
} dt_rows_item;
/* Every rank's rows into each item's whole. Errors of send and recv. rows.c */
dt_status *dt_rows_all_gather(dt_member *m, const dt_rows_item *item, int n) DT_MUST_USE;

/* The bytes of all ranks, n[r] of rank r, to rank 0 alone, one after the other into its all[]. */
dt_status *dt_member_collect(dt_member *m, const void *own, const size_t *n, void *all) DT_MUST_USE;
/* The same into every rank's all[]. */
dt_status *dt_member_spread(dt_member *m, const void *own, const size_t *n, void *all) DT_MUST_USE;
/* Every rank's n bytes, in the order of ranks, into all[ranks * n]. */
dt_status *dt_member_gather(dt_member *m, const void *own, size_t n, void *all) DT_MUST_USE;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as schedules: which rank sends which chunk to whom in which round. Pure data, made by
 * a function of the number of ranks: it is run (fabric/run.h) without anybody knowing the
 * algorithm. What it costs on links is known without writing it out (coll/exchange.h).
 *
 * A buffer is cut into chunks. An algorithm says one thing only, how an all-gather moves them; the
 * rest follows:
 *
 *     all-gather       each chunk spreads from its owner to all
 *     reduce-scatter   the same backwards: contributions run together at the owner, added on the
 *                      way
 *     all-reduce       reduce-scatter, then all-gather: every chunk is summed once, in one order,
 *                      so all ranks get the same bits
 *
 * The order of additions is fixed by the schedule, never by who is faster.
 */
#ifndef DT_COLL_COLL_H
#define DT_COLL_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "topo/topo.h"

enum { DT_COLORS = 6 };
#define DT_SCHEDULE_RANKS 1024 /* schedules are written out in full: the ring's has ranks^2 moves */

typedef enum dt_collective {
    DT_ALL_GATHER,
    DT_REDUCE_SCATTER,
    DT_ALL_REDUCE,
    DT_ALL_TO_ALL, /* everyone has something for everyone */
    /* each rank sends to the next one, the last to nobody; of two ranks: a transfer */
    DT_COLLECTIVE_PERMUTE,
    DT_COLLECTIVE_BROADCAST, /* what rank 0 has goes to all */
} dt_collective;
enum { DT_COLLECTIVES = DT_COLLECTIVE_BROADCAST + 1 };
const char *dt_collective_name(dt_collective c); /* "all_reduce" */

/* Chunks first .. first + chunks - 1 of `from` arrive at `to`: they replace its own, or are added
 * to them. What is sent is what `from` had before the round. */
typedef struct dt_move {
    int round;
    int from, to; /* ranks */
    int first, chunks;
    bool add;
    int color, phase; /* colours wait for each other between phases only: see coll/torus.h */
} dt_move;

/* The same from a rank's side. In a round a rank sends first, then receives. */
typedef enum dt_action_kind { DT_ACTION_SEND, DT_ACTION_RECV, DT_ACTION_REDUCE } dt_action_kind;
typedef struct dt_action {
    dt_action_kind kind;
    int round, peer, first, chunks;
} dt_action;

/* A row of the table of algorithms: coll/algorithms.h. */
typedef struct dt_moves dt_moves;
typedef struct dt_algorithm {
    const char *name; /* "ring" */
    const char *about;
    int chunks; /* per rank */
    bool powers_of_two_only;
    /* the moves of an all-gather, round by round; chunks i * chunks .. belong to rank i */
    void (*gather)(int ranks, dt_moves *out);
} dt_algorithm;

const dt_algorithm *const *dt_algorithms(int *n);
const dt_algorithm *dt_algorithm_find(const char *name); /* NULL: none */

typedef struct dt_schedule {
    char name[48]; /* "ring" */
    dt_collective collective;
    /* one message for each pair that exchanges anything: no round is there to hide the way of
     * the first byte */
    bool direct;
    int ranks, chunks, rounds;
    int colors; /* 1 at least */
    /* [chunks]: who has the chunk before an all-gather, all_to_all or broadcast, and after a
     * reduce-scatter; all_to_all: chunk i * ranks + j goes from rank i to rank j;
     * collective_permute: each rank has its own only chunk */
    int *owner;
    dt_move *move; /* by round */
    int moves;
    dt_action *action; /* by rank, then by round */
    int *begin;        /* [ranks + 1]: rank r's are action[begin[r]] .. action[begin[r + 1] - 1] */
} dt_schedule;

typedef struct dt_schedule_spec {
    dt_collective collective;
    const dt_algorithm *algorithm;
    int ranks;
    /* the rank at each position of the ring (dt_assignment_ring); NULL: 0, 1, 2, ... */
    const int *order;
} dt_schedule_spec;
/* all_gather, reduce_scatter, all_reduce. SCHEDULE: the algorithm does not exist for so many
 * ranks. */
dt_status *dt_schedule_create(dt_schedule **out, const dt_schedule_spec *spec) DT_MUST_USE;
void dt_schedule_destroy(dt_schedule *s); /* takes NULL */
/* Where chunk c of a buffer of n elements begins; chunk s->chunks begins at n. Chunks differ by at
 * most one element. */
int64_t dt_chunk_begin(const dt_schedule *s, int64_t n, int c);

/* ---- price ---- */

/* What a schedule runs on: ranks sit at places of a topology whose chips are linked. */
typedef struct dt_wires {
    const dt_topology *topology;
    const int *place; /* [ranks][4]: coordinates */
    double link_Bps;  /* a link, one way */
    double hop_s;     /* latency of a link */
    double chip_Bps;  /* between cores of a chip; 0: free */
    int groups; /* that do the same at the same time, their places one after the other; 0: one */
} dt_wires;
/* The wires of a slice's chips, ideal ones; cores of one chip exchange over the link between them,
 * or else through its HBM, once in and once out. */
dt_wires dt_wires_of(const dt_topology *t, const int *place);

typedef struct dt_wire_price {
    double seconds;
    double latency_s;    /* of the first byte's way: what nothing at all would cost */
    double busiest_link; /* bytes over the one that carries most, one way */
    double way[3][2]; /* the same of the links along x, y and z, [1] towards larger coordinates */
} dt_wire_price;

#endif

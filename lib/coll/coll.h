/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as lists of moves: in each round, which rank sends which chunk to which rank. An
 * algorithm is a function that writes the moves of an all-gather for a number of ranks. The costs
 * of two other collectives (coll/exchange.h) follow from them:
 *
 *     all-gather       each chunk spreads from its owner to all ranks
 *     reduce-scatter   the same moves backwards: contributions are added on their way to the owner
 *     all-reduce       a reduce-scatter, then an all-gather
 *
 * Nothing here moves data: workers compute sums with the tree of op/workers.h.
 */
#ifndef DT_COLL_COLL_H
#define DT_COLL_COLL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "topo/topo.h"

enum { DT_COLORS = 6 };

typedef enum dt_collective {
    DT_ALL_GATHER,
    DT_REDUCE_SCATTER,
    DT_ALL_REDUCE,
    DT_ALL_TO_ALL,           /* each rank sends a chunk to each other rank */
    DT_COLLECTIVE_PERMUTE,   /* each rank but the last sends to the next one */
    DT_COLLECTIVE_BROADCAST, /* rank 0 sends its chunk to all */
} dt_collective;
enum { DT_COLLECTIVES = DT_COLLECTIVE_BROADCAST + 1 };
/* Returns the collective's name, such as "all_reduce". */
const char *dt_collective_name(dt_collective c);

/* In a round, chunks first .. first + chunks - 1 of rank `from` replace those of rank `to`. A rank
 * sends the chunks that it had before the round. */
typedef struct dt_move {
    int round;
    int from, to; /* the ranks that send and receive, in [0, ranks) */
    int first, chunks;
} dt_move;

/* A growing list of moves; the caller frees `at`. */
typedef struct dt_moves {
    dt_move *at;
    int n, cap;
} dt_moves;
void dt_moves_add(dt_moves *m, dt_move move);

/* An algorithm for an all-gather, in the table in coll/algorithms.c, or for an all-to-all, in
 * coll/torus.c. */
typedef struct dt_algorithm {
    const char *name; /* name of an algorithm in the table, such as "ring" */
    int chunks;       /* number of chunks per rank */
    /* Appends the moves to *out, round by round. Rank i owns chunks i * chunks to (i + 1) * chunks
     * - 1. */
    void (*gather)(int ranks, dt_moves *out);
} dt_algorithm;

/* Returns the algorithm of that name; NULL: no algorithm has it. */
const dt_algorithm *dt_algorithm_find(const char *name);

/* ---- cost ---- */

/* The hardware that a collective runs on: ranks at coordinates of a topology whose chips are
 * linked, and the rates of the links. */
typedef struct dt_wires {
    const dt_topology *topology;
    /* [groups][ranks][4] the coordinates of each rank: x, y, z of its chip, and the core */
    const int *place;
    double link_Bps; /* bytes per second of a link in one direction */
    double hop_s;    /* latency of a link in seconds */
    /* bytes per second between the cores of a chip; 0: such messages cost nothing */
    double chip_Bps;
    /* number of groups that run the same collective at the same time; 0 means 1 */
    int groups;
} dt_wires;
/* Returns the wires of a slice's chips, with nominal rates and `groups` 0; t->slice must not be
 * NULL, and `place` is not copied. Cores of a chip exchange data over the link between them or,
 * without one, through HBM, with one write and one read: at half of the chip's HBM bandwidth. */
dt_wires dt_wires_of(const dt_topology *t, const int *place);

typedef struct dt_wire_price {
    double seconds;
    double latency_s;    /* seconds that the collective takes for an empty buffer */
    double busiest_link; /* number of bytes that the busiest link carries in one direction */
    /* bytes over the busiest link along x, y and z in each direction; [1]: that of larger
     * coordinates */
    double way[3][2];
} dt_wire_price;

#endif

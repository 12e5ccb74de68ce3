/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives as lists of moves: in each round, which rank sends which chunk to which rank. An
 * algorithm is a function that writes the moves of an all-gather for a number of ranks. The prices
 * of other collectives on links (coll/exchange.h) follow from them:
 *
 *     all-gather       each chunk spreads from its owner to all ranks
 *     reduce-scatter   the same moves backwards: contributions are added on their way to the owner
 *     all-reduce       a reduce-scatter, then an all-gather
 *
 * Nothing here moves data: workers add by the tree of op/workers.h.
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
    DT_ALL_TO_ALL,           /* each rank has a chunk for each other rank */
    DT_COLLECTIVE_PERMUTE,   /* each rank but the last sends to the next one */
    DT_COLLECTIVE_BROADCAST, /* rank 0 sends its chunk to all */
} dt_collective;
enum { DT_COLLECTIVES = DT_COLLECTIVE_BROADCAST + 1 };
const char *dt_collective_name(dt_collective c); /* "all_reduce" */

/* Chunks first .. first + chunks - 1 of rank `from` replace those of rank `to`. A rank sends what
 * it had before the round. */
typedef struct dt_move {
    int round;
    int from, to; /* ranks */
    int first, chunks;
} dt_move;

/* A row of the table of algorithms: coll/algorithms.h. */
typedef struct dt_moves dt_moves;
typedef struct dt_algorithm {
    const char *name; /* "ring" */
    int chunks;       /* per rank */
    /* Writes the moves of an all-gather, round by round. Rank i owns the chunks i * chunks and
     * following. */
    void (*gather)(int ranks, dt_moves *out);
} dt_algorithm;

const dt_algorithm *dt_algorithm_find(const char *name); /* NULL: no algorithm has that name */

/* ---- price ---- */

/* The hardware that a collective runs on: ranks at coordinates of a topology whose chips are
 * linked. */
typedef struct dt_wires {
    const dt_topology *topology;
    const int *place; /* [ranks][4]: coordinates */
    double link_Bps;  /* bytes per second of a link in one direction */
    double hop_s;     /* latency of a link */
    double chip_Bps;  /* between cores of a chip; 0: free */
    /* number of groups that run the same collective at the same time, whose coordinates follow one
     * another in `place`; 0 means 1 */
    int groups;
} dt_wires;
/* The wires of a slice's chips at nominal rates. Cores of one chip exchange over the link between
 * them, or if there is none through HBM, one write and one read. */
dt_wires dt_wires_of(const dt_topology *t, const int *place);

typedef struct dt_wire_price {
    double seconds;
    double latency_s;    /* latency of the first byte: the cost of an empty message */
    double busiest_link; /* bytes over the one that carries most, one way */
    /* the same for the links along x, y and z; [1]: towards larger coordinates */
    double way[3][2];
} dt_wire_price;

#endif

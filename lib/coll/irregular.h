/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of exchanges between ranks at any coordinates. Messages of all groups are routed and
 * counted on their links. */
#ifndef DT_COLL_IRREGULAR_H
#define DT_COLL_IRREGULAR_H

#include "coll/exchange.h"
#include "coll/grid.h"

/* Returns the cost of an all-gather, reduce-scatter or all-reduce along a ring through the ranks of
 * each group. both: chunks travel in both directions; false: in one. */
dt_wire_price dt_ring_cost(const dt_collective_request *x, bool both, const dt_wires *wires);
/* Returns the cost of the same collectives by Bruck's algorithm: in round k, from 0, every rank
 * sends to the rank 2^k before it all that it has and the other lacks, in log2(ranks) rounds,
 * rounded up. It is fast for few bytes. A reduce-scatter runs in reverse, at the same cost. */
dt_wire_price dt_doubling_cost(const dt_collective_request *x, const dt_wires *wires);
/* Returns the cost of messages sent directly from rank to rank: all_to_all, collective_permute. */
dt_wire_price dt_direct_cost(const dt_collective_request *x, const dt_wires *wires);
/* Returns the cost of a broadcast of rank 0's buffer in pieces, down a tree: along the first axis
 * of the grid, then from all ranks there along the second, and so on; without a grid (NULL), from
 * rank to rank in both directions. *pieces becomes the time of the whole buffer on the busiest link
 * or chip divided by the latency of the longest step of the tree, rounded down, in [1, 1e6];
 * without latency 1. The time is (depth of the tree + pieces - 1) times the longer of a piece's
 * time and the latency: rounds in which the tree fills are counted like full ones. */
dt_wire_price dt_spread_cost(const dt_collective_request *x, const dt_grid *grid,
                             const dt_wires *wires, int *pieces);

/* The last step of a broadcast on its way to a rank. */
typedef struct dt_branch {
    int depth;      /* number of steps from rank 0 to the rank, this one included */
    dt_coords from; /* coordinates of the core that sends to the rank */
} dt_branch;
dt_branch dt_branch_to(const dt_collective_request *x, const dt_grid *grid, int group, int rank);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of exchanges between ranks at any coordinates. Every message of all groups is routed
 * and counted on its links. */
#ifndef DT_COLL_IRREGULAR_H
#define DT_COLL_IRREGULAR_H

#include "coll/exchange.h"
#include "coll/grid.h"

/* All-gather, reduce-scatter or all-reduce along a ring through the ranks of each group, one way or
 * both ways round. */
dt_wire_price dt_ring_cost(const dt_exchange *x, bool both, const dt_wires *wires);
/* The same by Bruck's algorithm: in round k every rank sends all it has to the rank 2^k before it,
 * for log2(ranks) rounds, rounded up. Fast for few bytes. A reduce-scatter goes the other way, at
 * the same price. */
dt_wire_price dt_doubling_cost(const dt_exchange *x, const dt_wires *wires);
/* Messages sent directly from rank to rank: all_to_all, collective_permute. */
dt_wire_price dt_direct_cost(const dt_exchange *x, const dt_wires *wires);
/* Broadcast of rank 0's buffer in pieces, down a tree: along the first axis of the grid, from all
 * ranks there along the second, and so on; without a grid (NULL) from rank to rank both ways.
 * *pieces is chosen so that the first piece's way down costs as much as sending one piece. Rounds
 * while the tree fills are counted as full ones. */
dt_wire_price dt_spread_cost(const dt_exchange *x, const dt_grid *grid, const dt_wires *wires,
                             int *pieces);

/* The last step on the way down that tree to a rank. */
typedef struct dt_branch {
    int depth; /* steps from rank 0 */
    dt_coords from;
} dt_branch;
dt_branch dt_branch_to(const dt_exchange *x, const dt_grid *grid, int group, int rank);

#endif

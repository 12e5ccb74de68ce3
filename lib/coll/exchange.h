/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a collective, given the places of the groups that run it. Other rooms use this
 * header only. All groups run at the same time, so they contend for links.
 *
 * Groups that are grids (coll/grid.h) use the axes of the torus, by the schedule that is fastest
 * for so many bytes (coll/torus.h). Others use a ring through their places, in the order of their
 * ranks, or doubling distances, whichever is faster, with contention counted link by link
 * (coll/irregular.h). Moves are never listed, so thousands of chips are priced within two
 * milliseconds.
 *
 * There are three prices. `seconds` is that of real hardware: links at their measured efficiency,
 * and the time to start. `ideal_s` is the fastest schedule on perfect links. `textbook_s` is the
 * rule of the book "How to Scale Your Model", which takes every axis for a long ring: max(hops, V
 * / (2 w n)).
 */
#ifndef DT_COLL_EXCHANGE_H
#define DT_COLL_EXCHANGE_H

#include "coll/coll.h"

typedef struct dt_exchange {
    const dt_topology *topology; /* topology of a slice */
    dt_collective collective;
    int groups, ranks; /* ranks: of a group */
    const int *place;  /* [groups][ranks][4]: coordinates */
    /* of one group's whole buffer: the gathered or reduced array; all_to_all: all that one group
     * holds; collective_permute and collective_broadcast: what one rank sends */
    double bytes;
} dt_exchange;

typedef struct dt_exchange_price {
    double seconds;
    double ideal_s, textbook_s;
    double latency_s;    /* the part of `seconds` that an empty message costs */
    double busiest_link; /* bytes one way over the link that carries most, all groups together */
    /* the same for the links along x, y and z; [1]: towards larger coordinates */
    double way[3][2];
    /* name of the algorithm that was chosen: "torus 6 colours 3 phases", "line"; "" where
     * nothing is sent */
    char schedule[48];
} dt_exchange_price;

void dt_exchange_price_of(const dt_exchange *x, dt_exchange_price *out);

#endif

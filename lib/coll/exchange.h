/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a collective, given the coordinates of the ranks of all groups that run it. Files
 * outside of lib/coll use this header and coll/coll.h only. All groups run at the same time, so
 * they contend for links.
 *
 * For an all-gather, reduce-scatter or all-reduce, groups that are grids (coll/grid.h) use the axes
 * of the torus, by the schedule that is fastest for so many bytes (coll/torus.h). Other groups use
 * a ring through their ranks in ascending order, in one direction or both, or doubling distances,
 * whichever is fastest, with contention counted link by link (coll/irregular.h). An all-to-all and
 * a permute send direct messages, and a broadcast goes down a tree. For the first three, on grids,
 * moves are listed for one row of chips at most, so the cost for thousands of chips is computed
 * within milliseconds. On a cluster of hosts, all collectives work in two tiers, inside hosts and
 * between them (exchange.c).
 *
 * There are three costs. `seconds` is for real hardware: links at their measured efficiency, plus
 * the time to start. `ideal_s` is for the fastest schedule on perfect links, without the time to
 * start. `textbook_s` follows the rule of the book "How to Scale Your Model", which treats every
 * axis as a long ring: an all-gather of V bytes over n axes takes max(hops * hop_s, V / (2 w n)) if
 * a link carries w bytes per second in each direction; hops is the sum over the axes of half the
 * group's ranks along each. For a permute, for a broadcast, and for groups within a chip or without
 * the form of a grid, it is ideal_s; on a cluster all three are equal.
 */
#ifndef DT_COLL_EXCHANGE_H
#define DT_COLL_EXCHANGE_H

#include "coll/coll.h"

typedef struct dt_collective_request {
    const dt_topology *topology; /* topology of the slice */
    dt_collective collective;
    int groups, ranks; /* groups: number of groups; ranks: number of ranks in each */
    const int *place;  /* [groups][ranks][4] the coordinates of each rank */
    /* The size of the whole buffer of a group: of the gathered or reduced array; for all_to_all of
     * all that the group holds; for collective_permute and collective_broadcast of what one rank
     * sends. */
    double bytes;
} dt_collective_request;

typedef struct dt_exchange_price {
    double seconds;
    double ideal_s, textbook_s;
    /* the seconds that the collective takes for an empty buffer, with the time to start; at most
     * `seconds` */
    double latency_s;
    /* The number of bytes of all groups, in one direction, over the link that carries the most. */
    double busiest_link;
    /* the same number for links along x, y and z in each direction, 0 on a cluster of hosts; [1]:
     * that of larger coordinates */
    double way[3][2];
    /* The algorithm that was chosen: "torus 6 colours 3 phases", "line"; "": nothing is sent. */
    char schedule[48];
} dt_exchange_price;

/* Computes the cost of the collective. All of *out is 0 if a group has fewer than two ranks, or
 * there are no groups or no bytes. */
void dt_exchange_price_of(const dt_collective_request *x, dt_exchange_price *out);

/*
 * The data-centre network between slices. Every chip has a share of its rate (dt_chip.dcn_Bps) and
 * sends directly to the chips with the same coordinates in other slices. The network is slow, so an
 * all-reduce over several slices sends little over it: the reduce-scatter and the all-gather use
 * the links of each slice, and in between each chip reduces only its part, V / chips, over the
 * network.
 *
 * Writes the time in seconds of a collective between the chips at the same coordinates of `slices`
 * slices, not counting that it may overlap with other work. `bytes` is the size of each chip's
 * buffer (for an all-gather, of the gathered buffer). The time is 0 for fewer than two slices or no
 * bytes. Returns false, with *seconds 0, if something must be sent and the rate of the network
 * (dcn_Bps) is unknown.
 */
bool dt_dcn_price(const dt_chip *chip, int slices, dt_collective c, double bytes, double *seconds);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-way ring: chunks travel both ways round and meet half-way, so that both directions of every
 * link are used and the route is half as long. Each rank owns two chunks; with an even number of
 * ranks, the rank on the opposite side gets one chunk from each direction:
 *
 *     4 ranks, chunks of rank 0:    0 --ab--> 1 --a--> 2
 *                                   0 --ab--> 3 --b--> 2
 *
 * N / 2 rounds, bytes * (N - 1) / N / 2 over every link in each direction.
 */
#include "coll/moves.h"

static void gather(int ranks, dt_moves *out) {
    /* number of hops of a rank's two chunks in one direction */
    const int far = ranks / 2, near = (ranks - 1) / 2;
    for (int hop = 1; hop <= far; hop++) {
        const int both = hop <= near ? 2 : 1;
        for (int to = 0; to < ranks; to++) {
            int behind = (to - hop + ranks) % ranks, ahead = (to + hop) % ranks;
            dt_moves_add(out, (dt_move){.round = hop - 1,
                                        .from = (to + ranks - 1) % ranks,
                                        .to = to,
                                        .first = 2 * behind,
                                        .chunks = both});
            dt_moves_add(out, (dt_move){.round = hop - 1,
                                        .from = (to + 1) % ranks,
                                        .to = to,
                                        .first = 2 * ahead + 2 - both,
                                        .chunks = both});
        }
    }
}

const dt_algorithm dt_algorithm_two_way_ring = {
    .name = "two_way_ring",
    .chunks = 2,
    .gather = gather,
};

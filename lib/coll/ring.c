/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring: each rank passes to the next rank what it got from the previous one. All-gather of 4
 * ranks, chunks named by their owners:
 *
 *               0       1       2       3
 *     start     a . . . . b . . . . c . . . . d
 *     round 1   a . . d a b . . . b c . . . c d
 *     round 2   a . c d a b . d a b c . . b c d
 *     round 3   a b c d a b c d a b c d a b c d
 *
 * There are ranks - 1 rounds. In each, one chunk passes over every link of the ring, in one
 * direction. The total time is bytes * (N - 1) / N / link. The reduce-scatter is this in reverse,
 * so it goes round in the other direction.
 */
#include "coll/moves.h"

static void gather(int ranks, dt_moves *out) {
    for (int round = 0; round < ranks - 1; round++)
        for (int to = 0; to < ranks; to++)
            dt_moves_add(out, (dt_move){.round = round,
                                        .from = (to + ranks - 1) % ranks,
                                        .to = to,
                                        .first = (to - 1 - round + 2 * ranks) % ranks,
                                        .chunks = 1});
}

const dt_algorithm dt_algorithm_ring = {
    .name = "ring",
    .chunks = 1,
    .gather = gather,
};

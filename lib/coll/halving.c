/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive halving and doubling: partners at distance 1, 2, 4, ... exchange all chunks that they
 * have. All-gather of 4 ranks:
 *
 *               0       1       2       3
 *     start     a . . . . b . . . . c . . . . d
 *     round 1   a b . . a b . . . . c d . . c d      0 <-> 1, 2 <-> 3
 *     round 2   a b c d a b c d a b c d a b c d      0 <-> 2, 1 <-> 3
 *
 * It takes log2(ranks) rounds, the fewest possible, so it is best for small buffers. It sends as
 * many bytes as a ring, but each over more links. In reverse it is recursive halving, which adds in
 * a balanced tree. The number of ranks must be a power of two.
 */
#include "coll/moves.h"

static void gather(int ranks, dt_moves *out) {
    for (int round = 0, size = 1; size < ranks; round++, size *= 2)
        for (int to = 0; to < ranks; to++) {
            int from = to ^ size;
            dt_moves_add(out, (dt_move){.round = round,
                                        .from = from,
                                        .to = to,
                                        .first = from / size * size,
                                        .chunks = size});
        }
}

const dt_algorithm dt_algorithm_halving = {
    .name = "halving",
    .chunks = 1,
    .gather = gather,
};

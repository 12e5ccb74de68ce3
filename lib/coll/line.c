/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line: for ranks in a row whose ends are not linked. Chunks spread from their owner to both sides
 * until they reach the ends:
 *
 *     0   1 <-- b -- ( b ) ...        round 1:  b goes to both neighbours
 *     0 <-- b -- 1                    round 2:  and on
 *
 * ranks - 1 rounds; the link at each end carries N - 1 chunks inwards: bytes * (N - 1) / N / link,
 * as a one-way ring, and no message crosses more than one link.
 */
#include "coll/moves.h"

static void gather(int ranks, dt_moves *out) {
    for (int round = 0; round < ranks - 1; round++)
        for (int to = 0; to < ranks; to++) {
            int left = to - 1 - round, right = to + 1 + round;
            if (left >= 0)
                dt_moves_add(
                    out, (dt_move){
                             .round = round, .from = to - 1, .to = to, .first = left, .chunks = 1});
            if (right < ranks)
                dt_moves_add(
                    out,
                    (dt_move){
                        .round = round, .from = to + 1, .to = to, .first = right, .chunks = 1});
        }
}

const dt_algorithm dt_algorithm_line = {
    .name = "line",
    .chunks = 1,
    .gather = gather,
};

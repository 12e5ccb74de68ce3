/* SPDX-License-Identifier: Apache-2.0 */
/* Algorithms of collectives: each writes the moves of an all-gather and is one row of the table
 * below. */
#include <string.h>

#include "base/arena.h"
#include "coll/coll.h"

void dt_moves_add(dt_moves *m, dt_move move) {
    DT_GROW(m->at, m->cap, m->n + 1);
    m->at[m->n++] = move;
}

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
 * There are N - 1 rounds for N ranks. In each, one chunk passes over every link of the ring, in one
 * direction. The total time of a buffer of `bytes` is bytes * (N - 1) / N / link, where link is its
 * rate in bytes per second. The reduce-scatter is this in reverse, so it goes round in the other
 * direction.
 */
static void gather_ring(int ranks, dt_moves *out) {
    for (int round = 0; round < ranks - 1; round++)
        for (int to = 0; to < ranks; to++)
            dt_moves_add(out, (dt_move){.round = round,
                                        .from = (to + ranks - 1) % ranks,
                                        .to = to,
                                        .first = (to - 1 - round + 2 * ranks) % ranks,
                                        .chunks = 1});
}

/*
 * Two-way ring: chunks travel both ways round and meet half-way, so that both directions of every
 * link are used and the route is half as long. Each rank owns two chunks; with an even number of
 * ranks, the rank on the opposite side gets one chunk from each direction:
 *
 *     4 ranks, chunks of rank 0:    0 --ab--> 1 --a--> 2
 *                                   0 --ab--> 3 --b--> 2
 *
 * N / 2 rounds, rounded down; bytes * (N - 1) / N / 2 over every link in each direction.
 */
static void gather_two_way_ring(int ranks, dt_moves *out) {
    /* near: number of hops that both chunks of a rank travel in each direction; far: number of hops
     * of the chunk that travels farthest, which with an even number of ranks is one more */
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

/*
 * Line: for ranks in a row whose ends are not linked. Chunks spread from their owner to both sides
 * until they reach the ends:
 *
 *     0   1 <-- b -- ( b ) ...        round 1:  b goes to both neighbours
 *     0 <-- b -- 1                    round 2:  and on
 *
 * N - 1 rounds for N ranks; the link to each end rank carries N - 1 chunks to it, so the time is
 * bytes * (N - 1) / N / link, as for a one-way ring, and no message crosses more than one link.
 */
static void gather_line(int ranks, dt_moves *out) {
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
 * many bytes as a ring, but over more links. In reverse it is recursive halving, which adds in a
 * balanced tree. The number of ranks must be a power of two.
 */
static void gather_halving(int ranks, dt_moves *out) {
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

static const dt_algorithm algorithms[] = {
    {.name = "ring", .chunks = 1, .gather = gather_ring},
    {.name = "two_way_ring", .chunks = 2, .gather = gather_two_way_ring},
    {.name = "line", .chunks = 1, .gather = gather_line},
    {.name = "halving", .chunks = 1, .gather = gather_halving},
};

const dt_algorithm *dt_algorithm_find(const char *name) {
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (strcmp(algorithms[i].name, name) == 0) return &algorithms[i];
    return NULL;
}

const char *dt_collective_name(dt_collective c) {
    static const char *const names[] = {
        [DT_ALL_GATHER] = "all_gather",
        [DT_REDUCE_SCATTER] = "reduce_scatter",
        [DT_ALL_REDUCE] = "all_reduce",
        [DT_ALL_TO_ALL] = "all_to_all",
        [DT_COLLECTIVE_PERMUTE] = "collective_permute",
        [DT_COLLECTIVE_BROADCAST] = "collective_broadcast",
    };
    return names[c];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges without rounds, written out: every message goes straight to its destination; and a
 * broadcast, whose pieces follow each other down a tree:
 *
 *     4 ranks in a row, 3 pieces     round 1   0 -a-> 1
 *                                    round 2   0 -b-> 1   1 -a-> 2
 *                                    round 3   0 -c-> 1   1 -b-> 2   2 -a-> 3
 *                                    round 4              1 -c-> 2   2 -b-> 3
 *                                    round 5                         2 -c-> 3
 */
#include "schedules.h"

#include "base/arena.h"

static void write_all_to_all(dt_draft *d) {
    for (int from = 0; from < d->ranks; from++)
        for (int to = 0; to < d->ranks; to++) {
            d->owner[from * d->ranks + to] = from;
            if (from != to)
                dt_draft_add(
                    d, (dt_schedule_move){
                           .from = from, .to = to, .first = from * d->ranks + to, .chunks = 1});
        }
}

static void write_permute(dt_draft *d) {
    for (int rank = 0; rank + 1 < d->ranks; rank++)
        dt_draft_add(d, (dt_schedule_move){.from = rank, .to = rank + 1, .chunks = 1});
}

dt_schedule *dt_direct_schedule(dt_collective c, int ranks) {
    const bool all = c == DT_ALL_TO_ALL;
    dt_draft d = {.name = "direct",
                  .collective = c,
                  .direct = true,
                  .ranks = ranks,
                  .chunks = all ? ranks * ranks : 1};
    d.owner = dt_alloc((size_t)d.chunks * sizeof *d.owner);
    if (all) write_all_to_all(&d);
    else write_permute(&d);
    return dt_schedule_of_draft(&d);
}

static int rank_at(const dt_collective_request *x, const int *at) {
    int r = 0;
    while (x->place[4 * r] != at[0] || x->place[4 * r + 1] != at[1] ||
           x->place[4 * r + 2] != at[2] || x->place[4 * r + 3] != at[3])
        r++;
    return r;
}

dt_schedule *dt_tree_schedule(const dt_collective_request *x, const dt_grid *grid, int pieces) {
    dt_draft d = {
        .name = "tree", .collective = DT_COLLECTIVE_BROADCAST, .ranks = x->ranks, .chunks = pieces};
    d.owner = dt_alloc((size_t)pieces * sizeof *d.owner); /* rank 0 */
    for (int r = 1; r < x->ranks; r++) {
        const dt_branch b = dt_branch_to(x, grid, 0, r);
        const int from = rank_at(x, b.from);
        for (int k = 0; k < pieces; k++)
            dt_draft_add(
                &d, (dt_schedule_move){
                        .round = b.depth - 1 + k, .from = from, .to = r, .first = k, .chunks = 1});
    }
    return dt_schedule_of_draft(&d);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The list that an algorithm's rule writes, round by round. */
#ifndef DT_COLL_MOVES_H
#define DT_COLL_MOVES_H

#include "coll/coll.h"

struct dt_moves {
    dt_move *at;
    int n, cap;
};

void dt_moves_add(dt_moves *m, dt_move move);

/* A schedule that is being written. Of all_gather, reduce_scatter and all_reduce the moves are
 * those of the all-gather; the rest follows. */
typedef struct dt_draft {
    const char *name;
    dt_collective collective;
    bool direct;
    int ranks, chunks;
    int colors; /* 0: one */
    int *owner; /* [chunks] */
    dt_moves moves;
} dt_draft;
/* Takes what the draft owns. */
dt_schedule *dt_schedule_of_draft(dt_draft *d);
/* SCHEDULE: so many cannot be written out. */
dt_status *dt_schedule_ranks_given(int ranks) DT_MUST_USE;
/* Orders moves by round; those of a round stay as they are. */
void dt_moves_sort(dt_moves *m);

#define DT_ALGORITHM(name) extern const dt_algorithm dt_algorithm_##name;
#include "coll/algorithms.h"

#endif

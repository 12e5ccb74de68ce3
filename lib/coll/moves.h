/* SPDX-License-Identifier: Apache-2.0 */
/* The moves that an algorithm writes, round by round. */
#ifndef DT_COLL_MOVES_H
#define DT_COLL_MOVES_H

#include "coll/coll.h"

struct dt_moves {
    dt_move *at;
    int n, cap;
};

void dt_moves_add(dt_moves *m, dt_move move);

#define DT_ALGORITHM(name) extern const dt_algorithm dt_algorithm_##name;
#include "coll/algorithms.h"

#endif

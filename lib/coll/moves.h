/* The list that an algorithm's rule writes. */
#ifndef DT_COLL_MOVES_H
#define DT_COLL_MOVES_H

#include "coll/coll.h"

struct dt_moves {
    dt_move *at;
    int n, cap;
};

/* Adds a move; rounds must not fall. */
void dt_moves_add(dt_moves *m, dt_move move);

#define DT_ALGORITHM(name) extern const dt_algorithm dt_algorithm_##name;
#include "coll/algorithms.h"

#endif

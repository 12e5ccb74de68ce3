/* SPDX-License-Identifier: Apache-2.0 */
/* Finds algorithms and collectives by name, and keeps lists of moves. */
#include <string.h>

#include "base/arena.h"
#include "coll/moves.h"

const dt_algorithm *dt_algorithm_find(const char *name) {
    static const dt_algorithm *const rows[] = {
#define DT_ALGORITHM(name) &dt_algorithm_##name,
#include "coll/algorithms.h"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i]->name, name) == 0) return rows[i];
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

void dt_moves_add(dt_moves *m, dt_move move) {
    DT_GROW(m->at, m->cap, m->n + 1);
    m->at[m->n++] = move;
}

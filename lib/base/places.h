/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of a list by the hashes of its entries, so that long lists need not be searched:
 *
 *     for (int i = dt_places_first(&p, hash); i >= 0; i = dt_places_next(&p, i))
 *         if (list[i] is what is looked for)
 *             ...
 *
 * Places are added as the list grows: 0, 1, 2 and so on. It begins as {0}.
 */
#ifndef DT_BASE_PLACES_H
#define DT_BASE_PLACES_H

#include <stdint.h>

typedef struct dt_places {
    int n, cap_next, cap_hash, n_slots;
    int *next;       /* [n] the place before with the same slot, -1: none */
    uint64_t *hash;  /* [n] */
    int *slot;       /* [n_slots] the last place, -1: none */
} dt_places;

void dt_places_add(dt_places *p, uint64_t hash);
int dt_places_first(const dt_places *p, uint64_t hash);
int dt_places_next(const dt_places *p, int place);
void dt_places_release(dt_places *p);

#endif

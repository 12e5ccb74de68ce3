/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index of a list by the hashes of its entries, so that long lists need not be searched:
 *
 *     for (int i = dt_hash_index_first(&p, hash); i >= 0; i = dt_hash_index_next(&p, i))
 *         if (list[i] is what is looked for)
 *             ...
 *
 * Entries are numbered 0, 1, 2 and so on as the list grows. An empty index is {0}.
 */
#ifndef DT_BASE_HASH_INDEX_H
#define DT_BASE_HASH_INDEX_H

#include <stdint.h>

typedef struct dt_hash_index {
    int n, cap_next, cap_hash, n_slots;
    int *next; /* [n] for each entry the previous entry with the same slot; -1: there is none */
    uint64_t *hash; /* [n] the hash of each entry */
    int *slot;      /* [n_slots] the last entry of each slot; -1: the slot has no entry */
} dt_hash_index;

void dt_hash_index_add(dt_hash_index *p, uint64_t hash);
int dt_hash_index_first(const dt_hash_index *p, uint64_t hash);
int dt_hash_index_next(const dt_hash_index *p, int place);
void dt_hash_index_release(dt_hash_index *p);

#endif

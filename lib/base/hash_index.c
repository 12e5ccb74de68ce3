/* SPDX-License-Identifier: Apache-2.0 */
/* An index of hashes. Entries with the same slot form a chain: the slot holds the number of the
 * last entry, and each entry the number of the one before it. On average a slot has at most two
 * entries. */
#include "base/hash_index.h"

#include <stdlib.h>

#include "base/arena.h"

static int *slot_of(const dt_hash_index *p, uint64_t hash) {
    return &p->slot[(hash ^ hash >> 32) & ((uint64_t)p->n_slots - 1)];
}

static void chain(dt_hash_index *p, int place) {
    int *slot = slot_of(p, p->hash[place]);
    p->next[place] = *slot;
    *slot = place;
}

static void grow_slots(dt_hash_index *p) {
    p->n_slots = p->n_slots ? 2 * p->n_slots : 16;
    p->slot = dt_realloc(p->slot, dt_size_mul((size_t)p->n_slots, sizeof *p->slot));
    for (int i = 0; i < p->n_slots; i++) p->slot[i] = -1;
    for (int i = 0; i < p->n; i++) chain(p, i);
}

void dt_hash_index_add(dt_hash_index *p, uint64_t hash) {
    if (p->n >= 2 * p->n_slots) grow_slots(p);
    DT_GROW(p->next, p->cap_next, p->n + 1);
    DT_GROW(p->hash, p->cap_hash, p->n + 1);
    p->hash[p->n] = hash;
    chain(p, p->n++);
}

/* Returns the first entry with that hash in the chain that begins at entry `place`; -1: there is
 * none. */
static int skip(const dt_hash_index *p, int place, uint64_t hash) {
    while (place >= 0 && p->hash[place] != hash) place = p->next[place];
    return place;
}

int dt_hash_index_first(const dt_hash_index *p, uint64_t hash) {
    return p->n_slots ? skip(p, *slot_of(p, hash), hash) : -1;
}

int dt_hash_index_next(const dt_hash_index *p, int place) {
    return skip(p, p->next[place], p->hash[place]);
}

void dt_hash_index_release(dt_hash_index *p) {
    free(p->next);
    free(p->hash);
    free(p->slot);
    *p = (dt_hash_index){0};
}

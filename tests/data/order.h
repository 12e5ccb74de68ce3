/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the examples of an epoch, computed apart from lib/data, to compare with: each pass
 * is a permutation of its own, and the passes of `repeat` are counted through all epochs. */
#ifndef TESTS_DATA_ORDER_H
#define TESTS_DATA_ORDER_H

#include <stdbool.h>

#include "base/random.h"

typedef struct ordering {
    uint64_t seed;
    int64_t n, repeat; /* examples of a pass, and passes of an epoch */
    bool shuffle, reshuffle;
} ordering;

/* The example at position i of an epoch. */
static inline int64_t order_at(const ordering *o, int64_t epoch, int64_t i) {
    const int64_t pass = epoch * o->repeat + i / o->n;
    const dt_permutation p = dt_permutation_make(
        o->seed, "shuffle", (uint64_t)(o->reshuffle ? pass : 0), (uint64_t)o->n);
    return o->shuffle ? (int64_t)dt_permutation_at(&p, (uint64_t)(i % o->n)) : i % o->n;
}

#endif

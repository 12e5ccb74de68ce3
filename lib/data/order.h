/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of examples: a pure function of (seed, pass, index), so that a run resumes anywhere
 * without remembering more than three integers. An epoch is `repeat` passes over the examples; each
 * pass has its own permutation, or with reshuffle false all have the first one's.
 */
#ifndef DT_DATA_ORDER_H
#define DT_DATA_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

typedef struct dt_order {
    uint64_t seed;
    int64_t n;      /* examples of one pass, at least 1 */
    int64_t repeat; /* passes of an epoch, at least 1 */
    bool shuffle, reshuffle;
    dt_permutation current; /* of the pass `pass` */
    int64_t pass;           /* -1: none yet */
} dt_order;

dt_order dt_order_make(uint64_t seed, int64_t n, int64_t repeat, bool shuffle, bool reshuffle);
/* Which of the n examples is the i-th of an epoch, i < n * repeat. */
int64_t dt_order_at(dt_order *o, int64_t epoch, int64_t i);

/* The pass over the data that this is part of, counted from the first epoch on; whether or not
 * passes differ in their order. */
int64_t dt_order_pass(const dt_order *o, int64_t epoch, int64_t i);

#endif

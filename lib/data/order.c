/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations are computed, not stored: a pass over a billion examples needs no table of a billion
 * numbers. */
#include "data/order.h"

dt_order dt_order_make(uint64_t seed, int64_t n, int64_t repeat, bool shuffle, bool reshuffle) {
    return (dt_order){.seed = seed,
                      .n = n,
                      .repeat = repeat,
                      .shuffle = shuffle,
                      .reshuffle = reshuffle,
                      .pass = -1};
}

int64_t dt_order_pass(const dt_order *o, int64_t epoch, int64_t i) {
    return epoch * o->repeat + i / o->n;
}

int64_t dt_order_at(dt_order *o, int64_t epoch, int64_t i) {
    int64_t pass = o->reshuffle ? dt_order_pass(o, epoch, i) : 0;
    if (!o->shuffle) return i % o->n;
    if (pass != o->pass) {
        o->current = dt_permutation_make(o->seed, "shuffle", (uint64_t)pass, (uint64_t)o->n);
        o->pass = pass;
    }
    return (int64_t)dt_permutation_at(&o->current, (uint64_t)(i % o->n));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distribution of many numbers, each with a bit: scores of examples with their class, or
 * errors. Up to 1,048,576 numbers are kept one by one, as float32 (8 MiB). If there are more, they
 * are counted in 1,048,576 buckets (16 MiB), whose width is at most 1/2048 of a number in it,
 * except next to 0. The result does not depend on the order of the numbers.
 */
#ifndef DT_TRAIN_SPREAD_H
#define DT_TRAIN_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* A distribution. It must be zeroed before use. */
typedef struct dt_spread {
    int64_t n, room;
    /* [n] each number as an integer of the same order, with its bit; NULL: the numbers are in
     * buckets */
    uint64_t *key;
    /* [buckets] how many numbers of each bucket have the bit 0, and the bit 1 */
    int64_t (*bucket)[2];
} dt_spread;

/* A group of equal numbers or, of more numbers than are kept one by one, of those in a bucket. */
typedef struct dt_spread_group {
    double value;
    int64_t count[2]; /* how many of the numbers have the bit 0, and the bit 1 */
} dt_spread_group;

/* Adds a finite number and its bit. */
dt_status *dt_spread_add(dt_spread *s, double value, bool bit) DT_MUST_USE;
/* Makes groups of the numbers of s, in ascending order. The caller frees *out. Sorts the numbers of
 * s. */
dt_status *dt_spread_groups(dt_spread *s, dt_spread_group **out, int64_t *n) DT_MUST_USE;
/* Returns the quantile p of all numbers, interpolated between the two nearest ones; NaN if there
 * are no numbers. */
double dt_spread_quantile(const dt_spread_group *g, int64_t n, double p);
void dt_spread_release(dt_spread *s);

#endif

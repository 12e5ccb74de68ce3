/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distribution of many numbers, each with a bit: the scores of examples, with their class 0 or
 * 1 as the bit, or errors, with the bit 0. Numbers are rounded to float32. Up to 1,048,576 are kept
 * one by one (8 MiB). If there are more, they are counted in 1,048,576 buckets (16 MiB), whose
 * width is at most 1/2048 of a number in it, except next to 0. The result does not depend on the
 * order of the numbers.
 */
#ifndef DT_TRAIN_SPREAD_H
#define DT_TRAIN_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* A distribution. It must be zeroed before use. */
typedef struct dt_spread {
    int64_t n, room;
    /* [n] each number and its bit, packed into an integer that sorts like the number; NULL: there
     * are no numbers yet, or they are in buckets */
    uint64_t *key;
    /* [buckets] how many numbers of each bucket have the bit 0, and the bit 1; NULL: the numbers
     * are in `key` */
    int64_t (*bucket)[2];
} dt_spread;

/* The numbers that are equal to `value` or, if numbers are in buckets, those of one bucket, whose
 * middle is `value`. */
typedef struct dt_spread_group {
    double value;
    int64_t count[2]; /* how many of the numbers were added with `bit` false, and with true */
} dt_spread_group;

/* Adds a finite number and its bit. */
dt_status *dt_spread_add(dt_spread *s, double value, bool bit) DT_MUST_USE;
/* Makes groups of the numbers of s, in ascending order. The caller frees *out. Sorts the numbers of
 * s. */
dt_status *dt_spread_groups(dt_spread *s, dt_spread_group **out, int64_t *n) DT_MUST_USE;
/* Returns the quantile p, from 0 to 1, of the numbers in n ascending groups, interpolated linearly
 * between neighbors; NaN if there are no numbers. */
double dt_spread_quantile(const dt_spread_group *g, int64_t n, double p);
void dt_spread_release(dt_spread *s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How numbers are spread: scores of examples with their class, or errors. Up to 1,048,576 numbers
 * are kept as they are (8 MiB). More are counted in 1,048,576 buckets (16 MiB), each as wide as
 * 1/2048 of its numbers' size. What comes out depends on the numbers alone, not on their order.
 */
#ifndef DT_TRAIN_SPREAD_H
#define DT_TRAIN_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Begins as {0}. */
typedef struct dt_spread {
    int64_t n, room;
    uint64_t *key;        /* [n] numbers as integers in the same order, and a bit; NULL: counted */
    int64_t (*bucket)[2]; /* [buckets] by bit */
} dt_spread;

/* Equal numbers. */
typedef struct dt_spread_group {
    double value;
    int64_t count[2]; /* by bit */
} dt_spread_group;

/* Adds a finite number. */
dt_status *dt_spread_add(dt_spread *s, double value, bool bit) DT_MUST_USE;
/* The groups in ascending order, the caller's to free. Sorts the numbers. */
dt_status *dt_spread_groups(dt_spread *s, dt_spread_group **out, int64_t *n) DT_MUST_USE;
/* The quantile p of all numbers, interpolated between its neighbours; NaN: there are none. */
double dt_spread_quantile(const dt_spread_group *g, int64_t n, double p);
void dt_spread_release(dt_spread *s);

#endif

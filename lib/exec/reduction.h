/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums, maxima and minima of floats over any set of dimensions, whatever stands before, between and
 * behind them.
 */
#ifndef DT_EXEC_REDUCTION_H
#define DT_EXEC_REDUCTION_H

#include "exec/exec_impl.h"

/* Neighbouring dimensions that all stay, or all go: so many steps, so many elements apart. */
typedef struct dt_extent {
    int64_t size, stride;
    bool stays;
} dt_extent;

typedef struct dt_reduction {
    const dt_simd *simd;
    dt_reduce_kind kind;
    /* DT_S_COPY: of floats; where dt_reduction_loads is true, of what this makes floats of */
    dt_strip_op load;
    int n;
    dt_extent extent[DT_MAX_RANK];
} dt_reduction;

/* Over the dimensions in the set `dims` of a concrete type. */
dt_reduction dt_reduction_of(const dt_simd *simd, dt_reduce_kind kind, const dt_type *in,
                             uint32_t dims);
/* Makes of it the one of entries [lo, hi) of the result's first dimension, which has `rows`; the
 * element of the input where these begin. */
int64_t dt_reduction_narrow(dt_reduction *r, int64_t lo, int64_t hi, int64_t rows);
bool dt_reduction_loads(const dt_reduction *r);
/* Floats that running it takes beside its result. */
int64_t dt_reduction_room(const dt_reduction *r);
/* at: its first element; to: what stays, close together. Of no elements: 0, -INFINITY, INFINITY. */
void dt_reduction_run(const dt_reduction *r, const void *at, float *to, float *room);

#endif

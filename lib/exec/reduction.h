/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, maxima and minima of floats over any set of dimensions. */
#ifndef DT_EXEC_REDUCTION_H
#define DT_EXEC_REDUCTION_H

#include "exec/exec_impl.h"

/* An extent: adjacent dimensions that are all reduced or all kept, joined to one. Its size, and the
 * distance between its elements. */
typedef struct dt_extent {
    int64_t size, stride;
    bool stays;
} dt_extent;

typedef struct dt_reduction {
    const dt_simd *simd;
    dt_reduce_kind kind;
    /* the instruction that converts elements to float; DT_S_COPY for float32; other types only if
     * dt_reduction_loads is true */
    dt_strip_op load;
    int n;
    dt_extent extent[DT_MAX_RANK];
} dt_reduction;

/* Describes the reduction over the dimensions in the set `dims` of a type without B. */
dt_reduction dt_reduction_of(const dt_simd *simd, dt_reduce_kind kind, const dt_type *in,
                             uint32_t dims);
/* Restricts the reduction to entries [lo, hi) of the result's first dimension, which has `rows`
 * entries. Returns the first element of the input that is read. */
int64_t dt_reduction_narrow(dt_reduction *r, int64_t lo, int64_t hi, int64_t rows);
bool dt_reduction_loads(const dt_reduction *r);
/* Returns how many floats of working memory it needs, besides the result. */
int64_t dt_reduction_room(const dt_reduction *r);
/* Runs the reduction. at: the first element; to: receives the results, which are contiguous.
 * Without elements the results are 0 (sum), -INFINITY (maximum) or INFINITY (minimum). */
void dt_reduction_run(const dt_reduction *r, const void *at, float *to, float *room);

#endif

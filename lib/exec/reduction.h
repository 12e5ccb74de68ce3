/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, maxima and minima of floats over any set of dimensions. */
#ifndef DT_EXEC_REDUCTION_H
#define DT_EXEC_REDUCTION_H

#include "exec/exec_impl.h"

/* Adjacent dimensions that are all reduced or all kept, as one: its size, and the distance of
 * its elements. */
typedef struct dt_extent {
    int64_t size, stride;
    bool stays;
} dt_extent;

typedef struct dt_reduction {
    const dt_simd *simd;
    dt_reduce_kind kind;
    /* DT_S_COPY for floats; where dt_reduction_loads is true, the instruction that converts
     * elements to float */
    dt_strip_op load;
    int n;
    dt_extent extent[DT_MAX_RANK];
} dt_reduction;

/* The reduction over the dimensions in the set `dims` of a concrete type. */
dt_reduction dt_reduction_of(const dt_simd *simd, dt_reduce_kind kind, const dt_type *in,
                             uint32_t dims);
/* Restricts the reduction to entries [lo, hi) of the result's first dimension, which has `rows`.
 * Returns the first element of the input that is read. */
int64_t dt_reduction_narrow(dt_reduction *r, int64_t lo, int64_t hi, int64_t rows);
bool dt_reduction_loads(const dt_reduction *r);
/* Floats of working memory, besides the result. */
int64_t dt_reduction_room(const dt_reduction *r);
/* at: the first element; to: the results, contiguous. Of no elements the results are 0,
 * -INFINITY or INFINITY. */
void dt_reduction_run(const dt_reduction *r, const void *at, float *to, float *room);

#endif

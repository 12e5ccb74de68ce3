/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by reduce_window and select_and_scatter. */
#ifndef DT_OP_REDUCE_WINDOW_H
#define DT_OP_REDUCE_WINDOW_H

#include "op/op.h"

/* Checks constraints (C1) to (C3) of reduce_window for q->in[0]; *out is the type of its result. */
dt_status *dt_windows_infer(const dt_infer *q, const dt_reduce_window_attr *a,
                            dt_type *out) DT_MUST_USE;
/* the number of elements that all windows read, padding included */
double dt_windows_elements(const dt_reduce_window_attr *a, const dt_type *out);
/* the same windows over tensors that are stacked along a new dimension 0; rank is that of a
 * tensor */
dt_reduce_window_attr dt_windows_stacked(const dt_reduce_window_attr *a, int rank);
/* prints "max size=[1,2,2,1] stride=[1,2,2,1]" */
void dt_windows_print(const dt_reduce_window_attr *a, dt_str *out);

/*
 * Visits, for each element of the result, the elements of x under its window, in row-major order:
 *
 *     dt_windows w = dt_windows_begin(attr, &x.type, &y.type);
 *     for (int64_t i = 0; i < w.n; i++, dt_windows_next(&w))
 *         for (int64_t at = dt_windows_first(&w); at >= 0; at = dt_windows_another(&w))
 *             ... x[at] ...
 */
typedef struct dt_windows {
    const dt_reduce_window_attr *a;
    int64_t n; /* number of windows */
    /* the dimensions in which windows are more than single elements; their count */
    int rank, wide[DT_MAX_RANK];
    int n_wide;
    /* sizes of x, and distances between neighbours in elements */
    int64_t in[DT_MAX_RANK], step[DT_MAX_RANK];
    int64_t out[DT_MAX_RANK], place[DT_MAX_RANK], k[DT_MAX_RANK];
    int64_t base; /* offset at which the window begins, without the wide dimensions */
} dt_windows;
dt_windows dt_windows_begin(const dt_reduce_window_attr *a, const dt_type *x, const dt_type *out);
void dt_windows_next(dt_windows *w);
/* Offset of the first element under the window; -1: only padding is under it. */
int64_t dt_windows_first(dt_windows *w);
/* Offset of the next element; -1: the window has no more. */
int64_t dt_windows_another(dt_windows *w);

#endif

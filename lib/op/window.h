/* SPDX-License-Identifier: Apache-2.0 */
/* Windows along one dimension (dt_window) or several: how many there are, and which elements are
 * under them. */
#ifndef DT_OP_WINDOW_H
#define DT_OP_WINDOW_H

#include "op/op.h"

/* Computes the number of windows of `size` elements over a dimension of `in` elements. Returns
 * false if strides, dilations or `size` are below 1, `in` is negative, or one of these numbers or
 * the padding is too large to count. */
bool dt_window_count(const dt_window *w, int64_t size, int64_t in, int64_t *out);
/* The number of windows along a dimension, and of elements under all of them, not counting holes
 * that base_dilation inserts; all 0 if dt_window_count returns false. */
typedef struct dt_window_taps {
    int64_t windows;
    double all, real; /* all: padding included; real: without padding */
} dt_window_taps;
dt_window_taps dt_window_count_taps(const dt_window *w, int64_t size, int64_t in);

/* Whether each window covers one element, in order, so that the op changes nothing. */
bool dt_window_is_one(const dt_window *w, int64_t size);

/* Returns the element of the dimension under element k of window o; -1: padding or a hole. */
static inline int64_t dt_window_at(const dt_window *w, int64_t o, int64_t k, int64_t in) {
    int64_t i = o * w->stride - w->low + k * w->dilation;
    if (w->base_dilation > 1) i = i % w->base_dilation ? -1 : i / w->base_dilation;
    return i >= 0 && i < in ? i : -1;
}

/* Returns the size of n elements with the holes of dilation between them: (n - 1) * dilation + 1; 0
 * for n = 0. */
static inline int64_t dt_dilated(int64_t n, int64_t dilation) {
    return n > 0 ? (n - 1) * dilation + 1 : 0;
}

/* Prints " size=[1,2] stride=[1,2] low=[0,1] high=[0,1] base_dilation=[1,2] dilation=[1,2]" for n
 * dimensions. Leaves out lists other than sizes whose elements are all 1 (of low and high: all 0).
 * size NULL: leaves out sizes. */
void dt_window_print(const dt_window *w, const int64_t *size, int n, dt_str *out);

/* ---- windows over several dimensions, of reduce_window and select_and_scatter ---- */

/* Checks constraints (C1) to (C3) of reduce_window for q->in[0]; *out is the type of its result. */
dt_status *dt_windows_infer(const dt_infer *q, const dt_reduce_window_attr *a,
                            dt_type *out) DT_MUST_USE;
/* Returns the number of elements that all windows cover together, padding and holes included. */
double dt_windows_elements(const dt_reduce_window_attr *a, const dt_type *out);
/* Returns the same windows for tensors that are stacked along a new dimension 0; rank is that of a
 * tensor. */
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
    /* rank: that of x. wide: [n_wide] the dimensions in which windows do more than cover one
     * element each, in order (dt_window_is_one) */
    int rank, wide[DT_MAX_RANK];
    int n_wide;
    /* in: sizes of x; step: distances between neighbours along each dimension, in elements */
    int64_t in[DT_MAX_RANK], step[DT_MAX_RANK];
    int64_t out[DT_MAX_RANK], place[DT_MAX_RANK], k[DT_MAX_RANK];
    /* offset at which the current window begins, counting only dimensions that are not in `wide` */
    int64_t base;
} dt_windows;
dt_windows dt_windows_begin(const dt_reduce_window_attr *a, const dt_type *x, const dt_type *out);
void dt_windows_next(dt_windows *w);
/* Starts a window and returns the offset of its first element that is not padding; -1: it has only
 * padding. */
int64_t dt_windows_first(dt_windows *w);
/* Returns the offset of the window's next element; -1: there is no further one. */
int64_t dt_windows_another(dt_windows *w);

#endif

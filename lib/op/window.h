/* SPDX-License-Identifier: Apache-2.0 */
/* Windows along one dimension (dt_window): how many there are, and which elements are under
 * them. */
#ifndef DT_OP_WINDOW_H
#define DT_OP_WINDOW_H

#include "op/op.h"

/* Computes the number of windows of `size` elements over a dimension of `in` elements. False:
 * strides, dilations or sizes are below 1, or too large to count. */
bool dt_window_count(const dt_window *w, int64_t size, int64_t in, int64_t *out);
/* The number of elements under all windows along a dimension, without the holes of dilation. */
typedef struct dt_window_taps {
    int64_t windows;
    double all, real; /* all: padding included; real: without padding */
} dt_window_taps;
dt_window_taps dt_window_count_taps(const dt_window *w, int64_t size, int64_t in);

/* Whether each window covers one element, in order, so that the op changes nothing. */
bool dt_window_is_one(const dt_window *w, int64_t size);

/* The element under element k of window o; -1: padding or a hole. */
static inline int64_t dt_window_at(const dt_window *w, int64_t o, int64_t k, int64_t in) {
    int64_t i = o * w->stride - w->low + k * w->dilation;
    if (w->base_dilation > 1) i = i % w->base_dilation ? -1 : i / w->base_dilation;
    return i >= 0 && i < in ? i : -1;
}

/* The size of n elements with the holes of dilation between them: (n - 1) * dilation + 1; 0 for n =
 * 0. */
static inline int64_t dt_dilated(int64_t n, int64_t dilation) {
    return n > 0 ? (n - 1) * dilation + 1 : 0;
}

/* Prints " size=[1,2] stride=[1,2] pad=[0_0,1_1]", without the parts that have their defaults. */
void dt_window_print(const dt_window *w, const int64_t *size, int n, dt_str *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in the executor: what kernel_convolution.c shares with the files that compute
 * them. */
#ifndef DT_EXEC_CONVOLUTION_H
#define DT_EXEC_CONVOLUTION_H

#include "exec/conv.h"
#include "exec/exec_impl.h"

/* What preparing a node gives: sizes in bytes. */
typedef struct dt_prepared {
    void *state;
    size_t scratch, kept;
} dt_prepared;

/* Of a convolution or a segment_convolution. */
const dt_convolution_attr *dt_convolution_attr_of(const dt_node *n);
/* The type of the result, of one segment of it. */
dt_type dt_convolution_entry(const dt_exec *x, int node);
/* Examples [*lo, *hi) of lhs that piece `unit` is made of: of those whose results it is, or, of a
 * kernel's gradient, which are summed. */
void dt_convolution_piece(const dt_exec *x, int node, int unit, int64_t *lo, int64_t *hi);
/* The convolution as libraries have it, for `images` examples; false: it is not of that form. Sizes
 * are those of x. */
bool dt_conv_read(const dt_exec *x, int node, int64_t images, dt_conv *out);

/* ---- a kernel's gradient by a library (conv_sum.c) ---- */

typedef struct dt_conv_sum {
    const dt_conv_calls *calls;
    dt_conv_plan plan[2];      /* of a group of images; of the smaller one at the end */
    int64_t images, group;     /* in all, in a group */
    int64_t x_bytes, y_bytes;  /* of an image */
    int64_t n;                 /* elements of the result */
    size_t levels_at, scratch; /* bytes */
    dt_strip_function add;
} dt_conv_sum;

/* False: the library does not make it fast, and there is nothing to release. No images are fine:
 * then nothing may be run. */
bool dt_conv_sum_plan(const dt_exec *x, const dt_conv *c, dt_conv_sum *out);
/* w = the sum over the images of x and y. scratch: s->scratch bytes, aligned to 64. */
void dt_conv_sum_run(const dt_conv_sum *s, const void *x, const void *y, void *w, char *scratch);
void dt_conv_sum_release(dt_conv_sum *s);

/* ---- by products (im2col.c): no groups, outputs last ---- */

dt_status *dt_im2col_prepare(dt_exec *x, int node, dt_prepared *out) DT_MUST_USE;
void dt_im2col_run(const dt_kernel_call *c, const void *state);
void dt_im2col_release(void *state);

#endif

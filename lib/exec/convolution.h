/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in the executor: shared by kernel_convolution.c and the files that compute them. */
#ifndef DT_EXEC_CONVOLUTION_H
#define DT_EXEC_CONVOLUTION_H

#include "exec/conv.h"
#include "exec/exec_impl.h"

/* The result of preparing a node; sizes in bytes. */
typedef struct dt_prepared {
    void *state;
    size_t scratch, kept;
} dt_prepared;

/* The attributes of a convolution or a segment_convolution. */
const dt_convolution_attr *dt_convolution_attr_of(const dt_node *n);
/* The type of the result, for a segment_convolution of one segment. */
dt_type dt_convolution_entry(const dt_exec *x, int node);
/* Examples [*lo, *hi) of lhs that piece `unit` of a node reads: those whose results it has, or,
 * for the gradient of a kernel, those that it sums over. */
void dt_convolution_piece(const dt_exec *x, int node, int unit, int64_t *lo, int64_t *hi);
/* The convolution in the form that libraries take, for `images` examples and the batch of x.
 * False: it does not have that form. */
bool dt_conv_read(const dt_exec *x, int node, int64_t images, dt_conv *out);

/* ---- a kernel's gradient by a library (conv_sum.c) ---- */

typedef struct dt_conv_sum {
    const dt_conv_calls *calls;
    /* [0]: plan of a group of images; [1]: of the smaller group at the end */
    dt_conv_plan plan[2];
    int64_t images, group;     /* number of images in all, and in a group */
    int64_t x_bytes, y_bytes;  /* bytes of one image */
    int64_t n;                 /* elements of the result */
    size_t levels_at, scratch; /* bytes */
    dt_strip_function add;
} dt_conv_sum;

/* False: the library has no fast code for it, and there is nothing to release. Without images it
 * succeeds, but must not be run. */
bool dt_conv_sum_plan(const dt_exec *x, const dt_conv *c, dt_conv_sum *out);
/* w = the sum over the images of x and y. scratch: s->scratch bytes, aligned to 64. */
void dt_conv_sum_run(const dt_conv_sum *s, const void *x, const void *y, void *w, char *scratch);
void dt_conv_sum_release(dt_conv_sum *s);

/* ---- by products (im2col.c): no groups, outputs last ---- */

dt_status *dt_im2col_prepare(dt_exec *x, int node, dt_prepared *out) DT_MUST_USE;
void dt_im2col_run(const dt_kernel_call *c, const void *state);
void dt_im2col_release(void *state);

#endif

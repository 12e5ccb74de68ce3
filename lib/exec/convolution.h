/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in the executor: shared by the kernels (kernel_convolution.c, kernel_tree.c) and the
 * files that compute them. */
#ifndef DT_EXEC_CONVOLUTION_H
#define DT_EXEC_CONVOLUTION_H

#include "exec/conv.h"
#include "exec/exec_impl.h"

/* The memory of a prepared node: its state, and the bytes of scratch and of kept memory that its
 * steps need (dt_step). */
typedef struct dt_prepared {
    void *state;
    size_t scratch, kept;
} dt_prepared;

/* Returns the attributes of a convolution or a segment_convolution. */
const dt_convolution_attr *dt_convolution_attr_of(const dt_node *n);
/* Returns the type of the result; for a segment_convolution, that of the result for one segment. */
dt_type dt_convolution_entry(const dt_exec *x, int node);
/* Gets the range [*lo, *hi) of rows of lhs that piece `unit` of a node reads: those whose results
 * the piece computes or, for a segment of a kernel's gradient, those that it sums over. */
void dt_convolution_piece(const dt_exec *x, int node, int unit, int64_t *lo, int64_t *hi);
/* Describes a node's convolution in the form that libraries take, over `images` images. Returns
 * false if it does not have that form. */
bool dt_conv_read(const dt_exec *x, int node, int64_t images, dt_conv *out);

/* ---- a kernel's gradient (conv_sum.c) ---- */

typedef struct dt_conv_sum {
    const dt_conv_calls *calls;
    /* plan[0] is for a group of images, plan[1] for the smaller group at the end */
    dt_conv_plan plan[2];
    int64_t images, group;    /* number of images in all, and number of images in a group */
    int64_t x_bytes, y_bytes; /* bytes of one image of x and of y */
    int64_t n;                /* number of elements in the result */
    /* levels_at: offset in bytes, in the working memory, of the buffers for sums; scratch: bytes of
     * working memory */
    size_t levels_at, scratch;
    dt_strip_function add;
} dt_conv_sum;

/* Plans the sum. Returns false if the library has no fast code for it; then there is nothing to
 * release. If there are no images, it succeeds, but the plan must not be run. */
bool dt_conv_sum_plan(const dt_exec *x, const dt_conv *c, dt_conv_sum *out);
/* Computes w as the sum over the images of x and y. scratch has s->scratch bytes, aligned to 64. */
void dt_conv_sum_run(const dt_conv_sum *s, const void *x, const void *y, void *w, char *scratch);
void dt_conv_sum_release(dt_conv_sum *s);

/* ---- convolutions as matrix products (im2col.c), without groups ---- */

dt_status *dt_im2col_prepare(dt_exec *x, int node, dt_prepared *out) DT_MUST_USE;
void dt_im2col_run(const dt_kernel_call *c, const void *state);
void dt_im2col_release(void *state);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by oneDNN or by our own loops, for activations that are stored with their channels
 * last. A convolution is planned when compiling, for one shape. oneDNN and our loops read kernels
 * in layouts of their own: a kernel is packed first, and runs of the plan read the packed one.
 */
#ifndef DT_EXEC_CONV_H
#define DT_EXEC_CONV_H

#include "exec/gemm.h"

enum { DT_CONV_SPACE = 3 };
typedef enum dt_conv_kind {
    DT_CONV_FORWARD, /* computes y from x and w */
    DT_CONV_DATA,    /* computes the gradient of x from w and the gradient of y */
    DT_CONV_WEIGHTS  /* computes the gradient of w from x and the gradient of y */
} dt_conv_kind;

/* A convolution of x (images, x.., groups * in) by w (k.., in, groups * out) into y (images, y..,
 * groups * out); x.., y.. and k.. are n spatial dimensions. w may have any strides: w_group, w_in,
 * w_out and w_k. */
typedef struct dt_conv {
    dt_conv_kind kind;
    int n;       /* number of spatial dimensions */
    bool turned; /* for DATA: the spatial dimensions of w are reversed in memory */
    /* types of the elements of x, y and w, or of their gradients: all three are float32, or the two
     * that are read are bfloat16 and the one that is computed is float32 or bfloat16 */
    dt_gemm_float x_is, y_is, w_is;
    int64_t images, groups, in, out;
    int64_t x[DT_CONV_SPACE], y[DT_CONV_SPACE], k[DT_CONV_SPACE];
    int64_t stride[DT_CONV_SPACE], dilation[DT_CONV_SPACE], low[DT_CONV_SPACE];
    /* distances in memory, in elements, from one index of w to the next: of a group, an input, an
     * output, and of each spatial dimension */
    int64_t w_group, w_in, w_out, w_k[DT_CONV_SPACE];
} dt_conv;

typedef struct dt_conv_plan {
    void *state;
    /* packed: bytes of a packed kernel, 0 for WEIGHTS, which reads none; scratch: bytes of working
     * memory of `pack` and `run` */
    size_t packed, scratch;
} dt_conv_plan;

typedef struct dt_conv_calls {
    /* Plans a convolution. Returns false if there is no fast code for it; then there is nothing to
     * release. */
    bool (*plan)(const dt_gemm_library *l, const dt_conv *c, dt_conv_plan *out);
    /* Packs the kernel w; not used for WEIGHTS. `packed` and `scratch` must be aligned to 64
     * bytes. */
    void (*pack)(const dt_conv_plan *p, const void *w, void *packed, void *scratch);
    /* Computes the last array from the other two. They are, for FORWARD, x, the packed kernel and
     * y; for DATA, the gradient of y, the packed kernel and the gradient of x; for WEIGHTS, x, the
     * gradient of y and the gradient of w. */
    void (*run)(const dt_conv_plan *p, const void *a, const void *b, void *c, void *scratch);
    void (*release)(dt_conv_plan *p);
    /* the kernel's gradient is added in the order of exec/sums.h for any number of images, so the
     * caller need not divide them into groups */
    bool in_order;
} dt_conv_calls;

extern const dt_conv_calls dt_conv_onednn, dt_conv_own;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by oneDNN or by our own loops, planned once per shape, on activations stored with
 * their channels last. Both want kernels in a layout of their own: pack a kernel once and use it
 * for many runs of the plan.
 */
#ifndef DT_EXEC_CONV_H
#define DT_EXEC_CONV_H

#include "exec/gemm.h"

enum { DT_CONV_SPACE = 3 };
typedef enum dt_conv_kind {
    DT_CONV_FORWARD, /* x, w -> y */
    DT_CONV_DATA,    /* y, w -> x: the gradient of x */
    DT_CONV_WEIGHTS  /* x, y -> w: the gradient of w */
} dt_conv_kind;

/* x (images, x.., groups * in), w (k.., in, groups * out), y (images, y.., groups * out); the
 * strides of w are given. */
typedef struct dt_conv {
    dt_conv_kind kind;
    int n;       /* spatial dimensions */
    bool turned; /* DATA: the spatial dimensions of w are reversed in memory */
    /* types of elements: all float32, or bfloat16 operands and a result of either type */
    dt_gemm_float x_is, y_is, w_is;
    int64_t images, groups, in, out;
    int64_t x[DT_CONV_SPACE], y[DT_CONV_SPACE], k[DT_CONV_SPACE];
    int64_t stride[DT_CONV_SPACE], dilation[DT_CONV_SPACE], low[DT_CONV_SPACE];
    int64_t w_group, w_in, w_out, w_k[DT_CONV_SPACE]; /* elements between neighbours in w */
} dt_conv;

typedef struct dt_conv_plan {
    void *state;
    size_t packed, scratch; /* bytes of a packed kernel (0: not packed) and of working memory */
} dt_conv_plan;

typedef struct dt_conv_calls {
    /* False: there is no fast code for the convolution. */
    bool (*plan)(const dt_gemm_library *l, const dt_conv *c, dt_conv_plan *out);
    /* packed and scratch: aligned to 64 bytes. FORWARD and DATA. */
    void (*pack)(const dt_conv_plan *p, const void *w, void *packed, void *scratch);
    /* FORWARD: x, packed, y. DATA: y, packed, x. WEIGHTS: x, y, w. The last array is the result. */
    void (*run)(const dt_conv_plan *p, const void *a, const void *b, void *c, void *scratch);
    void (*release)(dt_conv_plan *p);
    bool in_order; /* WEIGHTS: adds any number of images in the order of exec/sums.h */
} dt_conv_calls;

extern const dt_conv_calls dt_conv_onednn, dt_conv_own;

#endif

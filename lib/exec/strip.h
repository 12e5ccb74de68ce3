/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strips: fused element-wise groups run over pieces of at most DT_STRIP elements, by generated
 * loops (exec/strip_emit.c) or op by op, each op a plain loop over operands in the first-level
 * cache. The loops (exec/simd/) are compiled once for each instruction set, from the same source
 * and without contraction or reassociation, so that every set gives the same bits.
 */
#ifndef DT_EXEC_STRIP_H
#define DT_EXEC_STRIP_H

#include <stdbool.h>
#include <stdint.h>

struct dt_gemm; /* declared in exec/gemm.h */

#define DT_STRIP 1024

/* The loops of strips: first those of ops, named as the ops are (op/ops.h), then those that copy,
 * load and store. */
typedef enum dt_strip_op {
#define DT_LOOP(name, y) DT_S_##name,
#define DT_VARIANT(name, y) DT_S_##name,
#include "op/ops.h"
    DT_S_LOOPS,
    DT_S_COPY = DT_S_LOOPS,
    /* For the instructions from this one on, the array a or d does not contain floats. */
    DT_S_FROM_U8,
    DT_S_FROM_I32,
    DT_S_FROM_BF16,
    DT_S_FROM_F16,
    DT_S_TO_BOOL,
    DT_S_TO_BF16,
    DT_S_TO_F16,
    DT_S_COUNT
} dt_strip_op;

/* Computes d[i] = op(a[i], b[i], c[i]) for i < n. d may be one of the operands if its elements have
 * the same size. Operands that the op does not have are NULL. */
typedef void (*dt_strip_function)(void *d, const void *a, const void *b, const void *c, int64_t n);

/* Arguments for `rows` rows of n features that are normalized: z = (x - mean) / sqrt(variance +
 * epsilon), with the mean and the variance of each row of x. x and dy: (rows, n); gamma and beta:
 * (n). norm does not read dy, norm_grad not beta, norm_scale_grad neither gamma nor beta. */
typedef struct dt_norm_args {
    int64_t rows, n;
    float epsilon;
    const float *x, *gamma, *beta, *dy;
    float *out;
} dt_norm_args;

/* Loops over rows (simd/rows.c). */
typedef struct dt_row_functions {
    void (*norm)(const dt_norm_args *a); /* computes out = z gamma + beta, (rows, n) */
    /* computes out = the gradient of x, (rows, n) */
    void (*norm_grad)(const dt_norm_args *a);
    /* adds to out, (n), the sum of dy z over the rows */
    void (*norm_scale_grad)(const dt_norm_args *a);
    /* computes p = e^(scale (p - largest)), and returns 1 / sum of p; n >= 1 */
    float (*shares)(float *p, float scale, int64_t n);
    void (*times)(float *d, float by, int64_t n);
    void (*add)(float *d, const float *a, int64_t n);
    /* computes ds = scale p (ds - sum of p ds) */
    void (*shares_grad)(float *ds, const float *p, float scale, int64_t n);
} dt_row_functions;

/* Sets d[i], i < n, to a random number from the block that Philox yields for `key` and the counter
 * (i, stream) (simd/random.c). */
typedef void (*dt_random_function)(float *d, uint64_t key, uint64_t stream, int64_t n);
typedef struct dt_random_functions {
    /* numbers in [0, 1), made of 24 bits of the first word of Philox's block */
    dt_random_function uniform;
    /* normally distributed numbers with mean 0 and deviation 1, made of the first two words of
     * Philox's block */
    dt_random_function normal;
} dt_random_functions;

/* The elements of a window of x: where they are, as offsets in floats. The channels of an element
 * are adjacent. */
typedef struct dt_window_elements {
    const int64_t *at; /* [n] the offsets; n is at least 1 */
    int32_t n;
    /* for give_most and give_least: no other window has these elements, so dx is overwritten
     * instead of added to */
    bool alone;
    int64_t channels;
} dt_window_elements;

/* Loops over the channels of a window, for pooling (simd/window.c). */
typedef struct dt_window_loops {
    /* channel by channel, y = the sum, maximum or minimum of the window's elements of x, added or
     * compared in order */
    void (*sum)(const dt_window_elements *e, const float *x, float *y);
    void (*most)(const dt_window_elements *e, const float *x, float *y);
    void (*least)(const dt_window_elements *e, const float *x, float *y);
    /* channel by channel, dx += dy at the first element of the window that is the largest or the
     * smallest in x */
    void (*give_most)(const dt_window_elements *e, const float *x, const float *dy, float *dx);
    void (*give_least)(const dt_window_elements *e, const float *x, const float *dy, float *dx);
} dt_window_loops;

enum { DT_PRODUCT_BLOCK = 256 };
/*
 * Functions for C = op(A) op(B), or C += op(A) op(B) if g->adds is set (simd/product.c): sums of
 * blocks of at most DT_PRODUCT_BLOCK values of k, each a chain of fused multiplications and
 * additions, are added by the tree of exec/sums.h. `room` has room(g) floats. If k is 0, C is left
 * as it is. Products of one B with equal k, n, trans_b, ldb and width() may share g->panels.
 */
typedef struct dt_product_functions {
    int64_t (*room)(const struct dt_gemm *g);
    /* returns the number of floats that the packed form of B takes in g->panels->room */
    int64_t (*panels)(const struct dt_gemm *g);
    int (*width)(const struct dt_gemm *g); /* returns the number of columns of a panel of B */
    /* returns whether packing B saves more time than it takes if it is multiplied by `rows` rows of
     * A */
    bool (*pays)(const struct dt_gemm *g, int64_t rows);
    void (*run)(const struct dt_gemm *g, const float *a, const float *b, float *c, float *room);
} dt_product_functions;

/* A block of rows, (rows, n), that are added one after the other. mean: (n) or NULL; if it is set,
 * the squares of differences between the rows and the mean are added. */
typedef struct dt_sum_block {
    const float *a, *mean;
    int64_t rows, n, stride;
} dt_sum_block;

/* The loops of one instruction set. */
typedef struct dt_simd { /* declared in gemm.h */
    const char *name;    /* name of the set, such as "avx2" */
    /* whether the set has the instructions that exec/vex.h writes (AVX2), so that loops are
     * generated */
    bool generates;
    bool fuses; /* whether the set multiplies and adds with a single rounding (FMA) */
    dt_strip_function strip[DT_S_COUNT];
    const dt_window_loops *window;
    const dt_row_functions *rows;
    const dt_random_functions *random;
    const dt_product_functions *product;
    const struct dt_conv_loops *conv; /* declared in exec/conv_loops.h */
    void (*fill)(float *d, float x, int64_t n);
    /* Computes d[j], j < s->n, as the sum over i < s->rows of a[i * stride + j] or, if s->mean is
     * set, of (a[i * stride + j] - mean[j])^2, in one chain from 0 with ascending i. For many rows
     * use exec/sums.h. */
    void (*sum_block)(const dt_sum_block *s, float *d);
    /* Returns the sum of a[0] .. a[n - 1]. Fewer than 32 values are added in 4 interleaved chains.
     * Longer rows are added in blocks of 512 values, each in 32 interleaved chains that a fixed
     * tree adds up; the sums of the blocks are added by the tree of exec/sums.h (simd/sum.h). */
    float (*sum)(const float *a, int64_t n);
    float (*max)(const float *a, int64_t n);
    /* Computes d = softmax(a) for each of `rows` rows of n scores. In the functions below, i is the
     * row. */
    void (*softmax)(float *d, const float *a, int64_t rows, int64_t n);
    /* Computes loss[i] = -log softmax(a[i])[label[i]]; NaN for a label outside [0, n). */
    void (*sparse_entropy)(float *loss, const float *a, const int32_t *label, int64_t rows,
                           int64_t n);
    /* Computes loss[i] = -(sum over j of target[i][j] log softmax(a[i])[j]), where terms with
     * target[i][j] = 0 are left out. */
    void (*entropy)(float *loss, const float *a, const float *target, int64_t rows, int64_t n);
    /* Computes the row d[i] = (softmax(a[i]) - onehot(label[i])) dy[i]; all NaN for a label outside
     * [0, n). */
    void (*sparse_entropy_grad)(float *d, const float *a, const int32_t *label, const float *dy,
                                int64_t rows, int64_t n);
    /* Computes the row d[i] = (softmax(a[i]) sum(target[i]) - target[i]) dy[i]. */
    void (*entropy_grad)(float *d, const float *a, const float *target, const float *dy,
                         int64_t rows, int64_t n);
} dt_simd;

extern const dt_simd dt_simd_base;
#if defined(__x86_64__)
extern const dt_simd dt_simd_avx2, dt_simd_avx512;
#endif
enum { DT_MAX_SIMD = 4 };
/* Lists the instruction sets of this processor, the best first and "base" last. Returns their
 * number. */
int dt_simd_list(const dt_simd *list[DT_MAX_SIMD]);

#endif

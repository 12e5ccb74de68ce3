/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices for convolutions, C = A B (simd/conv.c). A is not stored as a matrix: its
 * elements are read from the image. A line is a group of rows of A at equal distances in memory. k
 * counts the columns of A, and a span is a group of columns at equal distances. All rows have the
 * same spans, relative to where each row begins, unless rows lack some (dt_conv_span.taps):
 *
 *     forward      a row is a position of the window; a span is adjacent elements of the window
 *     gradient     a row is a feature of an element of the kernel; a span is adjacent positions
 *
 * Sums are added in the order of a matrix product (exec/strip.h): a block is at most
 * DT_PRODUCT_BLOCK products, added one after the other from 0, and a fixed tree adds the sums of
 * blocks. Spans mark where blocks end.
 */
#ifndef DT_EXEC_CONV_LOOPS_H
#define DT_EXEC_CONV_LOOPS_H

#include <stdint.h>

/* Rows at equal distances. a, c: offset of the first row in A and in C, in floats. */
typedef struct dt_conv_line {
    int64_t a, c;
} dt_conv_line;

/* Columns of A at equal distances. */
typedef struct dt_conv_span {
    int64_t at; /* offset of the first column of a row from the beginning of that row, in floats */
    /* if dt_conv_product.single is not 0: the rows that have these columns; bit i is set for rows
     * [i * single, (i + 1) * single). For depthwise_gradient, which does not read `single`, bit i
     * is set for row i */
    uint64_t taps;
    /* k: index of the first column in A, and of its row in B; n: number of columns, 0 for a block
     * of zeros */
    int32_t k, n;
    /* -1: the block continues in the next span. Otherwise it ends here, and the sums of this many
     * earlier blocks are added to its sum, the latest first. */
    int32_t joins;
} dt_conv_span;
enum {
    DT_CONV_LEVELS = 16, /* the most sums of blocks that wait to be added */
    DT_CONV_TAPS = 64    /* the number of bits of dt_conv_span.taps */
};

typedef struct dt_conv_product {
    const dt_conv_line *line;
    const dt_conv_span *span; /* [spans] the columns of A; the last span ends a block */
    int64_t lines, each;      /* the number of lines; rows of each line */
    int64_t spans;
    /* Not 0: each line is a single row of A, which may lack spans, and so many neighbouring rows
     * share a bit of dt_conv_span.taps: 1 if a row is a position; in a kernel's gradient the number
     * of features of an element of the kernel. 0: lines have `each` rows, and all rows have all
     * spans. Not set for depthwise_gradient. */
    int64_t single;
    /* distances in floats between rows and between columns of A; one of the two is 1 */
    int64_t row_step, k_step;
    /* ldc: floats from a row of C to the next; columns: columns of B; k: rows of B */
    int64_t ldc, columns, k;
    int64_t ldb; /* floats from a row of B to the next; 0: packed */
    const float *a, *b;
    float *c;
} dt_conv_product;

typedef struct dt_conv_loops { /* declared in strip.h */
    /* returns the number of floats of a packed B (k, columns) */
    int64_t (*room)(int64_t k, int64_t columns);
    /* packs B into `to`; its element (k, j) is b[k * ldb + j] */
    void (*pack)(const dt_conv_product *p, float *to);
    /* C = A B */
    void (*run)(const dt_conv_product *p);
    /* Depthwise: each channel j has its own kernel, column j of B. C(row, j) is the sum over k of
     * A(row, k, j) B(k, j); channels are adjacent in A. Spans have at most one column. B is not
     * packed. */
    void (*depthwise)(const dt_conv_product *p);
    /* The gradient of the kernels of a depthwise convolution: each line is one row, an element of
     * the kernel. Spans may have several columns, and rows may lack some spans (taps). */
    void (*depthwise_gradient)(const dt_conv_product *p);
} dt_conv_loops;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions as products without a matrix of windows (simd/conv.c): A is read where its elements
 * lie in an image. Its rows lie in lines, one step after the other; a row's k's are spans, the same
 * for all rows but for where they begin:
 *
 *     forward      a row is a place of the window; a span is a row of the window
 *     gradient     a row is an element of the kernel; a span is a row of places
 *
 * Sums are added as a matrix product adds them (exec/strip.h): blocks of DT_PRODUCT_BLOCK values of
 * k, each a chain from 0, and a fixed tree over them. The spans say where blocks end.
 */
#ifndef DT_EXEC_CONV_LOOPS_H
#define DT_EXEC_CONV_LOOPS_H

#include <stdint.h>

/* Some rows that lie one step apart: where the first one begins, in floats of A and of C. */
typedef struct dt_conv_line {
    int64_t a, c;
} dt_conv_line;

/* Some k's that lie one step apart. */
typedef struct dt_conv_span {
    int64_t at;    /* floats from where a row begins */
    uint64_t taps; /* `single` lines: those that have these k's, by their elements of the kernel */
    int32_t k, n;  /* the first one's place in B; how many there are, or 0 */
    int32_t
        joins; /* a block ends: so many sums before it are added, the last first; -1: it goes on */
} dt_conv_span;
enum {
    DT_CONV_LEVELS = 16, /* the most sums that wait to be joined */
    DT_CONV_TAPS = 64    /* the most elements of a kernel whose lines are `single` */
};

typedef struct dt_conv_product {
    const dt_conv_line *line;
    const dt_conv_span *span; /* the last one ends a block */
    int64_t lines, each;      /* each: rows of a line */
    int64_t spans;
    /* not 0: lines of one row each, so many for an element of the kernel; some lack some spans */
    int64_t single;
    int64_t row_step, k_step; /* floats of A; where row_step is not 1, k_step is */
    int64_t ldc, columns, k;  /* k: rows of B */
    int64_t ldb;              /* floats from a row of B to the next; 0: packed */
    const float *a, *b;
    float *c;
} dt_conv_product;

typedef struct dt_conv_loops { /* declared in strip.h */
    /* floats of a packed B (k, columns) */
    int64_t (*room)(int64_t k, int64_t columns);
    /* to = B, element (k, j) of which is b[k * ldb + j] */
    void (*pack)(const dt_conv_product *p, float *to);
    /* C = A B */
    void (*run)(const dt_conv_product *p);
    /* One kernel for each channel: column j of C is the sum of the products of A's column j, whose
     * columns are neighbours, and B's. Spans of at most one k, one block; B is not packed. */
    void (*depthwise)(const dt_conv_product *p);
    /* Likewise; lines are single elements of the kernel. */
    void (*depthwise_gradient)(const dt_conv_product *p);
} dt_conv_loops;

#endif

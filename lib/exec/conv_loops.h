/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions as products without a matrix of windows (simd/conv.c): rows of A are read where they
 * lie in an image that has its padding around it. For each row, A's k's are spans of an image, the
 * same for all rows but for where they begin; rows lie in lines, one step after the other:
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
    int64_t at;   /* floats from where a row begins */
    int32_t k, n; /* the first one's place in B; how many there are, or 0 */
    int32_t
        joins; /* a block ends: so many sums before it are added, the last first; -1: it does not */
} dt_conv_span;
/* the most sums that wait to be joined */
enum { DT_CONV_LEVELS = 16 };

typedef struct dt_conv_product {
    const dt_conv_line *line;
    const dt_conv_span *span; /* the last one ends a block */
    int64_t lines, each;      /* each: rows of a line */
    int64_t spans;
    int64_t row_step, k_step; /* floats of A; row_step 1: k_step is any; else it is 1 */
    int64_t ldc, columns, k;  /* k: rows of B */
    int64_t ldb;              /* floats from a row of B to the next; 0: packed */
    const float *a, *b;
    float *c;
} dt_conv_product;

/* One kernel for each channel: each of C's columns is a sum of its own column of A times B's. */
typedef struct dt_conv_loops { /* declared in strip.h */
    /* floats of a packed B (k, columns) */
    int64_t (*room)(int64_t k, int64_t columns);
    /* to = B, whose element (k, j) is b[k * ldb + j * step] */
    void (*pack)(const dt_conv_product *p, int64_t step, float *to);
    void (*run)(const dt_conv_product *p);
    /* c (places, channels): chains over the spans' first k's; B (k, channels), one block */
    void (*depthwise)(const dt_conv_product *p);
    /* c[line] (channels) = the sum over k's of a (k, channels) b (k, channels); lines are taps */
    void (*depthwise_gradient)(const dt_conv_product *p);
} dt_conv_loops;

#endif

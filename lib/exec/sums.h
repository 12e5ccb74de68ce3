/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of many float32 values, in an order that keeps their digits and depends on sizes alone.
 * Values are added in short chains, each from zero. The sums of chains are added by a fixed binary
 * tree:
 *
 *     block   0 1 2 3 4        two sums of one level make one of the next, as a binary counter
 *              \/  \/  |       carries; what is left at the end is added from the smallest level up
 *               \__/   |
 *                 \____/
 *
 * A chain rounds as often as it has values, a tree only as often as it has levels. So in a sum of
 * ten million values, each value takes part in at most some 40 additions.
 */
#ifndef DT_EXEC_SUMS_H
#define DT_EXEC_SUMS_H

#include <stddef.h>

#include "exec/strip.h"

enum {
    /* number of rows in a block, which are added one after the other; narrow rows count as
     * described at DT_SUM_WIDE */
    DT_SUM_ROWS = 16,
    /* the most floats that are added side by side; of narrower rows, as many as fit into this,
     * rounded down to a power of two, are treated as one row */
    DT_SUM_WIDE = 128,
};

/* The tree: a stack of buffers. Each has the sum of a number of blocks that is a power of two, the
 * largest first. */
typedef struct dt_sum_tree {
    /* buffers for sums, an array (levels, stride), where levels is dt_sum_levels of all blocks */
    float *level;
    int64_t stride, n; /* stride: floats from one buffer to the next; n: floats of a sum */
    int64_t blocks;    /* number of blocks added so far */
    dt_strip_function add;
} dt_sum_tree;

/* Returns how many buffers a tree needs to add so many blocks: at least one. */
static inline int dt_sum_levels(int64_t blocks) {
    int levels = 1;
    for (; blocks > 1; blocks /= 2) levels++;
    return levels;
}

/* Returns the buffer to which the sum of the next block must be written. */
static inline float *dt_sum_next(const dt_sum_tree *t) {
    return t->level + __builtin_popcountll((unsigned long long)t->blocks) * t->stride;
}

static inline void dt_sum_add_last(const dt_sum_tree *t, int buffers) {
    float *left = t->level + (buffers - 2) * t->stride;
    t->add(left, left, left + t->stride, NULL, t->n);
}

/* Records that the next block's sum has been written. */
static inline void dt_sum_push(dt_sum_tree *t) {
    int buffers = __builtin_popcountll((unsigned long long)t->blocks) + 1;
    for (int64_t carry = t->blocks++; carry & 1; carry >>= 1) dt_sum_add_last(t, buffers--);
}

/* Computes the sum of all blocks in the first buffer. There must be at least one block. */
static inline void dt_sum_end(const dt_sum_tree *t) {
    for (int buffers = __builtin_popcountll((unsigned long long)t->blocks); buffers > 1; buffers--)
        dt_sum_add_last(t, buffers);
}

/* Rows of a matrix of float32, or of 16-bit elements that are converted to it. */
typedef struct dt_sum_source {
    const void *at; /* address of element (0, 0) */
    /* DT_S_COPY for floats; else the instruction that converts elements of 16 bits */
    dt_strip_op load;
    int64_t rows, n; /* rows: number of rows; n: number of columns to sum, at most `stride` */
    int64_t stride;  /* elements from one row to the next */
    /* (n) if it is not NULL, the sums are those of squared differences between the rows and this
     * mean */
    const float *mean;
} dt_sum_source;

/* Computes to[j], j < s->n, as the sum of column j; 0 without rows. The rows of a block are added
 * in c chains per column, where c is the largest power of two with c * stride <= DT_SUM_WIDE, at
 * least 1. c depends on `stride` and not on s->n, so a column's bits do not depend on which others
 * are summed with it. */
void dt_sum_rows(const dt_simd *simd, const dt_sum_source *s, float *to);

#endif

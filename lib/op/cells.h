/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells: single elements of arrays of any dtype, for the definitions of ops (`eval`), which are
 * meant to be read, not to be fast. A cell is read and written as a double (floats: rounded once,
 * on writing) or as an int64 (integers: wrap at the width of the dtype; bool: any number but 0 is
 * written as 1).
 *
 * A walk visits the indices of a box in row-major order and keeps, for two arrays at once, the
 * offset of the cell that belongs to the index. An array that lacks a dimension has stride 0 there.
 *
 *     dt_walk w = {0};
 *     dt_walk_add(&w, rows, row_stride_of_a, row_stride_of_b);      outermost first
 *     for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
 *         ... a[w.at[0]], b[w.at[1]] ...                            after n steps w is at its start
 *                                                                   again
 */
#ifndef DT_OP_CELLS_H
#define DT_OP_CELLS_H

#include "graph/graph.h"

double dt_cell_double(const dt_view *v, int64_t i);
int64_t dt_cell_int(const dt_view *v, int64_t i);
void dt_cell_set_double(const dt_view *v, int64_t i, double x);
/* For a view of a float dtype, sets the cell to x, converted to that dtype. */
void dt_cell_set_int(const dt_view *v, int64_t i, int64_t x);
/* Copies a cell, to[i] = from[j]; both views have the same dtype. */
void dt_cell_copy(const dt_view *to, int64_t i, const dt_view *from, int64_t j);
/* The `eval` of ops that copy: the result has the elements of the first input in the same order. */
void dt_eval_copy(const dt_call *c);

/* Integer arithmetic that wraps instead of overflowing. */
int64_t dt_int_add(int64_t a, int64_t b);
int64_t dt_int_subtract(int64_t a, int64_t b);
int64_t dt_int_multiply(int64_t a, int64_t b);
/* Return the lowest and the highest value of an integer dtype; 0 and 1 for bool; for uint64, which
 * dt_cell_int reads as int64, those of int64. */
int64_t dt_int_lowest(dt_dtype d);
int64_t dt_int_highest(dt_dtype d);

/* Return the maximum and the minimum of IEEE 754-2019: NaN if either operand is NaN, and -0 is less
 * than +0. */
double dt_double_max(double a, double b);
double dt_double_min(double a, double b);

/* Returns a view of the n rows from `from` on, along dimension 0. */
dt_view dt_view_rows(const dt_view *v, int64_t from, int64_t n);
/* Returns a view of entry i of dimension 0, without that dimension. */
dt_view dt_view_entry(const dt_view *v, int64_t i);

/* Sets stride[i] to the number of cells between neighbours along dimension i of a concrete type. */
void dt_strides(const dt_type *t, int64_t stride[DT_MAX_RANK]);

typedef struct dt_walk {
    int rank;
    int64_t dim[DT_MAX_RANK], index[DT_MAX_RANK], stride[2][DT_MAX_RANK];
    int64_t at[2];
} dt_walk;
void dt_walk_add(dt_walk *w, int64_t dim, int64_t stride0, int64_t stride1);
int64_t dt_walk_count(const dt_walk *w);
void dt_walk_next(dt_walk *w);

#endif

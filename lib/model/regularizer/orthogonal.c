/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OrthogonalRegularizer: the mean of |cos| between different rows, or columns, of a matrix, times
 * `factor`: it is 0 if all are orthogonal.
 */
#include "model/model.h"

enum { ROWS, COLUMNS };
static const char *const modes[] = {"rows", "columns", NULL};

struct orthogonal {
    double factor;
    int mode;
};

static const dt_field fields[] = {
    DT_REAL(struct orthogonal, factor, .preset = "0.01", .max = INFINITY,
            .help = "factor of the mean of |cos|"),
    DT_ENUM(struct orthogonal, mode, modes, .help = "make rows or columns orthogonal"), DT_END};

static dt_status *check(const dt_type *type) {
    if (type->rank == 2) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, NULL,
                   "OrthogonalRegularizer is for matrices, got a weight of %d dimensions",
                   type->rank);
}

/* Normalizes rows to length 1; rows of zeros stay zeros. */
static dt_value unit_rows(dt_value x) {
    dt_type type = dt_type_of_value(x);
    dt_value squares = dt_sum_last(dt_multiply(x, x)), zero = dt_like(squares, 0),
             one = dt_like(squares, 1);
    dt_value is_zero = dt_compare(squares, zero, DT_EQ);
    dt_value length = dt_select(is_zero, one, dt_sqrt(dt_select(is_zero, one, squares)));
    return dt_divide(x, dt_broadcast_in_dim(length, &type, (int8_t[]){0}));
}

static dt_value whole(const void *args, dt_value x) {
    const struct orthogonal *o = args;
    dt_value rows = unit_rows(o->mode == ROWS ? x : dt_swap_last(x, 0)),
             products = dt_abs(dt_matmul(rows, dt_swap_last(rows, 0)));
    dt_type type = dt_type_of_value(products), index = type;
    double n = (double)type.dim[0];
    index.dtype = DT_INT32;
    dt_value diagonal = dt_compare(dt_iota(x.trace, &index, 0), dt_iota(x.trace, &index, 1), DT_EQ);
    dt_value sum = dt_reduce_sum(dt_select(diagonal, dt_like(products, 0), products), DT_NO_AXIS);
    return dt_multiply(sum, dt_like(sum, n > 1 ? o->factor / (n * (n - 1)) : 0));
}

const dt_regularizer dt_regularizer_orthogonal_regularizer = {
    .kind = {"OrthogonalRegularizer", "the mean of |cos| between rows", fields,
             sizeof(struct orthogonal), (const char *const[]){"orthogonal_regularizer", NULL}},
    .check = check,
    .whole = whole,
};

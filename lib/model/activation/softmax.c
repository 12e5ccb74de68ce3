/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm, over one axis or several, and sparsemax, over one. */
#include "model/model.h"

struct over_axes {
    dt_ints axis;
};

static const dt_field fields[] = {DT_INTS(struct over_axes, axis, .preset = "-1", .lone = true,
                                          .min = -DT_MAX_RANK, .max = DT_MAX_RANK,
                                          .help = "axis along which values sum to 1, or a list"),
                                  DT_END};

static dt_value over_axes(const void *args, dt_value x, dt_value (*over_last)(dt_value)) {
    uint32_t dims;
    if (!dt_axes_of(x, &((const struct over_axes *)args)->axis, &dims)) return (dt_value){0};
    return dt_over_dims(x, dims, over_last);
}

static dt_value softmax(const void *args, dt_value x) { return over_axes(args, x, dt_softmax); }

const dt_activation dt_activation_softmax = {
    .kind = {"softmax", "exp(x) / sum of exp(x)", fields, sizeof(struct over_axes), NULL},
    .call = softmax,
    .range = DT_RANGE_SHARES,
};

/* Emits log softmax: x - max - log sum exp(x - max). */
static dt_value log_over_last(dt_value x) {
    dt_type type = dt_type_of_value(x); /* shape (..., C) */
    uint32_t last = 1u << (type.rank - 1);
    dt_value centred = dt_subtract(x, dt_broadcast_rows(dt_reduce(x, DT_REDUCE_MAX, last), &type));
    /* the sum of exponentials over the last dimension of x */
    dt_value sum = dt_reduce(dt_exponential(centred), DT_REDUCE_SUM, last);
    return dt_subtract(centred, dt_broadcast_rows(dt_log(sum), &type));
}

static dt_value log_softmax(const void *args, dt_value x) {
    return over_axes(args, x, log_over_last);
}

const dt_activation dt_activation_log_softmax = {
    .kind = {"log_softmax", "log of the softmax", fields, sizeof(struct over_axes), NULL},
    .call = log_softmax,
    .range = DT_RANGE_LOG_SHARES,
};

/* ---- sparsemax ---- */

/* Emits bools: which x_i are in the support, by the condition 1 + n x_i > the sum of the n values
 * that are at least x_i. Values are compared pair by pair, (..., C, C). */
static dt_value support(dt_value x) {
    dt_type type = dt_type_of_value(x), pairs = type;
    int8_t dims[DT_MAX_RANK];
    pairs.dim[pairs.rank++] = type.dim[type.rank - 1];
    for (int i = 0; i < type.rank; i++) dims[i] = (int8_t)i;
    dt_value own = dt_broadcast_in_dim(x, &pairs, dims); /* a matrix whose element [i][j] is x_i */
    dims[type.rank - 1] = (int8_t)type.rank;
    /* a matrix whose element [i][j] is x_j */
    dt_value other = dt_broadcast_in_dim(x, &pairs, dims);
    dt_value at_least = dt_convert(dt_compare(other, own, DT_GE), type.dtype);
    uint32_t last = 1u << type.rank;
    dt_value n = dt_reduce(at_least, DT_REDUCE_SUM, last);
    dt_value sum = dt_reduce(dt_multiply(at_least, other), DT_REDUCE_SUM, last);
    return dt_compare(dt_add(dt_like(x, 1), dt_multiply(n, x)), sum, DT_GT);
}

/* Emits sparsemax over the last dimension: max(x - tau, 0), where tau is chosen so that the outputs
 * sum to 1: A. Martins, R. Astudillo, From Softmax to Sparsemax (2016). */
static dt_value sparse_over_last(dt_value x) {
    dt_type type = dt_type_of_value(x);
    if (type.rank >= DT_MAX_RANK) {
        dt_trace_fail(x.trace, dt_fail(DT_E_MODEL_SHAPE, NULL,
                                       "sparsemax takes at most %d dimensions", DT_MAX_RANK - 1));
        return (dt_value){0};
    }
    uint32_t last = 1u << (type.rank - 1);
    dt_value in = dt_convert(support(x), type.dtype);
    dt_value n = dt_reduce(in, DT_REDUCE_SUM, last),
             sum = dt_reduce(dt_multiply(in, x), DT_REDUCE_SUM, last);
    dt_value tau = dt_divide(dt_subtract(sum, dt_like(sum, 1)), n);
    return dt_maximum(dt_subtract(x, dt_broadcast_rows(tau, &type)), dt_like(x, 0));
}

struct over_axis {
    int64_t axis;
};

static const dt_field one_axis[] = {
    DT_INT(struct over_axis, axis, .preset = "-1", .help = "axis along which values sum to 1"),
    DT_END};

/* sparsemax works on the last dimension, so another axis is exchanged with it before and after. */
static dt_value sparsemax(const void *args, dt_value x) {
    const int axis = dt_axis_of(x, ((const struct over_axis *)args)->axis);
    return axis < 0 ? (dt_value){0} : dt_swap_last(sparse_over_last(dt_swap_last(x, axis)), axis);
}

const dt_activation dt_activation_sparsemax = {
    .kind = {"sparsemax", "a softmax with exact zeros", one_axis, sizeof(struct over_axis), NULL},
    .call = sparsemax,
    .range = DT_RANGE_SHARES,
};

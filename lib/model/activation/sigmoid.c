/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that saturate on both sides: sigmoid, tanh, softsign, and piecewise linear forms of
 * the first two. */
#include "model/model.h"

static dt_value sigmoid(const void *args, dt_value x) {
    (void)args;
    return dt_logistic(x);
}

const dt_activation dt_activation_sigmoid = {
    .kind = {.name = "sigmoid", .about = "1 / (1 + exp -x)"},
    .call = sigmoid,
    .range = DT_RANGE_UNIT,
};

dt_value dt_hard_sigmoid(dt_value x) {
    return dt_clamp(dt_add(dt_divide(x, dt_like(x, 6)), dt_like(x, 0.5)), 0, 1);
}

static dt_value hard_sigmoid(const void *args, dt_value x) {
    (void)args;
    return dt_hard_sigmoid(x);
}

const dt_activation dt_activation_hard_sigmoid = {
    .kind = {.name = "hard_sigmoid", .about = "x / 6 + 1/2, clipped to [0, 1]"},
    .call = hard_sigmoid,
    .range = DT_RANGE_UNIT,
};

/* Emits 0 for x up to -1, 1 for x from 1 on, and (x + 1) / 2 between; the slope is 0 at both
 * corners. */
static dt_value sparse_sigmoid(const void *args, dt_value x) {
    (void)args;
    return dt_clamp(dt_multiply(dt_like(x, 0.5), dt_add(x, dt_like(x, 1))), 0, 1);
}

const dt_activation dt_activation_sparse_sigmoid = {
    .kind = {.name = "sparse_sigmoid", .about = "(x + 1) / 2, clipped to [0, 1]"},
    .call = sparse_sigmoid,
    .range = DT_RANGE_UNIT,
};

static dt_value tanh_(const void *args, dt_value x) {
    (void)args;
    return dt_tanh(x);
}

const dt_activation dt_activation_tanh = {
    .kind = {.name = "tanh", .about = "the hyperbolic tangent"},
    .call = tanh_,
    .range = DT_RANGE_SIGNED,
};

static dt_value hard_tanh(const void *args, dt_value x) {
    (void)args;
    return dt_minimum(dt_like(x, 1), dt_maximum(dt_like(x, -1), x));
}

const dt_activation dt_activation_hard_tanh = {
    .kind = {.name = "hard_tanh", .about = "x clipped to [-1, 1]"},
    .call = hard_tanh,
    .range = DT_RANGE_SIGNED,
};

static dt_value softsign(const void *args, dt_value x) {
    (void)args;
    return dt_divide(x, dt_add(dt_like(x, 1), dt_abs(x)));
}

const dt_activation dt_activation_softsign = {
    .kind = {.name = "softsign", .about = "x / (1 + |x|)"},
    .call = softsign,
    .range = DT_RANGE_SIGNED,
};

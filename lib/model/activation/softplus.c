/* SPDX-License-Identifier: Apache-2.0 */
/* Activations with a smooth bend: softplus, log_sigmoid, mish, squareplus and sparse_plus. */
#include "model/model.h"

/* max(x, 0) is written (x + |x|) / 2, whose slope at 0 is that of softplus, 1/2. */
void dt_softplus_parts(dt_value x, dt_value *positive, dt_value *tail) {
    dt_value size = dt_abs(x);
    *positive = dt_multiply(dt_add(x, size), dt_like(x, 0.5));
    *tail = dt_log_plus_one(dt_exponential(dt_negate(size)));
}

dt_value dt_softplus(dt_value x) {
    dt_value positive, tail;
    dt_softplus_parts(x, &positive, &tail);
    return dt_add(positive, tail);
}

static dt_value softplus(const void *args, dt_value x) {
    (void)args;
    return dt_softplus(x);
}

const dt_activation dt_activation_softplus = {
    .kind = {.name = "softplus", .about = "log(1 + exp x)"},
    .call = softplus,
    .range = DT_RANGE_POSITIVE,
};

static dt_value log_sigmoid(const void *args, dt_value x) {
    (void)args;
    return dt_negate(dt_softplus(dt_negate(x)));
}

const dt_activation dt_activation_log_sigmoid = {
    .kind = {.name = "log_sigmoid", .about = "log of the sigmoid"},
    .call = log_sigmoid,
    .range = DT_RANGE_NEGATIVE,
};

static dt_value mish(const void *args, dt_value x) {
    (void)args;
    return dt_multiply(x, dt_tanh(dt_softplus(x)));
}

const dt_activation dt_activation_mish = {
    .kind = {.name = "mish", .about = "x tanh(softplus x)"},
    .call = mish,
    .range = DT_RANGE_BENT,
};

struct squareplus {
    double b;
};

static const dt_field squareplus_fields[] = {
    DT_REAL(struct squareplus, b, .preset = "4", .help = "smoothness of the bend"), DT_END};

static dt_value squareplus(const void *args, dt_value x) {
    dt_value root =
        dt_sqrt(dt_add(dt_multiply(x, x), dt_like(x, ((const struct squareplus *)args)->b)));
    return dt_divide(dt_add(x, root), dt_like(x, 2));
}

const dt_activation dt_activation_squareplus = {
    .kind = {"squareplus", "(x + sqrt(x^2 + b)) / 2", squareplus_fields, sizeof(struct squareplus),
             NULL},
    .call = squareplus,
    .range = DT_RANGE_POSITIVE,
};

/* Emits 0 for x up to -1, x from 1 on, and (x + 1)^2 / 4 between. */
static dt_value sparse_plus(const void *args, dt_value x) {
    (void)args;
    dt_value one = dt_like(x, 1), minus = dt_like(x, -1), zero = dt_like(x, 0), up = dt_add(x, one);
    dt_value bend = dt_multiply(dt_like(x, 0.25), dt_multiply(up, up));
    dt_value bent = dt_select(dt_compare(x, one, DT_LT), bend, x);
    return dt_select(dt_compare(x, minus, DT_LE), zero, bent);
}

const dt_activation dt_activation_sparse_plus = {
    .kind = {.name = "sparse_plus", .about = "piecewise: 0, (x + 1)^2 / 4, x"},
    .call = sparse_plus,
    .range = DT_RANGE_NONNEGATIVE,
};

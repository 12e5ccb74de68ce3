/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Piecewise linear activations: linear, relu and its variants. Keras' general relu is
 *
 *     max_value                       where x >= max_value
 *     x                               where threshold < x < max_value
 *     negative_slope (x - threshold)  below
 */
#include "model/model.h"

static dt_value linear(const void *args, dt_value x) {
    (void)args;
    return x;
}

const dt_activation dt_activation_linear = {
    .kind = {.name = "linear", .about = "x"},
    .call = linear,
    .range = DT_RANGE_REAL,
};

/* ---- relu ---- */

static const dt_field relu_fields[] = {
    DT_REAL(dt_relu_args, negative_slope, .help = "slope below the threshold"),
    DT_REAL(dt_relu_args, max_value, .set = 1 + offsetof(dt_relu_args, has_max),
            .help = "maximum output; default: none"),
    DT_REAL(dt_relu_args, threshold,
            .help = "threshold below which the output is 0, or has the negative slope"),
    DT_END};

/* Emits x where x > 0, else slope * x. */
static dt_value leaky(dt_value x, double slope) {
    dt_value below = dt_multiply(x, dt_like(x, slope));
    if (slope >= 0 && slope < 1) return dt_maximum(x, below);
    return dt_select(dt_compare(x, dt_like(x, 0), DT_GT), x, below);
}

/* Emits x where x > threshold, else 0. */
static dt_value above(const dt_relu_args *r, dt_value x) {
    dt_value zero = dt_like(x, 0);
    return r->threshold == 0 ? dt_maximum(x, zero)
                             : dt_select(dt_compare(x, dt_like(x, r->threshold), DT_GT), x, zero);
}

/* Emits y limited to [0, max_value]. At y = max_value the slope is 0 if max_value is 6 and the
 * threshold is 0, else 1, since relu6 is a separate operation in Keras. */
static dt_value below_maximum(const dt_relu_args *r, dt_value y) {
    dt_value most = dt_like(y, r->max_value);
    if (r->max_value == 6 && r->threshold == 0) return dt_minimum(y, most);
    return dt_minimum(most, dt_maximum(dt_like(y, 0), y));
}

dt_value dt_relu(const dt_relu_args *r, dt_value x) {
    if (r->negative_slope != 0 && !r->has_max && r->threshold == 0)
        return leaky(x, r->negative_slope);
    dt_value y = above(r, x);
    if (r->has_max) y = below_maximum(r, y);
    if (r->negative_slope == 0) return y;
    /* how far x lies below the threshold; 0 above it */
    dt_value depth = dt_maximum(dt_subtract(dt_like(x, r->threshold), x), dt_like(x, 0));
    return dt_subtract(y, dt_multiply(depth, dt_like(x, r->negative_slope)));
}

static dt_value relu(const void *args, dt_value x) { return dt_relu(args, x); }

const dt_activation dt_activation_relu = {
    .kind = {"relu", "max(x, 0)", relu_fields, sizeof(dt_relu_args), NULL},
    .call = relu,
    .range = DT_RANGE_NONNEGATIVE,
};

static dt_value relu6(const void *args, dt_value x) {
    (void)args;
    return dt_clamp(x, 0, 6);
}

const dt_activation dt_activation_relu6 = {
    .kind = {.name = "relu6", .about = "x clipped to [0, 6]"},
    .call = relu6,
    .range = DT_RANGE_NONNEGATIVE,
};

/* ---- leaky_relu ---- */

struct leaky {
    double negative_slope;
};

static const dt_field leaky_fields[] = {
    DT_REAL(struct leaky, negative_slope, .preset = "0.2", .help = "slope below 0"), DT_END};

static dt_value leaky_relu(const void *args, dt_value x) {
    return leaky(x, ((const struct leaky *)args)->negative_slope);
}

const dt_activation dt_activation_leaky_relu = {
    .kind = {"leaky_relu", "x, with another slope below 0", leaky_fields, sizeof(struct leaky),
             NULL},
    .call = leaky_relu,
    .range = DT_RANGE_REAL,
};

/* ---- threshold ---- */

struct threshold {
    double threshold, default_value;
};

static const dt_field threshold_fields[] = {DT_REAL(struct threshold, threshold, .required = true,
                                                    .help = "threshold above which inputs pass"),
                                            DT_REAL(struct threshold, default_value,
                                                    .required = true,
                                                    .help = "output for all other inputs"),
                                            DT_END};

static dt_value threshold(const void *args, dt_value x) {
    const struct threshold *a = args;
    return dt_select(dt_compare(x, dt_like(x, a->threshold), DT_GT), x,
                     dt_like(x, a->default_value));
}

const dt_activation dt_activation_threshold = {
    .kind = {"threshold", "x above a threshold, else a fixed value", threshold_fields,
             sizeof(struct threshold), NULL},
    .call = threshold,
};

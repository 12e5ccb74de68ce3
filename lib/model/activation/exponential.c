/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that are exponential below 0: elu, selu, celu; and exp itself. */
#include "model/model.h"

static dt_value exponential(const void *args, dt_value x) {
    (void)args;
    return dt_exponential(x);
}

const dt_activation dt_activation_exponential = {
    .kind = {.name = "exponential", .about = "exp x"},
    .call = exponential,
    .range = DT_RANGE_POSITIVE,
};

/* ---- elu, selu ---- */

/* Emits scale * x where `positive` is true, else scale * alpha * (exp x - 1). Positive x are
 * replaced before the exponential, which would overflow: even an infinity that is not selected
 * makes the gradient NaN. */
static dt_value exponential_below(dt_value x, dt_value positive, double scale, double alpha) {
    dt_value below = dt_subtract(dt_exponential(dt_minimum(dt_like(x, 0), x)), dt_like(x, 1));
    dt_value above = scale == 1 ? x : dt_multiply(x, dt_like(x, scale));
    return dt_select(positive, above, dt_multiply(below, dt_like(x, scale * alpha)));
}

struct elu {
    double alpha;
};

static const dt_field elu_fields[] = {
    DT_REAL(struct elu, alpha, .preset = "1", .help = "scale of the negative part"), DT_END};

static dt_value elu(const void *args, dt_value x) {
    return exponential_below(x, dt_compare(x, dt_like(x, 0), DT_GT), 1,
                             ((const struct elu *)args)->alpha);
}

const dt_activation dt_activation_elu = {
    .kind = {"elu", "x; below 0, alpha (exp x - 1)", elu_fields, sizeof(struct elu), NULL},
    .call = elu,
    .range = DT_RANGE_BENT,
};

/* Emits selu by G. Klambauer et al., Self-Normalizing Neural Networks (2017). */
static dt_value selu(const void *args, dt_value x) {
    (void)args;
    return exponential_below(x, dt_compare(x, dt_like(x, 0), DT_GE), 1.0507009873554804934,
                             1.6732632423543772848);
}

const dt_activation dt_activation_selu = {
    .kind = {.name = "selu", .about = "an elu that preserves mean 0 and variance 1"},
    .call = selu,
    .range = DT_RANGE_BENT,
};

/* ---- celu ---- */

/* Emits celu: max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1). At 0 both terms pass the gradient, so
 * the slope is 2 there, as in Keras. */
static dt_value celu(const void *args, dt_value x) {
    dt_value zero = dt_like(x, 0), alpha = dt_like(x, ((const struct elu *)args)->alpha);
    dt_value below = dt_exponential_minus_one(dt_divide(dt_minimum(zero, x), alpha));
    return dt_add(dt_maximum(zero, x), dt_multiply(alpha, below));
}

const dt_activation dt_activation_celu = {
    .kind = {"celu", "x; below 0, alpha (exp(x / alpha) - 1)", elu_fields, sizeof(struct elu),
             NULL},
    .call = celu,
    .range = DT_RANGE_BENT,
};

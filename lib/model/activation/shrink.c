/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that take small x to 0: hard_shrink, soft_shrink, tanh_shrink. */
#include "model/model.h"

struct shrink {
    double threshold;
};

static const dt_field fields[] = {
    DT_REAL(struct shrink, threshold, .preset = "0.5", .help = "values of |x| up to this become 0"),
    DT_END};

static dt_value hard_shrink(const void *args, dt_value x) {
    dt_value threshold = dt_like(x, ((const struct shrink *)args)->threshold);
    return dt_select(dt_compare(dt_abs(x), threshold, DT_GT), x, dt_like(x, 0));
}

const dt_activation dt_activation_hard_shrink = {
    .kind = {"hard_shrink", "x, and 0 up to a threshold", fields, sizeof(struct shrink), NULL},
    .call = hard_shrink,
    .range = DT_RANGE_REAL,
};

/* Emits x moved towards 0 by the threshold; 0 where |x| is at most the threshold. */
static dt_value soft_shrink(const void *args, dt_value x) {
    dt_value threshold = dt_like(x, ((const struct shrink *)args)->threshold), zero = dt_like(x, 0);
    return dt_add(dt_maximum(dt_subtract(x, threshold), zero),
                  dt_minimum(dt_add(x, threshold), zero));
}

const dt_activation dt_activation_soft_shrink = {
    .kind = {"soft_shrink", "x moved towards 0 by a threshold", fields, sizeof(struct shrink),
             NULL},
    .call = soft_shrink,
    .range = DT_RANGE_REAL,
};

static dt_value tanh_shrink(const void *args, dt_value x) {
    (void)args;
    return dt_subtract(x, dt_tanh(x));
}

const dt_activation dt_activation_tanh_shrink = {
    .kind = {.name = "tanh_shrink", .about = "x - tanh x"},
    .call = tanh_shrink,
    .range = DT_RANGE_REAL,
};

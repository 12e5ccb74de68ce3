/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ftrl (H. McMahan et al., Ad Click Prediction: a View from the Trenches, 2013): follow the
 * regularized leader. Each step computes the weights anew from two sums: n of squared gradients and
 * z of gradients.
 *
 *     g' = g + 2 l2_shrinkage w
 *     s = ((n + g g)^p - n^p) / rate with p = -learning_rate_power
 *     z += g' - s w;  n += g g
 *     w = (z cut to [-l1, l1] - z) / (n^p / rate + 2 (l2 + beta / (2 rate)))
 */
#include "model/model.h"

struct ftrl {
    dt_optimizer_head head;
    double learning_rate_power, initial_accumulator_value, l1_regularization_strength,
        l2_regularization_strength;
    double l2_shrinkage_regularization_strength, beta;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct ftrl),
    DT_REAL(struct ftrl, learning_rate_power, .preset = "-0.5",
            .help = "at most 0; how the rate falls with the sum of squares"),
    DT_REAL(struct ftrl, initial_accumulator_value, .preset = "0.1", .max = INFINITY,
            .help = "initial value of the accumulators"),
    DT_REAL(struct ftrl, l1_regularization_strength, .max = INFINITY,
            .help = "strength of L1 regularization"),
    DT_REAL(struct ftrl, l2_regularization_strength, .max = INFINITY,
            .help = "strength of L2 regularization"),
    DT_REAL(struct ftrl, l2_shrinkage_regularization_strength, .max = INFINITY,
            .help = "magnitude penalty, added to the gradients (L2 shrinkage)"),
    DT_REAL(struct ftrl, beta, .help = "added to avoid division by 0"),
    DT_END};

static dt_status *check(const void *args, const dt_location *where) {
    double power = ((const struct ftrl *)args)->learning_rate_power;
    return power <= 0
               ? NULL
               : dt_fail(DT_E_RANGE, where, "learning_rate_power must be at most 0, got %g", power);
}

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)of;
    slot[0].name = "accumulator";
    slot[0].initial = ((const struct ftrl *)args)->initial_accumulator_value;
    slot[1].name = "linear";
    return 2;
}

/* Emits n^-learning_rate_power. A square root equals pow(x, 0.5), rounded, for every float from 0
 * on, and is much faster. */
static dt_value raised(const struct ftrl *f, dt_value n) {
    return f->learning_rate_power == -0.5 ? dt_sqrt(n)
                                          : dt_power(n, dt_like(n, -f->learning_rate_power));
}

static void apply(dt_update *u) {
    const struct ftrl *f = u->args;
    dt_value n = dt_add(u->slot[0], dt_multiply(u->g, u->g)), power = raised(f, n);
    dt_value g =
        dt_add(u->g, dt_multiply(dt_like(u->w, 2 * f->l2_shrinkage_regularization_strength), u->w));
    dt_value sigma = dt_divide(dt_subtract(power, raised(f, u->slot[0])), u->rate);
    dt_value z = dt_add(u->slot[1], dt_subtract(g, dt_multiply(sigma, u->w)));
    dt_value l2 =
        dt_add(dt_like(u->rate, f->l2_regularization_strength),
               dt_divide(dt_like(u->rate, f->beta), dt_multiply(dt_like(u->rate, 2), u->rate)));
    dt_value divisor = dt_add(dt_divide(power, u->rate), dt_multiply(dt_like(l2, 2), l2));
    dt_value cut = dt_clamp(z, -f->l1_regularization_strength, f->l1_regularization_strength);
    u->slot[0] = n;
    u->slot[1] = z;
    u->w = dt_divide(dt_subtract(cut, z), divisor);
}

const dt_optimizer_row dt_optimizer_ftrl = {
    .kind = {"Ftrl", "follow the regularised leader", fields, sizeof(struct ftrl),
             (const char *const[]){"ftrl", NULL}},
    .rate = 0.001,
    .check = check,
    .slots = slots,
    .apply = apply,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adagrad (J. Duchi et al., Adaptive Subgradient Methods, 2011): gradients are divided by the root
 * of the sum of their squares so far.
 *
 *     a += g g
 *     w -= rate g / sqrt(a + epsilon)
 */
#include "model/model.h"

struct adagrad {
    dt_optimizer_head head;
    double initial_accumulator_value, epsilon;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct adagrad),
    DT_REAL(struct adagrad, initial_accumulator_value, .preset = "0.1",
            .help = "initial value of the accumulators"),
    DT_REAL(struct adagrad, epsilon, .preset = "1e-7", .above_min = true,
            .help = "small constant that avoids division by 0"),
    DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)of;
    slot[0].name = "accumulator";
    slot[0].initial = ((const struct adagrad *)args)->initial_accumulator_value;
    return 1;
}

static void apply(dt_update *u) {
    const struct adagrad *a = u->args;
    dt_value sum = u->slot[0] = dt_add(u->slot[0], dt_multiply(u->g, u->g));
    u->w = dt_subtract(u->w, dt_divide(dt_multiply(u->g, u->rate),
                                       dt_sqrt(dt_add(sum, dt_like(sum, a->epsilon)))));
}

const dt_optimizer_row dt_optimizer_adagrad = {
    .kind = {"Adagrad", "steps divided by the root of all squared gradients", fields,
             sizeof(struct adagrad), (const char *const[]){"adagrad", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

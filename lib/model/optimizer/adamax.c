/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adamax (section 7 of the paper on Adam): Adam with u, a decaying maximum of gradients, in place
 * of the root of the mean of squares.
 *
 *     m += (g - m) (1 - beta_1)
 *     u = max(beta_2 u, |g|)
 *     w -= rate m / ((1 - beta_1^t) (u + epsilon))
 */
#include "model/model.h"

struct adamax {
    dt_optimizer_head head;
    double beta_1, beta_2, epsilon;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct adamax),
    DT_REAL(struct adamax, beta_1, .preset = "0.9", .max = 1, .below_max = true,
            .help = "decay rate of the mean of gradients"),
    DT_REAL(struct adamax, beta_2, .preset = "0.999", .max = 1,
            .help = "decay rate of the largest gradient"),
    DT_REAL(struct adamax, epsilon, .preset = "1e-7", .above_min = true,
            .help = "small constant that avoids division by 0"),
    DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)args, (void)of;
    slot[0].name = "momentum";
    slot[1].name = "norm";
    return 2;
}

static void apply(dt_update *u) {
    const struct adamax *a = u->args;
    dt_value m = dt_moment_moved(u->slot[0], u->g, 1 - a->beta_1);
    dt_value norm =
        dt_maximum(dt_multiply(dt_like(u->slot[1], a->beta_2), u->slot[1]), dt_abs(u->g));
    dt_value divisor =
        dt_multiply(dt_add(norm, dt_like(norm, a->epsilon)), dt_moment_filled(u, a->beta_1));
    u->slot[0] = m;
    u->slot[1] = norm;
    u->w = dt_subtract(u->w, dt_divide(dt_multiply(m, u->rate), divisor));
}

const dt_optimizer_row dt_optimizer_adamax = {
    .kind = {"Adamax", "Adam scaled by the largest gradient", fields, sizeof(struct adamax),
             (const char *const[]){"adamax", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

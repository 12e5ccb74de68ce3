/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedule-free AdamW (A. Defazio et al., The Road Less Scheduled, 2024): the weights lie between a
 * sequence z, which takes the steps, and the mean x of that sequence, which needs no decaying rate.
 * Of the two only z is stored; x follows from z and the weights.
 *
 *     v += (g g - v) (1 - beta_2)
 *     x = (w - (1 - beta_1) z) / beta_1
 *     z -= rate min(t / warmup_steps, 1) g / (sqrt(v / (1 - beta_2^t)) + epsilon)
 *     x = (1 - 1/t) x + z / t
 *     w = (1 - beta_1) z + beta_1 x
 */
#include "model/model.h"

struct schedule_free {
    dt_optimizer_head head;
    double beta_1, beta_2, epsilon;
    int64_t warmup_steps;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct schedule_free),
    DT_REAL(struct schedule_free, beta_1, .preset = "0.9", .max = 1, .above_min = true,
            .help = "weight of the mean in the weights"),
    DT_REAL(struct schedule_free, beta_2, .preset = "0.999", .max = 1, .below_max = true,
            .help = "decay rate of the mean of squared gradients"),
    DT_REAL(struct schedule_free, epsilon, .preset = "1e-8", .above_min = true,
            .help = "small constant that avoids division by 0"),
    DT_INT(struct schedule_free, warmup_steps, .max = INFINITY,
           .help = "updates during which the rate rises from 0 to learning_rate"),
    DT_END};

/* Returns the sequence z before this update. Before the first update z equals the weights. */
static dt_value sequence(const dt_update *u) {
    const dt_type type = dt_type_of_value(u->stored);
    dt_value is_first = dt_compare(u->t, dt_like(u->t, 1), DT_EQ);
    return dt_select(dt_broadcast_to(is_first, &type), u->stored, u->slot[0]);
}

static dt_value rate_of(const dt_update *u) {
    const int64_t warmup = ((const struct schedule_free *)u->args)->warmup_steps;
    if (warmup == 0) return u->rate;
    dt_value share = dt_divide(u->t, dt_like(u->t, (double)warmup));
    return dt_multiply(u->rate, dt_minimum(share, dt_like(share, 1)));
}

static void apply(dt_update *u) {
    const struct schedule_free *a = u->args;
    dt_value z = sequence(u), one = dt_like(u->t, 1), beta = dt_like(u->t, a->beta_1);
    dt_value rest = dt_subtract(one, beta), part = dt_divide(one, u->t);
    dt_value x = dt_divide(dt_subtract(u->w, dt_multiply(rest, z)), beta);
    dt_value v = dt_moment_moved(u->slot[1], dt_multiply(u->g, u->g), 1 - a->beta_2);
    dt_value root = dt_sqrt(dt_divide(v, dt_moment_filled(u, a->beta_2)));
    dt_value divisor = dt_add(root, dt_like(root, a->epsilon));
    z = dt_subtract(z, dt_divide(dt_multiply(rate_of(u), u->g), divisor));
    x = dt_add(dt_multiply(dt_subtract(one, part), x), dt_multiply(part, z));
    u->slot[0] = z;
    u->slot[1] = v;
    u->w = dt_add(dt_multiply(rest, z), dt_multiply(beta, x));
}

const dt_optimizer_row dt_optimizer_schedule_free_adamw = {
    .kind = {"ScheduleFreeAdamW", "AdamW with a mean of its steps instead of a schedule", fields,
             sizeof(struct schedule_free), (const char *const[]){"schedulefreeadamw", NULL}},
    .rate = 0.0025,
    .slots = dt_moment_slots,
    .apply = apply,
};

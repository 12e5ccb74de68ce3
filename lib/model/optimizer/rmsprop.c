/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RMSprop (G. Hinton, lecture 6e of Neural Networks for Machine Learning, 2012): gradients are
 * divided by the root of the running mean of their squares.
 *
 *     v = rho v + (1 - rho) g g
 *     a = rho a + (1 - rho) g                        centered: v - a a is the variance; else a = 0
 *     step = rate g / sqrt(v - a a + epsilon)
 *     m = momentum m + step;  w -= m                 momentum 0: w -= step
 */
#include "model/model.h"

struct rmsprop {
    dt_optimizer_head head;
    double rho, momentum, epsilon;
    bool centered;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct rmsprop),
    DT_REAL(struct rmsprop, rho, .preset = "0.9", .max = 1, .help = "decay rate of the means"),
    DT_REAL(struct rmsprop, momentum, .help = "momentum"),
    DT_REAL(struct rmsprop, epsilon, .preset = "1e-7", .above_min = true,
            .help = "small constant that avoids division by 0"),
    DT_FLAG(struct rmsprop, centered,
            .help = "normalize by the estimated variance instead of the mean of squares"),
    DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    const struct rmsprop *r = args;
    int n = 0;
    (void)of;
    slot[n++].name = "velocity";
    if (r->momentum > 0) slot[n++].name = "momentum";
    if (r->centered) slot[n++].name = "average_gradient";
    return n;
}

static void apply(dt_update *u) {
    const struct rmsprop *r = u->args;
    int mean = r->momentum > 0 ? 2 : 1;
    dt_value v = u->slot[0] = dt_moment_mixed(u->slot[0], dt_multiply(u->g, u->g), r->rho);
    if (r->centered) {
        dt_value a = u->slot[mean] = dt_moment_mixed(u->slot[mean], u->g, r->rho);
        v = dt_subtract(v, dt_multiply(a, a));
    }
    dt_value step =
        dt_divide(dt_multiply(u->g, u->rate), dt_sqrt(dt_add(v, dt_like(v, r->epsilon))));
    if (r->momentum > 0)
        step = u->slot[1] = dt_add(dt_multiply(dt_like(step, r->momentum), u->slot[1]), step);
    u->w = dt_subtract(u->w, step);
}

const dt_optimizer_row dt_optimizer_rmsprop = {
    .kind = {"RMSprop", "steps divided by the size of recent gradients", fields,
             sizeof(struct rmsprop), (const char *const[]){"rmsprop", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

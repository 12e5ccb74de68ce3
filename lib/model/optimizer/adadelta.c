/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adadelta (M. Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012): steps in the unit of the
 * weights, by the running means of squares of gradients and of steps.
 *
 *     a = rho a + (1 - rho) g g
 *     d = -g sqrt(b + epsilon) / sqrt(a + epsilon)
 *     b = rho b + (1 - rho) d d
 *     w += rate d
 */
#include "model/model.h"

struct adadelta {
    dt_optimizer_head head;
    double rho, epsilon;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct adadelta),
    DT_REAL(struct adadelta, rho, .preset = "0.95", .max = 1, .help = "decay rate of the means"),
    DT_REAL(struct adadelta, epsilon, .preset = "1e-7", .above_min = true,
            .help = "added to avoid division by 0; determines the size of the first steps"),
    DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)args, (void)of;
    slot[0].name = "accumulated_grad";
    slot[1].name = "accumulated_delta_var";
    return 2;
}

static dt_value root(dt_value x, double epsilon) { return dt_sqrt(dt_add(x, dt_like(x, epsilon))); }

static void apply(dt_update *u) {
    const struct adadelta *a = u->args;
    dt_value squares = u->slot[0] = dt_moment_mixed(u->slot[0], dt_multiply(u->g, u->g), a->rho);
    dt_value d = dt_negate(
        dt_divide(dt_multiply(root(u->slot[1], a->epsilon), u->g), root(squares, a->epsilon)));
    u->slot[1] = dt_moment_mixed(u->slot[1], dt_multiply(d, d), a->rho);
    u->w = dt_add(u->w, dt_multiply(d, u->rate));
}

const dt_optimizer_row dt_optimizer_adadelta = {
    .kind = {"Adadelta", "steps scaled by running means of past gradients and updates", fields,
             sizeof(struct adadelta), (const char *const[]){"adadelta", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SGD: gradient descent, optionally with momentum.
 *
 *     w -= rate g                        momentum 0
 *     m = momentum m - rate g;  w += m
 *     m = momentum m - rate g;  w += momentum m - rate g       nesterov
 */
#include "model/model.h"

struct sgd {
    dt_optimizer_head head;
    double momentum;
    bool nesterov;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct sgd), DT_REAL(struct sgd, momentum, .max = 1, .help = "momentum"),
    DT_FLAG(struct sgd, nesterov, .help = "use Nesterov momentum"), DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)of;
    slot[0].name = "momentum";
    return ((const struct sgd *)args)->momentum != 0;
}

static void apply(dt_update *u) {
    const struct sgd *s = u->args;
    dt_value step = dt_multiply(u->g, u->rate);
    if (s->momentum == 0) {
        u->w = dt_subtract(u->w, step);
        return;
    }
    dt_value momentum = dt_like(u->w, s->momentum);
    dt_value m = dt_subtract(dt_multiply(u->slot[0], momentum), step);
    u->slot[0] = m;
    u->w = dt_add(u->w, s->nesterov ? dt_subtract(dt_multiply(m, momentum), step) : m);
}

const dt_optimizer_row dt_optimizer_sgd = {
    .kind = {"SGD", "gradient descent with optional momentum", fields, sizeof(struct sgd),
             (const char *const[]){"sgd", NULL}},
    .rate = 0.01,
    .slots = slots,
    .apply = apply,
};

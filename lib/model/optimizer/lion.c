/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lion (X. Chen et al., Symbolic Discovery of Optimization Algorithms, 2023): steps of equal size,
 * in the direction of the sign of a running mean.
 *
 *     w -= rate sign(beta_1 m + (1 - beta_1) g)
 *     m = beta_2 m + (1 - beta_2) g
 */
#include "model/model.h"

struct lion {
    dt_optimizer_head head;
    double beta_1, beta_2;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS(struct lion),
    DT_REAL(struct lion, beta_1, .preset = "0.9", .max = 1, .above_min = true,
            .help = "weight of the mean of gradients in the update"),
    DT_REAL(struct lion, beta_2, .preset = "0.99", .max = 1, .help = "decay rate of the mean"),
    DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    (void)args, (void)of;
    slot[0].name = "momentum";
    return 1;
}

/* Emits beta m + (1 - beta) g, with 1 - beta rounded to the variable's dtype. */
static dt_value mixed(dt_value m, dt_value g, double beta) {
    dt_value share = dt_like(m, beta);
    return dt_add(dt_multiply(m, share), dt_multiply(g, dt_subtract(dt_like(m, 1), share)));
}

static void apply(dt_update *u) {
    const struct lion *l = u->args;
    u->w = dt_subtract(u->w, dt_multiply(dt_sign(mixed(u->slot[0], u->g, l->beta_1)), u->rate));
    u->slot[0] = mixed(u->slot[0], u->g, l->beta_2);
}

const dt_optimizer_row dt_optimizer_lion = {
    .kind = {"Lion", "steps of equal size, by the sign of a running mean", fields,
             sizeof(struct lion), (const char *const[]){"lion", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAMB (Y. You et al., Large Batch Optimization for Deep Learning, 2019): steps in Adam's
 * direction, with a length in proportion to that of the weights.
 *
 *     m += (g - m) (1 - beta_1);  v += (g g - v) (1 - beta_2)
 *     u = (m / (1 - beta_1^t)) / (sqrt(v / (1 - beta_2^t)) + epsilon)
 *     w -= rate u |w| / |u|          the ratio is 1 where a norm is 0
 */
#include "model/model.h"

struct lamb {
    dt_optimizer_head head;
    double beta_1, beta_2, epsilon;
};

static const dt_field fields[] = {DT_OPTIMIZER_FIELDS(struct lamb), DT_MOMENT_FIELDS(struct lamb),
                                  DT_END};

static dt_value norm(dt_value x) { return dt_sqrt(dt_reduce_sum(dt_multiply(x, x), DT_NO_AXIS)); }

static dt_value trust_ratio(dt_value w, dt_value u) {
    dt_value zero = dt_like(w, 0), one = dt_like(w, 1);
    dt_value ratio = dt_select(dt_compare(u, zero, DT_GT), dt_divide(w, u), one);
    return dt_select(dt_compare(w, zero, DT_GT), ratio, one);
}

static void apply(dt_update *u) {
    const struct lamb *l = u->args;
    dt_value m = u->slot[0] = dt_moment_moved(u->slot[0], u->g, 1 - l->beta_1);
    dt_value v = u->slot[1] = dt_moment_moved(u->slot[1], dt_multiply(u->g, u->g), 1 - l->beta_2);
    dt_value root = dt_sqrt(dt_divide(v, dt_moment_filled(u, l->beta_2)));
    dt_value direction = dt_divide(dt_divide(m, dt_moment_filled(u, l->beta_1)),
                                   dt_add(root, dt_like(root, l->epsilon)));
    dt_value length = dt_multiply(trust_ratio(norm(u->w), norm(direction)), u->rate);
    u->w = dt_subtract(u->w, dt_multiply(direction, length));
}

const dt_optimizer_row dt_optimizer_lamb = {
    .kind = {"Lamb", "Adam with steps in proportion to each weight's norm", fields,
             sizeof(struct lamb), (const char *const[]){"lamb", "LAMB", NULL}},
    .rate = 0.001,
    .slots = dt_moment_slots,
    .apply = apply,
};

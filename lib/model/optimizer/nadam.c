/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nadam (T. Dozat, Incorporating Nesterov Momentum into Adam, 2016): Adam that looks one step of
 * momentum ahead. The momentum follows a schedule; the product of its values over all steps
 * corrects the mean.
 *
 *     u_t = beta_1 (1 - 0.96^t / 2)
 *     m += (g - m) (1 - beta_1);  v += (g g - v) (1 - beta_2)
 *     m^ = u_t+1 m / (1 - u_1 ... u_t+1) + (1 - u_t) g / (1 - u_1 ... u_t)
 *     w -= rate m^ / (sqrt(v / (1 - beta_2^t)) + epsilon)
 */
#include "model/model.h"

struct nadam {
    dt_optimizer_head head;
    double beta_1, beta_2, epsilon;
};

static const dt_field fields[] = {DT_OPTIMIZER_FIELDS(struct nadam), DT_MOMENT_FIELDS(struct nadam),
                                  DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    dt_moment_slots(args, of, slot);
    slot[2] =
        (dt_slot_spec){.name = "u_product", .type = dt_scalar_type(of->type.dtype), .initial = 1};
    return 3;
}

/* Emits the momentum u_t, which grows with the number t of the update. */
static dt_value momentum_at(const struct nadam *a, dt_value t) {
    dt_value half = dt_multiply(dt_like(t, 0.5), dt_power(dt_like(t, 0.96), t));
    return dt_multiply(dt_like(t, a->beta_1), dt_subtract(dt_like(t, 1), half));
}

static dt_value one_minus(dt_value x) { return dt_subtract(dt_like(x, 1), x); }

/* Emits mean + (x - mean) (1 - beta), with 1 - beta rounded to the variable's dtype, as in Keras'
 * Nadam. */
static dt_value moved(dt_value mean, dt_value x, double beta) {
    return dt_add(mean, dt_multiply(dt_subtract(x, mean), one_minus(dt_like(mean, beta))));
}

static void apply(dt_update *u) {
    const struct nadam *a = u->args;
    dt_value now = momentum_at(a, u->t), next = momentum_at(a, dt_add(u->t, dt_like(u->t, 1)));
    dt_value product = dt_multiply(u->slot[2], now), product_next = dt_multiply(product, next);
    dt_value m = moved(u->slot[0], u->g, a->beta_1),
             v = moved(u->slot[1], dt_multiply(u->g, u->g), a->beta_2);
    dt_value ahead = dt_divide(dt_multiply(m, next), one_minus(product_next));
    dt_value fresh = dt_divide(dt_multiply(u->g, one_minus(now)), one_minus(product));
    dt_value root = dt_sqrt(dt_divide(v, dt_moment_filled(u, a->beta_2)));
    u->slot[0] = m;
    u->slot[1] = v;
    u->slot[2] = product;
    u->w = dt_subtract(u->w, dt_divide(dt_multiply(dt_add(ahead, fresh), u->rate),
                                       dt_add(root, dt_like(root, a->epsilon))));
}

const dt_optimizer_row dt_optimizer_nadam = {
    .kind = {"Nadam", "Adam with Nesterov momentum", fields, sizeof(struct nadam),
             (const char *const[]){"nadam", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

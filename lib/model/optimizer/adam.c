/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adam (D. Kingma, J. Ba, Adam: A Method for Stochastic Optimization, 2014, in the form before its
 * section 2.1), as Keras writes it:
 *
 *     alpha = rate sqrt(1 - beta_2^t) / (1 - beta_1^t)
 *     m += (g - m) (1 - beta_1)
 *     v += (g g - v) (1 - beta_2)
 *     w -= m alpha / (sqrt(v) + epsilon)        amsgrad: v's largest value so far in place of v
 *
 * alpha is one number for each step, and the same node for all variables. The rest is a chain of
 * operations for each element: twelve, or thirteen with amsgrad.
 */
#include "model/model.h"

struct adam {
    dt_optimizer_head head;
    double beta_1, beta_2, epsilon;
    bool amsgrad;
};

#define ADAM_FIELDS                                                                                \
    DT_MOMENT_FIELDS(struct adam), DT_FLAG(struct adam, amsgrad, .help = "use the AMSGrad variant")

static const dt_field fields[] = {DT_OPTIMIZER_FIELDS(struct adam), ADAM_FIELDS, DT_END};

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    dt_moment_slots(args, of, slot);
    slot[2].name = "velocity_hat";
    return ((const struct adam *)args)->amsgrad ? 3 : 2;
}

static void apply(dt_update *u) {
    const struct adam *a = u->args;
    dt_value alpha = dt_divide(dt_multiply(u->rate, dt_sqrt(dt_moment_filled(u, a->beta_2))),
                               dt_moment_filled(u, a->beta_1));
    dt_value m = dt_moment_moved(u->slot[0], u->g, 1 - a->beta_1);
    dt_value v = dt_moment_moved(u->slot[1], dt_multiply(u->g, u->g), 1 - a->beta_2);
    u->slot[0] = m;
    u->slot[1] = v;
    if (a->amsgrad) v = u->slot[2] = dt_maximum(u->slot[2], v);
    dt_value divisor = dt_add(dt_sqrt(v), dt_like(v, a->epsilon));
    u->w = dt_subtract(u->w, dt_divide(dt_multiply(m, alpha), divisor));
}

const dt_optimizer_row dt_optimizer_adam = {
    .kind = {"Adam", "steps scaled by running means of gradients and their squares", fields,
             sizeof(struct adam), (const char *const[]){"adam", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

/* AdamW (I. Loshchilov, F. Hutter, Decoupled Weight Decay Regularization, 2017): Adam whose weights
 * decay by default. */
static const dt_field decaying_fields[] = {DT_OPTIMIZER_FIELDS_DECAYING(struct adam, "0.004"),
                                           ADAM_FIELDS, DT_END};

const dt_optimizer_row dt_optimizer_adamw = {
    .kind = {"AdamW", "Adam with decoupled weight decay", decaying_fields, sizeof(struct adam),
             (const char *const[]){"adamw", NULL}},
    .rate = 0.001,
    .slots = slots,
    .apply = apply,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BinaryCrossentropy: -y log p - (1 - y) log(1 - p), averaged over the outputs of a sample.
 *
 * From logits x it is log(1 + exp x) - x y. Probabilities are clipped to [1e-7, 1 - 1e-7], unless
 * they come straight from a sigmoid: that node's input is the logits.
 *
 * The focal form (T. Lin et al., Focal Loss for Dense Object Detection, 2017) multiplies the loss
 * of clipped probabilities by (1 - p_t)^gamma, where p_t is the probability of the true label; with
 * class balancing labels 1 have the weight alpha, labels 0 the weight 1 - alpha.
 */
#include <assert.h>

#include "model/model.h"

struct crossentropy {
    dt_loss_head head;
    bool from_logits, apply_class_balancing;
    double label_smoothing, alpha, gamma;
    int64_t axis;
};

static_assert(sizeof(struct crossentropy) <= DT_LOSS_ARGS_SIZE,
              "a metric has room for these arguments");

#define CROSSENTROPY_FIELDS                                                                        \
    DT_FLAG(struct crossentropy, from_logits,                                                      \
            .help = "predictions are logits (no sigmoid applied)"),                                \
        DT_REAL(struct crossentropy, label_smoothing, .help = "label smoothing towards 1/2"),      \
        DT_INT(struct crossentropy, axis, .preset = "-1",                                          \
               .help = "axis of the outputs to average")

const dt_field dt_binary_crossentropy_fields[] = {DT_LOSS_FIELDS(struct crossentropy),
                                                  CROSSENTROPY_FIELDS, DT_END};

/* Emits softplus(x) - x y, ordered so that x and x y cancel before the small remainder is added. So
 * a loss of 4e-8 is precise. */
static dt_value from_logits(dt_value y, dt_value x) {
    dt_value positive, tail;
    dt_softplus_parts(x, &positive, &tail);
    return dt_add(dt_subtract(positive, dt_multiply(x, y)), tail);
}

static dt_value from_probabilities(dt_value y, dt_value p) {
    dt_value one = dt_like(p, 1);
    p = dt_clip_probability(p);
    dt_value hit = dt_multiply(y, dt_log(p));
    dt_value miss = dt_multiply(dt_subtract(one, y), dt_log(dt_subtract(one, p)));
    return dt_negate(dt_add(hit, miss));
}

static dt_value smoothed(const dt_loss_call_args *c) {
    const struct crossentropy *x = c->args;
    return dt_smooth_labels(dt_targets_like(c->target, c->prediction), x->label_smoothing, 2);
}

static dt_value mean_over_axis(const struct crossentropy *x, dt_value values) {
    int axis = dt_axis_of(values, x->axis);
    return axis < 0 ? (dt_value){0} : dt_mean_last(dt_move_last(values, axis));
}

static dt_value rows(const dt_loss_call_args *c) {
    const struct crossentropy *x = c->args;
    dt_value y = smoothed(c);
    dt_value logits = x->from_logits ? c->prediction : dt_logits_of(c->prediction, &dt_op_logistic);
    return mean_over_axis(x, logits.trace ? from_logits(y, logits)
                                          : from_probabilities(y, c->prediction));
}

const dt_loss_row dt_loss_binary_crossentropy = {
    .of = DT_OUTPUT_LABELS,
    .targets = {0, 1},
    .expects = {DT_PROBABILITIES, DT_RANGES(REAL) | DT_RANGES(BOTH), "probabilities", "sigmoid"},
    .kind = {"BinaryCrossentropy", "-y log p - (1 - y) log(1 - p)", dt_binary_crossentropy_fields,
             sizeof(struct crossentropy),
             (const char *const[]){"binary_crossentropy", "bce", "BCE", NULL}},
    .check = dt_check_same_shape,
    .rows = rows,
};

/* ---- focal ---- */

static const dt_field focal_fields[] = {
    DT_LOSS_FIELDS(struct crossentropy),
    DT_FLAG(struct crossentropy, apply_class_balancing,
            .help = "weight class 1 by alpha and class 0 by 1 - alpha"),
    DT_REAL(struct crossentropy, alpha, .preset = "0.25",
            .help = "weight of class 1, with apply_class_balancing"),
    DT_REAL(struct crossentropy, gamma, .preset = "2",
            .help = "focusing parameter: how much easy examples are down-weighted"),
    CROSSENTROPY_FIELDS,
    DT_END};

/* Emits y a + (1 - y) b, which is a where y is 1 and b where y is 0. */
static dt_value blend(dt_value y, dt_value a, dt_value b) {
    return dt_add(dt_multiply(y, a), dt_multiply(dt_subtract(dt_like(y, 1), y), b));
}

static dt_value focal_rows(const dt_loss_call_args *c) {
    const struct crossentropy *x = c->args;
    dt_value y = smoothed(c), p = x->from_logits ? dt_logistic(c->prediction) : c->prediction,
             one = dt_like(p, 1);
    dt_value given = blend(y, p, dt_subtract(one, p));
    dt_value factor = dt_power(dt_subtract(one, given), dt_like(p, x->gamma));
    dt_value loss = dt_multiply(factor, from_probabilities(y, p));
    if (x->apply_class_balancing)
        loss = dt_multiply(blend(y, dt_like(y, x->alpha), dt_like(y, 1 - x->alpha)), loss);
    return mean_over_axis(x, loss);
}

const dt_loss_row dt_loss_binary_focal_crossentropy = {
    .of = DT_OUTPUT_LABELS,
    .targets = {0, 1},
    .expects = {DT_PROBABILITIES, DT_RANGES(REAL) | DT_RANGES(BOTH), "probabilities", "sigmoid"},
    .kind = {"BinaryFocalCrossentropy", "binary cross-entropy that down-weights easy examples",
             focal_fields, sizeof(struct crossentropy),
             (const char *const[]){"binary_focal_crossentropy", NULL}},
    .check = dt_check_same_shape,
    .rows = focal_rows,
};

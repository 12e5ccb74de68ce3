/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CategoricalCrossentropy: -sum over classes of y log p, for one-hot (or any) y.
 *
 * From logits it is one op, which is exact for large logits, too. Probabilities are divided by
 * their sum and clipped to [1e-7, 1 - 1e-7], unless they come straight from a softmax over the last
 * axis: that node's input is the logits.
 *
 * The focal form (T. Lin et al., Focal Loss for Dense Object Detection, 2017) multiplies each
 * class's part by alpha (1 - p)^gamma. It is always computed from clipped probabilities.
 */
#include <assert.h>

#include "model/model.h"

struct crossentropy {
    dt_loss_head head;
    bool from_logits;
    double label_smoothing, gamma;
    dt_reals alpha;
    int64_t axis;
};

static_assert(sizeof(struct crossentropy) <= DT_LOSS_ARGS_SIZE,
              "a metric has room for these arguments");

#define CROSSENTROPY_FIELDS                                                                        \
    DT_FLAG(struct crossentropy, from_logits,                                                      \
            .help = "predictions are logits (no softmax applied)"),                                \
        DT_REAL(struct crossentropy, label_smoothing, .help = "label smoothing over all classes"), \
        DT_INT(struct crossentropy, axis, .preset = "-1", .help = "axis of the classes")

const dt_field dt_categorical_crossentropy_fields[] = {DT_LOSS_FIELDS(struct crossentropy),
                                                       CROSSENTROPY_FIELDS, DT_END};

/* Sets *y and *p to targets, smoothed, and predictions, with the classes moved to the end. Returns
 * false if there is no such axis; the trace has failed then. */
static bool arrange(const dt_loss_call_args *c, dt_value *y, dt_value *p) {
    const struct crossentropy *x = c->args;
    int axis = dt_axis_of(c->prediction, x->axis);
    if (axis < 0) return false;
    double classes = (double)dt_type_of_value(c->prediction).dim[axis];
    *y = dt_move_last(
        dt_smooth_labels(dt_targets_like(c->target, c->prediction), x->label_smoothing, classes),
        axis);
    *p = dt_move_last(c->prediction, axis);
    return true;
}

static dt_value normalized(dt_value p) {
    dt_type type = dt_type_of_value(p);
    return dt_divide(p, dt_broadcast_rows(dt_sum_last(p), &type));
}

static dt_value from_probabilities(dt_value y, dt_value p) {
    return dt_negate(dt_sum_last(dt_multiply(y, dt_log(dt_clip_probability(normalized(p))))));
}

static dt_value rows(const dt_loss_call_args *c) {
    const struct crossentropy *x = c->args;
    dt_value y, p;
    if (!arrange(c, &y, &p)) return (dt_value){0};
    dt_value logits = x->from_logits ? p : dt_logits_of(p, &dt_op_softmax);
    return logits.trace ? dt_softmax_cross_entropy(logits, y) : from_probabilities(y, p);
}

const dt_loss_row dt_loss_categorical_crossentropy = {
    .of = DT_OUTPUT_CLASSES,
    .targets = {0, 1},
    .expects = {DT_PROBABILITIES | DT_RANGES(POSITIVE), DT_SCORES, "probabilities", "softmax"},
    .kind = {"CategoricalCrossentropy", "-sum of y log p, one-hot targets",
             dt_categorical_crossentropy_fields, sizeof(struct crossentropy),
             (const char *const[]){"categorical_crossentropy", NULL}},
    .check = dt_check_one_hot,
    .rows = rows,
};

/* ---- focal ---- */

static const dt_field focal_fields[] = {
    DT_LOSS_FIELDS(struct crossentropy),
    DT_REALS(struct crossentropy, alpha, .preset = "0.25", .some = true,
             .help = "weight of each class, or one for all"),
    DT_REAL(struct crossentropy, gamma, .preset = "2",
            .help = "focusing parameter: how much easy examples are down-weighted"),
    CROSSENTROPY_FIELDS, DT_END};

static dt_status *check_focal(const void *args, const dt_type *target, const dt_type *prediction) {
    const struct crossentropy *x = args;
    DT_TRY(dt_check_one_hot(args, target, prediction));
    const int axis = dt_axis_in(prediction->rank, x->axis);
    /* Other code reports an axis that is out of range. */
    if (x->alpha.n == 1 || axis < 0 || prediction->dim[axis] == x->alpha.n) return NULL;
    return dt_fail(DT_E_LABELS, &x->alpha.at,
                   "alpha has %d numbers for %lld classes: give one number, or one per class",
                   x->alpha.n, (long long)prediction->dim[axis]);
}

/* Emits the alpha of each class, repeated to the shape of p: (..., classes). */
static dt_value weights(const dt_reals *alpha, dt_value p) {
    if (alpha->n == 1) return dt_like(p, alpha->v[0]);
    dt_type type = dt_type_of_value(p);
    dt_type row = dt_type_of(DT_INT32, 1, &type.dim[type.rank - 1]);
    dt_value class = dt_iota(p.trace, &row, 0), sum = dt_convert(dt_like(class, 0), type.dtype);
    for (int i = 0; i < alpha->n; i++) {
        dt_value is_i = dt_convert(dt_compare(class, dt_like(class, i), DT_EQ), type.dtype);
        sum = dt_add(sum, dt_multiply(is_i, dt_like(is_i, alpha->v[i])));
    }
    return dt_broadcast_to(sum, &type);
}

static dt_value focal_rows(const dt_loss_call_args *c) {
    const struct crossentropy *x = c->args;
    dt_value y, p;
    if (!arrange(c, &y, &p)) return (dt_value){0};
    p = dt_clip_probability(normalized(x->from_logits ? dt_softmax(p) : p));
    dt_value factor = dt_multiply(dt_power(dt_subtract(dt_like(p, 1), p), dt_like(p, x->gamma)),
                                  weights(&x->alpha, p));
    return dt_sum_last(dt_multiply(factor, dt_negate(dt_multiply(y, dt_log(p)))));
}

const dt_loss_row dt_loss_categorical_focal_crossentropy = {
    .of = DT_OUTPUT_CLASSES,
    .targets = {0, 1},
    .expects = {DT_PROBABILITIES | DT_RANGES(POSITIVE), DT_SCORES, "probabilities", "softmax"},
    .kind = {"CategoricalFocalCrossentropy",
             "categorical cross-entropy that down-weights easy examples", focal_fields,
             sizeof(struct crossentropy),
             (const char *const[]){"categorical_focal_crossentropy", NULL}},
    .check = check_focal,
    .rows = focal_rows,
};

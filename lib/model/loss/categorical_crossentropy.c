/*
 * CategoricalCrossentropy: -sum over classes of y log p, for one-hot (or any) y.
 *
 * From logits it is one op, exact for large ones. Probabilities are divided by their sum and clipped to [1e-7, 1 - 1e-7], unless they
 * come straight from a softmax: that node's input is the logits.
 */
#include "model/model.h"

struct crossentropy {
    bool from_logits;
    double label_smoothing;
    int reduction;
    int64_t axis;
};

static const char *const reductions[] = { "sum_over_batch_size", "mean", NULL };

static const dt_field fields[] = {
    DT_FLAG(struct crossentropy, from_logits, .help = "predictions are scores before the softmax"),
    DT_REAL(struct crossentropy, label_smoothing, .max = 1, .help = "moves this much of y to all classes evenly"),
    DT_INT(struct crossentropy, axis, .preset = "-1", .min = -1, .max = -1, .help = "of the classes: the last one"),
    DT_ENUM(struct crossentropy, reduction, reductions, .help = "over the global batch: sum of losses / number of examples"),
    DT_NOT_YET("name"),
    DT_NOT_YET("dtype"),
    DT_END
};

/* y (B, C), p (B, C) */
static dt_value from_probabilities(dt_value y, dt_value p)
{
    dt_type type = dt_type_of_value(p);
    dt_value sum = dt_reduce(p, DT_REDUCE_SUM, 2); /* (B) */
    dt_value log_p = dt_log(dt_clip_probability(dt_divide(p, dt_broadcast_rows(sum, &type))));
    return dt_negate(dt_reduce(dt_multiply(y, log_p), DT_REDUCE_SUM, 2));
}

static dt_value rows(const dt_loss_call_args *c)
{
    const struct crossentropy *x = c->args;
    double classes = (double)dt_type_of_value(c->prediction).dim[1];
    dt_value y = dt_smooth_labels(dt_targets_like(c->target, c->prediction), x->label_smoothing, classes);
    dt_value logits = x->from_logits ? c->prediction : dt_logits_of(c->prediction, &dt_op_softmax);
    return logits.trace ? dt_softmax_cross_entropy(logits, y) : from_probabilities(y, c->prediction);
}

const dt_loss_row dt_loss_categorical_crossentropy = {
    .kind = { "CategoricalCrossentropy", "-sum of y log p, one-hot targets", fields, sizeof(struct crossentropy),
              (const char *const[]){ "categorical_crossentropy", NULL } },
    .accuracy = "CategoricalAccuracy",
    .check = dt_check_one_hot,
    .rows = rows,
};

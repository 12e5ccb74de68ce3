/*
 * BinaryCrossentropy: -y log p - (1 - y) log(1 - p), averaged over the outputs of an example.
 *
 * From logits x it is log(1 + exp x) - x y. Probabilities are clipped to [1e-7, 1 - 1e-7], unless they come straight from a sigmoid:
 * that node's input is the logits.
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
    DT_FLAG(struct crossentropy, from_logits, .help = "predictions are scores before the sigmoid"),
    DT_REAL(struct crossentropy, label_smoothing, .max = 1, .help = "moves targets this much of the way to 1/2"),
    DT_INT(struct crossentropy, axis, .preset = "-1", .min = -1, .max = -1, .help = "of the outputs: the last one"),
    DT_ENUM(struct crossentropy, reduction, reductions, .help = "over the global batch: sum of losses / number of examples"),
    DT_NOT_YET("name"),
    DT_NOT_YET("dtype"),
    DT_END
};

static dt_value from_logits(dt_value y, dt_value x)
{
    return dt_subtract(dt_softplus(x), dt_multiply(x, y));
}

static dt_value from_probabilities(dt_value y, dt_value p)
{
    dt_value one = dt_like(p, 1);
    p = dt_clip_probability(p);
    dt_value hit = dt_multiply(y, dt_log(p));
    dt_value miss = dt_multiply(dt_subtract(one, y), dt_log(dt_subtract(one, p)));
    return dt_negate(dt_add(hit, miss));
}

static dt_value rows(const dt_loss_call_args *c)
{
    const struct crossentropy *x = c->args;
    dt_value y = dt_smooth_labels(dt_targets_like(c->target, c->prediction), x->label_smoothing, 2);
    dt_value logits = x->from_logits ? c->prediction : dt_logits_of(c->prediction, &dt_op_logistic);
    return dt_mean_per_example(logits.trace ? from_logits(y, logits) : from_probabilities(y, c->prediction));
}

const dt_loss_row dt_loss_binary_crossentropy = {
    .kind = { "BinaryCrossentropy", "-y log p - (1 - y) log(1 - p)", fields, sizeof(struct crossentropy),
              (const char *const[]){ "binary_crossentropy", NULL } },
    .accuracy = "BinaryAccuracy",
    .check = dt_check_same_shape,
    .rows = rows,
};

/*
 * SparseCategoricalCrossentropy: -log p of the labelled class.
 *
 * Probabilities are clipped to [1e-7, 1 - 1e-7] first and divided by their sum then: the other order of the categorical form is Keras'
 * too. So log p serves as logits. Straight after a softmax its input is the logits.
 */
#include "model/model.h"

struct crossentropy {
    bool from_logits;
    int reduction;
    int64_t axis;
};

static const char *const reductions[] = { "sum_over_batch_size", "mean", NULL };

static const dt_field fields[] = {
    DT_FLAG(struct crossentropy, from_logits, .help = "predictions are scores before the softmax"),
    DT_INT(struct crossentropy, axis, .preset = "-1", .min = -1, .max = -1, .help = "of the classes: the last one"),
    DT_ENUM(struct crossentropy, reduction, reductions, .help = "over the global batch: sum of losses / number of examples"),
    DT_NOT_YET("ignore_class"),
    DT_NOT_YET("name"),
    DT_NOT_YET("dtype"),
    DT_END
};

static dt_value rows(const dt_loss_call_args *c)
{
    const struct crossentropy *x = c->args;
    dt_value logits = x->from_logits ? c->prediction : dt_logits_of(c->prediction, &dt_op_softmax);
    if (!logits.trace)
        logits = dt_log(dt_clip_probability(c->prediction));
    return dt_softmax_cross_entropy(logits, dt_class_numbers(c->target));
}

const dt_loss_row dt_loss_sparse_categorical_crossentropy = {
    .kind = { "SparseCategoricalCrossentropy", "-log p of the class, targets are class numbers", fields, sizeof(struct crossentropy),
              (const char *const[]){ "sparse_categorical_crossentropy", NULL } },
    .sparse = true,
    .accuracy = "SparseCategoricalAccuracy",
    .check = dt_check_sparse,
    .rows = rows,
};

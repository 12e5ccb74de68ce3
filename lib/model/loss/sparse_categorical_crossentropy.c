/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SparseCategoricalCrossentropy: -log p of the labelled class.
 *
 * Probabilities are clipped to [1e-7, 1 - 1e-7] first and then divided by their sum (the
 * categorical form uses the other order; both as in Keras), so log p can be used as logits. If the
 * prediction is a softmax, its input is the logits. Samples of class ignore_class do not count.
 */
#include <assert.h>

#include "model/model.h"

struct crossentropy {
    dt_loss_head head;
    bool from_logits, ignores;
    int64_t axis, ignore_class;
};

static_assert(sizeof(struct crossentropy) <= DT_LOSS_ARGS_SIZE,
              "a metric has room for these arguments");

const dt_field dt_sparse_categorical_crossentropy_fields[] = {
    DT_LOSS_FIELDS(struct crossentropy),
    DT_FLAG(struct crossentropy, from_logits,
            .help = "predictions are logits (no softmax applied)"),
    DT_INT(struct crossentropy, axis, .preset = "-1", .min = -1, .max = -1,
           .help = "axis of the classes: the last"),
    DT_INT(struct crossentropy, ignore_class, .set = 1 + offsetof(struct crossentropy, ignores),
           .help = "labels to ignore"),
    DT_END};

/* Emits the labels as integers (B, ...), for predictions (B, ..., classes); targets may be (B, ...,
 * 1). Labels that are floats must be whole numbers, which is checked when a step gets its data. */
static dt_value labels(dt_value target, dt_value prediction) {
    dt_type type = dt_type_of_value(prediction);
    dt_value number = dt_reshape(target, type.rank - 1, type.dim);
    return dt_dtype_is_float(dt_type_of_value(target).dtype) ? dt_convert(number, DT_INT32)
                                                             : number;
}

dt_value dt_sparse_crossentropy(dt_value target, dt_value prediction, bool from_logits) {
    dt_value logits = from_logits ? prediction : dt_logits_of(prediction, &dt_op_softmax);
    if (!logits.trace) logits = dt_log(dt_clip_probability(prediction));
    return dt_softmax_cross_entropy(logits, labels(target, prediction));
}

static dt_value mask(const dt_loss_call_args *c) {
    const struct crossentropy *x = c->args;
    if (!x->ignores) return (dt_value){0};
    dt_value y = labels(c->target, c->prediction);
    return dt_compare(y, dt_like(y, (double)x->ignore_class), DT_NE);
}

static const int64_t *ignored(const void *args) {
    const struct crossentropy *x = args;
    return x->ignores ? &x->ignore_class : NULL;
}

static dt_value rows(const dt_loss_call_args *c) {
    const struct crossentropy *x = c->args;
    dt_value y = labels(c->target, c->prediction), valid = mask(c);
    if (!valid.trace) return dt_sparse_crossentropy(y, c->prediction, x->from_logits);
    dt_value loss =
        dt_sparse_crossentropy(dt_select(valid, y, dt_like(y, 0)), c->prediction, x->from_logits);
    return dt_select(valid, loss, dt_like(loss, 0));
}

const dt_loss_row dt_loss_sparse_categorical_crossentropy = {
    .of = DT_OUTPUT_CLASSES,
    .expects = {DT_PROBABILITIES, DT_SCORES, "probabilities", "softmax"},
    .kind = {"SparseCategoricalCrossentropy", "-log p of the class, targets are class indices",
             dt_sparse_categorical_crossentropy_fields, sizeof(struct crossentropy),
             (const char *const[]){"sparse_categorical_crossentropy", NULL}},
    .sparse = true,
    .check = dt_check_sparse,
    .rows = rows,
    .mask = mask,
    .ignored = ignored,
};

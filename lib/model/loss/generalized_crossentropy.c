/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CategoricalGeneralizedCrossEntropy: (1 - p^q) / q of the labelled class's probability p. It lies
 * between crossentropy (q near 0) and the absolute error (q = 1), so that wrong labels do less harm
 * than with crossentropy. Z. Zhang, M. Sabuncu, Generalized Cross Entropy Loss for Training Deep
 * Neural Networks with Noisy Labels (2018).
 */
#include "model/model.h"

struct generalized {
    dt_loss_head head;
    double q;
};

static const dt_field fields[] = {
    DT_LOSS_FIELDS(struct generalized),
    DT_REAL(struct generalized, q, .preset = "0.5", .above_min = true, .below_max = true, .max = 1,
            .help = "between 0 and 1: robustness against wrong labels"),
    DT_END};

/* Emits the probability that the prediction gives to the labelled class, (B, ...). */
static dt_value probability(const dt_loss_call_args *c) {
    dt_type type = dt_type_of_value(c->prediction), index = type;
    index.dtype = DT_INT32;
    dt_value class = dt_convert(dt_reshape(c->target, type.rank - 1, type.dim), DT_INT32);
    dt_value own = dt_compare(dt_iota(c->prediction.trace, &index, type.rank - 1),
                              dt_broadcast_rows(class, &index), DT_EQ);
    return dt_sum_last(dt_select(own, c->prediction, dt_like(c->prediction, 0)));
}

static dt_value rows(const dt_loss_call_args *c) {
    double q = ((const struct generalized *)c->args)->q;
    dt_value p = probability(c), power = dt_power(p, dt_like(p, q));
    return dt_divide(dt_subtract(dt_like(p, 1), power), dt_like(p, q));
}

const dt_loss_row dt_loss_generalized_crossentropy = {
    .of = DT_OUTPUT_CLASSES,
    .expects = {DT_PROBABILITIES, 0, "probabilities", "softmax"},
    .kind = {"CategoricalGeneralizedCrossEntropy",
             "(1 - p^q) / q of the class, targets are class indices", fields,
             sizeof(struct generalized),
             (const char *const[]){"categorical_generalized_cross_entropy", NULL}},
    .sparse = true,
    .check = dt_check_sparse,
    .rows = rows,
};

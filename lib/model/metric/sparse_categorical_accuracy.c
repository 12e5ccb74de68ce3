/* SPDX-License-Identifier: Apache-2.0 */
/* SparseCategoricalAccuracy: the share of examples whose largest output is that of the labelled
 * class; among equal outputs the first counts. */
#include "model/model.h"

struct accuracy {
    const char *name;
};

static const dt_field fields[] = {
    DT_TEXT(struct accuracy, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("dtype"), DT_END};

/* Emits the value of each sample, (B, ...), from predictions (B, ..., classes). */
static dt_value update(const dt_loss_call_args *c) {
    dt_type type = dt_type_of_value(c->prediction);
    dt_value label = dt_convert(dt_reshape(c->target, type.rank - 1, type.dim), DT_INT32);
    dt_value hit = dt_compare(label, dt_argmax(c->prediction, -1), DT_EQ);
    return dt_convert(hit, type.dtype);
}

const dt_metric_row dt_metric_sparse_categorical_accuracy = {
    .better = DT_BETTER_MORE,
    .kind = {"SparseCategoricalAccuracy",
             "share of examples with the right class, targets are class indices", fields,
             sizeof(struct accuracy), (const char *const[]){"sparse_categorical_accuracy", NULL}},
    .sums = 1,
    .check = dt_check_sparse,
    .update = update,
    .result = dt_mean_of_sum,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* CategoricalAccuracy: the share of examples whose largest output is that of the one-hot target;
 * among equal outputs the first counts. */
#include "model/model.h"

struct accuracy {
    const char *name;
};

static const dt_field fields[] = {
    DT_TEXT(struct accuracy, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("dtype"), DT_END};

static dt_value update(const dt_loss_call_args *c) {
    /* shape (B, ...) */
    dt_value hit = dt_compare(dt_argmax(c->target, -1), dt_argmax(c->prediction, -1), DT_EQ);
    return dt_convert(hit, dt_type_of_value(c->prediction).dtype);
}

const dt_metric_row dt_metric_categorical_accuracy = {
    .better = DT_BETTER_MORE,
    .kind = {"CategoricalAccuracy", "share of examples with the right class, one-hot targets",
             fields, sizeof(struct accuracy), (const char *const[]){"categorical_accuracy", NULL}},
    .sums = 1,
    .check = dt_check_one_hot,
    .update = update,
    .result = dt_mean_of_sum,
};

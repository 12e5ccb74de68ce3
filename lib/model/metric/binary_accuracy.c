/* SPDX-License-Identifier: Apache-2.0 */
/* BinaryAccuracy: the share of outputs on the right side of the threshold; an output equal to the
 * threshold counts as 0. */
#include "model/model.h"

struct accuracy {
    double threshold;
    const char *name;
};

static const dt_field fields[] = {
    DT_REAL(struct accuracy, threshold, .preset = "0.5",
            .help = "threshold above which a prediction counts as 1"),
    DT_TEXT(struct accuracy, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("dtype"), DT_END};

static dt_value update(const dt_loss_call_args *c) {
    const struct accuracy *a = c->args;
    dt_value p = c->prediction, y = dt_targets_like(c->target, p);
    dt_value is_one =
        dt_convert(dt_compare(p, dt_like(p, a->threshold), DT_GT), dt_type_of_value(p).dtype);
    return dt_convert(dt_compare(y, is_one, DT_EQ), dt_type_of_value(p).dtype); /* shape (B, ...) */
}

const dt_metric_row dt_metric_binary_accuracy = {
    .better = DT_BETTER_MORE,
    .kind = {"BinaryAccuracy", "share of outputs on the right side of a threshold", fields,
             sizeof(struct accuracy), (const char *const[]){"binary_accuracy", NULL}},
    .sums = 1,
    .targets = {0, 1},
    .check = dt_check_same_shape,
    .update = update,
    .result = dt_mean_of_sum,
};

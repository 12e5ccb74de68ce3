/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accuracy. In a job it means the accuracy that fits the shapes of an output and its targets, by
 * which compile.c replaces it. In custom training loops it is the fraction of outputs that are
 * equal to their targets.
 */
#include "model/model.h"

static const dt_field fields[] = {
    DT_TEXT(dt_loss_head, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("dtype"), DT_END};

static dt_value equal(const dt_loss_call_args *c) {
    dt_type type = dt_type_of_value(c->prediction);
    dt_dtype dtype = dt_dtype_is_float(type.dtype) ? type.dtype : DT_FLOAT32;
    return dt_convert(dt_compare(c->prediction, dt_targets_like(c->target, c->prediction), DT_EQ),
                      dtype);
}

const dt_metric_row dt_metric_accuracy = {
    .better = DT_BETTER_MORE,
    .kind = {"Accuracy", "the accuracy that fits the shapes of targets and predictions", fields,
             sizeof(dt_loss_head), (const char *const[]){"accuracy", "acc", NULL}},
    .update = equal,
    .result = dt_mean_of_sum,
};

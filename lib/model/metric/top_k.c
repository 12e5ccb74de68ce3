/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k accuracies: the share of samples for which fewer than k classes have a larger score than
 * the sample's class; equal scores do not count as larger. */
#include "model/model.h"

struct top_k {
    const char *name;
    int64_t k;
};

static const dt_field fields[] = {
    DT_INT(struct top_k, k, .preset = "5", .min = 1, .max = INFINITY,
           .help = "number of top predictions to consider"),
    DT_TEXT(struct top_k, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("dtype"), DT_NOT_YET("from_sorted_ids"), DT_END};

/* Emits 1 where fewer than k scores of p (..., C) are larger than that of class (...), else 0. */
static dt_value hits(int64_t k, dt_value class, dt_value p) {
    dt_type type = dt_type_of_value(p), index = type;
    uint32_t last = 1u << (type.rank - 1);
    index.dtype = DT_INT32;
    dt_value own = dt_compare(dt_iota(p.trace, &index, type.rank - 1),
                              dt_broadcast_rows(class, &index), DT_EQ);
    dt_value score = dt_reduce(dt_select(own, p, dt_like(p, 0)), DT_REDUCE_SUM, last);
    dt_value larger = dt_convert(dt_compare(p, dt_broadcast_rows(score, &type), DT_GT), type.dtype);
    dt_value rank = dt_reduce(larger, DT_REDUCE_SUM, last);
    return dt_convert(dt_compare(rank, dt_like(rank, (double)k), DT_LT), type.dtype);
}

static dt_value categorical(const dt_loss_call_args *c) {
    return hits(((const struct top_k *)c->args)->k, dt_argmax(c->target, -1), c->prediction);
}

const dt_metric_row dt_metric_top_k_categorical_accuracy = {
    .better = DT_BETTER_MORE,
    .kind = {"TopKCategoricalAccuracy",
             "share of examples whose class is among the k best, one-hot targets", fields,
             sizeof(struct top_k), (const char *const[]){"top_k_categorical_accuracy", NULL}},
    .sums = 1,
    .check = dt_check_one_hot,
    .update = categorical,
    .result = dt_mean_of_sum,
};

static dt_value sparse(const dt_loss_call_args *c) {
    dt_type type = dt_type_of_value(c->prediction);
    dt_value class = dt_convert(dt_reshape(c->target, type.rank - 1, type.dim), DT_INT32);
    return hits(((const struct top_k *)c->args)->k, class, c->prediction);
}

const dt_metric_row dt_metric_sparse_top_k_categorical_accuracy = {
    .better = DT_BETTER_MORE,
    .kind = {"SparseTopKCategoricalAccuracy",
             "share of examples whose class is among the k best, targets are class indices", fields,
             sizeof(struct top_k),
             (const char *const[]){"sparse_top_k_categorical_accuracy", NULL}},
    .sums = 1,
    .check = dt_check_sparse,
    .update = sparse,
    .result = dt_mean_of_sum,
};

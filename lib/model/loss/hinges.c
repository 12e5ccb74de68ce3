/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hinge losses, for scores. Labels of the first two are -1 and 1; if all labels of a replica's
 * batch are 0 or 1, 0 counts as -1.
 *
 *     Hinge               mean of max(1 - y p, 0)
 *     SquaredHinge        mean of the square of max(1 - y p, 0)
 *     CategoricalHinge    max(m - p of the right class + 1, 0), with m the largest p of the wrong
 *                         classes, or 0 if that is negative; one-hot labels
 *
 * At the kink, where the margin is 0, the slope is that of the margin, as in Keras.
 */
#include "model/model.h"

struct hinge {
    dt_loss_head head;
};

static const dt_field fields[] = {DT_LOSS_FIELDS(struct hinge), DT_END};

/* Emits labels of -1 and 1: 2 y - 1 if all labels of this replica's batch are 0 or 1, else y. */
static dt_value signed_labels(dt_value y) {
    dt_type type = dt_type_of_value(y);
    dt_value zero = dt_convert(dt_compare(y, dt_like(y, 0), DT_EQ), type.dtype);
    dt_value one = dt_convert(dt_compare(y, dt_like(y, 1), DT_EQ), type.dtype);
    /* 1 if all labels are 0 or 1, else 0 */
    dt_value all = dt_reduce(dt_add(zero, one), DT_REDUCE_MIN, (1u << type.rank) - 1);
    dt_value binary = dt_broadcast_to(dt_compare(all, dt_like(all, 1), DT_EQ), &type);
    return dt_select(binary, dt_subtract(dt_multiply(dt_like(y, 2), y), dt_like(y, 1)), y);
}

static dt_value margin(const dt_loss_call_args *c) {
    dt_value y = signed_labels(dt_targets_like(c->target, c->prediction)), p = c->prediction;
    return dt_maximum(dt_like(p, 0), dt_subtract(dt_like(p, 1), dt_multiply(y, p)));
}

static dt_value hinge(const dt_loss_call_args *c) { return dt_mean_last(margin(c)); }

const dt_loss_row dt_loss_hinge = {
    .kind = {"Hinge", "mean of max(1 - y p, 0)", fields, sizeof(struct hinge),
             (const char *const[]){"hinge", NULL}},
    .targets = {-1, 1},
    .check = dt_check_same_shape,
    .rows = hinge,
};

static dt_value squared_hinge(const dt_loss_call_args *c) {
    dt_value m = margin(c);
    return dt_mean_last(dt_multiply(m, m));
}

const dt_loss_row dt_loss_squared_hinge = {
    .kind = {"SquaredHinge", "mean of max(1 - y p, 0)^2", fields, sizeof(struct hinge),
             (const char *const[]){"squared_hinge", NULL}},
    .targets = {-1, 1},
    .check = dt_check_same_shape,
    .rows = squared_hinge,
};

static dt_value categorical_hinge(const dt_loss_call_args *c) {
    dt_value y = dt_targets_like(c->target, c->prediction), p = c->prediction;
    dt_value right = dt_sum_last(dt_multiply(y, p));
    uint32_t last = 1u << (dt_type_of_value(p).rank - 1);
    dt_value wrong = dt_reduce(dt_multiply(dt_subtract(dt_like(y, 1), y), p), DT_REDUCE_MAX, last);
    return dt_maximum(dt_like(right, 0), dt_add(dt_subtract(wrong, right), dt_like(right, 1)));
}

const dt_loss_row dt_loss_categorical_hinge = {
    .kind = {"CategoricalHinge", "margin between the right class and the best other", fields,
             sizeof(struct hinge), (const char *const[]){"categorical_hinge", NULL}},
    .targets = {-1, 1},
    .check = dt_check_same_shape,
    .rows = categorical_hinge,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses between distributions and directions:
 *
 *     KLDivergence        sum of y log(y / p), both cut to [1e-7, 1]
 *     Poisson             mean of p - y log(p + 1e-7)
 *     CosineSimilarity    -(y / |y|) . (p / |p|)
 */
#include "model/model.h"

struct divergence {
    dt_loss_head head;
};

static const dt_field fields[] = {DT_LOSS_FIELDS(struct divergence), DT_END};

static dt_value kl_divergence(const dt_loss_call_args *c) {
    dt_value y = dt_clip_between(dt_targets_like(c->target, c->prediction), 1e-7, 1),
             p = dt_clip_between(c->prediction, 1e-7, 1);
    return dt_sum_last(dt_multiply(y, dt_log(dt_divide(y, p))));
}

const dt_loss_row dt_loss_kl_divergence = {
    .kind = {"KLDivergence", "sum of y log(y / p)", fields, sizeof(struct divergence),
             (const char *const[]){"kl_divergence", "kld", "KLD", NULL}},
    .targets = {0, 1},
    .expects = {DT_PROBABILITIES, 0, "probabilities", "softmax"},
    .check = dt_check_same_shape,
    .rows = kl_divergence,
};

static dt_value poisson(const dt_loss_call_args *c) {
    dt_value y = dt_targets_like(c->target, c->prediction), p = c->prediction;
    return dt_mean_last(dt_subtract(p, dt_multiply(y, dt_log(dt_add(p, dt_like(p, 1e-7))))));
}

const dt_loss_row dt_loss_poisson = {
    .kind = {"Poisson", "mean of p - y log p", fields, sizeof(struct divergence),
             (const char *const[]){"poisson", NULL}},
    .targets = {0, INFINITY},
    .expects = {DT_NO_LESS_THAN_0, 0, "no negative numbers", "exponential"},
    .check = dt_check_same_shape,
    .rows = poisson,
};

/* ---- cosine ---- */

struct cosine {
    dt_loss_head head;
    int64_t axis;
};

static const dt_field cosine_fields[] = {
    DT_LOSS_FIELDS(struct cosine),
    DT_INT(struct cosine, axis, .preset = "-1", .help = "axis of the vectors to compare"), DT_END};

/* Emits x / |x|, where |x|^2 counts as at least 1e-12, so that 0 stays 0. */
static dt_value direction(dt_value x) {
    dt_type type = dt_type_of_value(x);
    dt_value squares = dt_sum_last(dt_multiply(x, x));
    dt_value inverse = dt_rsqrt(dt_maximum(squares, dt_like(squares, 1e-12)));
    return dt_multiply(x, dt_broadcast_rows(inverse, &type));
}

dt_value dt_cosine_similarity(dt_value target, dt_value prediction, int64_t axis) {
    int at = dt_axis_of(prediction, axis);
    if (at < 0) return (dt_value){0};
    dt_value y = dt_move_last(dt_targets_like(target, prediction), at),
             p = dt_move_last(prediction, at);
    return dt_sum_last(dt_multiply(direction(y), direction(p)));
}

static dt_value cosine(const dt_loss_call_args *c) {
    return dt_negate(
        dt_cosine_similarity(c->target, c->prediction, ((const struct cosine *)c->args)->axis));
}

const dt_loss_row dt_loss_cosine_similarity = {
    .kind = {"CosineSimilarity", "minus the cosine between y and p", cosine_fields,
             sizeof(struct cosine), (const char *const[]){"cosine_similarity", NULL}},
    .check = dt_check_same_shape,
    .rows = cosine,
};

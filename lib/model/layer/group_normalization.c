/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GroupNormalization: splits the channels of an example into groups and normalizes each to mean 0
 * and deviation 1 over its channels and all positions:
 *
 *     (B, h, w, c)  ->  (B, h, w, groups, c / groups)
 *                   ->  standardized over all but B and groups
 *                   ->  (B, h, w, c), times gamma, plus beta
 *
 * Y. Wu, K. He, Group Normalization (2018). With one group it is layer normalization over all
 * dimensions of an example; with as many groups as channels it is instance normalization.
 */
#include "model/layer/axes.h"

#include "op/shapes.h"

struct group_normalization {
    dt_layer_head head;
    int64_t groups;
    int64_t axis;
    double epsilon;
    bool center, scale;
    const dt_tree *beta_initializer, *gamma_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct group_normalization, groups, .min = -1, .max = INFINITY, .preset = "32",
           .help = "number of groups; -1: one per channel"),
    DT_INT(struct group_normalization, axis, .preset = "-1", .help = "axis of the channels"),
    DT_REAL(struct group_normalization, epsilon, .preset = "1e-3", .max = INFINITY,
            .help = "added to the variance to avoid division by 0"),
    DT_FLAG(struct group_normalization, center, .preset = "true", .help = "add a learned beta"),
    DT_FLAG(struct group_normalization, scale, .preset = "true",
            .help = "multiply by a learned gamma"),
    DT_INITIALIZER(struct group_normalization, beta_initializer,
                   .help = "initializer; default: zeros"),
    DT_INITIALIZER(struct group_normalization, gamma_initializer,
                   .help = "initializer; default: ones"),
    DT_LAYER_FIELDS(struct group_normalization),
    DT_REGULARIZER(struct group_normalization, BETA, "beta_regularizer"),
    DT_REGULARIZER(struct group_normalization, GAMMA, "gamma_regularizer"),
    DT_CONSTRAINT(struct group_normalization, BETA, "beta_constraint"),
    DT_CONSTRAINT(struct group_normalization, GAMMA, "gamma_constraint"),
    DT_END};

static dt_status *check_groups(const dt_layer_build *b, int64_t groups, int64_t channels) {
    if (groups == 0)
        return dt_fail(DT_E_RANGE, &b->at,
                       "groups must be at least 1, or -1 for one for each channel, got 0");
    if (groups > channels)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at, "%lld groups are more than the %lld channels",
                       (long long)groups, (long long)channels);
    if (channels % groups)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at, "%lld channels are not divisible into %lld groups",
                       (long long)channels, (long long)groups);
    return NULL;
}

static dt_status *build(dt_layer_build *b) {
    const struct group_normalization *g = b->args;
    int axis = dt_axis_in(b->in.rank, g->axis);
    DT_TRY(dt_layer_wants(b, "GroupNormalization", 2));
    if (axis < 1 || b->in.rank == DT_MAX_RANK)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "axis %lld is out of range, or an input of %d dimensions has too many",
                       (long long)g->axis, b->in.rank);
    DT_TRY(check_groups(b, g->groups < 0 ? b->in.dim[axis] : g->groups, b->in.dim[axis]));
    uint32_t dims = 1u << axis;
    if (g->scale)
        DT_TRY(dt_axes_weight(b, dims,
                              &(dt_weight_request){.name = "gamma",
                                                   .initializer = g->gamma_initializer,
                                                   .preset = "ones"}));
    if (g->center)
        DT_TRY(dt_axes_weight(b, dims,
                              &(dt_weight_request){.name = "beta",
                                                   .initializer = g->beta_initializer,
                                                   .preset = "zeros"}));
    b->out = b->in;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    const struct group_normalization *g = c->args;
    int axis = dt_axis_in(c->out->rank, g->axis);
    int64_t channels = c->out->dim[axis], groups = g->groups < 0 ? channels : g->groups;
    dt_type apart = *c->out; /* shape (..., groups, channels / groups, ...) */
    for (int d = apart.rank++; d > axis; d--) apart.dim[d] = apart.dim[d - 1];
    apart.dim[axis] = groups;
    apart.dim[axis + 1] = channels / groups;
    dt_value x = dt_reshape(c->x, apart.rank, apart.dim);
    x = dt_standardize(x, dt_all_dims(apart.rank) & ~(1u | 1u << axis), g->epsilon);
    return dt_scale_and_center(dt_reshape(x, c->out->rank, c->out->dim), 1u << axis, g->scale,
                               g->center, c->weight);
}

const dt_layer dt_layer_group_normalization = {
    .kind = {"GroupNormalization", "normalizes groups of channels of each example", fields,
             sizeof(struct group_normalization), NULL},
    .precision = DT_LAYER_WIDE,
    .yields = dt_yields_real,
    .supports_masking = true,
    .build = build,
    .call = call,
};

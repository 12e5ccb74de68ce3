/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LayerNormalization: normalizes each example independently of others: y = (x - mean) /
 * sqrt(variance + epsilon) * gamma + beta, over `axis`. J. L. Ba et al., Layer Normalization
 * (2016). With rms_scaling, a form that Keras keeps for old models, the mean is not subtracted from
 * x (the variance is still that around the mean), there is always a gamma, and there is no beta.
 */
#include "model/layer/axes.h"

struct layer_normalization {
    dt_layer_head head;
    dt_ints axis;
    double epsilon;
    bool center, scale, rms_scaling;
    const dt_tree *beta_initializer, *gamma_initializer;
};

static const dt_field fields[] = {
    DT_AXES(struct layer_normalization, axis, .preset = "-1",
            .help = "axis or axes to normalize over"),
    DT_REAL(struct layer_normalization, epsilon, .preset = "1e-3", .max = INFINITY,
            .help = "added to the variance to avoid division by 0"),
    DT_FLAG(struct layer_normalization, center, .preset = "true", .help = "add a learned beta"),
    DT_FLAG(struct layer_normalization, scale, .preset = "true",
            .help = "multiply by a learned gamma"),
    DT_FLAG(struct layer_normalization, rms_scaling, .help = "scale only; prefer RMSNormalization"),
    DT_INITIALIZER(struct layer_normalization, beta_initializer,
                   .help = "initializer; default: zeros"),
    DT_INITIALIZER(struct layer_normalization, gamma_initializer,
                   .help = "initializer; default: ones"),
    DT_LAYER_FIELDS(struct layer_normalization),
    DT_REGULARIZER(struct layer_normalization, BETA, "beta_regularizer"),
    DT_REGULARIZER(struct layer_normalization, GAMMA, "gamma_regularizer"),
    DT_CONSTRAINT(struct layer_normalization, BETA, "beta_constraint"),
    DT_CONSTRAINT(struct layer_normalization, GAMMA, "gamma_constraint"),
    DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct layer_normalization *l = b->args;
    uint32_t dims;
    DT_TRY(dt_layer_wants(b, "LayerNormalization", 2));
    DT_TRY(dt_axes_make(b, &l->axis, &dims));
    if (l->scale || l->rms_scaling)
        DT_TRY(dt_axes_weight(b, dims,
                              &(dt_weight_request){.name = "gamma",
                                                   .initializer = l->gamma_initializer,
                                                   .preset = "ones"}));
    if (l->center && !l->rms_scaling)
        DT_TRY(dt_axes_weight(b, dims,
                              &(dt_weight_request){.name = "beta",
                                                   .initializer = l->beta_initializer,
                                                   .preset = "zeros"}));
    b->out = b->in;
    return NULL;
}

/* Emits normalization over the last dimension, as one op. */
static dt_value norm_rows(const dt_layer_call *c) {
    const struct layer_normalization *l = c->args;
    dt_type features = dt_type_of(c->out->dtype, 1, &c->out->dim[c->out->rank - 1]);
    const dt_value *weight = c->weight;
    dt_value gamma = l->scale ? *weight++ : dt_splat(c->x.trace, &features, 1);
    return dt_layer_norm(c->x, gamma, l->center ? *weight : dt_splat(c->x.trace, &features, 0),
                         l->epsilon);
}

static dt_value call(const dt_layer_call *c) {
    const struct layer_normalization *l = c->args;
    uint32_t dims = dt_axes_made(c);
    if (!l->rms_scaling && dims == 1u << (c->out->rank - 1)) return norm_rows(c);
    dt_value centred = dt_centre(c->x, dims),
             inverse = dt_inverse_deviation(centred, dims, l->epsilon);
    if (l->rms_scaling)
        return dt_scale_and_center(dt_multiply(c->x, inverse), dims, true, false, c->weight);
    return dt_scale_and_center(dt_multiply(centred, inverse), dims, l->scale, l->center, c->weight);
}

const dt_layer dt_layer_layer_normalization = {
    .kind = {"LayerNormalization", "normalizes each example to mean 0 and deviation 1", fields,
             sizeof(struct layer_normalization), NULL},
    .precision = DT_LAYER_WIDE,
    .yields = dt_yields_real,
    .supports_masking = true,
    .build = build,
    .call = call,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Normal noise, only during training: added (GaussianNoise), or as a factor around 1 with the
 * deviation that Dropout of the same rate has (GaussianDropout). */
#include "model/layer/noise.h"

struct gaussian {
    dt_layer_head head;
    dt_noise noise;
    /* arguments of GaussianNoise and GaussianDropout; the one that a layer does not have is 0 */
    double stddev, rate;
};

static const dt_field noise_fields[] = {
    DT_REAL(struct gaussian, stddev, .min = 0, .max = 1, .required = true,
            .help = "standard deviation of the noise"),
    DT_NOISE_FIELD(struct gaussian), DT_LAYER_FIELDS(struct gaussian), DT_END};
static const dt_field dropout_fields[] = {
    DT_REAL(struct gaussian, rate, .min = 0, .max = 1, .below_max = true, .required = true,
            .help = "dropout rate; the noise has variance rate / (1 - rate)"),
    DT_NOISE_FIELD(struct gaussian), DT_LAYER_FIELDS(struct gaussian), DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct gaussian *g = b->args;
    DT_TRY(dt_layer_wants(b, "Gaussian noise", 1));
    b->out = b->in;
    return g->stddev > 0 || g->rate > 0 ? dt_noise_weight(b, NULL) : NULL;
}

static dt_value deviates(const dt_layer_call *c, double deviation) {
    const struct gaussian *g = c->args;
    dt_value z = dt_noise_draw(c, &g->noise, DT_RANDOM_NORMAL, c->out);
    return dt_multiply(z, dt_like(z, deviation));
}

static dt_value call_noise(const dt_layer_call *c) {
    const struct gaussian *g = c->args;
    return c->training && g->stddev > 0 ? dt_add(c->x, deviates(c, g->stddev)) : c->x;
}

static dt_value call_dropout(const dt_layer_call *c) {
    const struct gaussian *g = c->args;
    if (!c->training || g->rate == 0) return c->x;
    return dt_multiply(c->x, dt_add(dt_like(c->x, 1), deviates(c, sqrt(g->rate / (1 - g->rate)))));
}

const dt_layer dt_layer_gaussian_noise = {
    .kind = {"GaussianNoise", "adds normal noise during training", noise_fields,
             sizeof(struct gaussian), NULL},
    .supports_masking = true,
    .build = build,
    .call = call_noise,
    .yields = dt_yields_inputs,
};
const dt_layer dt_layer_gaussian_dropout = {
    .kind = {"GaussianDropout", "multiplies by normal noise around 1 during training",
             dropout_fields, sizeof(struct gaussian), NULL},
    .supports_masking = true,
    .build = build,
    .call = call_dropout,
    .yields = dt_yields_inputs,
};

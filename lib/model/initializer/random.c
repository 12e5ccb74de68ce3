/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers whose spread does not depend on the shape: random_uniform, random_normal,
 * truncated_normal. */
#include "model/model.h"

struct uniform {
    dt_seed_head head;
    double minval, maxval;
};

static const dt_field uniform_fields[] = {
    DT_REAL(struct uniform, minval, .preset = "-0.05", .help = "lower bound"),
    DT_REAL(struct uniform, maxval, .preset = "0.05", .help = "upper bound, exclusive"),
    DT_SEED_FIELD(struct uniform, head), DT_END};

static void uniform(const void *args, const dt_draw *d, double *out) {
    const struct uniform *u = args;
    dt_draw_uniform(d, u->minval, u->maxval, out);
}

const dt_initializer dt_initializer_random_uniform = {
    .kind = {"RandomUniform", "uniform in [minval, maxval)", uniform_fields, sizeof(struct uniform),
             (const char *const[]){"random_uniform", "uniform", NULL}},
    .fill = uniform,
    .draws = true,
};

struct normal {
    dt_seed_head head;
    double mean, stddev;
};

static const dt_field normal_fields[] = {
    DT_REAL(struct normal, mean, .help = "mean of the distribution"),
    DT_REAL(struct normal, stddev, .preset = "0.05", .max = INFINITY, .help = "standard deviation"),
    DT_SEED_FIELD(struct normal, head), DT_END};

static void normal(const void *args, const dt_draw *d, double *out) {
    const struct normal *z = args;
    dt_draw_normal(d, z->mean, z->stddev, out);
}

const dt_initializer dt_initializer_random_normal = {
    .kind = {"RandomNormal", "normal", normal_fields, sizeof(struct normal),
             (const char *const[]){"random_normal", "normal", NULL}},
    .fill = normal,
    .draws = true,
};

static void truncated(const void *args, const dt_draw *d, double *out) {
    const struct normal *z = args;
    dt_draw_truncated(d, z->mean, z->stddev, out);
}

const dt_initializer dt_initializer_truncated_normal = {
    .kind = {"TruncatedNormal", "normal, truncated at 2 standard deviations", normal_fields,
             sizeof(struct normal), (const char *const[]){"truncated_normal", NULL}},
    .fill = truncated,
    .draws = true,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variance scaling: the variance of the values is scale / fan, so that signals keep their size from
 * layer to layer. fan is the number of inputs, of outputs, or the mean of both. Named initializers
 * are presets of it:
 *
 *     glorot  1 / mean   X. Glorot, Y. Bengio, Understanding the difficulty of training deep
 *                        feedforward neural networks (2010)
 *     he      2 / in     K. He et al., Delving Deep into Rectifiers (2015)
 *     lecun   1 / in     Y. LeCun et al., Efficient BackProp (1998)
 */
#include "model/model.h"

typedef enum fan_mode { FAN_IN, FAN_OUT, FAN_AVG } fan_mode;
static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};

typedef enum distribution { TRUNCATED_NORMAL, UNTRUNCATED_NORMAL, UNIFORM } distribution;
static const char *const distributions[] = {"truncated_normal", "untruncated_normal", "uniform",
                                            NULL};

struct scaling {
    dt_seed_head head;
    double scale;
    int mode, distribution;
};

static const dt_field scaling_fields[] = {
    DT_REAL(struct scaling, scale, .preset = "1", .above_min = true,
            .help = "scale of the variance: variance = scale / fan"),
    DT_ENUM(struct scaling, mode, modes, .preset = "fan_in", .help = "fan_in, fan_out or fan_avg"),
    DT_ENUM(struct scaling, distribution, distributions, .preset = "truncated_normal",
            .help = "distribution"),
    DT_SEED_FIELD(struct scaling, head),
    DT_NOT_YET("input_axes"),
    DT_NOT_YET("output_axes"),
    DT_END};

/* The deviation of a standard normal distribution that is truncated at 2 deviations. */
static const double cut_deviation = 0.87962566103423978;

static double variance_of(const dt_draw *d, const struct scaling *s) {
    double fan = s->mode == FAN_IN    ? d->fan_in
                 : s->mode == FAN_OUT ? d->fan_out
                                      : (d->fan_in + d->fan_out) / 2;
    return s->scale / fmax(1, fan);
}

static void scaled(const dt_draw *d, const struct scaling *s, double *out) {
    double variance = variance_of(d, s);
    if (s->distribution == UNIFORM)
        dt_draw_uniform(d, -sqrt(3 * variance), sqrt(3 * variance), out);
    else if (s->distribution == UNTRUNCATED_NORMAL) dt_draw_normal(d, 0, sqrt(variance), out);
    else dt_draw_truncated(d, 0, sqrt(variance) / cut_deviation, out);
}

static void describe(const struct scaling *s, const dt_draw *d, dt_json *j) {
    double variance = variance_of(d, s), deviation = sqrt(variance);
    dt_json_string(j, "mode", modes[s->mode]);
    dt_json_double(j, "scale", s->scale);
    dt_json_string(j, "distribution", distributions[s->distribution]);
    if (s->distribution == UNIFORM) dt_json_double(j, "limit", sqrt(3 * variance));
    else dt_json_double(j, "target_stddev", deviation);
    if (s->distribution != TRUNCATED_NORMAL) return;
    dt_json_double(j, "underlying_stddev", deviation / cut_deviation);
    dt_json_double(j, "cut_at", 2 * deviation / cut_deviation);
}

static void facts(const void *args, const dt_draw *d, dt_json *j) { describe(args, d, j); }

static void variance_scaling(const void *args, const dt_draw *d, double *out) {
    scaled(d, args, out);
}

const dt_initializer dt_initializer_variance_scaling = {
    .kind = {"VarianceScaling", "variance scale / fan", scaling_fields, sizeof(struct scaling),
             (const char *const[]){"variance_scaling", NULL}},
    .fill = variance_scaling,
    .draws = true,
    .facts = facts,
};

/* ---- presets ---- */

struct seeded {
    dt_seed_head head;
};

static const dt_field preset_fields[] = {DT_SEED_FIELD(struct seeded, head),
                                         DT_NOT_YET("input_axes"), DT_NOT_YET("output_axes"),
                                         DT_END};

static void preset(const void *args, const dt_draw *d, double *out) {
    (void)args;
    scaled(d, d->row->preset, out);
}

static void preset_facts(const void *args, const dt_draw *d, dt_json *j) {
    (void)args;
    describe(d->row->preset, d, j);
}

#define PRESET_KIND(class_name, id, words)                                                         \
    {                                                                                              \
        class_name, words, preset_fields, sizeof(struct seeded), (const char *const[]) {           \
            id, NULL                                                                               \
        }                                                                                          \
    }

const dt_initializer dt_initializer_glorot_uniform = {
    .kind = PRESET_KIND("GlorotUniform", "glorot_uniform", "uniform of variance 1 / mean fan"),
    .fill = preset,
    .draws = true,
    .facts = preset_facts,
    .preset = &(const struct scaling){.scale = 1, .mode = FAN_AVG, .distribution = UNIFORM},
};
const dt_initializer dt_initializer_glorot_normal = {
    .kind =
        PRESET_KIND("GlorotNormal", "glorot_normal", "truncated normal of variance 1 / mean fan"),
    .fill = preset,
    .draws = true,
    .facts = preset_facts,
    .preset =
        &(const struct scaling){.scale = 1, .mode = FAN_AVG, .distribution = TRUNCATED_NORMAL},
};
const dt_initializer dt_initializer_he_uniform = {
    .kind = PRESET_KIND("HeUniform", "he_uniform", "uniform of variance 2 / fan in"),
    .fill = preset,
    .draws = true,
    .facts = preset_facts,
    .preset = &(const struct scaling){.scale = 2, .mode = FAN_IN, .distribution = UNIFORM},
};
const dt_initializer dt_initializer_he_normal = {
    .kind = PRESET_KIND("HeNormal", "he_normal", "truncated normal of variance 2 / fan in"),
    .fill = preset,
    .draws = true,
    .facts = preset_facts,
    .preset = &(const struct scaling){.scale = 2, .mode = FAN_IN, .distribution = TRUNCATED_NORMAL},
};
const dt_initializer dt_initializer_lecun_uniform = {
    .kind = PRESET_KIND("LecunUniform", "lecun_uniform", "uniform of variance 1 / fan in"),
    .fill = preset,
    .draws = true,
    .facts = preset_facts,
    .preset = &(const struct scaling){.scale = 1, .mode = FAN_IN, .distribution = UNIFORM},
};
const dt_initializer dt_initializer_lecun_normal = {
    .kind = PRESET_KIND("LecunNormal", "lecun_normal", "truncated normal of variance 1 / fan in"),
    .fill = preset,
    .draws = true,
    .facts = preset_facts,
    .preset = &(const struct scaling){.scale = 1, .mode = FAN_IN, .distribution = TRUNCATED_NORMAL},
};

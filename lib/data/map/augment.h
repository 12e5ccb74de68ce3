/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the random changes of images, which are Keras' layers of the same names: their
 * arguments, their rows, and the three ways in which they work. Some move pixels by a matrix
 * (affine.c), others change values in place (color.c), and others combine two examples
 * (augment.c). Outside of training only the dtype changes.
 */
#ifndef DT_DATA_MAP_AUGMENT_H
#define DT_DATA_MAP_AUGMENT_H

#include "data/map/step.h"

enum { DT_AUGMENT_FACTORS = 4 };

/* The arguments of all these steps; each has some of them. */
struct dt_augment {
    /* for each factor, the two limits between which it is drawn, or one number; n is 0 if the step
     * has no such factor, or the job gives none and there is no default */
    dt_reals factor[DT_AUGMENT_FACTORS];
    dt_reals value_range; /* the lowest and the highest value of a pixel */
    dt_reals fill;        /* for random_erasing: one value, or one per channel; n is 0 for noise */
    int fill_mode, interpolation;
    double fill_value, alpha;
    int64_t num_ops; /* for rand_augment: the number of changes that are made one after the other */
    int64_t seed;
    bool has_seed;
};

/* The row of a step whose file defines `fields` and `run`; more members of the row follow. */
#define DT_AUGMENT_STEP(key, about, ...)                                                           \
    const dt_map_step dt_map_##key = {.kind = {#key,                                               \
                                               about "; outside training, leave it unchanged",     \
                                               fields, sizeof(struct dt_augment), NULL},           \
                                      .check = dt_augment_check,                                   \
                                      .run = run,                                                  \
                                      .emit = dt_augment_emit,                                     \
                                      __VA_ARGS__}
/* These macros define the row of a step that moves pixels by a matrix, and of one that changes
 * values. */
#define DT_AFFINE_STEP(key, about, matrix, ...)                                                    \
    static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {       \
        dt_affine_run(s, at, in, out, matrix);                                                     \
    }                                                                                              \
    DT_AUGMENT_STEP(key, about, .takes = DT_TAKES_IMAGES, .moves = true, .infer = dt_affine_infer, \
                    __VA_ARGS__)
#define DT_COLOR_STEP(key, about, infer_, adjust)                                                  \
    static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {       \
        dt_color_run(s, at, in, out, (dt_adjust *const[]){adjust}, 1);                             \
    }                                                                                              \
    DT_AUGMENT_STEP(key, about, .takes = DT_TAKES_IMAGES, .infer = infer_, .brief = {"factor"},    \
                    .takes_list = true)

extern const char *const dt_fill_modes[], *const dt_augment_interpolations[];

#define DT_AUGMENT_FACTOR(key, i, ...)                                                             \
    DT_KEY(REALS, key, struct dt_augment, factor[i], .some = true, __VA_ARGS__)
#define DT_AUGMENT_FILL                                                                            \
    DT_ENUM(struct dt_augment, fill_mode, dt_fill_modes,                                           \
            .help = "what lies outside of the image: its mirror image, its repetition, "           \
                    "fill_value, or the nearest pixel"),                                           \
        DT_ENUM(struct dt_augment, interpolation, dt_augment_interpolations,                       \
                .help = "bilinear produces float32; nearest keeps the dtype"),                     \
        DT_REAL(struct dt_augment, fill_value, .preset = "0",                                      \
                .help = "value of pixels outside of the image, with fill_mode constant")
#define DT_AUGMENT_RANGE                                                                           \
    DT_REALS(struct dt_augment, value_range, .preset = "[0, 255]",                                 \
             .help = "lowest and highest value of the images")
#define DT_AUGMENT_SEED                                                                            \
    DT_INT(struct dt_augment, seed, .min = 0, .max = 9.2e18,                                       \
           .set = 1 + offsetof(struct dt_augment, has_seed),                                       \
           .help = "seed; default: the job's. Elements with the same seed get the same numbers")

/* The `check` of all these steps: a factor must be one number or a list of two, and value_range, if
 * the step has it, two numbers in ascending order. */
dt_status *dt_augment_check(const void *args, const dt_location *at) DT_MUST_USE;
/* Draws a factor between its limits. If the factor is a single number f, the limits are low * |f|
 * and |f|. A factor that is not given is 0. */
double dt_augment_draw(dt_random *r, const dt_reals *factor, double low);
/* Returns -1 or 1, each with probability 1/2. */
double dt_augment_sign(dt_random *r);
/* Draws the position of a range of lines [*from, *to), whose length is the given fraction of n
 * lines, rounded to whole lines. */
void dt_augment_lines(dt_random *r, double fraction, int64_t n, int64_t *from, int64_t *to);
/* The `emit` of all these steps: it converts to the type of the output, because outside of training
 * only the dtype changes. */
dt_value dt_augment_emit(const dt_map_stage *s, dt_value x);

/* ---- pixels that move ---- */

/* Draws the matrix of an image of that size: the pixel of the output in column x and row y is the
 * input at column m[0] x + m[1] y + m[2] and row m[3] x + m[4] y + m[5]. */
typedef void dt_affine_matrix(const struct dt_augment *a, const dt_pixels *p, dt_random *r,
                              double m[6]);
dt_affine_matrix dt_matrix_rotation, dt_matrix_shear, dt_matrix_translation;
dt_status *dt_affine_infer(dt_map_stage *s, dt_arena *arena) DT_MUST_USE;
void dt_affine_run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out,
                   dt_affine_matrix *matrix);
/* Moves an example by a matrix. `in` and `out` must not overlap. */
void dt_affine_move_example(const dt_map_stage *s, const double m[6], const void *in, void *out);
/* Moves an image of floats, with any fill_mode but constant. `in` and `out` must not overlap. */
void dt_affine_move(const struct dt_augment *a, const dt_pixels *p, const double m[6],
                    const float *in, float *out);

/* ---- values that change ---- */

/* A function that changes an image of floats in place, usually by an amount that it draws as its
 * factor says. */
typedef void dt_adjust(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                       dt_random *r, float *x);
dt_adjust dt_adjust_brightness, dt_adjust_contrast, dt_adjust_saturation, dt_adjust_hue;
/* The `infer` of steps that take any image, and of those that need red, green and blue. */
dt_status *dt_color_infer(dt_map_stage *s, dt_arena *arena) DT_MUST_USE;
dt_status *dt_color_infer_rgb(dt_map_stage *s, dt_arena *arena) DT_MUST_USE;
/* Converts an example to float32 and, in training, runs those of the n changes whose factors are
 * set, by the job or by default: change i has factor i. */
void dt_color_run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out,
                  dt_adjust *const *change, int n);

/* Limits x to the value range. */
static inline float dt_clip(const struct dt_augment *a, float x) {
    const float low = (float)a->value_range.v[0], high = (float)a->value_range.v[1];
    x = low > x ? low : x; /* if x is NaN, it stays NaN */
    return high < x ? high : x;
}
/* These convert between (red, green, blue) in [0, v] and (hue in [0, 1], saturation in [0, 1],
 * value in [0, v]), as Keras' rgb_to_hsv and hsv_to_rgb. Hues form a circle, and dt_hsv_to_rgb
 * accepts hues in [-1, 2). */
void dt_rgb_to_hsv(float x[3]);
void dt_hsv_to_rgb(float x[3]);
/* Returns the brightness of a pixel, as tf.image.rgb_to_grayscale computes it. */
float dt_rgb_to_gray(const float x[3]);

/* ---- two examples that become one ---- */

/* The `infer` of steps that combine examples. */
dt_status *dt_combine_infer(dt_map_stage *s, dt_arena *arena) DT_MUST_USE;
/* The `undo` of steps that combine examples: it returns x, because outside of training they change
 * no value. */
dt_value dt_combine_undo(const void *args, const dt_lesson *learned, dt_value x);
/* Draws the weight of an example from the distribution Beta(alpha, alpha), with alpha in (0, 1]. */
double dt_combine_weight(dt_random *r, double alpha);
/* Computes out = weight * in + (1 - weight) * other. in and other have values of the dtype of
 * s->in. */
void dt_combine_blend(const dt_map_stage *s, float weight, const void *in, const void *other,
                      float *out);

#endif

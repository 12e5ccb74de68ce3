/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rand_augment: num_ops changes of an image, one after the other, each drawn from eleven, as Keras'
 * RandAugment; outside of training it changes at most the dtype. Each image draws its own changes.
 * As in Keras, a change that is drawn twice has the same parameters both times.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "file/cast.h"
#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_RANGE,
    DT_INT(struct dt_augment, num_ops, .preset = "2", .min = 1, .max = 64,
           .help = "number of changes, one after the other"),
    DT_AUGMENT_FACTOR("factor", 0, .min = 0, .max = 1, .preset = "0.5",
                      .help = "strength: f is [0, f], or [low, high]"),
    DT_ENUM(struct dt_augment, interpolation, dt_augment_interpolations,
            .help = "of the changes that move pixels"),
    DT_AUGMENT_SEED,
    DT_END};

/* ---- values from 0 to 255 ---- */

static bool is_bytes(const struct dt_augment *a) {
    return a->value_range.v[0] == 0 && a->value_range.v[1] == 255;
}

static float range(const struct dt_augment *a) {
    return (float)a->value_range.v[1] - (float)a->value_range.v[0];
}

static float to_byte(const struct dt_augment *a, float x) {
    return is_bytes(a) ? x : (x - (float)a->value_range.v[0]) / range(a) * 255;
}

static float from_byte(const struct dt_augment *a, float x) {
    return is_bytes(a) ? x : x / 255 * range(a) + (float)a->value_range.v[0];
}

static float clip_byte(float x) { return x > 0 ? fminf(x, 255) : 0; /* NaN becomes 0 */ }

/* ---- changes of values ---- */

static void degenerate(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                       dt_random *r, float *x) {
    const float f = (float)dt_augment_draw(r, factor, 0);
    for (int64_t i = 0; i < p->rows * p->columns; i++, x += 3) {
        const float gray = dt_rgb_to_gray(x);
        for (int k = 0; k < 3; k++) x[k] = dt_clip(a, x[k] + f * (gray - x[k]));
    }
}

/* Returns the weighted mean of a value and its eight neighbours, in which the value counts five
 * times. Values outside of the image count as 0. */
static float smooth(const dt_pixels *p, const float *x, int64_t row, int64_t column, int64_t k) {
    float sum = 0;
    for (int64_t i = dt_max(row - 1, 0); i <= dt_min(row + 1, p->rows - 1); i++)
        for (int64_t j = dt_max(column - 1, 0); j <= dt_min(column + 1, p->columns - 1); j++)
            sum += x[(i * p->columns + j) * p->channels + k] *
                   (i == row && j == column ? 5.0F / 13 : 1.0F / 13);
    return sum;
}

static float *copy(const dt_pixels *p, const float *x) {
    const size_t bytes = dt_size_mul((size_t)(p->rows * p->columns * p->channels), sizeof *x);
    float *y = dt_alloc(bytes);
    memcpy(y, x, bytes);
    return y;
}

static void sharpen(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                    dt_random *r, float *x) {
    const float f = (float)(2 * dt_augment_draw(r, factor, 0));
    float *old = copy(p, x);
    for (int64_t i = 0; i < p->rows * p->columns * p->channels; i++) {
        const int64_t pixel = i / p->channels;
        const float mean = smooth(p, old, pixel / p->columns, pixel % p->columns, i % p->channels);
        x[i] = dt_clip(a, old[i] + (1 - f) * (mean - old[i]));
    }
    free(old);
}

/* Keeps only the n upper bits of each byte. n is drawn from 1 to 8 * factor->v[1] - 1, where
 * 8 * factor->v[1] is rounded down; it is 1 if that limit is less than 1. */
static void posterize(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                      dt_random *r, float *x) {
    const int most = (int)(8 * factor->v[1]),
              bits = most > 1 ? 1 + (int)dt_random_below(r, (uint64_t)most - 1) : 1;
    const uint8_t mask = (uint8_t)(0xff00 >> bits);
    for (int64_t i = 0; i < p->rows * p->columns * p->channels; i++)
        x[i] = from_byte(a, (float)((uint8_t)clip_byte(to_byte(a, x[i])) & mask));
}

/* Draws from [low, 255 * high], as Keras does; low and high are the limits of the factor. */
static float draw_byte(dt_random *r, const dt_reals *factor) {
    const double low = factor->v[0], high = 255 * factor->v[1];
    return (float)(low + (high - low) * dt_random_uniform(r));
}

static void solarize(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                     dt_random *r, float *x) {
    const float more = draw_byte(r, factor), threshold = draw_byte(r, factor);
    for (int64_t i = 0; i < p->rows * p->columns * p->channels; i++) {
        const float y = clip_byte(to_byte(a, x[i]) + more);
        x[i] = from_byte(a, y < threshold ? y : 255 - y);
    }
}

/* Stretches the values of each channel to the whole value_range; leaves a channel unchanged if it
 * is constant. */
static void stretch(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                    dt_random *r, float *x) {
    const int64_t n = p->rows * p->columns * p->channels;
    (void)factor;
    (void)r;
    for (int64_t k = 0; k < p->channels; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t i = k; i < n; i += p->channels) {
            low = fminf(low, to_byte(a, x[i]));
            high = fmaxf(high, to_byte(a, x[i]));
        }
        const float scale = 255 / (high - low), offset = -low * scale;
        for (int64_t i = k; i < n && low < high; i += p->channels)
            x[i] = from_byte(a, clip_byte(to_byte(a, x[i]) * scale + offset));
    }
}

enum { BINS = 256 };

/* Computes the new value of each byte of a channel, so that all values occur about equally often.
 * count[b] is how often byte b occurs. Returns false if the channel has a single value. */
static bool equal_shares(const int64_t count[BINS], float to[BINS]) {
    int64_t first = 0, all = 0, below = 0;
    for (int b = 0; b < BINS; b++) {
        first = all == 0 ? count[b] : first;
        all += count[b];
    }
    for (int b = 0; b < BINS && all > first; b++) {
        below += count[b];
        to[b] = (float)rint(dt_max(below - first, 0) * 255.0 / (double)(all - first));
    }
    return all > first;
}

/* Spreads the bytes of each channel evenly, by their ranks. As in Keras, values are counted by one
 * formula and looked up by another, which may round to other bytes. */
static void equalize(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                     dt_random *r, float *x) {
    const int64_t n = p->rows * p->columns * p->channels;
    const double low = a->value_range.v[0], wide = a->value_range.v[1] - low;
    const float scale = (float)(255 / wide), offset = (float)(-low * (255 / wide));
    float to[BINS];
    (void)factor;
    (void)r;
    for (int64_t k = 0; k < p->channels; k++) {
        int64_t count[BINS] = {0};
        for (int64_t i = k; i < n; i += p->channels)
            count[(int)clip_byte((x[i] * scale + offset) * 255 / 255)]++;
        const bool varies = equal_shares(count, to);
        for (int64_t i = k; i < n && varies; i += p->channels)
            x[i] = (float)(to[(int)clip_byte((x[i] * scale + offset) / 255 * 255)] * (wide / 255) +
                           low);
    }
}

/* ---- the step ---- */

/* The changes, in Keras' order. Each changes values, or moves pixels by a matrix. */
static const struct {
    dt_adjust *adjust;
    dt_affine_matrix *matrix;
} changes[] = {
    {NULL, dt_matrix_shear},
    {NULL, dt_matrix_translation},
    {NULL, dt_matrix_rotation},
    {dt_adjust_brightness, NULL},
    {degenerate, NULL},
    {dt_adjust_contrast, NULL},
    {sharpen, NULL},
    {posterize, NULL},
    {solarize, NULL},
    {stretch, NULL},
    {equalize, NULL},
};
enum { CHANGES = sizeof changes / sizeof *changes };

/* Each change gets the two limits of the strength as its factor. */
static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    struct dt_augment *a = dt_arena_copy(arena, s->args, sizeof *a);
    dt_reals *f = &a->factor[0];
    const double one = f->alone ? 0 : f->v[0], other = f->v[f->n - 1];
    f->n = 2;
    f->alone = false;
    f->v = dt_arena_array(arena, double, 2);
    f->v[0] = fmin(one, other);
    f->v[1] = fmax(one, other);
    a->factor[1] = *f;
    s->made = a;
    return s->is_mask ? NULL : dt_color_infer_rgb(s, arena);
}

static void change(const struct dt_augment *a, const dt_pixels *p, int i, dt_random *r, float *x) {
    double m[6];
    if (changes[i].adjust) {
        changes[i].adjust(a, &a->factor[0], p, r, x);
        return;
    }
    float *old = copy(p, x);
    changes[i].matrix(a, p, r, m);
    dt_affine_move(a, p, m, old, x);
    free(old);
}

/* Moves the class numbers of a mask as the pixels of its image are moved. */
static void change_mask(const dt_map_stage *s, const dt_pixels *p, int i, dt_random *r, void *x) {
    double m[6];
    if (!changes[i].matrix) return;
    const size_t bytes = (size_t)(p->rows * p->columns * p->pixel);
    void *old = dt_alloc(bytes);
    memcpy(old, x, bytes);
    changes[i].matrix(s->made, p, r, m);
    dt_affine_move_example(s, m, old, x);
    free(old);
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct dt_augment *a = s->made;
    const dt_pixels p = dt_pixels_of(&s->out);
    dt_random r = dt_map_draw(s, at, a->has_seed ? &a->seed : NULL);
    const uint64_t seed = dt_random_below(&r, UINT64_MAX);
    dt_cast(s->in.dtype, s->out.dtype, in, out, s->values);
    for (int64_t k = 0; k < a->num_ops && at->training; k++) {
        const uint64_t i = dt_random_below(&r, CHANGES);
        dt_random own = dt_random_stream(seed, "rand_augment", i);
        if (s->is_mask) change_mask(s, &p, (int)i, &own, out);
        else change(a, &p, (int)i, &own, out);
    }
}

DT_AUGMENT_STEP(rand_augment, "change an image at random in several ways", .takes = DT_TAKES_IMAGES,
                .moves = true, .infer = infer);

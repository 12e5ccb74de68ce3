/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the pixels of an image by a matrix, as Keras' affine_transform with NumPy, JAX or PyTorch.
 * A pixel of the output is interpolated between four pixels of the input, or copied from the
 * nearest one. fill_mode determines the value of each input pixel that lies outside of the image.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/cast.h"
#include "data/map/augment.h"

enum { REFLECT, WRAP, CONSTANT, NEAREST };
const char *const dt_fill_modes[] = {"reflect", "wrap", "constant", "nearest", NULL};
enum { BILINEAR, NEAREST_PIXEL };
const char *const dt_augment_interpolations[] = {"bilinear", "nearest", NULL};

/* An image that is to be moved. */
typedef struct moved {
    dt_pixels size;
    int fill_mode;
    const double *m;
    /* in: the pixels of the image; fill: one pixel that replaces those outside of it */
    const void *in, *fill;
    void *out;
} moved;

/* Returns the interpolation of the step. Class numbers are not interpolated. */
static int interpolation(const dt_map_stage *s) {
    return s->is_mask ? NEAREST_PIXEL : ((const struct dt_augment *)s->args)->interpolation;
}

/* A mask consists of uint8 class numbers, so a fill_value that is not one of these would become
 * another class. */
static dt_status *check_fill(const dt_map_stage *s) {
    const struct dt_augment *a = s->args;
    const double x = a->fill_value;
    if (!s->is_mask || a->fill_mode != CONSTANT || (x >= 0 && x <= UINT8_MAX && x == trunc(x)))
        return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, s->at,
                              "fill_value %.15g is not a class number of a mask, 0 to 255", x),
                      "write a class, or one that the loss ignores: ignore_class: 255");
}

dt_status *dt_affine_infer(dt_map_stage *s, dt_arena *arena) {
    const struct dt_augment *a = s->args;
    const dt_pixels p = dt_pixels_of(&s->in);
    DT_TRY(check_fill(s));
    if (interpolation(s) == BILINEAR) s->out.dtype = DT_FLOAT32;
    const size_t size = dt_dtype_size(s->out.dtype);
    char *fill = dt_arena_alloc(arena, dt_size_mul((size_t)p.channels, size));
    for (int64_t k = 0; k < p.channels; k++)
        dt_cast(DT_FLOAT64, s->out.dtype, &a->fill_value, fill + (size_t)k * size, 1);
    s->made = fill;
    return NULL;
}

/* Returns the index in [0, n) of the row or column that stands for row or column i, which may lie
 * outside of the image; -1 if fill_value stands for it. */
static int64_t source_index(int fill_mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    if (fill_mode == CONSTANT) return -1;
    if (fill_mode == NEAREST) return i < 0 ? 0 : n - 1;
    const int64_t period = fill_mode == REFLECT ? 2 * n : n;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - 1 - i;
}

static const void *pixel(const moved *v, int64_t row, int64_t column) {
    row = source_index(v->fill_mode, row, v->size.rows);
    column = source_index(v->fill_mode, column, v->size.columns);
    return row < 0 || column < 0
               ? v->fill
               : (const char *)v->in + (row * v->size.columns + column) * v->size.pixel;
}

static void copy_row(const moved *v, int64_t r) {
    const double *m = v->m, x0 = m[1] * (double)r + m[2], y0 = m[4] * (double)r + m[5];
    char *to = (char *)v->out + r * v->size.columns * v->size.pixel;
    for (int64_t c = 0; c < v->size.columns; c++, to += v->size.pixel) {
        const double x = m[0] * (double)c + x0, y = m[3] * (double)c + y0;
        memcpy(to, pixel(v, (int64_t)floor(y + 0.5), (int64_t)floor(x + 0.5)),
               (size_t)v->size.pixel);
    }
}

/* Interpolates between four pixels. `right` is the share of the two on the right, `down` that of
 * the two below. */
static inline void blend(const float *const near[4], float right, float down, int64_t channels,
                         float *to) {
    const float left = 1 - right, up = 1 - down;
    for (int64_t k = 0; k < channels; k++)
        to[k] = up * (left * near[0][k] + right * near[1][k]) +
                down * (left * near[2][k] + right * near[3][k]);
}

static inline void blend_at(const moved *v, double x, double y, float *to) {
    const dt_pixels *p = &v->size;
    const bool inside =
        x >= 0 && y >= 0 && x < (double)(p->columns - 1) && y < (double)(p->rows - 1);
    const int64_t c = inside ? (int64_t)x : (int64_t)floor(x),
                  r = inside ? (int64_t)y : (int64_t)floor(y);
    const float *near[4];
    if (inside) {
        near[0] = (const float *)v->in + (r * p->columns + c) * p->channels;
        near[1] = near[0] + p->channels;
        near[2] = near[0] + p->columns * p->channels;
        near[3] = near[2] + p->channels;
    } else {
        for (int i = 0; i < 4; i++) near[i] = pixel(v, r + i / 2, c + i % 2);
    }
    const float right = (float)(x - (double)c), down = (float)(y - (double)r);
    if (p->channels == 3) blend(near, right, down, 3, to);
    else blend(near, right, down, p->channels, to);
}

static void blend_row(const moved *v, int64_t r) {
    const double *m = v->m, x0 = m[1] * (double)r + m[2], y0 = m[4] * (double)r + m[5];
    float *to = (float *)v->out + r * v->size.columns * v->size.channels;
    for (int64_t c = 0; c < v->size.columns; c++, to += v->size.channels)
        blend_at(v, m[0] * (double)c + x0, m[3] * (double)c + y0, to);
}

static void move(const moved *v, int how) {
    for (int64_t r = 0; r < v->size.rows; r++) (how == BILINEAR ? blend_row : copy_row)(v, r);
}

void dt_affine_move(const struct dt_augment *a, const dt_pixels *p, const double m[6],
                    const float *in, float *out) {
    const moved v = {.size = *p, .fill_mode = a->fill_mode, .m = m, .in = in, .out = out};
    move(&v, a->interpolation);
}

void dt_affine_move_example(const dt_map_stage *s, const double m[6], const void *in, void *out) {
    const struct dt_augment *a = s->args;
    float *floats = NULL;
    if (interpolation(s) == BILINEAR && s->in.dtype != DT_FLOAT32) {
        floats = dt_alloc(dt_size_mul((size_t)s->values, sizeof *floats));
        dt_cast(s->in.dtype, DT_FLOAT32, in, floats, s->values);
    }
    const moved v = {.size = dt_pixels_of(&s->out),
                     .fill_mode = a->fill_mode,
                     .m = m,
                     .in = floats ? floats : in,
                     .fill = s->made,
                     .out = out};
    move(&v, interpolation(s));
    free(floats);
}

void dt_affine_run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out,
                   dt_affine_matrix *matrix) {
    const struct dt_augment *a = s->args;
    const dt_pixels p = dt_pixels_of(&s->in);
    dt_random r = dt_map_draw(s, at, a->has_seed ? &a->seed : NULL);
    double m[6];
    if (!at->training) {
        dt_cast(s->in.dtype, s->out.dtype, in, out, s->values);
        return;
    }
    matrix(a, &p, &r, m);
    dt_affine_move_example(s, m, in, out);
}

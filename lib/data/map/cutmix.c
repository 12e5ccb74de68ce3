/* SPDX-License-Identifier: Apache-2.0 */
/* cutmix: replaces a rectangle of an image by that of another example, and mixes their labels by
 * the share of the image that the rectangle was drawn to have, as Keras' CutMix; outside of
 * training it changes at most the dtype. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "file/cast.h"
#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("factor", 0, .min = 0, .max = 1, .preset = "1",
                      .help = "the part of the image that stays is drawn from Beta(a, a), and a "
                              "from these limits: f is [0, f], or [low, high]"),
    DT_END};

/* A value of rank 2 or more with several rows is an image; anything else is a label. */
static bool is_image(const dt_map_stage *s) { return s->in.rank > 1 && s->in.dim[0] > 1; }

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    if (is_image(s) && s->in.rank > 3)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: cutmix needs images, (rows, columns) or (rows, columns, channels), or "
                       "labels of one dimension, but examples have %d dimensions",
                       s->file, s->in.rank);
    /* Class numbers of a mask are copied, not computed with, so their type is kept. */
    if (s->is_mask) return NULL;
    return dt_combine_infer(s, arena);
}

/* Copies a rectangle of the other image. It has the fraction `part` of the rows and of the columns,
 * rounded to whole ones. */
static void paste(const dt_map_stage *s, dt_random *r, double part, const void *other, void *out) {
    const dt_pixels p = dt_pixels_of(&s->in);
    int64_t row, rows, column, columns;
    dt_augment_lines(r, part, p.columns, &column, &columns);
    dt_augment_lines(r, part, p.rows, &row, &rows);
    for (int64_t i = row; i < rows; i++) {
        const int64_t first = i * p.columns + column;
        const size_t size = dt_dtype_size(s->out.dtype);
        dt_cast(s->in.dtype, s->out.dtype, (const char *)other + first * p.pixel,
                (char *)out + (size_t)(first * p.channels) * size,
                dt_max(columns - column, 0) * p.channels);
    }
}

/* Keras adds 1e-6 to the parameter of the distribution, which must not be 0. */
static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct dt_augment *a = s->args;
    dt_random r = dt_map_draw(s, at, NULL);
    const void *other = at->other ? at->other : in;
    const double alpha = dt_augment_draw(&r, &a->factor[0], 0) + 1e-6,
                 weight = at->other ? dt_combine_weight(&r, fmin(alpha, 1)) : 1;
    if (is_image(s)) dt_cast(s->in.dtype, s->out.dtype, in, out, s->values);
    else dt_combine_blend(s, (float)weight, in, other, out);
    if (is_image(s)) paste(s, &r, sqrt(1 - weight), other, out);
}

DT_AUGMENT_STEP(cutmix, "replace a rectangle of an image by that of another one of its batch",
                .brief = {"factor"}, .takes_list = true, .moves = true, .combines = true,
                .keeps_names = true, .infer = infer, .undo = dt_combine_undo);

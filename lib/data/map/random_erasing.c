/* SPDX-License-Identifier: Apache-2.0 */
/* random_erasing: replaces a rectangle of an image, or at random leaves the image as it is, as
 * Keras' RandomErasing; outside of training it only converts to float32. */
#include <math.h>

#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("factor", 0, .min = 0, .max = 1, .preset = "1",
                      .help = "probability; it is drawn itself: f is [0, f], or [low, high]"),
    DT_AUGMENT_FACTOR("scale", 1, .min = 0, .max = 1, .preset = "[0.02, 0.33]",
                      .help = "limits of the squared fraction of rows, and of columns, to erase"),
    DT_KEY(REALS, "fill_value", struct dt_augment, fill, .some = true,
           .help = "value of erased pixels, or one per channel; default: noise"),
    DT_AUGMENT_RANGE,
    DT_AUGMENT_SEED,
    DT_END};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct dt_augment *a = s->args;
    const int64_t channels = dt_pixels_of(&s->in).channels;
    if (a->fill.n > 1 && a->fill.n != channels)
        return dt_fail(DT_E_DATA_SHAPE, s->at, "%s: 'fill_value' has %d numbers, images have %lld",
                       s->file, a->fill.n, (long long)channels);
    return dt_color_infer(s, arena);
}

/* Noise takes a random number for each value of the rectangle, so it comes from a random stream of
 * its own, whose seed is drawn from r. */
static void erase(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                  dt_random *r, float *x) {
    int64_t row, rows, column, columns;
    const double width = sqrt(dt_augment_draw(r, &a->factor[1], 0)),
                 height = sqrt(dt_augment_draw(r, &a->factor[1], 0));
    dt_augment_lines(r, width, p->columns, &column, &columns);
    dt_augment_lines(r, height, p->rows, &row, &rows);
    if (!(dt_random_uniform(r) < dt_augment_draw(r, factor, 0))) return;
    dt_random noise = dt_random_stream(dt_random_below(r, UINT64_MAX), "noise", 0);
    for (int64_t i = row; i < rows; i++)
        for (int64_t j = column; j < columns; j++)
            for (int64_t k = 0; k < p->channels; k++)
                x[(i * p->columns + j) * p->channels + k] = dt_clip(
                    a, (float)(a->fill.n > 0 ? a->fill.v[a->fill.n > 1 ? k : 0]
                                             : dt_random_normal(&noise) * a->value_range.v[1]));
}

DT_COLOR_STEP(random_erasing, "erase a rectangle of an image at random", infer, erase);

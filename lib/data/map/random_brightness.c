/* SPDX-License-Identifier: Apache-2.0 */
/* random_brightness: as Keras' RandomBrightness; outside of training it only converts to
 * float32. */
#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("factor", 0, .min = -1, .max = 1, .required = true,
                      .help = "what is added, as a fraction of the range: f is [-f, f], or [low, "
                              "high]"),
    DT_AUGMENT_RANGE, DT_AUGMENT_SEED, DT_END};

void dt_adjust_brightness(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                          dt_random *r, float *x) {
    const double range = a->value_range.v[1] - a->value_range.v[0];
    const float more = (float)(dt_augment_draw(r, factor, -1) * range);
    for (int64_t i = 0; i < p->rows * p->columns * p->channels; i++) x[i] = dt_clip(a, x[i] + more);
}

DT_COLOR_STEP(random_brightness, "change the brightness of an image at random", dt_color_infer,
              dt_adjust_brightness);

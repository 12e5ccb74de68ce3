/* SPDX-License-Identifier: Apache-2.0 */
/* random_saturation: as Keras' RandomSaturation; outside of training it only converts to
 * float32. */
#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("factor", 0, .min = 0, .max = 1, .required = true,
                      .help = "0 is gray, 0.5 changes nothing, 1 is saturated: f is [0, f], or "
                              "[low, high]"),
    DT_AUGMENT_RANGE, DT_AUGMENT_SEED, DT_END};

/* As in Keras, the saturation is limited to value_range, as if it were a value of a pixel. */
void dt_adjust_saturation(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                          dt_random *r, float *x) {
    const double f = dt_augment_draw(r, factor, 0);
    const float by = (float)(f / (1 - f + 1e-7));
    for (int64_t i = 0; i < p->rows * p->columns; i++, x += 3) {
        dt_rgb_to_hsv(x);
        x[1] = dt_clip(a, x[1] * by);
        dt_hsv_to_rgb(x);
    }
}

DT_COLOR_STEP(random_saturation, "change the saturation of an image at random", dt_color_infer_rgb,
              dt_adjust_saturation);

/* SPDX-License-Identifier: Apache-2.0 */
/* random_hue: as Keras' RandomHue; outside of training it only converts to float32. */
#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("factor", 0, .min = 0, .max = 1, .required = true,
                      .help = "1 turns the hue by half a circle, to a random side: f is [0, f], or "
                              "[low, high]"),
    DT_AUGMENT_RANGE, DT_AUGMENT_SEED, DT_END};

/* The conversion to hues needs values in [0, 1]. */
void dt_adjust_hue(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                   dt_random *r, float *x) {
    const float low = (float)a->value_range.v[0], range = (float)a->value_range.v[1] - low;
    const double sign = dt_augment_sign(r);
    const float turn = (float)(sign * dt_augment_draw(r, factor, 0) / 2);
    for (int64_t i = 0; i < p->rows * p->columns; i++, x += 3) {
        for (int k = 0; k < 3; k++) x[k] = (x[k] - low) / range;
        dt_rgb_to_hsv(x);
        x[0] += turn;
        dt_hsv_to_rgb(x);
        for (int k = 0; k < 3; k++) x[k] = dt_clip(a, x[k] * range + low);
    }
}

DT_COLOR_STEP(random_hue, "change the hue of an image at random", dt_color_infer_rgb,
              dt_adjust_hue);

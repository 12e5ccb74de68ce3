/* SPDX-License-Identifier: Apache-2.0 */
/* random_contrast: as Keras' RandomContrast; outside of training it only converts to float32. */
#include <math.h>

#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("factor", 0, .min = -1, .max = 1, .required = true,
                      .help = "differences from the mean of a channel are multiplied by a number "
                              "from [1 - f, 1 + f], or, for [lower, upper], from [1 - lower, 1 + "
                              "upper]"),
    DT_AUGMENT_RANGE, DT_AUGMENT_SEED, DT_END};

static void stretch(const struct dt_augment *a, const dt_pixels *p, double by, float *x) {
    const int64_t n = p->rows * p->columns;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i * p->channels];
    const float mean = (float)(sum / (double)n), f = (float)by;
    for (int64_t i = 0; i < n; i++)
        x[i * p->channels] = dt_clip(a, (x[i * p->channels] - mean) * f + mean);
}

/* Keras sorts the two limits, so the smaller one is the lower limit. */
void dt_adjust_contrast(const struct dt_augment *a, const dt_reals *factor, const dt_pixels *p,
                        dt_random *r, float *x) {
    const double one = factor->v[0], other = factor->v[factor->n - 1], low = fmin(one, other),
                 high = fmax(one, other);
    const double by = 1 - low + (low + high) * dt_random_uniform(r);
    for (int64_t k = 0; k < p->channels; k++) stretch(a, p, by, x + k);
}

DT_COLOR_STEP(random_contrast, "change the contrast of an image at random", dt_color_infer,
              dt_adjust_contrast);

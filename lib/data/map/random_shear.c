/* SPDX-License-Identifier: Apache-2.0 */
/* random_shear: as Keras' RandomShear; outside of training it changes at most the dtype. */
#include <string.h>

#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("x_factor", 0, .min = 0, .max = 1, .preset = "0",
                      .help = "columns by which each row is shifted more than the one above: f is "
                              "[-f, f], or [low, high], with a random sign"),
    DT_AUGMENT_FACTOR("y_factor", 1, .min = 0, .max = 1, .preset = "0",
                      .help = "rows by which each column is shifted more; the same sign"),
    DT_AUGMENT_FILL, DT_AUGMENT_SEED, DT_END};

/* The pixel in the upper left corner does not move. */
void dt_matrix_shear(const struct dt_augment *a, const dt_pixels *p, dt_random *r, double m[6]) {
    const double sign = dt_augment_sign(r), across = sign * dt_augment_draw(r, &a->factor[0], -1),
                 down = sign * dt_augment_draw(r, &a->factor[1], -1);
    (void)p;
    memcpy(m, (double[6]){1, across, 0, down, 1, 0}, 6 * sizeof *m);
}

DT_AFFINE_STEP(random_shear, "shear an image at random", dt_matrix_shear,
               .brief = {"x_factor", "y_factor"});

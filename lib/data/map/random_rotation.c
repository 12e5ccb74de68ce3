/* SPDX-License-Identifier: Apache-2.0 */
/* random_rotation: as Keras' RandomRotation; outside of training it changes at most the dtype. */
#include <string.h>

#include "base/elementary.h"
#include "data/map/augment.h"

#define PI 3.14159265358979323846

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("factor", 0, .min = -1, .max = 1, .required = true,
                      .help = "fraction of a whole turn, counterclockwise: f is [-f, f], or [low, "
                              "high]"),
    DT_AUGMENT_FILL, DT_AUGMENT_SEED, DT_END};

/* The image is rotated about its center. */
void dt_matrix_rotation(const struct dt_augment *a, const dt_pixels *p, dt_random *r, double m[6]) {
    const double angle = 2 * PI * dt_augment_draw(r, &a->factor[0], -1);
    const double c = dt_portable_cos(angle), s = dt_portable_sin(angle),
                 x = (double)(p->columns - 1) / 2, y = (double)(p->rows - 1) / 2;
    memcpy(m, (double[6]){c, -s, x - x * c + y * s, s, c, y - x * s - y * c}, 6 * sizeof *m);
}

DT_AFFINE_STEP(random_rotation, "rotate an image by a random angle", dt_matrix_rotation,
               .brief = {"factor"}, .takes_list = true);

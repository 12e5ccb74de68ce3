/* SPDX-License-Identifier: Apache-2.0 */
/* random_translation: as Keras' RandomTranslation; outside of training it changes at most the
 * dtype. */
#include <string.h>

#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("height_factor", 0, .min = -1, .max = 1, .required = true,
                      .help = "fraction of the height, down: f is [-f, f], or [low, high]"),
    DT_AUGMENT_FACTOR("width_factor", 1, .min = -1, .max = 1,
                      .help = "fraction of the width, to the right; default: drawn as the height "
                              "is"),
    DT_AUGMENT_FILL, DT_AUGMENT_SEED, DT_END};

void dt_matrix_translation(const struct dt_augment *a, const dt_pixels *p, dt_random *r,
                           double m[6]) {
    const double down = dt_augment_draw(r, &a->factor[0], -1),
                 across = dt_augment_draw(r, &a->factor[a->factor[1].n > 0], -1);
    memcpy(m, (double[6]){1, 0, -across * (double)p->columns, 0, 1, -down * (double)p->rows},
           6 * sizeof *m);
}

DT_AFFINE_STEP(random_translation, "shift an image at random", dt_matrix_translation,
               .brief = {"height_factor", "width_factor"});

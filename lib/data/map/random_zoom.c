/* SPDX-License-Identifier: Apache-2.0 */
/* random_zoom: as Keras' RandomZoom; outside of training it changes at most the dtype. */
#include <string.h>

#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("height_factor", 0, .min = -1, .max = 1, .above_min = true, .required = true,
                      .help = "0.3 zooms out by 30%, -0.3 in: f is [-f, f], or [low, high]"),
    DT_AUGMENT_FACTOR("width_factor", 1, .min = -1, .max = 1, .above_min = true,
                      .help = "default: the number drawn for the height, which keeps the aspect "
                              "ratio"),
    DT_AUGMENT_FILL, DT_AUGMENT_SEED, DT_END};

/* The image is scaled about its center. */
static void matrix(const struct dt_augment *a, const dt_pixels *p, dt_random *r, double m[6]) {
    const double down = 1 + dt_augment_draw(r, &a->factor[0], -1),
                 across = a->factor[1].n > 0 ? 1 + dt_augment_draw(r, &a->factor[1], -1) : down;
    const double x = (double)(p->columns - 1) / 2, y = (double)(p->rows - 1) / 2;
    memcpy(m, (double[6]){across, 0, x * (1 - across), 0, down, y * (1 - down)}, 6 * sizeof *m);
}

DT_AFFINE_STEP(random_zoom, "zoom an image in or out at random", matrix,
               .brief = {"height_factor", "width_factor"});

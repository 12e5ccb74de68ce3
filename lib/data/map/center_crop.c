/* SPDX-License-Identifier: Apache-2.0 */
/* center_crop: the middle of an image, as Keras' CenterCrop. If the surplus is odd, one row or
 * column more is cut off at the end. */
#include "data/map/crop.h"

static const dt_field fields[] = {DT_INT(struct dt_crop, height, .min = 1, .max = 1 << 24,
                                         .required = true, .help = "rows of the output"),
                                  DT_INT(struct dt_crop, width, .min = 1, .max = 1 << 24,
                                         .required = true, .help = "columns of the output"),
                                  DT_END};

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    (void)at;
    dt_crop_center(s, in, out);
}

const dt_map_step dt_map_center_crop = {
    .kind = {"center_crop", "crop the center of an image, as Keras' CenterCrop", fields,
             sizeof(struct dt_crop), NULL},
    .brief = {"height", "width"},
    .takes = DT_TAKES_IMAGES,
    .moves = true,
    .infer = dt_crop_infer,
    .run = run,
    .emit = dt_crop_emit_center,
};

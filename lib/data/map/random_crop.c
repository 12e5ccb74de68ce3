/* SPDX-License-Identifier: Apache-2.0 */
/* random_crop: a part of an image at a random position, all positions being equally likely; outside
 * of training, the middle. */
#include "data/map/crop.h"

static const dt_field fields[] = {
    DT_INT(struct dt_crop, height, .min = 1, .max = 1 << 24, .required = true,
           .help = "rows of the output"),
    DT_INT(struct dt_crop, width, .min = 1, .max = 1 << 24, .required = true,
           .help = "columns of the output"),
    DT_INT(struct dt_crop, seed, .min = 0, .max = 9.2e18,
           .set = 1 + offsetof(struct dt_crop, has_seed),
           .help = "seed; default: the job's. Elements with the same seed get the same crop"),
    DT_END};

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct dt_crop *a = s->args;
    if (!at->training) {
        dt_crop_center(s, in, out);
        return;
    }
    dt_random r = dt_map_draw(s, at, a->has_seed ? &a->seed : NULL);
    int64_t row = (int64_t)dt_random_below(&r, (uint64_t)(s->in.dim[0] - a->height + 1));
    int64_t column = (int64_t)dt_random_below(&r, (uint64_t)(s->in.dim[1] - a->width + 1));
    dt_image_cut(&s->in, &s->out, row, column, in, out);
}

const dt_map_step dt_map_random_crop = {
    .kind = {"random_crop", "crop an image at random; outside training, crop the center", fields,
             sizeof(struct dt_crop), NULL},
    .brief = {"height", "width"},
    .takes = DT_TAKES_IMAGES,
    .moves = true,
    .infer = dt_crop_infer,
    .run = run,
    .emit = dt_crop_emit_center,
};

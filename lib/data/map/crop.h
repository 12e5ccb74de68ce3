/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by center_crop and random_crop: sizes, and cropping to the middle. */
#ifndef DT_DATA_MAP_CROP_H
#define DT_DATA_MAP_CROP_H

#include "data/map/step.h"

struct dt_crop {
    int64_t height, width, seed; /* seed is only for random_crop */
    bool has_seed;
};

/* The `infer` of both crops. It refuses images that are too small. */
dt_status *dt_crop_infer(dt_map_stage *s, dt_arena *arena) DT_MUST_USE;
/* Copies the middle of the image `in`, of type s->in, to `out`, of type s->out. */
void dt_crop_center(const dt_map_stage *s, const void *in, void *out);

/* Like dt_crop_center, in a graph. */
dt_value dt_crop_emit_center(const dt_map_stage *s, dt_value x);

#endif

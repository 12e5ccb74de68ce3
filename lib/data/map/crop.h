/* SPDX-License-Identifier: Apache-2.0 */
/* What the crops share: their sizes, and the middle of an image. */
#ifndef DT_DATA_MAP_CROP_H
#define DT_DATA_MAP_CROP_H

#include "data/map/step.h"

struct dt_crop {
    int64_t height, width, seed; /* seed: of the random one */
    bool has_seed;
};

/* `infer` of both: images that are smaller are refused. */
dt_status *dt_crop_infer(dt_map_stage *s, dt_arena *arena) DT_MUST_USE;
void dt_crop_center(const dt_map_stage *s, const void *in, void *out);

/* The same in a graph. */
dt_value dt_crop_emit_center(const dt_map_stage *s, dt_value x);

#endif

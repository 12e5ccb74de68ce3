/* SPDX-License-Identifier: Apache-2.0 */
/* See crop.h. */
#include "data/map/crop.h"

dt_status *dt_crop_infer(dt_map_stage *s, dt_arena *arena) {
    const struct dt_crop *a = s->args;
    (void)arena;
    if (s->in.dim[0] < a->height || s->in.dim[1] < a->width)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: %s to %lld x %lld of images of %lld x %lld; resize or zero_padding "
                       "before it makes them larger",
                       s->file, s->step->kind.name, (long long)a->height, (long long)a->width,
                       (long long)s->in.dim[0], (long long)s->in.dim[1]);
    s->out = dt_image_sized(&s->in, a->height, a->width);
    return NULL;
}

void dt_crop_center(const dt_map_stage *s, const void *in, void *out) {
    dt_image_cut(&s->in, &s->out, (s->in.dim[0] - s->out.dim[0]) / 2,
                 (s->in.dim[1] - s->out.dim[1]) / 2, in, out);
}

dt_value dt_crop_emit_center(const dt_map_stage *s, dt_value x) {
    for (int d = 0; d < 2; d++)
        x = dt_slice_axis(x, 1 + d, (s->in.dim[d] - s->out.dim[d]) / 2, s->out.dim[d], 1);
    return x;
}

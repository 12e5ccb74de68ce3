/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the values of an image in place; see augment.h. */
#include <math.h>

#include "file/cast.h"
#include "data/map/augment.h"

dt_status *dt_color_infer(dt_map_stage *s, dt_arena *arena) {
    (void)arena;
    s->out.dtype = DT_FLOAT32;
    return NULL;
}

dt_status *dt_color_infer_rgb(dt_map_stage *s, dt_arena *arena) {
    if (s->in.rank != 3 || s->in.dim[2] != 3)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: %s needs images of 3 channels, (rows, columns, 3)", s->file,
                       s->step->kind.name);
    return dt_color_infer(s, arena);
}

void dt_color_run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out,
                  dt_adjust *const *change, int n) {
    const struct dt_augment *a = s->args;
    const dt_pixels p = dt_pixels_of(&s->out);
    dt_random r = dt_map_draw(s, at, a->has_seed ? &a->seed : NULL);
    dt_cast(s->in.dtype, DT_FLOAT32, in, out, s->values);
    for (int i = 0; i < n && at->training; i++)
        if (a->factor[i].n > 0) change[i](a, &a->factor[i], &p, &r, out);
}

static float larger(float a, float b) { return a > b ? a : b; }

/* The hue is the position on a circle of colors, from 0 to 1, starting at red; that of a gray pixel
 * is 0. */
void dt_rgb_to_hsv(float x[3]) {
    const float r = x[0], g = x[1], b = x[2], high = larger(r, larger(g, b)),
                range = high + larger(-r, larger(-g, -b));
    const float norm = 1 / (6 * (range > 0 ? range : 1));
    const float hue = high == r   ? norm * (g - b)
                      : high == g ? norm * (b - r) + 2.0F / 6
                                  : norm * (r - g) + 4.0F / 6;
    x[0] = hue < 0 ? hue + 1 : hue;
    x[1] = high > 0 ? range / high : 0;
    x[2] = high;
}

static float ramp(float x) {
    x = 0 > x ? 0 : x;
    return 1 < x ? 1 : x;
}

void dt_hsv_to_rgb(float x[3]) {
    const float turn = x[0] < 0 ? x[0] + 1 : x[0] >= 1 ? x[0] - 1 : x[0];
    const float h = turn * 6, s = x[1], v = x[2];
    const float full[3] = {ramp(fabsf(h - 3) - 1), ramp(2 - fabsf(h - 2)), ramp(2 - fabsf(h - 4))};
    for (int k = 0; k < 3; k++) x[k] = v * ((1 - s) + s * full[k]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rescale: x * scale + offset, as Keras' Rescaling. Types whose values float32 cannot represent are
 * computed in float64. */
#include "file/cast.h"
#include "data/map/step.h"

struct rescale {
    double scale, offset;
};

static const dt_field fields[] = {
    DT_REAL(struct rescale, scale, .preset = "1", .help = "factor"),
    DT_REAL(struct rescale, offset, .preset = "0", .help = "offset added after scaling"), DT_END};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    (void)arena;
    s->out.dtype = DT_FLOAT32;
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct rescale *a = s->args;
    (void)at;
    dt_rescale(s->in.dtype, a->scale, a->offset, in, out, s->values);
}

static dt_value emit(const dt_map_stage *s, dt_value x) {
    const struct rescale *a = s->args;
    if (dt_is_wide(s->in.dtype)) {
        x = dt_convert(x, DT_FLOAT64);
        return dt_convert(dt_add(dt_multiply(x, dt_like(x, a->scale)), dt_like(x, a->offset)),
                          DT_FLOAT32);
    }
    x = dt_convert(x, DT_FLOAT32);
    return dt_add(dt_multiply(x, dt_like(x, (float)a->scale)), dt_like(x, (float)a->offset));
}

static dt_value undo(const void *args, const dt_lesson *learned, dt_value x) {
    const struct rescale *a = args;
    (void)learned;
    if (a->scale == 0) return (dt_value){0};
    return dt_divide(dt_subtract(x, dt_like(x, a->offset)), dt_like(x, a->scale));
}

const dt_map_step dt_map_rescale = {
    .kind = {"rescale", "x * scale + offset as float32 values, as Keras' Rescaling", fields,
             sizeof(struct rescale), NULL},
    .reads_float32 = true,
    .infer = infer,
    .run = run,
    .emit = emit,
    .takes_windows = true,
    .undo = undo,
};

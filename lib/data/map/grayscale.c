/* SPDX-License-Identifier: Apache-2.0 */
/* grayscale: converts three channels to one, as tf.image.rgb_to_grayscale. uint8 values are scaled
 * to [0, 1] and back, as in TensorFlow. */
#include <math.h>

#include "file/cast.h"
#include "data/map/augment.h"

static const float weights[3] = {0.2989F, 0.587F, 0.114F};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    (void)arena;
    if (s->in.rank != 3 || s->in.dim[2] != 3)
        return dt_fail(DT_E_DATA_SHAPE, s->at,
                       "%s: grayscale needs images of 3 channels, (rows, columns, 3)", s->file);
    if (s->in.dtype != DT_UINT8 && s->in.dtype != DT_FLOAT32)
        return dt_fail(DT_E_DATA_TYPE, s->at, "%s: grayscale needs uint8 or float32, got %s",
                       s->file, dt_dtype_name(s->in.dtype));
    s->out.dim[2] = 1;
    return NULL;
}

float dt_rgb_to_gray(const float rgb[3]) {
    return rgb[0] * weights[0] + rgb[1] * weights[1] + rgb[2] * weights[2];
}

static void run_bytes(const uint8_t *in, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const float rgb[3] = {(float)in[3 * i] / 255.0F, (float)in[3 * i + 1] / 255.0F,
                              (float)in[3 * i + 2] / 255.0F};
        out[i] = (uint8_t)fminf(dt_rgb_to_gray(rgb) * 255.5F, 255.0F);
    }
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const float *from = in;
    float *to = out;
    (void)at;
    if (s->in.dtype == DT_UINT8) {
        run_bytes(in, out, s->values / 3);
        return;
    }
    for (int64_t i = 0; i < s->values / 3; i++) to[i] = dt_rgb_to_gray(&from[3 * i]);
}

/* Multiplies (.., 3) by a column of weights. Bytes are scaled to [0, 1] and back, as in
 * run_bytes. */
static dt_value emit(const dt_map_stage *s, dt_value x) {
    const dt_type column = dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 1});
    dt_value by = dt_map_numbers(s, x, "weights", &column, weights);
    if (s->in.dtype != DT_UINT8) return dt_matmul(x, by);
    x = dt_convert(x, DT_FLOAT32);
    x = dt_matmul(dt_divide(x, dt_like(x, 255)), by);
    return dt_convert(dt_minimum(dt_multiply(x, dt_like(x, 255.5)), dt_like(x, 255)), DT_UINT8);
}

const dt_map_step dt_map_grayscale = {
    .kind = {"grayscale", "convert three channels to one, as tf.image.rgb_to_grayscale", NULL, 0,
             NULL},
    .takes = DT_TAKES_IMAGES,
    .infer = infer,
    .run = run,
    .emit = emit,
};

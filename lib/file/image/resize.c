/* SPDX-License-Identifier: Apache-2.0 */
/* See resize.h. */
#include "file/image/resize.h"

#include <math.h>
#include <string.h>

/* Computes the sources of n new rows, or columns, among `from` old ones that begin at `first`. The
 * arithmetic is TensorFlow's, in float32. */
static void map_positions(dt_between *x, int64_t first, int64_t from, int64_t n,
                          dt_interpolation interpolation) {
    const float scale = (float)from / (float)n;
    for (int64_t i = 0; i < n; i++) {
        float half = ((float)i + 0.5F) * scale,
              at = interpolation == DT_NEAREST ? half : half - 0.5F, low = floorf(at);
        int64_t high = interpolation == DT_NEAREST ? (int64_t)low : (int64_t)ceilf(at);
        x[i].low = first + (low < 0 ? 0 : (int64_t)low < from ? (int64_t)low : from - 1);
        x[i].high = first + (high < from ? high : from - 1);
        x[i].part = at - low;
    }
}

/* Returns how many of the `size` pixels of a side are used: all of them, or, with `crop`, as many
 * as give the aspect ratio want : want_other with a second side of `other` pixels, rounded down,
 * but at least 1 and at most `size`. */
static int64_t used(const dt_resizing *r, int64_t size, int64_t other, int64_t want,
                    int64_t want_other) {
    int64_t fits = (int64_t)((double)(other * want) / (double)want_other);
    return !r->crop || fits > size ? size : fits < 1 ? 1 : fits;
}

void dt_resizing_prepare(dt_resizing *r) {
    const int64_t *in = r->in.dim, *out = r->out.dim;
    int64_t rows = used(r, in[0], in[1], out[0], out[1]),
            columns = used(r, in[1], in[0], out[1], out[0]);
    map_positions(r->row, (in[0] - rows) / 2, rows, out[0], r->interpolation);
    map_positions(r->column, (in[1] - columns) / 2, columns, out[1], r->interpolation);
}

static int64_t channels_of(const dt_resizing *r) { return r->in.rank == 3 ? r->in.dim[2] : 1; }

static void run_nearest(const dt_resizing *r, const char *in, char *out) {
    const size_t pixel = (size_t)channels_of(r) * dt_dtype_size(r->in.dtype);
    for (int64_t y = 0; y < r->out.dim[0]; y++)
        for (int64_t x = 0; x < r->out.dim[1]; x++, out += pixel)
            memcpy(out, in + (size_t)(r->row[y].low * r->in.dim[1] + r->column[x].low) * pixel,
                   pixel);
}

#define BILINEAR_LOOP(name, type)                                                                  \
    static void bilinear_##name(const dt_resizing *r, const type *in, float *out) {                \
        const int64_t channels = channels_of(r), line = r->in.dim[1] * channels;                   \
        for (int64_t y = 0; y < r->out.dim[0]; y++) {                                              \
            const type *top = in + r->row[y].low * line, *bottom = in + r->row[y].high * line;     \
            const float down = r->row[y].part;                                                     \
            for (int64_t x = 0; x < r->out.dim[1]; x++) {                                          \
                const int64_t left = r->column[x].low * channels,                                  \
                              right = r->column[x].high * channels;                                \
                const float across = r->column[x].part;                                            \
                for (int64_t k = 0; k < channels; k++) {                                           \
                    float a = (float)top[left + k], b = (float)bottom[left + k];                   \
                    a += ((float)top[right + k] - a) * across;                                     \
                    b += ((float)bottom[right + k] - b) * across;                                  \
                    *out++ = a + (b - a) * down;                                                   \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

BILINEAR_LOOP(UINT8, uint8_t)
BILINEAR_LOOP(INT8, int8_t)
BILINEAR_LOOP(INT16, int16_t)
BILINEAR_LOOP(INT32, int32_t)
BILINEAR_LOOP(FLOAT32, float)

static void run_bilinear(const dt_resizing *r, const void *in, float *out) {
    switch (r->in.dtype) {
    case DT_UINT8: bilinear_UINT8(r, in, out); break;
    case DT_INT8: bilinear_INT8(r, in, out); break;
    case DT_INT16: bilinear_INT16(r, in, out); break;
    case DT_INT32: bilinear_INT32(r, in, out); break;
    default: bilinear_FLOAT32(r, in, out); break;
    }
}

void dt_resizing_run(const dt_resizing *r, const void *in, void *out) {
    if (r->interpolation == DT_NEAREST) run_nearest(r, in, out);
    else run_bilinear(r, in, out);
}

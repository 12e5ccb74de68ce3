/*
 * resize: an image of another size, Keras' Resizing, which is tf.image.resize without antialiasing: pixels have their centres at half coordinates.
 * Which pixels meet with which weights is known once the sizes are, and stands in tables. With crop_to_aspect_ratio the largest part of the wanted
 * ratio from the middle is taken, else the image is distorted.
 */
#include <math.h>
#include <string.h>

#include "data/cast.h"
#include "data/map/step.h"

enum { BILINEAR, NEAREST };
static const char *const interpolations[] = {"bilinear", "nearest", NULL};

struct resize {
    int64_t height, width;
    int interpolation;
    bool crop_to_aspect_ratio;
};

static const dt_field fields[] = {
    DT_INT(struct resize, height, .min = 1, .max = 1 << 16, .required = true, .help = "rows"),
    DT_INT(struct resize, width, .min = 1, .max = 1 << 16, .required = true, .help = "columns"),
    DT_ENUM(struct resize, interpolation, interpolations, .help = "bilinear gives float32; nearest keeps the type"),
    DT_FLAG(struct resize, crop_to_aspect_ratio, .preset = "false", .help = "cuts rather than distorts"),
    DT_INSTEAD("antialias", "leave it out: pixels are taken as they lie, as Keras' Resizing does by itself"),
    DT_NOT_YET("pad_to_aspect_ratio"),
    DT_END
};

/* Where a row or column of the new image comes from: between `low` and `high`, `part` of the way. */
typedef struct source {
    int64_t low, high;
    float part;
} source;

typedef struct sources {
    source *row, *column; /* of the new image */
} sources;

/* A line of `from` pixels that begins at `first` becomes one of n; the arithmetic is TensorFlow's, in float32. */
static source *place(dt_arena *arena, int64_t first, int64_t from, int64_t n, int interpolation)
{
    source *x = dt_arena_array(arena, source, n);
    const float scale = (float)from / (float)n;
    for (int64_t i = 0; i < n; i++) {
        float half = ((float)i + 0.5F) * scale, at = interpolation == NEAREST ? half : half - 0.5F, low = floorf(at);
        int64_t high = interpolation == NEAREST ? (int64_t)low : (int64_t)ceilf(at);
        x[i].low = first + (low < 0 ? 0 : (int64_t)low < from ? (int64_t)low : from - 1);
        x[i].high = first + (high < from ? high : from - 1);
        x[i].part = at - low;
    }
    return x;
}

/* How much of `size` pixels is used, when the other side has `other` and the ratio wanted is want : want_other. */
static int64_t used(const struct resize *a, int64_t size, int64_t other, int64_t want, int64_t want_other)
{
    int64_t fits = (int64_t)((double)(other * want) / (double)want_other);
    return !a->crop_to_aspect_ratio || fits > size ? size : fits < 1 ? 1 : fits;
}

static dt_status *infer(dt_map_stage *s, dt_arena *arena)
{
    const struct resize *a = s->args;
    dt_pixels p = dt_pixels_of(&s->in);
    int64_t rows = used(a, p.rows, p.columns, a->height, a->width), columns = used(a, p.columns, p.rows, a->width, a->height);
    sources *x = dt_arena_new(arena, sources);
    if (dt_dtype_size(s->in.dtype) == 8 || s->in.dtype == DT_BOOL)
        return dt_fail(DT_E_DATA_TYPE, s->at, "%s: resize takes integers of up to 32 bits or float32, got %s", s->file, dt_dtype_name(s->in.dtype));
    x->row = place(arena, (p.rows - rows) / 2, rows, a->height, a->interpolation);
    x->column = place(arena, (p.columns - columns) / 2, columns, a->width, a->interpolation);
    s->made = x;
    s->out = dt_image_sized(&s->in, a->height, a->width);
    if (a->interpolation == BILINEAR)
        s->out.dtype = DT_FLOAT32;
    return NULL;
}

static void run_nearest(const dt_map_stage *s, const char *in, char *out)
{
    const sources *x = s->made;
    dt_pixels from = dt_pixels_of(&s->in), to = dt_pixels_of(&s->out);
    for (int64_t r = 0; r < to.rows; r++)
        for (int64_t c = 0; c < to.columns; c++, out += to.pixel)
            memcpy(out, in + (x->row[r].low * from.columns + x->column[c].low) * from.pixel, (size_t)to.pixel);
}

#define BILINEAR_LOOP(name, type)                                                                                            \
    static void bilinear_##name(const dt_map_stage *s, const type *in, float *out)                                           \
    {                                                                                                                        \
        const sources *x = s->made;                                                                                          \
        dt_pixels from = dt_pixels_of(&s->in), to = dt_pixels_of(&s->out);                                                   \
        for (int64_t r = 0; r < to.rows; r++) {                                                                              \
            const type *top = in + x->row[r].low * from.columns * from.channels;                                             \
            const type *bottom = in + x->row[r].high * from.columns * from.channels;                                         \
            for (int64_t c = 0; c < to.columns; c++)                                                                         \
                for (int64_t k = 0; k < to.channels; k++) {                                                                  \
                    int64_t left = x->column[c].low * from.channels + k, right = x->column[c].high * from.channels + k;      \
                    float a = (float)top[left], b = (float)bottom[left];                                                     \
                    a += ((float)top[right] - a) * x->column[c].part;                                                        \
                    b += ((float)bottom[right] - b) * x->column[c].part;                                                     \
                    *out++ = a + (b - a) * x->row[r].part;                                                                   \
                }                                                                                                            \
        }                                                                                                                    \
    }

BILINEAR_LOOP(UINT8, uint8_t)
BILINEAR_LOOP(INT8, int8_t)
BILINEAR_LOOP(INT16, int16_t)
BILINEAR_LOOP(INT32, int32_t)
BILINEAR_LOOP(FLOAT32, float)

static void run_bilinear(const dt_map_stage *s, const void *in, float *out)
{
    switch (s->in.dtype) {
    case DT_UINT8: bilinear_UINT8(s, in, out); break;
    case DT_INT8: bilinear_INT8(s, in, out); break;
    case DT_INT16: bilinear_INT16(s, in, out); break;
    case DT_INT32: bilinear_INT32(s, in, out); break;
    default: bilinear_FLOAT32(s, in, out); break;
    }
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out)
{
    (void)at;
    if (((const struct resize *)s->args)->interpolation == NEAREST)
        run_nearest(s, in, out);
    else
        run_bilinear(s, in, out);
}

const dt_map_step dt_map_resize = {
    .kind = {"resize", "an image of another size, as Keras' Resizing", fields, sizeof(struct resize), NULL},
    .brief = {"height", "width"},
    .takes = DT_TAKES_IMAGES,
    .infer = infer,
    .run = run,
};

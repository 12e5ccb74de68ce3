/* resize: an image of another size, Keras' Resizing, which is tf.image.resize; image/resize.h does it. */
#include "data/image/resize.h"
#include "data/map/step.h"

static const char *const interpolations[] = {"bilinear", "nearest", NULL};

struct resize {
    int64_t height, width;
    int interpolation; /* a dt_interpolation */
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

static dt_status *infer(dt_map_stage *s, dt_arena *arena)
{
    const struct resize *a = s->args;
    dt_resizing *r = dt_arena_new(arena, dt_resizing);
    if (dt_dtype_size(s->in.dtype) == 8 || s->in.dtype == DT_BOOL)
        return dt_fail(DT_E_DATA_TYPE, s->at, "%s: resize takes integers of up to 32 bits or float32, got %s", s->file, dt_dtype_name(s->in.dtype));
    s->out = dt_image_sized(&s->in, a->height, a->width);
    if (a->interpolation == DT_BILINEAR)
        s->out.dtype = DT_FLOAT32;
    *r = (dt_resizing){.in = s->in, .out = s->out, .interpolation = (dt_interpolation)a->interpolation, .crop = a->crop_to_aspect_ratio,
                       .row = dt_arena_array(arena, dt_between, a->height), .column = dt_arena_array(arena, dt_between, a->width)};
    dt_resizing_prepare(r);
    s->made = r;
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out)
{
    (void)at;
    dt_resizing_run(s->made, in, out);
}

const dt_map_step dt_map_resize = {
    .kind = {"resize", "an image of another size, as Keras' Resizing", fields, sizeof(struct resize), NULL},
    .brief = {"height", "width"},
    .takes = DT_TAKES_IMAGES,
    .infer = infer,
    .run = run,
};

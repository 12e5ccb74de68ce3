/* SPDX-License-Identifier: Apache-2.0 */
/* resize: changes the size of an image, as Keras' Resizing, which calls tf.image.resize;
 * image/resize.h does the work. */
#include <stdlib.h>

#include "file/image/resize.h"
#include "data/map/step.h"

static const char *const interpolations[] = {"bilinear", "nearest", NULL};

struct resize {
    int64_t height, width;
    int interpolation; /* a value of dt_interpolation */
    bool crop_to_aspect_ratio;
};

static const dt_field fields[] = {
    DT_INT(struct resize, height, .min = 1, .max = 1 << 16, .required = true, .help = "rows"),
    DT_INT(struct resize, width, .min = 1, .max = 1 << 16, .required = true, .help = "columns"),
    DT_ENUM(struct resize, interpolation, interpolations,
            .help = "bilinear produces float32; nearest keeps the dtype"),
    DT_FLAG(struct resize, crop_to_aspect_ratio, .preset = "false",
            .help = "crop instead of distorting"),
    DT_INSTEAD(
        "antialias",
        "leave it out: images are resized without antialiasing, the default of Keras' Resizing"),
    DT_NOT_YET("pad_to_aspect_ratio"),
    DT_END};

/* Returns the interpolation of the step. Class numbers are not interpolated. */
static dt_interpolation interpolation(const dt_map_stage *s) {
    const struct resize *a = s->args;
    return s->is_mask ? DT_NEAREST : (dt_interpolation)a->interpolation;
}

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct resize *a = s->args;
    dt_resizing *r = dt_arena_new(arena, dt_resizing);
    if (dt_dtype_size(s->in.dtype) == 8 || s->in.dtype == DT_BOOL)
        return dt_fail(DT_E_DATA_TYPE, s->at,
                       "%s: resize needs integers of up to 32 bits or float32, got %s", s->file,
                       dt_dtype_name(s->in.dtype));
    s->out = dt_image_sized(&s->in, a->height, a->width);
    if (interpolation(s) == DT_BILINEAR) s->out.dtype = DT_FLOAT32;
    *r = (dt_resizing){.in = s->in,
                       .out = s->out,
                       .interpolation = interpolation(s),
                       .crop = a->crop_to_aspect_ratio,
                       .row = dt_arena_array(arena, dt_between, a->height),
                       .column = dt_arena_array(arena, dt_between, a->width)};
    dt_resizing_prepare(r);
    s->made = r;
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    (void)at;
    dt_resizing_run(s->made, in, out);
}

/* Returns the share of each old line in each new line, as a matrix (new lines, old lines). */
static dt_value emit_parts(const dt_map_stage *s, dt_value x, const char *name,
                           const dt_between *line, int d) {
    const dt_type t = dt_type_of(DT_FLOAT32, 2, (int64_t[]){s->out.dim[d], s->in.dim[d]});
    float *part = dt_alloc(dt_size_mul((size_t)t.dim[0], (size_t)t.dim[1] * sizeof *part));
    for (int64_t i = 0; i < t.dim[0]; i++) {
        const bool nearest = interpolation(s) == DT_NEAREST;
        part[i * t.dim[1] + line[i].low] += nearest ? 1 : 1 - line[i].part;
        part[i * t.dim[1] + line[i].high] += nearest ? 0 : line[i].part;
    }
    dt_value y = dt_map_numbers(s, x, name, &t, part);
    free(part);
    return y;
}

/* Computes new lines along dimension 1 + d of (B, rows, columns, ..). */
static dt_value emit_lines(dt_value x, dt_value parts, int d) {
    const dt_dot_attr by = {
        .n_contract = 1, .lhs_contract = {(int8_t)(1 + d)}, .rhs_contract = {1}};
    int rank = dt_type_of_value(x).rank, perm[DT_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i < 1 + d ? i : i == 1 + d ? rank - 1 : i - 1;
    return dt_transpose(dt_dot_general(x, parts, &by), perm);
}

static dt_value emit(const dt_map_stage *s, dt_value x) {
    const dt_resizing *from = s->made;
    x = dt_convert(x, DT_FLOAT32);
    x = emit_lines(x, emit_parts(s, x, "columns", from->column, 1), 1);
    x = emit_lines(x, emit_parts(s, x, "rows", from->row, 0), 0);
    return dt_convert(x, s->out.dtype);
}

const dt_map_step dt_map_resize = {
    .kind = {"resize", "resize an image, as Keras' Resizing", fields, sizeof(struct resize), NULL},
    .brief = {"height", "width"},
    .takes = DT_TAKES_IMAGES,
    .moves = true,
    .infer = infer,
    .run = run,
    .emit = emit,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* zero_padding: adds rows and columns of zeros around an image, as Keras' ZeroPadding2D. */
#include <string.h>

#include "data/map/step.h"

struct zero_padding {
    dt_ints padding;
};

static const dt_field fields[] = {
    DT_INTS(struct zero_padding, padding, .max = 1 << 20, .lone = true, .required = true,
            .help = "zeros to add at each side: a number, or [rows, columns]"),
    DT_END};

static dt_status *check(const void *args, const dt_location *at) {
    int n = ((const struct zero_padding *)args)->padding.n;
    return n == 1 || n == 2
               ? NULL
               : dt_fail(DT_E_DATASET_KEYS, at,
                         "zero_padding takes one number or [rows, columns], got %d numbers", n);
}

static int64_t rows_of(const struct zero_padding *a) { return a->padding.v[0]; }

static int64_t columns_of(const struct zero_padding *a) { return a->padding.v[a->padding.n - 1]; }

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct zero_padding *a = s->args;
    (void)arena;
    s->out =
        dt_image_sized(&s->in, s->in.dim[0] + 2 * rows_of(a), s->in.dim[1] + 2 * columns_of(a));
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct zero_padding *a = s->args;
    dt_pixels p = dt_pixels_of(&s->in);
    int64_t width = p.columns * p.pixel, stride = s->out.dim[1] * p.pixel;
    char *first = (char *)out + rows_of(a) * stride + columns_of(a) * p.pixel;
    (void)at;
    memset(out, 0, (size_t)dt_type_bytes(&s->out));
    for (int64_t r = 0; r < p.rows; r++)
        memcpy(first + r * stride, (const char *)in + r * width, (size_t)width);
}

/* Concatenates zeros, because the op `pad` supports only floats. */
static dt_value emit(const dt_map_stage *s, dt_value x) {
    const int64_t sizes[2] = {rows_of(s->args), columns_of(s->args)};
    for (int d = 0; d < 2; d++) {
        dt_type edge = dt_type_of_value(x);
        edge.dim[1 + d] = sizes[d];
        dt_value zeros = dt_splat(x.trace, &edge, 0);
        if (sizes[d] > 0) x = dt_concatenate((dt_value[]){zeros, x, zeros}, 3, 1 + d);
    }
    return x;
}

const dt_map_step dt_map_zero_padding = {
    .kind = {"zero_padding", "pad an image with zeros, as Keras' ZeroPadding2D", fields,
             sizeof(struct zero_padding), NULL},
    .brief = {"padding"},
    .takes_list = true,
    .takes = DT_TAKES_IMAGES,
    .moves = true,
    .check = check,
    .infer = infer,
    .run = run,
    .emit = emit,
};

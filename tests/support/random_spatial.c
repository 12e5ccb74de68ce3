/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops that go over windows, move and join: see random_ops.c. A row (B, n) is taken for n
 * steps of one channel. */
#include <math.h>

#include "drawing.h"

static bool is_line(const dt_type *t) { return is_row_table(t) && t->dim[1] >= 2; }

/* Steps (B, n, 1) of a random row; no trace when there is none. */
static dt_value pick_steps(drawing *d, double *bound) {
    const entry *e = draw_pick(d, is_line);
    if (!e) return (dt_value){0};
    dt_type t = dt_type_of_value(e->v);
    *bound = e->bound;
    return dt_reshape(e->v, 3, (int64_t[]){DT_BATCH, t.dim[1], 1});
}

/* (B, p, f) as rows (B, p * f): dense layers and sums take those. */
static dt_value as_rows(dt_value x) {
    dt_type t = dt_type_of_value(x);
    return dt_reshape(x, 2, (int64_t[]){DT_BATCH, t.dim[1] * t.dim[2]});
}

static dt_window draw_window(drawing *d) {
    return (dt_window){.stride = 1 + draw_below(d, 2),
                       .low = draw_below(d, 2),
                       .high = draw_below(d, 2),
                       .base_dilation = 1 + draw_below(d, 2),
                       .dilation = 1};
}

void draw_convolution(drawing *d) {
    double bound = 0;
    dt_value x = pick_steps(d, &bound);
    if (!x.trace || !draw_room_for_variables(d, 1)) return;
    int64_t size = 1 + draw_below(d, 2), filters = 1 + draw_below(d, 3);
    dt_convolution_attr a = dt_convolution_channels_last(1);
    a.window[0] = draw_window(d);
    dt_value kernel = draw_new_variable(d, DT_FLOAT32, 3, (int64_t[]){size, 1, filters});
    draw_push(d, as_rows(dt_convolution(x, kernel, &a)), 4 * bound);
}

/* Maxima are of fed values: there are no two ways to round, so no two opinions which is the
 * largest. */
void draw_pool(drawing *d) {
    double bound = 3;
    dt_type t = dt_type_of_value(d->image);
    bool is_max = t.dim[1] >= 2 && draw_coin(d);
    dt_value x = is_max ? dt_reshape(d->image, 3, (int64_t[]){DT_BATCH, t.dim[1], 1})
                        : pick_steps(d, &bound);
    if (!x.trace) return;
    dt_reduce_window_attr a = dt_windows_of_one(is_max ? DT_REDUCE_MAX : DT_REDUCE_SUM, 3);
    a.size[1] = 2;
    a.window[1].stride = 1 + draw_below(d, 3);
    draw_push(d, as_rows(dt_reduce_window(x, &a)), 2 * bound);
}

void draw_move(drawing *d) {
    double bound = 0;
    dt_value x = pick_steps(d, &bound);
    if (!x.trace) return;
    int64_t n = dt_dim(x, 1);
    dt_pad_attr pad = {.value = 0.5,
                       .dim = {[1] = {draw_below(d, 2), draw_below(d, 3) - 1, draw_below(d, 2)}}};
    dt_value y = dt_slice_axis(x, 1, draw_below(d, (int)n), 1, 1);
    y = dt_concatenate((dt_value[]){dt_reverse(x, 2), y}, 2, 1);
    draw_push(d, as_rows(dt_pad(y, &pad)), fmax(bound, 0.5));
}

/* ---- images ---- */

/* Padded or not; one dimension of a window of `size` elements over `in`. */
static dt_window draw_image_window(drawing *d, int64_t size, int64_t in) {
    dt_window w = {.stride = 1 + draw_below(d, 3) / 2,
                   .base_dilation = 1,
                   .dilation = 1 + draw_below(d, 4) / 3};
    int64_t places = (in + w.stride - 1) / w.stride, span = (size - 1) * w.dilation + 1,
            room = (places - 1) * w.stride + span - in;
    if (draw_below(d, 4) && room > 0) {
        w.low = room / 2;
        w.high = room - w.low;
    }
    if (in + w.low + w.high < span) w.low = span - in - w.high;
    return w;
}

static dt_value convolve_image(drawing *d, dt_value x) {
    dt_convolution_attr a = dt_convolution_channels_last(2);
    /* else a kernel for each channel */
    int64_t channels = dt_dim(x, 3), dim[4], deep = draw_below(d, 3) ? 0 : channels;
    for (int i = 0; i < 2; i++) {
        dim[i] = 1 + draw_below(d, 5);
        a.window[i] = draw_image_window(d, dim[i], dt_dim(x, i + 1));
    }
    dim[2] = deep ? 1 : channels;
    dim[3] = deep ? deep : 1 + draw_below(d, 4);
    a.feature_groups = deep ? (int32_t)deep : 1;
    dt_value y = dt_convolution(x, draw_new_variable(d, DT_FLOAT32, 4, dim), &a);
    return dt_multiply(y, dt_constant(d->t, 1 / sqrt((double)(dim[0] * dim[1] * dim[2]))));
}

static dt_value pool_image(drawing *d, dt_value x, bool is_max) {
    dt_reduce_window_attr a = dt_windows_of_one(is_max ? DT_REDUCE_MAX : DT_REDUCE_SUM, 4);
    for (int i = 1; i < 3; i++) {
        a.size[i] = 2 + draw_below(d, 2);
        a.window[i] = draw_image_window(d, a.size[i], dt_dim(x, i));
    }
    return dt_reduce_window(x, &a);
}

static dt_value draw_image_layer(drawing *d, dt_value x) {
    x = dt_tanh(convolve_image(d, x));
    x = draw_coin(d) ? draw_normalized(d, x, 7) : x;
    return draw_below(d, 4) ? x : dt_tanh(pool_image(d, x, false));
}

/* (B, rows, columns, channels): the means over rows and columns, or all. */
static dt_value one_for_each(drawing *d, dt_value x) {
    int64_t h = dt_dim(x, 1), w = dt_dim(x, 2);
    if (draw_coin(d))
        return dt_multiply(dt_reduce(x, DT_REDUCE_SUM, 6),
                           dt_constant(d->t, 1.0 / (double)(h * w)));
    return dt_reshape(x, 2, (int64_t[]){DT_BATCH, h * w * dt_dim(x, 3)});
}

void draw_images(drawing *d) {
    static const int64_t sizes[] = {4, 6, 8, 12, 8, 7};
    int64_t h = sizes[draw_below(d, 6)], w = sizes[draw_below(d, 6)], c = 1 + draw_below(d, 3);
    dt_value x = draw_argument(d, "picture", 4, (int64_t[]){DT_BATCH, h, w, c});
    if (draw_below(d, 4) == 0) x = pool_image(d, x, true);
    for (int i = draw_below(d, 3); i >= 0; i--) x = draw_image_layer(d, x);
    draw_push(d, one_for_each(d, x), 4);
}

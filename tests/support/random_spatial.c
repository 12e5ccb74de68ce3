/* Random ops that go over windows, move and join: see random_ops.c. A row (B, n) is taken for n steps of one channel. */
#include <math.h>

#include "drawing.h"

static bool is_line(const dt_type *t)
{
    return is_row_table(t) && t->dim[1] >= 2;
}

/* Steps (B, n, 1) of a random row; no trace when there is none. */
static dt_value pick_steps(drawing *d, double *bound)
{
    const entry *e = draw_pick(d, is_line);
    if (!e)
        return (dt_value){ 0 };
    dt_type t = dt_type_of_value(e->v);
    *bound = e->bound;
    return dt_reshape(e->v, 3, (int64_t[]){ DT_BATCH, t.dim[1], 1 });
}

/* (B, p, f) as rows (B, p * f): dense layers and sums take those. */
static dt_value as_rows(dt_value x)
{
    dt_type t = dt_type_of_value(x);
    return dt_reshape(x, 2, (int64_t[]){ DT_BATCH, t.dim[1] * t.dim[2] });
}

static dt_window draw_window(drawing *d)
{
    return (dt_window){ .stride = 1 + draw_below(d, 2), .low = draw_below(d, 2), .high = draw_below(d, 2), .base_dilation = 1 + draw_below(d, 2),
                        .dilation = 1 };
}

void draw_convolution(drawing *d)
{
    double bound = 0;
    dt_value x = pick_steps(d, &bound);
    if (!x.trace || !draw_room_for_variables(d, 1))
        return;
    int64_t size = 1 + draw_below(d, 2), filters = 1 + draw_below(d, 3);
    dt_convolution_attr a = dt_convolution_channels_last(1);
    a.window[0] = draw_window(d);
    dt_value kernel = draw_new_variable(d, DT_FLOAT32, 3, (int64_t[]){ size, 1, filters });
    draw_push(d, as_rows(dt_convolution(x, kernel, &a)), 4 * bound);
}

/* Maxima are of fed values: there are no two ways to round, so no two opinions which is the largest. */
void draw_pool(drawing *d)
{
    double bound = 3;
    dt_type t = dt_type_of_value(d->image);
    bool is_max = t.dim[1] >= 2 && draw_coin(d);
    dt_value x = is_max ? dt_reshape(d->image, 3, (int64_t[]){ DT_BATCH, t.dim[1], 1 }) : pick_steps(d, &bound);
    if (!x.trace)
        return;
    dt_reduce_window_attr a = dt_windows_of_one(is_max ? DT_REDUCE_MAX : DT_REDUCE_SUM, 3);
    a.size[1] = 2;
    a.window[1].stride = 1 + draw_below(d, 3);
    draw_push(d, as_rows(dt_reduce_window(x, &a)), 2 * bound);
}

void draw_move(drawing *d)
{
    double bound = 0;
    dt_value x = pick_steps(d, &bound);
    if (!x.trace)
        return;
    int64_t n = dt_dim(x, 1);
    dt_pad_attr pad = { .value = 0.5, .dim = { [1] = { draw_below(d, 2), draw_below(d, 3) - 1, draw_below(d, 2) } } };
    dt_value y = dt_slice_axis(x, 1, draw_below(d, (int)n), 1, 1);
    y = dt_concatenate((dt_value[]){ dt_reverse(x, 2), y }, 2, 1);
    draw_push(d, as_rows(dt_pad(y, &pad)), fmax(bound, 0.5));
}

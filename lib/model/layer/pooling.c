/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaxPooling and AveragePooling over one to three dimensions: the maximum or mean of each window.
 * By default the stride is the window's size. Padding "same" does not count as values: it is never
 * the maximum, and a mean is taken over the elements inside the input.
 */
#include "model/layer/spatial.h"

struct pooling {
    dt_layer_head head;
    dt_ints pool_size, strides;
    int padding, data_format;
};

static const dt_field fields[] = {
    DT_SIZES(struct pooling, pool_size, .min = 1, .preset = "2",
             .help = "size of the window: a number, or one per dimension"),
    DT_SIZES(struct pooling, strides, .min = 1, .help = "strides of the window; default pool_size"),
    DT_ENUM(struct pooling, padding, dt_paddings,
            .help = "valid: no padding; same: output size is input size / strides, rounded up"),
    DT_DATA_FORMAT(struct pooling),
    DT_LAYER_FIELDS(struct pooling),
    DT_END};

static dt_status *read_space(const dt_layer_build *b, const struct pooling *p, int n,
                             dt_space *out) {
    static const int64_t twos[DT_MAX_SPATIAL] = {2, 2, 2};
    *out = (dt_space){.n = n, .dilation = {1, 1, 1}, .padding = p->padding};
    DT_TRY(dt_sizes_of(b, "pool_size", &p->pool_size, n, twos, out->size));
    return dt_sizes_of(b, "strides", &p->strides, n, out->size, out->stride);
}

static dt_status *build(dt_layer_build *b, const char *kind, int n) {
    dt_space s;
    DT_TRY(read_space(b, b->args, n, &s));
    DT_TRY(dt_wants_space(b, kind, n));
    dt_space_bound(&s, &b->in);
    return dt_space_places(b, kind, &s);
}

static dt_reduce_window_attr windows_over(const dt_layer_call *c, dt_reduce_kind kind,
                                          const dt_type *x) {
    const dt_layer_build none = {0};
    dt_space s;
    dt_status_free(read_space(&none, c->args, x->rank - 2,
                              &s)); /* no error occurs, since build has read the same arguments */
    dt_space_bound(&s, x);
    dt_reduce_window_attr a = dt_windows_of_one(kind, x->rank);
    for (int i = 0; i < s.n; i++) {
        a.size[i + 1] = s.size[i];
        a.window[i + 1] = dt_space_window(&s, i, x->dim[i + 1]);
    }
    return a;
}

static dt_value call_max(const dt_layer_call *c) {
    dt_type x = dt_type_of_value(c->x);
    dt_reduce_window_attr a = windows_over(c, DT_REDUCE_MAX, &x);
    return dt_reduce_window(c->x, &a);
}

/* Emits the sum under each window, divided by its number of elements, which is the same sum for an
 * input of ones. */
static dt_value call_average(const dt_layer_call *c) {
    const struct pooling *p = c->args;
    dt_type x = dt_type_of_value(c->x), one_image = x, out = *c->out;
    dt_reduce_window_attr a = windows_over(c, DT_REDUCE_SUM, &x);
    dt_value sum = dt_reduce_window(c->x, &a);
    double cells = 1;
    for (int i = 1; i < x.rank - 1; i++) cells *= (double)a.size[i];
    if (p->padding == DT_PADDING_VALID) return dt_multiply(sum, dt_like(sum, 1 / cells));
    one_image.dim[0] = one_image.dim[x.rank - 1] = 1;
    dt_value count = dt_reduce_window(dt_splat(c->trace, &one_image, 1), &a);
    return dt_divide(sum, dt_broadcast_to(count, &out));
}

#define POOLING(n, kind_, also, name, about, call_)                                                \
    DT_LAYER_OF_RANK_WITH(n, kind_, DT_ALSO(also), name, about, struct pooling, fields, build,     \
                          call_, false)
POOLING(1, "MaxPooling1D", "MaxPool1D", max_pooling1d, "maximum in each window of steps", call_max)
POOLING(2, "MaxPooling2D", "MaxPool2D", max_pooling2d, "maximum in each window of images", call_max)
POOLING(3, "MaxPooling3D", "MaxPool3D", max_pooling3d, "maximum in each window of volumes",
        call_max)
POOLING(1, "AveragePooling1D", "AvgPool1D", average_pooling1d, "mean of each window of steps",
        call_average)
POOLING(2, "AveragePooling2D", "AvgPool2D", average_pooling2d, "mean of each window of images",
        call_average)
POOLING(3, "AveragePooling3D", "AvgPool3D", average_pooling3d, "mean of each window of volumes",
        call_average)

/* SPDX-License-Identifier: Apache-2.0 */
/* GlobalMaxPooling and GlobalAveragePooling: (B, ..., channels) to (B, channels), or (B, 1 ...,
 * channels) with keepdims. */
#include "model/layer/spatial.h"

struct global_pooling {
    dt_layer_head head;
    bool keepdims;
    int data_format;
};

static const dt_field fields[] = {
    DT_FLAG(struct global_pooling, keepdims, .help = "keep the pooled dimensions with size 1"),
    DT_DATA_FORMAT(struct global_pooling), DT_LAYER_FIELDS(struct global_pooling), DT_END};

static dt_status *build(dt_layer_build *b, const char *kind, int n) {
    const struct global_pooling *p = b->args;
    DT_TRY(dt_wants_space(b, kind, n));
    b->out = b->in;
    b->out_mask = false;
    for (int i = 1; i <= n; i++) b->out.dim[i] = 1;
    if (!p->keepdims)
        b->out = dt_type_of(b->in.dtype, 2, (int64_t[]){b->in.dim[0], b->in.dim[n + 1]});
    return NULL;
}

/* Returns the dimensions between B and channels, one bit each. */
static uint32_t spatial_dims(const dt_type *x) { return (1u << (x->rank - 1)) - 2; }

/* Emits the maxima. Equal maxima share the gradient equally, as in Keras, but unlike MaxPooling. */
static dt_value call_max(const dt_layer_call *c) {
    dt_type x = dt_type_of_value(c->x);
    return dt_reshape(dt_reduce(c->x, DT_REDUCE_MAX, spatial_dims(&x)), c->out->rank, c->out->dim);
}

/* Emits the mean of the steps where a mask (B, T) is true; NaN if it is nowhere true, as in
 * Keras. */
static dt_value mean_of_masked(const dt_layer_call *c) {
    dt_value mask = dt_mask_along(c->masks[0], c->x),
             counts = dt_convert(mask, dt_type_of_value(c->x).dtype);
    dt_value sum = dt_reduce(dt_select(mask, c->x, dt_like(c->x, 0)), DT_REDUCE_SUM, 1u << 1);
    return dt_reshape(dt_divide(sum, dt_reduce(counts, DT_REDUCE_SUM, 1u << 1)), c->out->rank,
                      c->out->dim);
}

static dt_value call_average(const dt_layer_call *c) {
    dt_type x = dt_type_of_value(c->x);
    double cells = 1;
    if (c->masks[0].trace && x.rank == 3) return mean_of_masked(c);
    for (int d = 1; d < x.rank - 1; d++) cells *= (double)x.dim[d];
    dt_value sum = dt_reduce(c->x, DT_REDUCE_SUM, spatial_dims(&x));
    return dt_reshape(dt_divide(sum, dt_like(sum, cells)), c->out->rank, c->out->dim);
}

#define POOLING(n, kind_, also, name, about, call_)                                                \
    DT_LAYER_OF_RANK_WITH(n, kind_, DT_ALSO(also), name, about, struct global_pooling, fields,     \
                          build, call_, false)
POOLING(1, "GlobalMaxPooling1D", "GlobalMaxPool1D", global_max_pooling1d,
        "the largest value of each channel, over steps", call_max)
POOLING(2, "GlobalMaxPooling2D", "GlobalMaxPool2D", global_max_pooling2d,
        "the largest value of each channel, over images", call_max)
POOLING(3, "GlobalMaxPooling3D", "GlobalMaxPool3D", global_max_pooling3d,
        "the largest value of each channel, over volumes", call_max)
DT_LAYER_OF_RANK_WITH(1, "GlobalAveragePooling1D", DT_ALSO("GlobalAvgPool1D"),
                      global_average_pooling1d, "the mean of each channel, over steps",
                      struct global_pooling, fields, build, call_average, true)
POOLING(2, "GlobalAveragePooling2D", "GlobalAvgPool2D", global_average_pooling2d,
        "the mean of each channel, over images", call_average)
POOLING(3, "GlobalAveragePooling3D", "GlobalAvgPool3D", global_average_pooling3d,
        "the mean of each channel, over volumes", call_average)

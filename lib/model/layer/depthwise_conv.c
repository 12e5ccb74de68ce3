/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DepthwiseConv1D, DepthwiseConv2D: every channel has its own depth_multiplier kernels. W is
 * (window ..., channels, depth_multiplier), as in Keras; output channel c * depth_multiplier + m is
 * computed from input channel c.
 *
 * SeparableConv1D, SeparableConv2D: the same without bias, followed by a convolution with a kernel
 * (1 ..., channels * depth_multiplier, filters): two small kernels instead of a large one.
 */
#include "model/layer/spatial.h"

static const dt_field depthwise_fields[] = {
    DT_CONV_DEPTHWISE(KERNEL), DT_CONV_FIELDS(dt_paddings),
    DT_INSTEAD("filters", "there are channels * depth_multiplier outputs"), DT_END};
static const dt_field separable_fields[] = {
    DT_CONV_FILTERS,
    DT_CONV_DEPTHWISE(DEPTHWISE),
    DT_CONV_FIELDS(dt_paddings),
    DT_INITIALIZER(dt_conv_layer, pointwise_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_REGULARIZER(dt_conv_layer, POINTWISE, "pointwise_regularizer"),
    DT_CONSTRAINT(dt_conv_layer, POINTWISE, "pointwise_constraint"),
    DT_END};

/* Adds the first weight, and sets b->out to what its convolution yields; *outputs is the number of
 * channels of that. */
static dt_status *build_depthwise(dt_layer_build *b, const char *weight, int64_t *outputs) {
    const char *kind = b->row->kind.name;
    const int n = b->row->sides;
    const dt_conv_layer *c = b->args;
    dt_space s;
    DT_TRY(dt_conv_space(b, kind, n, &s));
    int64_t channels = b->in.dim[n + 1];
    if (__builtin_mul_overflow(channels, c->depth_multiplier, outputs) || *outputs > INT32_MAX)
        return dt_fail(DT_E_MODEL_SIZE, &b->at, "%s would make %lld * %lld channels", kind,
                       (long long)channels, (long long)c->depth_multiplier);
    DT_TRY(dt_conv_kernel(b, weight, &s, (int64_t[]){channels, c->depth_multiplier},
                          c->depthwise_initializer));
    DT_TRY(dt_space_places(b, kind, &s));
    b->out.dim[n + 1] = *outputs;
    return NULL;
}

/* Emits the convolution in which each channel is a separate group: the kernel (window ...,
 * channels, multiplier) becomes (window ..., 1, channels * multiplier). */
static dt_value convolve_depths(const dt_layer_call *c, const dt_space *s) {
    dt_type w = dt_type_of_value(c->weight[0]);
    int64_t channels = w.dim[s->n];
    w.dim[s->n + 1] *= channels;
    w.dim[s->n] = 1;
    return dt_convolve(c->x, dt_reshape(c->weight[0], w.rank, w.dim), s, (int)channels);
}

/* ---- DepthwiseConv ---- */

static dt_status *build(dt_layer_build *b) {
    int64_t outputs;
    DT_TRY(build_depthwise(b, "kernel", &outputs));
    return dt_conv_bias(b, outputs);
}

static dt_value call(const dt_layer_call *c) {
    dt_space s = dt_conv_space_again(c);
    return dt_conv_finish(c, convolve_depths(c, &s), 1);
}

const dt_layer dt_layer_depthwise_conv1d = {
    .kind = {"DepthwiseConv1D", "convolution over steps, each channel by itself", depthwise_fields,
             sizeof(dt_conv_layer), NULL},
    .sides = 1,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};
const dt_layer dt_layer_depthwise_conv2d = {
    .kind = {"DepthwiseConv2D", "convolution over images, each channel by itself", depthwise_fields,
             sizeof(dt_conv_layer), NULL},
    .sides = 2,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};

/* ---- SeparableConv ---- */

static dt_status *build_separable(dt_layer_build *b) {
    const dt_conv_layer *c = b->args;
    const dt_space point = {.n = b->row->sides, .size = {1, 1, 1}};
    int64_t between;
    DT_TRY(build_depthwise(b, "depthwise_kernel", &between));
    DT_TRY(dt_conv_kernel(b, "pointwise_kernel", &point, (int64_t[]){between, c->filters},
                          c->pointwise_initializer));
    b->out.dim[b->row->sides + 1] = c->filters;
    return dt_conv_bias(b, c->filters);
}

static dt_value call_separable(const dt_layer_call *c) {
    dt_space s = dt_conv_space_again(c);
    dt_type w = dt_type_of_value(c->weight[1]);
    /* shape (channels * multiplier, filters) */
    dt_value kernel = dt_reshape(c->weight[1], 2, w.dim + s.n);
    return dt_conv_finish(c, dt_matmul(convolve_depths(c, &s), kernel), 2);
}

const dt_layer dt_layer_separable_conv1d = {
    .kind = {"SeparableConv1D", "depthwise convolution over steps, then one over channels",
             separable_fields, sizeof(dt_conv_layer), DT_ALSO("SeparableConvolution1D")},
    .sides = 1,
    .build = build_separable,
    .call = call_separable,
    .yields = dt_conv_yields,
};
const dt_layer dt_layer_separable_conv2d = {
    .kind = {"SeparableConv2D", "depthwise convolution over images, then one over channels",
             separable_fields, sizeof(dt_conv_layer), DT_ALSO("SeparableConvolution2D")},
    .sides = 2,
    .build = build_separable,
    .call = call_separable,
    .yields = dt_conv_yields,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv1D, Conv2D, Conv3D: y = activation(x * W + b), where W moves as a window over the dimensions
 * between B and channels. W is (window ..., channels / groups, filters), as in Keras.
 */
#include "model/layer/spatial.h"

#define FIELDS(paddings)                                                                           \
    {                                                                                              \
        DT_CONV_FILTERS, DT_CONV_FIELDS(paddings),                                                 \
            DT_INT(dt_conv_layer, groups, .preset = "1", .min = 1, .max = INFINITY,                \
                   .help = "number of groups of channels"),                                        \
            DT_CONV_KERNEL, DT_END                                                                 \
    }
static const dt_field fields1[] = FIELDS(dt_paddings_causal);
static const dt_field fields[] = FIELDS(dt_paddings);

static dt_status *check_groups(const dt_layer_build *b, const dt_conv_layer *c, int64_t channels) {
    if (c->filters % c->groups)
        return dt_fail(DT_E_RANGE, &b->at,
                       "filters must be divisible by groups, got %lld filters and %lld groups",
                       (long long)c->filters, (long long)c->groups);
    if (channels % c->groups == 0 && c->groups <= channels) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "the channels of the input must be divisible by groups, got %lld "
                   "channels (%s) and %lld groups",
                   (long long)channels, dt_text_of_shape(&b->in).s, (long long)c->groups);
}

static dt_status *build(dt_layer_build *b) {
    const char *kind = b->row->kind.name;
    const int n = b->row->sides;
    const dt_conv_layer *c = b->args;
    dt_space s;
    DT_TRY(dt_conv_space(b, kind, n, &s));
    int64_t channels = b->in.dim[n + 1];
    DT_TRY(check_groups(b, c, channels));
    DT_TRY(dt_conv_kernel(b, "kernel", &s, (int64_t[]){channels / c->groups, c->filters},
                          c->kernel_initializer));
    DT_TRY(dt_conv_bias(b, c->filters));
    DT_TRY(dt_space_places(b, kind, &s));
    b->out.dim[n + 1] = c->filters;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    dt_space s = dt_conv_space_again(c);
    return dt_conv_finish(
        c, dt_convolve(c->x, c->weight[0], &s, (int)((const dt_conv_layer *)c->args)->groups), 1);
}

const dt_layer dt_layer_conv1d = {
    .kind = {"Conv1D", "convolution over steps", fields1, sizeof(dt_conv_layer),
             DT_ALSO("Convolution1D")},
    .sides = 1,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};
const dt_layer dt_layer_conv2d = {
    .kind = {"Conv2D", "convolution over images", fields, sizeof(dt_conv_layer),
             DT_ALSO("Convolution2D")},
    .sides = 2,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};
const dt_layer dt_layer_conv3d = {
    .kind = {"Conv3D", "convolution over volumes", fields, sizeof(dt_conv_layer),
             DT_ALSO("Convolution3D")},
    .sides = 3,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};

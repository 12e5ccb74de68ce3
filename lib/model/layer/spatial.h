/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What layers over one to three spatial dimensions share. Their values are (B, steps, channels),
 * (B, height, width, channels) and (B, depth, height, width, channels); a window goes over the
 * dimensions between the first and the last.
 */
#ifndef DT_MODEL_LAYER_SPATIAL_H
#define DT_MODEL_LAYER_SPATIAL_H

#include "model/model.h"

typedef enum dt_padding { DT_PADDING_VALID, DT_PADDING_SAME, DT_PADDING_CAUSAL } dt_padding;
extern const char *const dt_paddings[]; /* the words of `padding`: valid and same */
/* the words of `padding` for layers over steps: valid, same and causal */
extern const char *const dt_paddings_causal[];

#define DT_SIZES(type, member, ...)                                                                \
    DT_INTS(type, member, .lone = true, .max = INFINITY, __VA_ARGS__)

/* A window over n spatial dimensions. */
typedef struct dt_space {
    int n;
    int64_t size[DT_MAX_SPATIAL], stride[DT_MAX_SPATIAL], dilation[DT_MAX_SPATIAL];
    int padding; /* a dt_padding */
} dt_space;

/* Returns the error MODEL_SHAPE at the layer unless `in` holds floats and has n spatial dimensions
 * between B and channels. */
dt_status *dt_wants_space(const dt_layer_build *b, const char *kind, int n) DT_MUST_USE;
/* Sets out[n] to the n numbers of an argument. A single number applies to all; `usual` has the n
 * defaults, which apply if the argument is not given. Error RANGE if it has another number of
 * entries. */
dt_status *dt_sizes_of(const dt_layer_build *b, const char *key, const dt_ints *given, int n,
                       const int64_t *usual, int64_t *out) DT_MUST_USE;

/* Returns the window in spatial dimension i of an input of size `in`, with Keras' padding. "same"
 * pads such that the window has ceil(in / stride) positions: half of the padding, rounded down, is
 * before the elements, the rest behind them. "causal" pads only before the elements, so that no
 * position covers later ones. */
dt_window dt_space_window(const dt_space *s, int i, int64_t in);
/* Limits the windows of a pooling with padding "same", which does not count padding as values: a
 * window that covers the whole input at each position gives the same result as any larger one, at
 * lower cost. */
void dt_space_bound(dt_space *s, const dt_type *in);
/* Sets b->out to b->in with the number of window positions in each spatial dimension. Error
 * MODEL_SHAPE if there is none, RANGE if a window is too large. */
dt_status *dt_space_places(dt_layer_build *b, const char *kind, const dt_space *s) DT_MUST_USE;

/* Returns the convolution of x (B, ..., C) with a kernel (..., C / groups, outputs). */
dt_value dt_convolve(dt_value x, dt_value kernel, const dt_space *s, int groups);

typedef struct dt_conv_layer {
    dt_layer_head head;
    int64_t filters, groups, depth_multiplier;
    dt_ints kernel_size, strides, dilation_rate, output_padding;
    int padding, data_format, activation;
    bool use_bias;
    const dt_tree *kernel_initializer, *depthwise_initializer, *pointwise_initializer,
        *bias_initializer;
} dt_conv_layer;

#define DT_CONV_FIELDS(paddings)                                                                   \
    DT_SIZES(dt_conv_layer, kernel_size, .min = 1, .required = true,                               \
             .help = "size of the window: a number, or one per dimension"),                        \
        DT_SIZES(dt_conv_layer, strides, .min = 1, .help = "strides of the window; default 1"),    \
        DT_ENUM(dt_conv_layer, padding, paddings,                                                  \
                .help =                                                                            \
                    "valid: no padding; same: output size is input size / strides, rounded up"),   \
        DT_DATA_FORMAT(dt_conv_layer),                                                             \
        DT_SIZES(dt_conv_layer, dilation_rate, .min = 1,                                           \
                 .help = "dilation of the window; default 1"),                                     \
        DT_ENUM(dt_conv_layer, activation, dt_activations, .help = "activation function"),         \
        DT_FLAG(dt_conv_layer, use_bias, .preset = "true", .help = "add a bias"),                  \
        DT_INITIALIZER(dt_conv_layer, bias_initializer, .help = "initializer; default: zeros"),    \
        DT_LAYER_FIELDS(dt_conv_layer), DT_INSTEAD("kernel", "write 'kernel_size'"),               \
        DT_INSTEAD("stride", "write 'strides'"), DT_INSTEAD("dilation", "write 'dilation_rate'"),  \
        DT_REGULARIZER(dt_conv_layer, BIAS, "bias_regularizer"),                                   \
        DT_REGULARIZER(dt_conv_layer, ACTIVITY, "activity_regularizer"),                           \
        DT_CONSTRAINT(dt_conv_layer, BIAS, "bias_constraint")
#define DT_CONV_FILTERS                                                                            \
    DT_INT(dt_conv_layer, filters, .min = 1, .max = INFINITY, .required = true,                    \
           .help = "number of output channels"),                                                   \
        DT_INSTEAD("out_channels", "write 'filters'")
#define DT_CONV_KERNEL                                                                             \
    DT_INITIALIZER(dt_conv_layer, kernel_initializer,                                              \
                   .help = "initializer; default: glorot_uniform"),                                \
        DT_REGULARIZER(dt_conv_layer, KERNEL, "kernel_regularizer"),                               \
        DT_CONSTRAINT(dt_conv_layer, KERNEL, "kernel_constraint")
/* The fields for the depthwise weight. `on` is the target of its regularizer and constraint: that
 * of depthwise weights or, if it is the layer's only kernel, that of kernels. */
#define DT_CONV_DEPTHWISE(on)                                                                      \
    DT_INT(dt_conv_layer, depth_multiplier, .preset = "1", .min = 1, .max = INFINITY,              \
           .help = "number of outputs per input channel"),                                         \
        DT_INITIALIZER(dt_conv_layer, depthwise_initializer,                                       \
                       .help = "initializer; default: glorot_uniform"),                            \
        DT_REGULARIZER(dt_conv_layer, on, "depthwise_regularizer"),                                \
        DT_CONSTRAINT(dt_conv_layer, on, "depthwise_constraint")

/* Reads the window over n dimensions from the arguments. Error RANGE for wrong counts, or if
 * strides and dilation_rate are both above 1. */
dt_status *dt_conv_window(const dt_layer_build *b, const dt_conv_layer *c, int n,
                          dt_space *out) DT_MUST_USE;
/* Computes the window from the layer's own arguments, and checks the input with dt_wants_space. */
dt_status *dt_conv_space(const dt_layer_build *b, const char *kind, int n,
                         dt_space *out) DT_MUST_USE;
/* Returns the window of the layer for `call`, computed again from arguments that `build` has
 * checked. */
dt_space dt_conv_space_again(const dt_layer_call *c);
/* dt_conv_kernel adds a weight of shape (window ..., io[0], io[1]), whose default initializer is
 * glorot_uniform; dt_conv_bias adds the bias if the layer has one. */
dt_status *dt_conv_kernel(dt_layer_build *b, const char *name, const dt_space *s,
                          const int64_t io[2], const dt_tree *initializer) DT_MUST_USE;
dt_status *dt_conv_bias(dt_layer_build *b, int64_t outputs) DT_MUST_USE;
dt_yield dt_conv_yields(const dt_layer_spec *l, const dt_yield *above);
/* Adds the bias, if the layer has one, which is c->weight[bias], and applies the activation. */
dt_value dt_conv_finish(const dt_layer_call *c, dt_value y, int bias);

/* A second name under which Keras exports a layer. */
#define DT_ALSO(name)                                                                              \
    (const char *const[]) { name, NULL }

/* The row of a layer that exists for 1, 2 and 3 spatial dimensions (n): build_, fields and call are
 * the file's, the same for all. */
#define DT_LAYER_OF_RANK(n, kind_, name, about, args, fields_, build_, call_)                      \
    DT_LAYER_OF_RANK_WITH(n, kind_, NULL, name, about, args, fields_, build_, call_, false)
#define DT_LAYER_OF_RANK_WITH(n, kind_, also, name, about, args, fields_, build_, call_, masking)  \
    static dt_status *build_##name(dt_layer_build *b) { return build_(b, kind_, n); }              \
    const dt_layer dt_layer_##name = {                                                             \
        .kind = {kind_, about, fields_, sizeof(args), also},                                       \
        .build = build_##name,                                                                     \
        .call = call_,                                                                             \
        .supports_masking = (masking),                                                             \
        .yields = dt_yields_between,                                                               \
    };

#endif

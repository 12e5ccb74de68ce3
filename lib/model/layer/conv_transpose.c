/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conv1DTranspose, Conv2DTranspose, Conv3DTranspose: the gradient of a convolution with respect to
 * its input, used as a layer: each element of x adds the kernel, multiplied by the element, to a
 * window of the output. W is (window ..., filters, channels), as in Keras.
 *
 * The size of the output is one for which a convolution with the same arguments would give the
 * input's size. With strides there are several such sizes:
 *
 *     valid   (in - 1) stride + window + output_padding, which is max(stride - window, 0) by
 *             default
 *     same    in * stride; with output_padding (in - 1) stride + window % 2 + output_padding
 *
 * Here the size of the window includes its holes: (size - 1) dilation_rate + 1.
 */
#include "model/layer/spatial.h"
#include "op/window.h"

static const dt_field fields[] = {
    DT_CONV_FILTERS, DT_CONV_FIELDS(dt_paddings),
    DT_SIZES(dt_conv_layer, output_padding, .min = 0, .help = "extra size of the output"),
    DT_CONV_KERNEL, DT_END};

/* ---- sizes ---- */

static int64_t output_size(const dt_conv_layer *c, const dt_space *s, int i, int64_t in) {
    int64_t stride = s->stride[i], window = dt_dilated(s->size[i], s->dilation[i]);
    bool given = c->output_padding.v != NULL;
    int64_t extra = given ? c->output_padding.v[c->output_padding.lone ? 0 : i] : 0;
    if (s->padding == DT_PADDING_VALID)
        return (in - 1) * stride + window + (given ? extra : stride > window ? stride - window : 0);
    return given ? (in - 1) * stride + window % 2 + extra : in * stride;
}

/* Returns the window, in spatial dimension i, of the convolution that computes the output from x of
 * size `in`. It dilates and pads x. */
static dt_window turned_window(const dt_conv_layer *c, const dt_space *s, int i, int64_t in) {
    int64_t out = output_size(c, s, i, in), window = dt_dilated(s->size[i], s->dilation[i]);
    dt_window forward = dt_space_window(s, i, out);
    dt_window w = {.stride = 1,
                   .base_dilation = s->stride[i],
                   .dilation = s->dilation[i],
                   .low = window - 1 - forward.low};
    w.high = out - dt_dilated(in, s->stride[i]) + window - 1 - w.low;
    return w;
}

static dt_status *check_output(const dt_layer_build *b, const char *kind, const dt_space *s,
                               int i) {
    int64_t in = b->in.dim[i + 1], out = output_size(b->args, s, i, in), back = 0;
    dt_window forward = dt_space_window(s, i, out);
    if (out > 0 && dt_window_count(&forward, s->size[i], out, &back) && back == in) return NULL;
    const dt_conv_layer *c = b->args;
    return dt_fail(DT_E_RANGE, &b->at,
                   "output_padding %s does not fit strides %s of %s: it makes %lld "
                   "places of %lld, from which a convolution would not make %lld "
                   "again",
                   dt_text_of_numbers(c->output_padding.v, c->output_padding.n).s,
                   dt_text_of_numbers(s->stride, s->n).s, kind, (long long)out, (long long)in,
                   (long long)in);
}

/* ---- the layer ---- */

static dt_status *find_places(dt_layer_build *b, const char *kind, const dt_space *s) {
    const int64_t most = 1 << 28;
    b->out = b->in;
    for (int i = 0; i < s->n; i++) {
        if (s->size[i] > most || s->dilation[i] > most || s->stride[i] > most ||
            b->in.dim[i + 1] > most)
            return dt_fail(DT_E_MODEL_SIZE, &b->at, "%s supports sizes up to %lld", kind,
                           (long long)most);
        DT_TRY(check_output(b, kind, s, i));
        b->out.dim[i + 1] = output_size(b->args, s, i, b->in.dim[i + 1]);
    }
    return NULL;
}

static dt_status *build(dt_layer_build *b) {
    const char *kind = b->row->kind.name;
    const int n = b->row->sides;
    const dt_conv_layer *c = b->args;
    const int64_t none[DT_MAX_SPATIAL] = {0};
    int64_t unused[DT_MAX_SPATIAL];
    dt_space s;
    DT_TRY(dt_conv_space(b, kind, n, &s));
    DT_TRY(dt_sizes_of(b, "output_padding", &c->output_padding, n, none, unused));
    DT_TRY(dt_conv_kernel(b, "kernel", &s, (int64_t[]){c->filters, b->in.dim[n + 1]},
                          c->kernel_initializer));
    DT_TRY(dt_conv_bias(b, c->filters));
    DT_TRY(find_places(b, kind, &s));
    b->out.dim[n + 1] = c->filters;
    return NULL;
}

/* Emits the kernel (window ..., filters, channels), reversed along the window, as (window ...,
 * channels, filters). */
static dt_value turn_round(dt_value kernel, int n) {
    int perm[DT_MAX_RANK];
    for (int d = 0; d < n + 2; d++) perm[d] = d == n ? n + 1 : d == n + 1 ? n : d;
    return dt_transpose(dt_reverse(kernel, (1u << n) - 1), perm);
}

static dt_value call(const dt_layer_call *c) {
    dt_space s = dt_conv_space_again(c);
    dt_type x = dt_type_of_value(c->x);
    dt_convolution_attr a = dt_convolution_channels_last(s.n);
    for (int i = 0; i < s.n; i++) a.window[i] = turned_window(c->args, &s, i, x.dim[i + 1]);
    return dt_conv_finish(c, dt_convolution(c->x, turn_round(c->weight[0], s.n), &a), 1);
}

const dt_layer dt_layer_conv1d_transpose = {
    .kind = {"Conv1DTranspose", "transposed convolution over steps", fields, sizeof(dt_conv_layer),
             DT_ALSO("Convolution1DTranspose")},
    .sides = 1,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};
const dt_layer dt_layer_conv2d_transpose = {
    .kind = {"Conv2DTranspose", "transposed convolution over images", fields, sizeof(dt_conv_layer),
             DT_ALSO("Convolution2DTranspose")},
    .sides = 2,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};
const dt_layer dt_layer_conv3d_transpose = {
    .kind = {"Conv3DTranspose", "transposed convolution over volumes", fields,
             sizeof(dt_conv_layer), DT_ALSO("Convolution3DTranspose")},
    .sides = 3,
    .build = build,
    .call = call,
    .yields = dt_conv_yields,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by layers over spatial dimensions: see spatial.h. */
#include "model/layer/spatial.h"

#include <string.h>

#include "op/window.h"

#define LARGEST_WINDOW ((int64_t)1 << 28)

const char *const dt_paddings[] = {"valid", "same", NULL};
const char *const dt_paddings_causal[] = {"valid", "same", "causal", NULL};

dt_status *dt_wants_space(const dt_layer_build *b, const char *kind, int n) {
    static const char *const shapes[] = {"", "(B, steps, channels)", "(B, height, width, channels)",
                                         "(B, depth, height, width, channels)"};
    if (b->in.rank == n + 2) return dt_layer_wants(b, kind, 0);
    dt_status *s =
        dt_fail(DT_E_MODEL_SHAPE, &b->at, "input 0 of %s must have %d dimensions %s, got %d: %s",
                kind, n + 2, shapes[n], b->in.rank, dt_text_of_shape(&b->in).s);
    return b->in.rank < n + 2 ? dt_suggest(s, "a Reshape before it can add dimensions of size 1")
                              : s;
}

dt_status *dt_sizes_of(const dt_layer_build *b, const char *key, const dt_ints *given, int n,
                       const int64_t *usual, int64_t *out) {
    if (given->v && !given->lone && given->n != n)
        return dt_fail(DT_E_RANGE, &b->at, "%s takes one number or a list of %d, got %s", key, n,
                       dt_text_of_numbers(given->v, given->n).s);
    for (int i = 0; i < n; i++) out[i] = !given->v ? usual[i] : given->v[given->lone ? 0 : i];
    return NULL;
}

/* Limits strides and dilations to values with the same result, so that arbitrarily large ones cost
 * nothing: a stride beyond the input gives one window, like a stride of its length; with a dilation
 * of more than twice the input's length, a window covers at most one element of the input, whatever
 * the dilation; a window of one element has no dilation. */
dt_window dt_space_window(const dt_space *s, int i, int64_t in) {
    const int64_t stride = s->stride[i] > in && in > 0 ? in : s->stride[i], reach = 2 * in + 2;
    const int64_t dilation = s->size[i] == 1 ? 1 : s->dilation[i] > reach ? reach : s->dilation[i];
    dt_window w = {.stride = stride, .base_dilation = 1, .dilation = dilation};
    int64_t covered = dt_dilated(s->size[i], w.dilation);
    if (s->padding == DT_PADDING_CAUSAL) w.low = covered - 1;
    if (s->padding != DT_PADDING_SAME) return w;
    int64_t total = ((in + w.stride - 1) / w.stride - 1) * w.stride + covered - in;
    if (total > 0) {
        w.low = total / 2;
        w.high = total - w.low;
    }
    return w;
}

void dt_space_bound(dt_space *s, const dt_type *in) {
    for (int i = 0; s->padding == DT_PADDING_SAME && i < s->n; i++) {
        const int64_t size = in->dim[i + 1],
                      stride = s->stride[i] > size && size > 0 ? size : s->stride[i];
        const int64_t most = size + (size + stride - 1) / stride * stride - stride + 1;
        s->size[i] = s->size[i] > most ? most : s->size[i];
    }
}

static dt_status *too_large(const dt_layer_build *b, const char *kind, const dt_space *s) {
    return dt_fail(DT_E_RANGE, &b->at,
                   "the window of %s must be smaller than %lld in each dimension, got %s", kind,
                   (long long)LARGEST_WINDOW, dt_text_of_numbers(s->size, s->n).s);
}

static dt_status *no_place(const dt_layer_build *b, const char *kind, const dt_space *s) {
    dt_status *status = dt_fail(
        DT_E_MODEL_SHAPE, &b->at,
        "the output of %s would be of size zero or less: a window of %s does not fit into %s "
        "(strides %s, dilation_rate %s, padding %s)",
        kind, dt_text_of_numbers(s->size, s->n).s, dt_text_of_shape(&b->in).s,
        dt_text_of_numbers(s->stride, s->n).s, dt_text_of_numbers(s->dilation, s->n).s,
        dt_paddings_causal[s->padding]);
    return dt_suggest(status, "padding 'same' keeps sizes");
}

dt_status *dt_space_places(dt_layer_build *b, const char *kind, const dt_space *s) {
    b->out = b->in;
    for (int i = 0; i < s->n; i++) {
        if (s->size[i] >= LARGEST_WINDOW &&
            (s->padding != DT_PADDING_VALID || b->in.dim[i + 1] >= LARGEST_WINDOW))
            return too_large(b, kind, s);
        if (s->size[i] >= LARGEST_WINDOW) return no_place(b, kind, s);
        const dt_window w = dt_space_window(s, i, b->in.dim[i + 1]);
        if (!dt_window_count(&w, s->size[i], b->in.dim[i + 1], &b->out.dim[i + 1]) ||
            b->out.dim[i + 1] == 0)
            return no_place(b, kind, s);
    }
    return NULL;
}

dt_value dt_convolve(dt_value x, dt_value kernel, const dt_space *s, int groups) {
    dt_type type = dt_type_of_value(x);
    dt_convolution_attr a = dt_convolution_channels_last(s->n);
    a.feature_groups = groups;
    for (int i = 0; i < s->n; i++) a.window[i] = dt_space_window(s, i, type.dim[i + 1]);
    return dt_convolution(x, kernel, &a);
}

static const int64_t ones[DT_MAX_SPATIAL] = {1, 1, 1};

static bool any_above_one(const int64_t *v, int n) {
    for (int i = 0; i < n; i++)
        if (v[i] > 1) return true;
    return false;
}

static dt_status *stretched_twice(const dt_layer_build *b, const dt_space *s) {
    return dt_fail(
        DT_E_RANGE, &b->at,
        "strides and dilation_rate cannot both exceed 1, got strides %s and dilation_rate %s",
        dt_text_of_numbers(s->stride, s->n).s, dt_text_of_numbers(s->dilation, s->n).s);
}

static dt_status *read_space(const dt_layer_build *b, const dt_conv_layer *c, int n,
                             dt_space *out) {
    *out = (dt_space){.n = n, .padding = c->padding};
    DT_TRY(dt_sizes_of(b, "kernel_size", &c->kernel_size, n, ones, out->size));
    DT_TRY(dt_sizes_of(b, "strides", &c->strides, n, ones, out->stride));
    return dt_sizes_of(b, "dilation_rate", &c->dilation_rate, n, ones, out->dilation);
}

dt_status *dt_conv_window(const dt_layer_build *b, const dt_conv_layer *c, int n, dt_space *out) {
    DT_TRY(read_space(b, c, n, out));
    if (any_above_one(out->stride, n) && any_above_one(out->dilation, n))
        return stretched_twice(b, out);
    return NULL;
}

dt_status *dt_conv_space(const dt_layer_build *b, const char *kind, int n, dt_space *out) {
    DT_TRY(dt_conv_window(b, b->args, n, out));
    return dt_wants_space(b, kind, n);
}

dt_space dt_conv_space_again(const dt_layer_call *c) {
    const dt_layer_build none = {0};
    dt_space s;
    dt_status_free(read_space(&none, c->args, c->out->rank - 2, &s));
    return s;
}

dt_status *dt_conv_kernel(dt_layer_build *b, const char *name, const dt_space *s,
                          const int64_t io[2], const dt_tree *initializer) {
    dt_weight_request w = {.name = name,
                           .dtype = b->in.dtype,
                           .rank = s->n + 2,
                           .initializer = initializer,
                           .preset = "glorot_uniform"};
    for (int i = 0; i < s->n; i++) w.dim[i] = s->size[i];
    w.dim[s->n] = io[0];
    w.dim[s->n + 1] = io[1];
    return dt_layer_weight(b, &w);
}

dt_status *dt_conv_bias(dt_layer_build *b, int64_t outputs) {
    const dt_conv_layer *c = b->args;
    if (!c->use_bias) return NULL;
    return dt_layer_weight(b, &(dt_weight_request){
                                  .name = "bias",
                                  .dtype = b->in.dtype,
                                  .rank = 1,
                                  .dim = {outputs},
                                  .initializer = c->bias_initializer,
                                  .preset = "zeros",
                              });
}

dt_yield dt_conv_yields(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    const dt_conv_layer *conv = l->args;
    return dt_activation_yields(conv->activation, &l->out);
}

dt_value dt_conv_finish(const dt_layer_call *c, dt_value y, int bias) {
    const dt_conv_layer *conv = c->args;
    if (conv->use_bias) y = dt_add(y, c->weight[bias]);
    return dt_activate(conv->activation, y);
}

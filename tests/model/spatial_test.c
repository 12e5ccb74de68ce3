/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers over spatial dimensions: sizes and weights by a table, values against plain loops over
 * random arguments, what is refused. (As recorded from Keras: tests/conformance. Gradients of the
 * ops: tests/op.)
 */
#include "call.h"
#include "rig.h"

#include "base/random.h"

/* ---- sizes and weights ---- */

static void put_type(dt_str *out, const char *name, const dt_type *t) {
    dt_str_puts(out, name);
    dt_shape_print(t, out);
}

/* "(B, 26, 26, 8) kernel(3, 3, 1, 8) bias(8)" of the last layer. */
static void describe(const char *shape, const char *layer, dt_str *out) {
    dt_str text = {0};
    dt_str_printf(&text, "- Input: {shape: %s}\n- %s", shape, layer);
    dt_model *m = model_of(dt_str_text(&text), 0);
    put_type(out, "", &m->spec.output[0].type);
    for (int i = 0; i < m->n_weights; i++) {
        dt_str_putc(out, ' ');
        put_type(out, strrchr(m->weight[i]->path, '/') + 1, &m->weight[i]->type);
    }
    model_free(m);
    dt_str_release(&text);
}

static void test_sizes_and_weights(void **state) {
    (void)state;
    static const struct {
        const char *in, *layer, *ought;
    } cases[] = {
        {"[28, 28, 1]", "Conv2D: {filters: 8, kernel_size: 3}",
         "(B, 26, 26, 8) kernel(3, 3, 1, 8) bias(8)"},
        {"[28, 28, 4]",
         "Conv2D: {filters: 8, kernel_size: [3, 2], strides: [2, 1], padding: same, groups: 2, "
         "use_bias: false}",
         "(B, 14, 28, 8) kernel(3, 2, 2, 8)"},
        {"[9, 2]", "Conv1D: {filters: 3, kernel_size: 4, padding: causal, dilation_rate: 2}",
         "(B, 9, 3) kernel(4, 2, 3) bias(3)"},
        {"[5, 6, 7, 2]", "Conv3D: {filters: 3, kernel_size: [1, 2, 3]}",
         "(B, 5, 5, 5, 3) kernel(1, 2, 3, 2, 3) bias(3)"},
        {"[4, 2]", "Conv1DTranspose: {filters: 3, kernel_size: 2, strides: 3}",
         "(B, 12, 3) kernel(2, 3, 2) bias(3)"},
        {"[4, 4, 2]", "Conv2DTranspose: {filters: 3, kernel_size: 3, strides: 2}",
         "(B, 9, 9, 3) kernel(3, 3, 3, 2) bias(3)"},
        {"[4, 4, 2]", "Conv2DTranspose: {filters: 3, kernel_size: 3, strides: 2, padding: same}",
         "(B, 8, 8, 3) kernel(3, 3, 3, 2) bias(3)"},
        {"[4, 4, 2]",
         "Conv2DTranspose: {filters: 3, kernel_size: 3, strides: 2, padding: same, output_padding: "
         "0}",
         "(B, 7, 7, 3) kernel(3, 3, 3, 2) bias(3)"},
        {"[5, 5, 2]", "DepthwiseConv2D: {kernel_size: 3, depth_multiplier: 2}",
         "(B, 3, 3, 4) kernel(3, 3, 2, 2) bias(4)"},
        {"[5, 5, 2]", "SeparableConv2D: {filters: 7, kernel_size: 3, depth_multiplier: 2}",
         "(B, 3, 3, 7) depthwise_kernel(3, 3, 2, 2) pointwise_kernel(1, 1, 4, 7) bias(7)"},
        {"[5, 2]", "SeparableConv1D: {filters: 7, kernel_size: 3}",
         "(B, 3, 7) depthwise_kernel(3, 2, 1) pointwise_kernel(1, 2, 7) bias(7)"},
        {"[5, 5, 2]", "MaxPooling2D", "(B, 2, 2, 2)"},
        {"[5, 5, 2]", "MaxPooling2D: {pool_size: [2, 3], strides: 1, padding: same}",
         "(B, 5, 5, 2)"},
        {"[7, 2]", "AveragePooling1D: {pool_size: 3, strides: null}", "(B, 2, 2)"},
        {"[4, 4, 4, 2]", "MaxPooling3D", "(B, 2, 2, 2, 2)"},
        {"[4, 4, 2]", "GlobalMaxPooling2D", "(B, 2)"},
        {"[4, 4, 2]", "GlobalAveragePooling2D: {keepdims: true}", "(B, 1, 1, 2)"},
        {"[4, 2]", "UpSampling1D: {size: 3}", "(B, 12, 2)"},
        {"[4, 5, 2]", "UpSampling2D: {size: [2, 3], interpolation: bilinear}", "(B, 8, 15, 2)"},
        {"[4, 5, 2]", "ZeroPadding2D", "(B, 6, 7, 2)"},
        {"[4, 5, 2]", "ZeroPadding2D: {padding: [[1, 2], [0, 3]]}", "(B, 7, 8, 2)"},
        {"[4, 2]", "ZeroPadding1D: {padding: [1, 2]}", "(B, 7, 2)"},
        {"[4, 5, 2]", "Cropping2D: {cropping: [1, 2]}", "(B, 2, 1, 2)"},
        {"[4, 5, 2]", "Cropping2D", "(B, 4, 5, 2)"},
        {"[4, 2]", "Cropping1D", "(B, 2, 2)"},
        {"[4, 6]", "Reshape: {target_shape: [3, -1, 2]}", "(B, 3, 4, 2)"},
        {"[]", "Reshape: {target_shape: [1, 1]}", "(B, 1, 1)"},
        {"[1, 28, 27]", "Conv2D: {filters: 8, kernel_size: 3, data_format: channels_first}",
         "(B, 8, 26, 25) kernel(3, 3, 1, 8) bias(8)"},
        {"[2, 4]",
         "Conv1DTranspose: {filters: 3, kernel_size: 2, strides: 3, data_format: channels_first}",
         "(B, 3, 12) kernel(2, 3, 2) bias(3)"},
        {"[2, 4, 5]", "GlobalMaxPooling2D: {data_format: channels_first}", "(B, 2)"},
        {"[2, 4, 5]", "GlobalAveragePooling2D: {keepdims: true, data_format: channels_first}",
         "(B, 2, 1, 1)"},
        {"[2, 4, 5]", "Flatten: {data_format: channels_first}", "(B, 40)"},
        {"[7]", "Flatten: {data_format: channels_first}", "(B, 7)"},
        {"[4, 6, 2]", "Permute: {dims: [3, 1, 2]}", "(B, 2, 4, 6)"},
        {"[4]", "RepeatVector: {n: 3}", "(B, 3, 4)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_str is = {0};
        describe(cases[i].in, cases[i].layer, &is);
        assert_string_equal(dt_str_text(&is), cases[i].ought);
        dt_str_release(&is);
    }
}

/* ---- what is refused ---- */

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *in, *layer, *text;
    } cases[] = {
        {"[28, 28]", "Conv2D: {filters: 8, kernel_size: 3}",
         "input 0 of Conv2D must have 4 dimensions (B, height, width, channels), got 3: (B, 28, "
         "28)"},
        {"[3, 3, 1]", "Conv2D: {filters: 1, kernel_size: 5}",
         "the output of Conv2D would be of size zero or less: a window of [5, 5] does not fit into "
         "(B, 3, 3, 1)"},
        {"[5, 5, 1]", "Conv2D: {filters: 1, kernel_size: [1, 2, 3]}",
         "kernel_size takes one number or a list of 2, got [1, 2, 3]"},
        {"[5, 5, 1]", "Conv2D: {filters: 1, kernel_size: [0, 2]}",
         "kernel_size[0] must be at least 1, got 0"},
        {"[5, 5, 1]", "Conv2D: {filters: 0, kernel_size: 1}", "filters must be at least 1, got 0"},
        {"[5, 5, 1]", "Conv2D: {filters: 1}", "kernel_size"},
        {"[5, 5, 1]", "Conv2D: {kernel_size: 2}", "filters"},
        {"[5, 5, 1]", "Conv2D: {filters: 1, kernel_size: 2, strides: 2, dilation_rate: [1, 3]}",
         "strides and dilation_rate cannot both exceed 1, got strides [2, 2] and dilation_rate [1, "
         "3]"},
        {"[5, 5, 1]", "Conv2D: {filters: 1, kernel_size: 2, padding: causal}",
         "unknown padding 'causal'"},
        {"[5, 5, 1]", "Conv2D: {filters: 1, kernel_size: 2, data_format: channels_before}",
         "unknown data_format 'channels_before'"},
        {"[1, 5, 6]", "Conv2D: {filters: 1, kernel_size: 7, data_format: channels_first}",
         "does not fit into (B, 5, 6, 1)"},
        {"[1, 5, 6]", "Conv2D: {filters: 1, kernel_size: 7, data_format: channels_first}",
         "shapes above have their channels moved to the end"},
        {"[5, 5, 4]", "Conv2D: {filters: 3, kernel_size: 2, groups: 2}",
         "filters must be divisible by groups, got 3 filters and 2 groups"},
        {"[5, 5, 3]", "Conv2D: {filters: 4, kernel_size: 2, groups: 2}",
         "got 3 channels ((B, 5, 5, 3)) and 2 groups"},
        {"[5, 5, 3]",
         "Conv2D: {filters: 4, kernel_size: 2, kernel_constraint: {MaxNorm: {axis: 4}}}",
         "MaxNorm: axis 4 is out of bounds for the weight 'conv2d/kernel' of shape (2, 2, 3, 4)"},
        {"[5, 5, 1]", "Conv2D: {filters: 4000000000, kernel_size: 100000}",
         "one weight may take at most 1 TiB"},
        {"[5, 5, 1]", "Conv2D: {filters: 1, kernel_size: 2, dilation_rate: 4611686018427387904}",
         "does not fit into"},
        {"[5, 5, 1]", "Conv2D: {filters: 1, kernel_size: [1, 300000000], padding: same}",
         "the window of Conv2D must be smaller than 268435456"},
        {"[4, 4, 2]",
         "Conv2DTranspose: {filters: 3, kernel_size: 3, strides: 2, output_padding: 2}",
         "output_padding [2] does not fit strides [2, 2] of Conv2DTranspose: it makes 11 places of "
         "4, from which a convolution would not make 4 again"},
        {"[4, 4, 2]", "Conv2DTranspose: {filters: 3, kernel_size: 3, strides: 4611686018427387904}",
         "Conv2DTranspose supports sizes up to"},
        {"[4, 4, 2]", "DepthwiseConv2D: {kernel_size: 3, filters: 2}",
         "there are channels * depth_multiplier outputs"},
        {"[4, 4, 2]", "DepthwiseConv2D: {kernel_size: 3, depth_multiplier: 4611686018427387904}",
         "would make 2 * 4611686018427387904 channels"},
        {"[2, 2, 2]", "MaxPooling2D: {pool_size: 3}",
         "the output of MaxPooling2D would be of size zero or less"},
        {"[4, 4]", "GlobalAveragePooling2D",
         "input 0 of GlobalAveragePooling2D must have 4 dimensions"},
        {"[4, 4, 1]", "UpSampling2D: {interpolation: lanczos3}",
         "unknown interpolation 'lanczos3'"},
        {"[4, 4, 1]", "UpSampling2D: {size: 4611686018427387904}",
         "cannot make 4611686018427387904 times 4 elements"},
        {"[4, 4, 1]", "ZeroPadding2D: {padding: [1, 2, 3]}",
         "padding takes one number, [height, width] or [[top, bottom], [left, right]]"},
        {"[4, 4, 1]", "ZeroPadding2D: {padding: -1}", "padding must be in [0, 1073741824], got -1"},
        {"[4, 4, 1]", "Cropping2D: {cropping: 2}",
         "Cropping2D would leave nothing of dimension 1 of (B, 4, 4, 1): cropping removes 2 before "
         "and 2 after"},
        {"[4, 6]", "Reshape: {target_shape: [5, 5]}",
         "cannot make target_shape [5, 5] from (B, 4, 6)"},
        {"[4, 6]", "Reshape: {target_shape: [-1, -1]}",
         "cannot make target_shape [-1, -1] from (B, 4, 6)"},
        {"[4, 6]", "Reshape: {target_shape: [0, -1]}", "cannot make target_shape [0, -1]"},
        {"[4, 6]", "Permute: {dims: [1, 1]}",
         "dims must name each dimension of (B, 4, 6) but the batch once, from 1 to 2, got [1, 1]"},
        {"[4, 6]", "Permute: {dims: [0, 1]}", "got [0, 1]"},
        {"[4, 6]", "Permute: {dims: [1]}", "got [1]"},
        {"[4, 6]", "RepeatVector: {n: 2}",
         "input 0 of RepeatVector must have 2 dimensions (B, features), got 3: (B, 4, 6)"},
        {"[4]", "RepeatVector: {n: 0}", "n must be at least 1, got 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_str text = {0};
        dt_arena *arena = dt_arena_create();
        dt_model_spec spec;
        dt_location at = {0};
        dt_str_printf(&text, "- Input: {shape: %s}\n- %s", cases[i].in, cases[i].layer);
        dt_status *s = dt_model_read(arena, parse(arena, "layers", dt_str_text(&text)), &at, &spec);
        if (!s) fail_msg("%s on %s was taken", cases[i].layer, cases[i].in);
        char *said = dt_status_format(s);
        if (!strstr(said, cases[i].text))
            fail_msg("%s: %s\nlacks %s", cases[i].layer, said, cases[i].text);
        assert_string_equal(dt_status_kind(s), "ValueError");
        free(said);
        dt_status_free(s);
        dt_arena_destroy(arena);
        dt_str_release(&text);
    }
}

/* ---- channels first ---- */

/* Channels stand first in one model and last in the other, which gets and gives the same by Permute
 * around the layer. Gradients, too. */
static const char *const either_way[][2] = {
    /* the shape of one example, the layer */
    {"[2, 6]", "Conv1D: {filters: 3, kernel_size: 2, padding: causal, activation: tanh"},
    {"[2, 5, 6]", "Conv2D: {filters: 4, kernel_size: 3, groups: 2"},
    {"[2, 3, 4, 5]", "Conv3D: {filters: 3, kernel_size: 2, padding: same"},
    {"[2, 4, 5]", "Conv2DTranspose: {filters: 3, kernel_size: 3, strides: 2"},
    {"[2, 5, 6]", "DepthwiseConv2D: {kernel_size: 3, depth_multiplier: 2"},
    {"[3, 7]", "SeparableConv1D: {filters: 4, kernel_size: 3"},
    {"[2, 7]", "MaxPooling1D: {pool_size: 3"},
    {"[2, 5, 6]", "MaxPooling2D: {pool_size: [2, 3], strides: 1, padding: same"},
    {"[2, 5, 6]", "AveragePooling2D: {padding: same"},
    {"[2, 3, 4, 5]", "AveragePooling3D: {pool_size: 2"},
    {"[2, 5, 6]", "GlobalAveragePooling2D: {keepdims: true"},
    {"[2, 3, 4, 5]", "GlobalMaxPooling3D: {keepdims: true"},
    {"[2, 4, 5]", "UpSampling2D: {size: [2, 3], interpolation: bilinear"},
    {"[2, 3, 4, 5]", "UpSampling3D: {size: 2"},
    {"[2, 4, 5]", "ZeroPadding2D: {padding: [[1, 2], [0, 3]]"},
    {"[2, 4, 5]", "Cropping2D: {cropping: [1, 2]"},
    {"[2, 4, 5, 6]", "Cropping3D: {cropping: 1"},
};

static outcome run_either(const char *text, const char *shape) {
    dt_str layers = {0};
    dt_str_printf(&layers, "- Input: {shape: %s}\n%s", shape, text);
    dt_model *m = model_of(dt_str_text(&layers), 3);
    dt_trace *t = dt_trace_create("either");
    const dt_type in = m->spec.layer[0].out;
    dt_type one = dt_type_at(&in, 2);
    dt_value x = dt_trace_declare(t, "x", &in), dx;
    dt_value y = call_model(m, x, false);
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), &x, 1, &dx);
    dt_return(t, "y", y);
    dt_return(t, "dx", dx);
    float *numbers = dt_alloc((size_t)dt_type_bytes(&one));
    for (int64_t i = 0; i < dt_type_elements(&one); i++)
        numbers[i] = (float)sin(1.7 * (double)i + 1);
    outcome o = run_graph(end_trace(t), 1, (feed[]){{"x", {one, numbers}}}, 1);
    free(numbers);
    model_free(m);
    dt_str_release(&layers);
    return o;
}

static void is_same(const char *layer, const outcome *a, const outcome *b, const char *name) {
    const dt_view *x = result_of(a, 0, name), *y = result_of(b, 0, name);
    assert_true(dt_type_equal(&x->type, &y->type));
    for (int64_t i = 0; i < dt_type_elements(&x->type); i++)
        assert_near(layer, element(x, i), element(y, i), 1e-6, 1e-7);
}

static void test_channels_first(void **state) {
    (void)state;
    static const char *const before[] = {"", "[2, 1]", "[2, 3, 1]", "[2, 3, 4, 1]"},
                             *const behind[] = {"", "[2, 1]", "[3, 1, 2]", "[4, 1, 2, 3]"};
    for (size_t i = 0; i < sizeof either_way / sizeof *either_way; i++) {
        const char *shape = either_way[i][0], *layer = either_way[i][1];
        dt_str first = {0}, last = {0};
        int n = 0;
        for (const char *c = shape; *c; c++) n += *c == ',';
        dt_str_printf(&first, "- %s, data_format: channels_first}", layer);
        dt_str_printf(&last, "- Permute: {dims: %s}\n- %s}\n- Permute: {dims: %s}", before[n],
                      layer, behind[n]);
        outcome a = run_either(dt_str_text(&first), shape),
                b = run_either(dt_str_text(&last), shape);
        is_same(layer, &a, &b, "y");
        is_same(layer, &a, &b, "dx");
        finish(&a);
        finish(&b);
        dt_graph_destroy(a.graph);
        dt_graph_destroy(b.graph);
        dt_str_release(&first);
        dt_str_release(&last);
    }
}

/* ---- values against plain loops ---- */

typedef struct axis {
    int64_t in, size, stride, dilation, out, low;
} axis;

/* Arguments of a Conv2D, drawn. */
typedef struct conv {
    axis a[2];
    int64_t batch, channels, filters, groups;
    bool same;
} conv;

static int64_t between(dt_random *r, int64_t low, int64_t high) {
    return low + (int64_t)dt_random_below(r, (uint64_t)(high - low + 1));
}

/* Keras' rule, written once more: "same" has ceil(in / stride) places. */
static void find_places(axis *a, bool same) {
    int64_t window = (a->size - 1) * a->dilation + 1;
    a->out = same ? (a->in + a->stride - 1) / a->stride : (a->in - window) / a->stride + 1;
    int64_t pad = same ? (a->out - 1) * a->stride + window - a->in : 0;
    a->low = pad > 0 ? pad / 2 : 0;
}

static conv draw_conv(dt_random *r) {
    conv c = {.batch = between(r, 0, 2), .groups = between(r, 1, 2), .same = between(r, 0, 1)};
    bool strided = between(r, 0, 1);
    c.channels = c.groups * between(r, 1, 2);
    c.filters = c.groups * between(r, 1, 2);
    for (int i = 0; i < 2; i++) {
        axis *a = &c.a[i];
        *a = (axis){.size = between(r, 1, 3),
                    .stride = strided ? between(r, 1, 4) : 1,
                    .dilation = strided ? 1 : between(r, 1, 3)};
        a->in = c.same ? between(r, 1, 7) : (a->size - 1) * a->dilation + between(r, 1, 5);
        find_places(a, c.same);
    }
    return c;
}

static float x_at(const conv *c, const float *x, int64_t b, const int64_t at[2], int64_t channel) {
    bool inside = at[0] >= 0 && at[0] < c->a[0].in && at[1] >= 0 && at[1] < c->a[1].in;
    return inside ? x[((b * c->a[0].in + at[0]) * c->a[1].in + at[1]) * c->channels + channel] : 0;
}

static double place_of(const conv *c, const float *x, const float *w, int64_t b, const int64_t p[2],
                       int64_t filter) {
    int64_t inputs = c->channels / c->groups, group = filter / (c->filters / c->groups), k[2];
    double sum = 0;
    for (k[0] = 0; k[0] < c->a[0].size; k[0]++)
        for (k[1] = 0; k[1] < c->a[1].size; k[1]++)
            for (int64_t i = 0; i < inputs; i++) {
                int64_t at[2];
                for (int d = 0; d < 2; d++)
                    at[d] = p[d] * c->a[d].stride - c->a[d].low + k[d] * c->a[d].dilation;
                sum += (double)x_at(c, x, b, at, group * inputs + i) *
                       (double)w[((k[0] * c->a[1].size + k[1]) * inputs + i) * c->filters + filter];
            }
    return sum;
}

static void expect_convolved(const conv *c, const float *x, const float *w, const dt_view *y) {
    int64_t p[2], n = 0;
    for (int64_t b = 0; b < c->batch; b++)
        for (p[0] = 0; p[0] < c->a[0].out; p[0]++)
            for (p[1] = 0; p[1] < c->a[1].out; p[1]++)
                for (int64_t o = 0; o < c->filters; o++, n++)
                    assert_near("Conv2D", element(y, n), place_of(c, x, w, b, p, o), 1e-6, 1e-6);
    assert_int_equal(dt_type_elements(&y->type), n);
}

static float *draw_floats(dt_random *r, int64_t n) {
    float *x = dt_alloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)dt_random_normal(r);
    return x;
}

static void expect_conv2d(dt_random *r, const conv *c) {
    dt_str text = {0};
    dt_str_printf(&text,
                  "- Input: {shape: [%d, %d, %d]}\n- Conv2D: {filters: %d, kernel_size: [%d, %d], "
                  "strides: [%d, %d], ",
                  (int)c->a[0].in, (int)c->a[1].in, (int)c->channels, (int)c->filters,
                  (int)c->a[0].size, (int)c->a[1].size, (int)c->a[0].stride, (int)c->a[1].stride);
    dt_str_printf(&text, "dilation_rate: [%d, %d], groups: %d, padding: %s}", (int)c->a[0].dilation,
                  (int)c->a[1].dilation, (int)c->groups, c->same ? "same" : "valid");
    dt_model *m = model_of(dt_str_text(&text), 5);
    dt_type type =
        dt_type_of(DT_FLOAT32, 4, (int64_t[]){DT_BATCH, c->a[0].in, c->a[1].in, c->channels});
    dt_view x = {dt_type_at(&type, c->batch), draw_floats(r, dt_type_elements(&type) * c->batch)};
    dt_trace *t = dt_trace_create("conv");
    dt_return(t, "y", call_model(m, dt_trace_declare(t, "x", &type), false));
    outcome o = run_graph(end_trace(t), 1, (feed[]){{"x", x}}, 1);
    expect_convolved(c, x.data, m->weight[0]->host_data, result_of(&o, 0, "y"));
    finish(&o);
    dt_graph_destroy(o.graph);
    model_free(m);
    free(x.data);
    dt_str_release(&text);
}

static void test_conv2d_is_what_loops_compute(void **state) {
    (void)state;
    const uint64_t seed = 20251121;
    print_message("seed %d\n", (int)seed);
    for (uint64_t i = 0; i < 60; i++) {
        dt_random r = dt_random_stream(seed, "conv2d", i);
        conv c = draw_conv(&r);
        expect_conv2d(&r, &c);
    }
}

/* y of a layer over x (1, ...). */
static void expect_forward(const char *layers, const float *x, int rank, const int64_t *dim,
                           const float *y, int n) {
    dt_model *m = model_of(layers, 0);
    float copy[32];
    dt_type type = dt_type_of(DT_FLOAT32, rank, dim);
    memcpy(copy, x, (size_t)dt_type_bytes(&type));
    dt_trace *t = dt_trace_create("forward");
    dt_type in = batched(&type);
    dt_return(t, "y", call_model(m, dt_trace_declare(t, "x", &in), false));
    outcome o = run_graph(end_trace(t), 1, (feed[]){{"x", {type, copy}}}, 1);
    assert_int_equal(dt_type_elements(&result_of(&o, 0, "y")->type), n);
    for (int i = 0; i < n; i++)
        assert_near(layers, element(result_of(&o, 0, "y"), i), (double)y[i], 1e-6, 1e-7);
    finish(&o);
    dt_graph_destroy(o.graph);
    model_free(m);
}

static void test_values_by_hand(void **state) {
    (void)state;
    const int64_t steps[] = {1, 5, 1};
    const float x[] = {-1, -2, -3, -4, -6};
#define ON_STEPS(layer, ...)                                                                       \
    expect_forward("- Input: {shape: [5, 1]}\n- " layer, x, 3, steps, (float[]){__VA_ARGS__},      \
                   (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)))
    ON_STEPS("MaxPooling1D: {padding: same}", -1, -3, -6); /* padding is no maximum */
    ON_STEPS("AveragePooling1D: {padding: same}", -1.5f, -3.5f, -6);
    ON_STEPS("AveragePooling1D: {pool_size: 3, strides: 2}", -2, -13.0f / 3);
    ON_STEPS("MaxPooling1D: {pool_size: 1, strides: 4}", -1, -6);
    ON_STEPS("GlobalAveragePooling1D", -3.2f);
    ON_STEPS("Cropping1D: {cropping: [1, 3]}", -2);
    ON_STEPS("ZeroPadding1D: {padding: [0, 2]}", -1, -2, -3, -4, -6, 0, 0);
    ON_STEPS("UpSampling1D", -1, -1, -2, -2, -3, -3, -4, -4, -6, -6);
    ON_STEPS("Conv1D: {filters: 1, kernel_size: 2, padding: causal, kernel_initializer: ones}", -1,
             -3, -5, -7, -10);
    ON_STEPS("Conv1D: {filters: 1, kernel_size: 2, padding: same, kernel_initializer: ones}", -3,
             -5, -7, -10, -6);
    ON_STEPS("Conv1DTranspose: {filters: 1, kernel_size: 1, strides: 2, kernel_initializer: ones, "
             "bias_initializer: ones}",
             0, 1, -1, 1, -2, 1, -3, 1, -5, 1);
#undef ON_STEPS
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels_first), cmocka_unit_test(test_sizes_and_weights),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_conv2d_is_what_loops_compute),
        cmocka_unit_test(test_values_by_hand),
    };
    return cmocka_run_group_tests_name("spatial layers", tests, NULL, NULL);
}

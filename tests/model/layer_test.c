/* SPDX-License-Identifier: Apache-2.0 */
/* Layers by hand, and what they refuse. (As recorded from Keras: tests/conformance.) */
#include "call.h"
#include "rig.h"

/* y of a model without weights, for x (1, n). */
static void assert_forward(const char *layers, const float *x, const float *y, int n) {
    dt_model *m = model_of(layers, 0);
    int64_t dim[] = {1, n};
    float copy[16];
    memcpy(copy, x, (size_t)n * sizeof *x);
    dt_view in = {dt_type_of(DT_FLOAT32, 2, dim), copy};
    dt_trace *t = dt_trace_create("forward");
    dt_type type = batched(&in.type);
    dt_return(t, "y", call_model(m, dt_trace_declare(t, "x", &type), DT_INFERENCE));
    outcome o = run_graph(end_trace(t), 1, (feed[]){{"x", in}}, 1);
    for (int i = 0; i < n; i++)
        assert_near(layers, element(result_of(&o, 0, "y"), i), (double)y[i], 1e-6, 1e-7);
    finish(&o);
    dt_graph_destroy(o.graph);
    model_free(m);
}

static void test_relu_has_keras_general_form(void **state) {
    (void)state;
    const float x[] = {-2, -0.5f, 0, 0.5f, 1, 2, 7};
    assert_forward("- Input: {shape: [7]}\n- ReLU", x, (float[]){0, 0, 0, 0.5f, 1, 2, 7}, 7);
    assert_forward("- Input: {shape: [7]}\n- ReLU: {max_value: 6}", x,
                   (float[]){0, 0, 0, 0.5f, 1, 2, 6}, 7);
    assert_forward("- Input: {shape: [7]}\n- ReLU: {negative_slope: 0.1}", x,
                   (float[]){-0.2f, -0.05f, 0, 0.5f, 1, 2, 7}, 7);
    assert_forward("- Input: {shape: [7]}\n- ReLU: {threshold: 1, negative_slope: 0.5}", x,
                   (float[]){-1.5f, -0.75f, -0.5f, -0.25f, 0, 2, 7}, 7);
}

static void test_softmax_layer_sums_to_one(void **state) {
    (void)state;
    assert_forward("- Input: {shape: [2]}\n- Softmax", (float[]){0, 0}, (float[]){0.5f, 0.5f}, 2);
}

/* Flatten keeps the order of elements; uint8 is converted by the Input. */
static void test_flatten_and_input_convert(void **state) {
    (void)state;
    dt_model *m = model_of("- Input: {name: image, shape: [2, 3]}\n- Flatten", 0);
    uint8_t pixels[12] = {0, 1, 2, 3, 4, 5, 255, 7, 8, 9, 10, 11};
    dt_view x = {dt_type_of(DT_UINT8, 3, (int64_t[]){2, 2, 3}), pixels};
    dt_trace *t = dt_trace_create("flatten");
    dt_type type = batched(&x.type);
    dt_return(t, "y", call_model(m, dt_trace_declare(t, "x", &type), DT_TRAINING));
    outcome o = run_graph(end_trace(t), 1, (feed[]){{"x", x}}, 1);
    const dt_view *y = result_of(&o, 0, "y");
    dt_type ought = dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 6});
    assert_true(dt_type_equal(&y->type, &ought));
    for (int i = 0; i < 12; i++) assert_true(element(y, i) == pixels[i]);
    finish(&o);
    dt_graph_destroy(o.graph);
    model_free(m);
}

/* Dense works on the last dimension, whatever stands before it. */
static void test_dense_takes_more_dimensions(void **state) {
    (void)state;
    dt_model *m = model_of("- Input: {shape: [5, 4]}\n- Dense: {units: 3, activation: relu}", 7);
    dt_trace *t = dt_trace_create("dense");
    dt_type type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 5, 4});
    dt_value y = call_model(m, dt_trace_declare(t, "x", &type), DT_TRAINING);
    dt_type is = dt_type_of_value(y),
            ought = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 5, 3});
    assert_true(dt_type_equal(&is, &ought));
    assert_true(dt_type_equal(&m->spec.output[0].type, &ought));
    dt_trace_destroy(t);
    model_free(m);
}

static void test_model_refuses_another_shape(void **state) {
    (void)state;
    dt_model *m = model_of("- Input: {name: image, shape: [28, 28]}\n- Flatten", 0);
    dt_trace *t = dt_trace_create("step");
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 784});
    dt_value y = call_model(m, dt_trace_declare(t, "x", &type), DT_TRAINING);
    assert_null(y.trace);
    assert_string_equal(dt_status_text(dt_trace_error(t)),
                        "input 'image' is (B, 784), but the model expects (B, 28, 28)");
    dt_trace_destroy(t);
    model_free(m);
}

/* ---- what kernels are drawn from ---- */

static double largest_of(const dt_model *m, const char *path) {
    dt_variable *v = NULL;
    double largest = 0;
    ok(dt_model_find_weight(m, path, &v));
    for (int64_t i = 0; i < dt_type_elements(&v->type); i++)
        largest = fmax(largest, fabs((double)((const float *)v->host_data)[i]));
    return largest;
}

#define MULTI "MultiHeadAttention: {name: a, num_heads: 8, key_dim: 4"
#define GROUP                                                                                      \
    "GroupQueryAttention: {name: a, head_dim: 4, num_query_heads: 8, num_key_value_heads: 2"
#define LLAMA                                                                                      \
    "LlamaTransformerDecoder: {name: a, intermediate_dim: 96, num_query_heads: 6, "                \
    "num_key_value_heads: 2"

/* Kernels of heads have the fans that Keras' EinsumDense takes from its equation; those of
 * convolutions count their field. */
static void test_kernels_are_drawn_within_their_fans(void **state) {
    (void)state;
    static const struct {
        const char *layer, *weight;
        double fan_in, fan_out;
    } rows[] = {
        {MULTI ", value_dim: 6}", "a/query/kernel", 24, 32},
        {MULTI ", value_dim: 6}", "a/key/kernel", 24, 32},
        {MULTI ", value_dim: 6}", "a/value/kernel", 24, 48},
        {MULTI ", value_dim: 6}", "a/attention_output/kernel", 48, 24},
        {MULTI ", output_shape: [5, 7]}", "a/attention_output/kernel", 32, 35},
        {MULTI ", bias_initializer: glorot_uniform}", "a/query/bias", 8, 4},
        {GROUP ", use_gate: true}", "a/query/kernel", 24, 32},
        {GROUP ", use_gate: true}", "a/key/kernel", 24, 8},
        {GROUP ", use_gate: true}", "a/gate/kernel", 24, 32},
        {GROUP "}", "a/attention_output/kernel", 32, 24},
        {"TransformerDecoder: {name: a, intermediate_dim: 96, num_heads: 3}",
         "a/self_attention/key/kernel", 24, 24},
        {"TransformerEncoder: {name: a, intermediate_dim: 96, num_heads: 3}",
         "a/self_attention_layer/attention_output/kernel", 24, 24},
        {"TransformerEncoder: {name: a, intermediate_dim: 96, num_heads: 3}",
         "a/feedforward_intermediate_dense/kernel", 24, 96},
        {LLAMA "}", "a/self_attention/value/kernel", 24, 8},
        {"Conv1D: {name: a, filters: 8, kernel_size: 5}", "a/kernel", 120, 40},
        {"Dense: {name: a, units: 40}", "a/kernel", 24, 40},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char layers[256];
        snprintf(layers, sizeof layers, "- Input: {shape: [6, 24]}\n- %s", rows[i].layer);
        dt_model *m = model_of(layers, 1);
        double largest = largest_of(m, rows[i].weight),
               limit = sqrt(6 / (rows[i].fan_in + rows[i].fan_out));
        if (largest > limit * (1 + 1e-7) || largest < 0.9 * limit)
            fail_msg("%s of %s: the largest is %.6g, the limit %.6g", rows[i].weight, rows[i].layer,
                     largest, limit);
        model_free(m);
    }
}

/* ---- keys of weights ---- */

/* What a layer needs to be built, small. */
static void add_needs(dt_str *text, const dt_kind *layer) {
    static const char *const needs[][2] = {
        {"units", "2"},           {"filters", "2"},
        {"kernel_size", "2"},     {"input_dim", "4"},
        {"output_dim", "3"},      {"num_heads", "2"},
        {"key_dim", "2"},         {"head_dim", "2"},
        {"num_query_heads", "2"}, {"num_key_value_heads", "1"},
        {"groups", "2"},          {"equation", "'ab,bc->ac'"},
        {"output_shape", "2"},    {"bias_axes", "c"},
    };
    const bool grouped = strcmp(layer->name, "GroupNormalization") == 0;
    for (const dt_field *f = layer->fields; f->name; f++)
        for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
            if (strcmp(f->name, needs[i][0]) == 0 &&
                (f->required || strcmp(f->name, "bias_axes") == 0 ||
                 (grouped && strcmp(f->name, "groups") == 0)))
                dt_str_printf(text, "%s: %s, ", needs[i][0], needs[i][1]);
}

/* Whether a weight of the only layer is held by a regularizer or a constraint, for the first input
 * that the layer takes. */
static bool reaches_a_weight(const dt_kind *layer, const dt_field *key, const char *value) {
    static const char *const inputs[] = {"[4]",          "[4, 4]",          "[4, 4, 4]",
                                         "[4, 4, 4, 4]", "[4, 4, 4, 4, 4]", "[4], dtype: int32"};
    dt_arena *arena = dt_arena_create();
    bool built = false, held = false;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs && !built; i++) {
        dt_str text = {0};
        dt_str_printf(&text, "- Input: {shape: %s}\n- %s: {", inputs[i], layer->name);
        add_needs(&text, layer);
        dt_str_printf(&text, "%s: %s}\n", key->name, value);
        dt_model_spec m;
        dt_location at = {0};
        dt_status *s = dt_model_read(arena, parse(arena, "layers", dt_str_text(&text)), &at, &m);
        built = !s;
        for (int w = 0; built && w < m.n_weights; w++)
            held = held || m.weight[w]->regularizer.kind || m.weight[w]->constraint.kind;
        dt_status_free(s);
        dt_str_release(&text);
    }
    if (!built) print_error("%s with %s was not built\n", layer->name, key->name);
    dt_arena_destroy(arena);
    return held;
}

/* Without a rule a layer as output silences the warnings about losses. */
static void test_every_layer_but_an_input_says_what_its_values_are(void **state) {
    (void)state;
    int n;
    const dt_kind *const *rows = dt_layers(&n);
    for (int i = 0; i < n; i++) {
        const dt_layer *row = (const dt_layer *)rows[i];
        if (!row->yields) assert_string_equal(row->kind.name, "Input");
    }
}

static bool names(const dt_field *f, const char *noun) {
    return f->forms && f->forms->noun && strcmp(f->forms->noun, noun) == 0;
}

static void test_regularizers_and_constraints_reach_a_weight(void **state) {
    (void)state;
    int n, keys = 0, lost = 0;
    const dt_kind *const *layers = dt_layers(&n);
    for (int i = 0; i < n; i++)
        for (const dt_field *f = layers[i]->fields; f->name; f++) {
            const bool regularizer =
                names(f, "regularizer") && strcmp(f->name, "activity_regularizer") != 0;
            if (!regularizer && !names(f, "constraint")) continue;
            keys++;
            if (reaches_a_weight(layers[i], f, regularizer ? "l2" : "non_neg")) continue;
            lost++;
            print_error("%s of %s does nothing\n", f->name, layers[i]->name);
        }
    assert_int_equal(lost, 0);
    assert_true(keys > 80);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relu_has_keras_general_form),
        cmocka_unit_test(test_softmax_layer_sums_to_one),
        cmocka_unit_test(test_flatten_and_input_convert),
        cmocka_unit_test(test_dense_takes_more_dimensions),
        cmocka_unit_test(test_model_refuses_another_shape),
        cmocka_unit_test(test_kernels_are_drawn_within_their_fans),
        cmocka_unit_test(test_regularizers_and_constraints_reach_a_weight),
        cmocka_unit_test(test_every_layer_but_an_input_says_what_its_values_are),
    };
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}

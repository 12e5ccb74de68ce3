/* Layers against outputs and gradients recorded from Keras, and what they refuse. */
#include "rig.h"

/* The recorded layer behind an Input of x's shape. */
static dt_model *model_for(const json_t *in, const dt_view *x)
{
    char *arguments = arguments_text(json_object_get(in, "config"));
    dt_str text = { 0 };
    dt_str_printf(&text, "- Input: {dtype: %s, shape: [", dt_dtype_name(x->type.dtype));
    for (int i = 1; i < x->type.rank; i++)
        dt_str_printf(&text, "%s%lld", i > 1 ? ", " : "", (long long)x->type.dim[i]);
    dt_str_printf(&text, "]}\n- %s: %s\n", text_of(in, "class"), arguments);
    dt_model *m = model_of(dt_str_text(&text), 0);
    dt_str_release(&text);
    free(arguments);
    return m;
}

static dt_graph *trace_layer(dt_model *m, const dt_type *x_type, bool training)
{
    dt_trace *t = dt_trace_create("layer");
    dt_type in = batched(x_type);
    dt_value x[1 + DT_MAX_WEIGHTS] = { dt_trace_declare(t, "x", &in) }, dx[1 + DT_MAX_WEIGHTS];
    dt_value y = dt_model_emit(m, x[0], training);
    dt_type out = dt_type_of_value(y);
    dt_value loss = dt_reduce_sum(dt_multiply(y, dt_trace_declare(t, "cotangent", &out)), DT_NO_AXIS);
    for (int i = 0; i < m->n_weights; i++)
        x[1 + i] = dt_read(t, m->weight[i]);
    dt_gradients_of(loss, x, 1 + m->n_weights, dx);
    dt_return(t, "y", y);
    dt_return(t, "dx", dx[0]);
    for (int i = 0; i < m->n_weights; i++)
        dt_return(t, m->weight[i]->path, dx[1 + i]);
    return end_trace(t);
}

static void set_weights(dt_model *m, const json_t *weights)
{
    assert_int_equal(json_array_size(weights), m->n_weights);
    for (int i = 0; i < m->n_weights; i++) {
        const json_t *w = json_array_get(weights, (size_t)i);
        assert_string_equal(strchr(m->weight[i]->path, '/') + 1, text_of(w, "path"));
        assert_int_equal(m->weight[i]->trainable, json_is_true(json_object_get(w, "trainable")));
        dt_view value = view_of(json_object_get(w, "value"));
        set_variable(m->weight[i], &value);
        free(value.data);
    }
}

static void run_case(const json_t *c)
{
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
    const char *id = text_of(c, "id");
    dt_view x = view_of(json_object_get(in, "x")), cotangent = view_of(json_object_get(out, "cotangent"));
    dt_model *m = model_for(in, &x);
    set_weights(m, json_object_get(in, "weights"));
    dt_graph *g = trace_layer(m, &x.type, json_is_true(json_object_get(in, "training")));
    outcome o = run_graph(g, 1, (feed[]){ { "x", x }, { "cotangent", cotangent } }, 2);
    assert_view(id, result_of(&o, 0, "y"), json_object_get(out, "y"), 1e-5, 1e-6);
    assert_view(id, result_of(&o, 0, "dx"), json_object_get(out, "dx"), 1e-5, 1e-6);
    for (int i = 0; i < m->n_weights; i++) {
        const json_t *dw = json_array_get(json_object_get(out, "dweights"), (size_t)i);
        assert_view(id, result_of(&o, 0, m->weight[i]->path), json_object_get(dw, "value"), 1e-5, 1e-6);
    }
    finish(&o);
    dt_graph_destroy(g);
    model_free(m);
    free(x.data);
    free(cotangent.data);
}

static void test_layers_are_those_recorded(void **state)
{
    (void)state;
    int n;
    const dt_kind *const *rows = dt_layers(&n);
    json_t *file, *cases = golden("layers", &file), *c;
    tally t = { 0 };
    size_t i;
    json_array_foreach(cases, i, c) {
        const char *class_name = text_of(json_object_get(c, "in"), "class");
        if (!is_known(rows, n, class_name) || json_object_get(c, "error")) {
            tally_skip(&t, class_name);
            continue;
        }
        run_case(c);
        t.run++;
    }
    tally_end(&t, "layers");
    json_decref(file);
}

/* y of a model without weights, for x (1, n). */
static void assert_forward(const char *layers, const float *x, const float *y, int n)
{
    dt_model *m = model_of(layers, 0);
    int64_t dim[] = { 1, n };
    float copy[16];
    memcpy(copy, x, (size_t)n * sizeof *x);
    dt_view in = { dt_type_of(DT_FLOAT32, 2, dim), copy };
    dt_trace *t = dt_trace_create("forward");
    dt_type type = batched(&in.type);
    dt_return(t, "y", dt_model_call(m, dt_trace_declare(t, "x", &type), DT_INFERENCE));
    outcome o = run_graph(end_trace(t), 1, (feed[]){ { "x", in } }, 1);
    for (int i = 0; i < n; i++)
        assert_near(layers, element(result_of(&o, 0, "y"), i), (double)y[i], 1e-6, 1e-7);
    finish(&o);
    dt_graph_destroy(o.graph);
    model_free(m);
}

static void test_relu_has_keras_general_form(void **state)
{
    (void)state;
    const float x[] = { -2, -0.5f, 0, 0.5f, 1, 2, 7 };
    assert_forward("- Input: {shape: [7]}\n- ReLU", x, (float[]){ 0, 0, 0, 0.5f, 1, 2, 7 }, 7);
    assert_forward("- Input: {shape: [7]}\n- ReLU: {max_value: 6}", x, (float[]){ 0, 0, 0, 0.5f, 1, 2, 6 }, 7);
    assert_forward("- Input: {shape: [7]}\n- ReLU: {negative_slope: 0.1}", x, (float[]){ -0.2f, -0.05f, 0, 0.5f, 1, 2, 7 }, 7);
    assert_forward("- Input: {shape: [7]}\n- ReLU: {threshold: 1, negative_slope: 0.5}", x, (float[]){ -1.5f, -0.75f, -0.5f, -0.25f, 0, 2, 7 }, 7);
}

static void test_softmax_layer_sums_to_one(void **state)
{
    (void)state;
    assert_forward("- Input: {shape: [2]}\n- Softmax", (float[]){ 0, 0 }, (float[]){ 0.5f, 0.5f }, 2);
}

/* Flatten keeps the order of elements; uint8 is converted by the Input. */
static void test_flatten_and_input_convert(void **state)
{
    (void)state;
    dt_model *m = model_of("- Input: {name: image, shape: [2, 3]}\n- Flatten", 0);
    uint8_t pixels[12] = { 0, 1, 2, 3, 4, 5, 255, 7, 8, 9, 10, 11 };
    dt_view x = { dt_type_of(DT_UINT8, 3, (int64_t[]){ 2, 2, 3 }), pixels };
    dt_trace *t = dt_trace_create("flatten");
    dt_type type = batched(&x.type);
    dt_return(t, "y", dt_model_call(m, dt_trace_declare(t, "x", &type), DT_TRAINING));
    outcome o = run_graph(end_trace(t), 1, (feed[]){ { "x", x } }, 1);
    const dt_view *y = result_of(&o, 0, "y");
    dt_type ought = dt_type_of(DT_FLOAT32, 2, (int64_t[]){ 2, 6 });
    assert_true(dt_type_equal(&y->type, &ought));
    for (int i = 0; i < 12; i++)
        assert_true(element(y, i) == pixels[i]);
    finish(&o);
    dt_graph_destroy(o.graph);
    model_free(m);
}

/* Dense works on the last dimension, whatever stands before it. */
static void test_dense_takes_more_dimensions(void **state)
{
    (void)state;
    dt_model *m = model_of("- Input: {shape: [5, 4]}\n- Dense: {units: 3, activation: relu}", 7);
    dt_trace *t = dt_trace_create("dense");
    dt_type type = dt_type_of(DT_FLOAT32, 3, (int64_t[]){ DT_BATCH, 5, 4 });
    dt_value y = dt_model_call(m, dt_trace_declare(t, "x", &type), DT_TRAINING);
    dt_type is = dt_type_of_value(y), ought = dt_type_of(DT_FLOAT32, 3, (int64_t[]){ DT_BATCH, 5, 3 });
    assert_true(dt_type_equal(&is, &ought));
    assert_true(dt_type_equal(&m->spec.output, &ought));
    dt_trace_destroy(t);
    model_free(m);
}

static void test_model_refuses_another_shape(void **state)
{
    (void)state;
    dt_model *m = model_of("- Input: {name: image, shape: [28, 28]}\n- Flatten", 0);
    dt_trace *t = dt_trace_create("step");
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){ DT_BATCH, 784 });
    dt_value y = dt_model_call(m, dt_trace_declare(t, "x", &type), DT_TRAINING);
    assert_null(y.trace);
    assert_string_equal(dt_status_text(dt_trace_error(t)), "input 'image' is (B, 784), the model takes (B, 28, 28)");
    dt_trace_destroy(t);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_are_those_recorded),
        cmocka_unit_test(test_relu_has_keras_general_form),
        cmocka_unit_test(test_softmax_layer_sums_to_one),
        cmocka_unit_test(test_flatten_and_input_convert),
        cmocka_unit_test(test_dense_takes_more_dimensions),
        cmocka_unit_test(test_model_refuses_another_shape),
    };
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}

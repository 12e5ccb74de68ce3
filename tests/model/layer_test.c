/* Layers by hand, and what they refuse. (As recorded from Keras: tests/conformance.) */
#include "rig.h"

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
    dt_return(t, "y", dt_model_emit(m, dt_trace_declare(t, "x", &type), DT_INFERENCE));
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
    dt_return(t, "y", dt_model_emit(m, dt_trace_declare(t, "x", &type), DT_TRAINING));
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
    dt_value y = dt_model_emit(m, dt_trace_declare(t, "x", &type), DT_TRAINING);
    dt_type is = dt_type_of_value(y), ought = dt_type_of(DT_FLOAT32, 3, (int64_t[]){ DT_BATCH, 5, 3 });
    assert_true(dt_type_equal(&is, &ought));
    assert_true(dt_type_equal(&m->spec.output[0].type, &ought));
    dt_trace_destroy(t);
    model_free(m);
}

static void test_model_refuses_another_shape(void **state)
{
    (void)state;
    dt_model *m = model_of("- Input: {name: image, shape: [28, 28]}\n- Flatten", 0);
    dt_trace *t = dt_trace_create("step");
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){ DT_BATCH, 784 });
    dt_value y = dt_model_emit(m, dt_trace_declare(t, "x", &type), DT_TRAINING);
    assert_null(y.trace);
    assert_string_equal(dt_status_text(dt_trace_error(t)), "input 'image' is (B, 784), the model takes (B, 28, 28)");
    dt_trace_destroy(t);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relu_has_keras_general_form),
        cmocka_unit_test(test_softmax_layer_sums_to_one),
        cmocka_unit_test(test_flatten_and_input_convert),
        cmocka_unit_test(test_dense_takes_more_dimensions),
        cmocka_unit_test(test_model_refuses_another_shape),
    };
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}

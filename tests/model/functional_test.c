/* SPDX-License-Identifier: Apache-2.0 */
/* Functional models: what layers take from, what is refused, what merging layers compute. */
#include "rig.h"

static dt_status *read_model(dt_arena *arena, const char *text, dt_model_spec *out) {
    dt_location at = {0};
    return dt_model_read(arena, parse(arena, "job.yaml", text), &at, out);
}

/* ---- good ones ---- */

static void test_layers_take_from_named_ones(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    ok(read_model(arena,
                  "type: functional\n"
                  "layers:\n"
                  "  - Input: {name: x, shape: [8]}\n"
                  "  - Dense: {units: 8}\n"
                  "  - Input: {name: z, shape: [3], dtype: float32}\n"
                  "  - Dense: {name: b, units: 8, inputs: [z]}\n"
                  "  - Add: {inputs: [x, dense, b]}\n"
                  "  - Softmax: {inputs: add}\n"
                  "  - Dense: {name: side, units: 2, inputs: add}\n"
                  "  - Concatenate: {name: both, inputs: [softmax, side]}\n"
                  "outputs: both",
                  &m));
    static const int n_in[] = {0, 1, 0, 1, 3, 1, 1, 2}, first[] = {0, 0, 0, 2, 0, 4, 4, 5};
    assert_int_equal(m.n_layers, 8);
    for (int i = 0; i < m.n_layers; i++) {
        assert_int_equal(m.layer[i].n_in, n_in[i]);
        if (n_in[i]) assert_int_equal(m.layer[i].from[0], first[i]);
    }
    assert_int_equal(m.n_inputs, 2);
    assert_string_equal(m.input[1].name, "z");
    assert_int_equal(m.output[0].layer, 7);
    dt_type out = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 10});
    assert_true(dt_type_equal(&m.output[0].type, &out));
    dt_arena_destroy(arena);
}

static void test_sequential_is_the_special_case(void **state) {
    (void)state;
    static const char layers[] =
        "[Input: {name: x, shape: [4]}, Dense: {units: 3}, ReLU, Dense: {units: 2}]";
    static const char *const forms[] = {"%s", "{layers: %s}", "{type: sequential, layers: %s}",
                                        "{type: functional, layers: %s}"};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        dt_arena *arena = dt_arena_create();
        dt_model_spec m;
        ok(read_model(arena, dt_arena_printf(arena, forms[f], layers), &m));
        assert_int_equal(m.n_layers, 4);
        assert_int_equal(m.output[0].layer, 3);
        assert_int_equal(m.parameters, 4 * 3 + 3 + 3 * 2 + 2);
        for (int i = 1; i < 4; i++) assert_int_equal(m.layer[i].from[0], i - 1);
        dt_arena_destroy(arena);
    }
}

static void test_the_output_may_stand_anywhere(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    ok(read_model(arena, "{type: functional, outputs: [x], layers: [Input: {name: x, shape: [4]}]}",
                  &m));
    assert_int_equal(m.output[0].layer, 0);
    dt_arena_destroy(arena);
}

/* ---- bad ones ---- */

#define HEAD                                                                                       \
    "type: functional\nlayers:\n- Input: {name: image, shape: [4]}\n- Dense: {name: hidden, "      \
    "units: 3}\n"

static void test_freezing_reaches_all_users_of_weights(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    ok(read_model(arena,
                  "{init_from: {path: f, freeze: ['^a$']}, layers: [Input: {name: x, shape: [4]},"
                  " Dense: {name: a, units: 4}, Dense: {name: b, units: 4, weights_of: a},"
                  " Dense: {name: c, units: 4, weights_of: b}]}",
                  &m));
    assert_int_equal(m.layer[3].owner, 1);
    assert_false(m.layer[1].weight[0].trainable);
    dt_arena_destroy(arena);
}

static const struct bad {
    const char *model;
    int number, line, column;
    const char *text, *suggestion; /* suggestion NULL: whatever it is */
} bad[] = {
    {HEAD "- Add: {inputs: [hiden, image]}", DT_E_MODEL_INPUTS, 5, 18,
     "layer 'add' uses 'hiden', but no earlier layer has that name", "did you mean 'hidden'?"},
    {HEAD "- Dense: {name: a, units: 3, inputs: b}\n- Dense: {name: b, units: 3, inputs: a}",
     DT_E_MODEL_INPUTS, 5, 38, "layer 'a' uses 'b', which is defined later", "list inputs first"},
    {HEAD "- Dense: {name: a, units: 3, inputs: a}", DT_E_MODEL_INPUTS, 5, 38,
     "layer 'a' cannot be its own input", NULL},
    {HEAD "- Dense: {name: a, units: 3, inputs: []}", DT_E_MODEL_INPUTS, 5, 38,
     "layer 'a' has an empty list of inputs", NULL},
    {HEAD "- Dense: {name: a, units: 3, inputs: {x: 1}}", DT_E_WRONG_TYPE, 5, 38,
     "inputs: expected a string, got a mapping", NULL},
    {HEAD "- Dense: {name: a, units: 3, inputs: [image, hidden]}", DT_E_MODEL_INPUTS, 5, 38,
     "Dense takes one input, got 2",
     "combine layers with Add, Concatenate or another merging layer"},
    {HEAD "- Add: {inputs: image}", DT_E_MODEL_INPUTS, 5, 17, "Add needs at least 2 inputs, got 1",
     "inputs: [FIRST, SECOND] names them"},
    {HEAD "- Subtract: {inputs: [image, image, hidden]}", DT_E_MODEL_INPUTS, 5, 22,
     "Subtract needs 2 inputs, got 3", NULL},
    {HEAD "- Attention: {inputs: [image, image, hidden, image]}", DT_E_MODEL_INPUTS, 5, 23,
     "Attention takes at most 3 inputs, got 4", NULL},
    {HEAD "- Dense: {name: a, units: 3, inputs: image}", DT_E_MODEL_INPUTS, 4, 3,
     "no layer uses 'hidden', and the output is 'a'", NULL},
    {HEAD "outputs: image", DT_E_MODEL_INPUTS, 4, 3,
     "no layer uses 'hidden', and the output is 'image'", NULL},
    {HEAD "outputs: hiden", DT_E_MODEL_INPUTS, 5, 10, "unknown output layer 'hiden'",
     "did you mean 'hidden'?"},
    {HEAD "outputs: [hidden, hidden]", DT_E_MODEL_INPUTS, 5, 19, "outputs lists 'hidden' twice",
     NULL},
    {HEAD "outputs: [image, hiden]", DT_E_MODEL_INPUTS, 5, 18, "unknown output layer 'hiden'",
     "did you mean 'hidden'?"},
    {HEAD "- Dense: {name: a, units: 3, inputs: image}\noutputs: [image, a]", DT_E_MODEL_INPUTS, 4,
     3, "no layer uses 'hidden', and it is not an output",
     "add it to model.outputs, or leave it out"},
    {HEAD "outputs: []", DT_E_MODEL_INPUTS, 5, 10, "outputs must list at least one layer", NULL},
    {HEAD "outputs: [[hidden]]", DT_E_WRONG_TYPE, 5, 11,
     "outputs[0]: expected a string, got a list", NULL},
    {HEAD "rematerialize: {save: [mlpwx]}", DT_E_UNKNOWN_NAME, 5, 24,
     "unknown value of a block 'mlpwx'", NULL},
    {HEAD "rematerialize: {save: [[mlpwi]]}", DT_E_WRONG_TYPE, 5, 24,
     "save: expected a string, got a list", NULL},
    {HEAD "- Add: {inputs: [image, hidden]}", DT_E_MODEL_SHAPE, 5, 3,
     "Add cannot combine 'image', f32[B,4], and 'hidden', f32[B,3]", NULL},
    {HEAD "- Reshape: {target_shape: [3, 1]}\n- Concatenate: {inputs: [image, reshape]}",
     DT_E_MODEL_SHAPE, 6, 3,
     "Concatenate cannot combine 'image', f32[B,4], and 'reshape', f32[B,3,1]", NULL},
    {HEAD "- Concatenate: {inputs: [image, hidden], axis: 0}", DT_E_MODEL_SHAPE, 5, 3,
     "axis 0 is out of range for the 1 dimensions after the batch", NULL},
    {HEAD "- Concatenate: {inputs: [image, hidden], axis: -3}", DT_E_MODEL_SHAPE, 5, 3,
     "axis -3 is out of range for the 1 dimensions after the batch", NULL},
    {HEAD "- Concatenate: {inputs: [image, hidden], axis: 4294967297}", DT_E_MODEL_SHAPE, 5, 3,
     "axis 4294967297 is out of range for the 1 dimensions after the batch", NULL},
    {HEAD "- Dot: {inputs: [image, hidden], axes: 1}", DT_E_MODEL_SHAPE, 5, 3,
     "Dot cannot combine 'image', f32[B,4], and 'hidden', f32[B,3]", NULL},
    {HEAD "- Dot: {inputs: [image, hidden], axes: [1, 2]}", DT_E_MODEL_SHAPE, 5, 44,
     "axis 2 is out of range for the 1 dimensions after the batch of 'hidden'", NULL},
    {HEAD "- Dot: {inputs: [image, hidden], axes: [1]}", DT_E_WRONG_TYPE, 5, 40,
     "axes: expected a number, or two, got a list of 1", NULL},
    {"- Input: {name: x, shape: [4]}\n- Dense: {name: a, units: 4, weights_of: b}\n"
     "- Dense: {name: b, units: 4}",
     DT_E_MODEL_INPUTS, 2, 42, "no layer before 'a' has the name 'b'", NULL},
    {"- Input: {name: x, shape: [4]}\n- Dense: {name: a, units: 4}\n"
     "- Dense: {units: 3, weights_of: a}",
     DT_E_MODEL_SHAPE, 3, 33,
     "'dense' cannot use the weights of 'a': their kinds, shapes or `trainable` differ",
     "give both layers the same arguments"},
    {"- Input: {name: x, shape: [4]}\n- Dense: {name: a, units: 4, kernel_regularizer: l2}\n"
     "- Dense: {name: b, units: 4, weights_of: a, kernel_regularizer: l2}\n"
     "- Dense: {name: c, units: 4, weights_of: a, kernel_regularizer: {L2: {l2: 0.1}}}",
     DT_E_MODEL_LAYERS, 4, 66, "'c' uses the weights of 'a', where their regularizer belongs",
     NULL},
    {"- Input: {name: x, shape: [4]}\n- Dense: {name: a, units: 4}\n"
     "- Dense: {name: b, units: 4, weights_of: a, bias_constraint: non_neg}",
     DT_E_MODEL_LAYERS, 3, 62, "'b' uses the weights of 'a', where their constraint belongs", NULL},
    {"- Input: {name: x, shape: [4]}\n- Dense: {name: a, units: 4}\n- ReLU: {weights_of: a}",
     DT_E_MODEL_SHAPE, 3, 22,
     "'re_lu' cannot use the weights of 'a': their kinds, shapes or `trainable` differ",
     "give both layers the same arguments"},
    {"- Input: {name: x, shape: [4]}\n- Dense: {units: 3, inputs: x}", DT_E_MODEL_INPUTS, 2, 29,
     "layers of a sequential model have no 'inputs': each uses the layer before it",
     "in a model of 'type: functional' layers name their inputs"},
    {"- Input: {name: x, shape: [4]}\n- Add", DT_E_MODEL_INPUTS, 2, 3,
     "Add needs at least 2 inputs, got 1",
     "in a model of 'type: functional' layers name their inputs"},
    {"layers:\n- Input: {name: x, shape: [4]}\n- Input: {name: y, shape: [4]}", DT_E_MODEL_LAYERS,
     3, 3, "layers[1] is an Input; a sequential model has one, as its first layer",
     "models of 'type: functional' may have several"},
    {"layers:\n- Input: {name: x, shape: [4]}\noutputs: x", DT_E_MODEL_INPUTS, 3, 10,
     "the output of a sequential model is its last layer; outputs is for 'type: functional'", NULL},
    {"type: functional\nlayers: []", DT_E_MODEL_LAYERS, 2, 9, "the model has no layers", NULL},
    {"{type: functional}", DT_E_MODEL_LAYERS, 1, 1, "the model has no layers", NULL},
    {"- Input: {name: x, shape: [4, 2]}\n- Bidirectional: {layer: {LSTM: {units: 3, inputs: x}}}",
     DT_E_MODEL_INPUTS, 2, 52,
     "the layer inside Bidirectional has no 'inputs': set them on Bidirectional", NULL},
};

static void test_bad_models_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_arena *arena = dt_arena_create();
        dt_model_spec m;
        dt_status *s = read_model(arena, bad[i].model, &m);
        if (!s) fail_msg("taken: %s", bad[i].model);
        if (strcmp(dt_status_text(s), bad[i].text) != 0 || dt_status_line(s) != bad[i].line ||
            dt_status_column(s) != bad[i].column)
            fail_msg("%d:%d '%s' instead of %d:%d '%s'", dt_status_line(s), dt_status_column(s),
                     dt_status_text(s), bad[i].line, bad[i].column, bad[i].text);
        assert_int_equal(dt_status_number(s), bad[i].number);
        assert_int_equal(dt_status_code(s), 78);
        assert_null(dt_status_next(s));
        if (bad[i].suggestion) assert_string_equal(dt_status_suggestion(s), bad[i].suggestion);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

/* If a layer has a fault, its name is not reported as unknown where others use it, nor its inputs as
 * unused. */
static void test_a_fault_is_reported_once(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    dt_status *s = read_model(arena,
                              HEAD "- Dense: {name: a, unit: 3}\n- Add: {inputs: [a, hiden]}\n"
                                   "- Dense: {name: b, units: 3, inputs: hidden, weights_of: a}\n"
                                   "init_from: {path: weights.h5, freeze: [a]}",
                              &m);
    assert_int_equal(dt_status_number(s), DT_E_UNKNOWN_KEY);
    assert_null(dt_status_next(s));
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* Layers that do not use a faulty one are checked all the same. */
static void test_shapes_are_followed_past_a_fault(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    dt_status *s = read_model(arena,
                              HEAD "- Softmax: {name: a, axis: 7, inputs: image}\n"
                                   "- Add: {inputs: [hidden, image]}\n- Add: {inputs: [a, add]}",
                              &m);
    assert_int_equal(dt_status_line(s), 5);
    assert_int_equal(dt_status_line(dt_status_next(s)), 6);
    assert_null(dt_status_next(dt_status_next(s)));
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* ---- merging layers ---- */

enum { ROWS = 2 };

/* The recorded results are Keras 3.15's. */
static const struct merged {
    const char *layer; /* of x (B, 2, 3) and y of `shape` */
    const char *shape;
    int n;
    double out[2 * 2 * 3 * 4];
} merged[] = {
    {"Add: {inputs: [x, y]}",
     "[2, 3]",
     12,
     {-1.25, 1.25, -1.25, 1.25, -1.25, 1.25, -1.25, 1.25, -1.25, 1.25, -1.25, 1.25}},
    {"Subtract: {inputs: [x, y]}",
     "[2, 3]",
     12,
     {1.75, -2.25, 2.75, -3.25, 3.75, -4.25, 4.75, -5.25, 5.75, -6.25, 6.75, -7.25}},
    {"Multiply: {inputs: [x, y]}",
     "[2, 3]",
     12,
     {-0.375, -0.875, -1.5, -2.25, -3.125, -4.125, -5.25, -6.5, -7.875, -9.375, -11, -12.75}},
    {"Average: {inputs: [x, y]}",
     "[2, 3]",
     12,
     {-0.625, 0.625, -0.625, 0.625, -0.625, 0.625, -0.625, 0.625, -0.625, 0.625, -0.625, 0.625}},
    {"Maximum: {inputs: [x, y]}",
     "[2, 3]",
     12,
     {0.25, 1.75, 0.75, 2.25, 1.25, 2.75, 1.75, 3.25, 2.25, 3.75, 2.75, 4.25}},
    {"Minimum: {inputs: [x, y]}",
     "[2, 3]",
     12,
     {-1.5, -0.5, -2, -1, -2.5, -1.5, -3, -2, -3.5, -2.5, -4, -3}},
    {"Add: {inputs: [x, y]}",
     "[1, 3]",
     12,
     {-1.25, 1.25, -1.25, -2.5, 3, -3.5, 4, -4.5, 5, -0.25, 0.25, -0.25}},
    {"Multiply: {inputs: [x, y]}",
     "[3]",
     12,
     {-0.375, -0.875, -1.5, 1.5, 2.1875, 3, 3.9375, 5, 6.1875, -5.625, -6.875, -8.25}},
    {"Subtract: {inputs: [x, y]}",
     "[2, 1]",
     12,
     {1.75, 1, 2.25, -2.75, -0.5, -3.25, 3.75, 0, 4.25, -4.75, 0.5, -5.25}},
    {"Maximum: {inputs: [x, y]}",
     "[]",
     12,
     {0.25, -0.5, 0.75, -1, 1.25, -1.5, 1.75, 1.75, 2.25, 1.75, 2.75, 1.75}},
    {"Average: {inputs: [x, y]}",
     "[4, 2, 3]",
     48,
     {-0.625, 0.625, -0.625, 0.625, -0.625, 0.625, -1.375, 1.375, -1.375, 1.375, -1.375, 1.375,
      -2.125, 2.125, -2.125, 2.125, -2.125, 2.125, -2.875, 2.875, -2.875, 2.875, -2.875, 2.875,
      -2.875, 2.875, -2.875, 2.875, -2.875, 2.875, -3.625, 3.625, -3.625, 3.625, -3.625, 3.625,
      -4.375, 4.375, -4.375, 4.375, -4.375, 4.375, -5.125, 5.125, -5.125, 5.125, -5.125, 5.125}},
    {"Concatenate: {inputs: [x, y]}", "[2, 4]", 28, {0.25, -0.5, 0.75, -1.5, 1.75, -2, 2.25,
                                                     -1,   1.25, -1.5, -2.5, 2.75, -3, 3.25,
                                                     1.75, -2,   2.25, -3.5, 3.75, -4, 4.25,
                                                     -2.5, 2.75, -3,   -4.5, 4.75, -5, 5.25}},
    {"Concatenate: {inputs: [x, y], axis: 1}",
     "[3, 3]",
     30,
     {0.25, -0.5, 0.75, -1,   1.25, -1.5, -1.5, 1.75, -2,   2.25, -2.5, 2.75, -3,   3.25, -3.5,
      1.75, -2,   2.25, -2.5, 2.75, -3,   3.75, -4,   4.25, -4.5, 4.75, -5,   5.25, -5.5, 5.75}},
    {"Dot: {inputs: [x, y], axes: 2}",
     "[4, 3]",
     16,
     {-2.75, 3.875, -5, 6.125, 6.6875, -9.5, 12.3125, -15.125, -28.625, 33.125, -37.625, 42.125,
      39.3125, -45.5, 51.6875, -57.875}},
    {"Dot: {inputs: [x, y], axes: [2, 1]}", "[3]", 4, {-2.75, 6.6875, 15.125, -20.75}},
    {"Dot: {inputs: [x, y], axes: -1, normalize: true}",
     "[2, 3]",
     8,
     {-0.96337533, 0.953507662, 0.998953581, -0.996769607, -0.999240279, 0.998713791, 0.999935448,
      -0.99973309}},
    {"Dot: {inputs: [x, y], axes: [1, 2]}",
     "[5, 2]",
     30,
     {-2.125,  -2.75,   -3.375,  -4,      -4.625,  2.9375,  3.8125,  4.6875,  5.5625,  6.4375,
      -3.75,   -4.875,  -6,      -7.125,  -8.25,   -17.625, -19.75,  -21.875, -24,     -26.125,
      19.6875, 22.0625, 24.4375, 26.8125, 29.1875, -21.75,  -24.375, -27,     -29.625, -32.25}},
};

/* Deterministic and of both signs: (-1)^i (i + 1) / 4, from i = start. */
static dt_view numbers(const dt_type *t, int start) {
    dt_type type = dt_type_at(t, ROWS);
    dt_view v = {.type = type, .data = dt_alloc((size_t)dt_type_bytes(&type))};
    for (int64_t i = 0; i < dt_type_elements(&type); i++)
        ((float *)v.data)[i] =
            (float)((i + start) % 2 ? -(i + start + 1) / 4.0 : (i + start + 1) / 4.0);
    return v;
}

static void check_merged(const struct merged *c) {
    char text[512];
    snprintf(text, sizeof text,
             "{type: functional, layers: [Input: {name: x, shape: [2, 3]}, Input: {name: y, shape: "
             "%s}, %s]}",
             c->shape, c->layer);
    dt_model *m = model_of(text, 1);
    dt_trace *t = dt_trace_create("merge");
    dt_value in[2];
    feed feeds[2];
    for (int i = 0; i < 2; i++) {
        in[i] = dt_trace_declare(t, m->spec.input[i].name, &m->spec.input[i].type);
        feeds[i] = (feed){m->spec.input[i].name, numbers(&m->spec.input[i].type, 5 * i)};
    }
    dt_return(t, "z", dt_model_emit_inputs(m, in, 2, DT_INFERENCE));
    outcome o = run_graph(end_trace(t), 1, feeds, 2);
    const dt_view *z = result_of(&o, 0, "z");
    assert_int_equal(dt_type_elements(&z->type), c->n);
    for (int i = 0; i < c->n; i++) assert_near(c->layer, element(z, i), c->out[i], 1e-6, 1e-7);
    finish(&o);
    dt_graph_destroy(o.graph);
    for (int i = 0; i < 2; i++) free(feeds[i].view.data);
    model_free(m);
}

static void test_merging_layers_give_what_keras_gives(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) check_merged(&merged[i]);
}

/* ---- emitting ---- */

static void test_wrong_inputs_are_refused(void **state) {
    (void)state;
    dt_model *m = model_of("{type: functional, layers: [Input: {name: x, shape: [2]}, Input: "
                           "{name: y, shape: [2]}, Add: {inputs: [x, y]}]}",
                           1);
    for (int wrong = 0; wrong < 2; wrong++) {
        dt_trace *t = dt_trace_create("wrong");
        dt_type three = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
        dt_value in[2] = {dt_trace_declare(t, "x", &m->spec.input[0].type),
                          dt_trace_declare(t, "y", &three)};
        dt_return(t, "z", dt_model_emit_inputs(m, in, wrong ? 1 : 2, DT_INFERENCE));
        dt_graph *g = NULL;
        dt_status *s = dt_trace_end(t, &g);
        assert_string_equal(dt_status_text(s),
                            wrong ? "the model expects 2 inputs, got 1"
                                  : "input 'y' is (B, 3), but the model expects (B, 2)");
        dt_status_free(s);
    }
    model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_take_from_named_ones),
        cmocka_unit_test(test_sequential_is_the_special_case),
        cmocka_unit_test(test_the_output_may_stand_anywhere),
        cmocka_unit_test(test_freezing_reaches_all_users_of_weights),
        cmocka_unit_test(test_bad_models_are_refused),
        cmocka_unit_test(test_a_fault_is_reported_once),
        cmocka_unit_test(test_shapes_are_followed_past_a_fault),
        cmocka_unit_test(test_merging_layers_give_what_keras_gives),
        cmocka_unit_test(test_wrong_inputs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading models: Keras' names, shapes and weights; what is refused, where and in which words
 * (reliability: M01 - M22). */
#include "rig.h"

static dt_status *read_model(dt_arena *arena, const char *text, dt_model_spec *out) {
    dt_location at = {0};
    return dt_model_read(arena, parse(arena, "job.yaml", text), &at, out);
}

/* ---- good ones ---- */

static void test_names_shapes_and_weights(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    ok(read_model(arena,
                  "- Input: {name: image, shape: [28, 28]}\n"
                  "- Flatten: {}\n"
                  "- Dense: {units: 512, activation: relu}\n"
                  "- ReLU\n"
                  "- Dense: {units: 64, use_bias: false, trainable: false}\n"
                  "- Dense: {units: 10, name: logits, bias_initializer: {Constant: {value: 1}}}\n"
                  "- ReLU:\n"
                  "- Dense: {units: 10}\n"
                  "- Softmax\n",
                  &m));
    static const char *const names[] = {"image",  "flatten", "dense",   "re_lu",  "dense_1",
                                        "logits", "re_lu_1", "dense_2", "softmax"};
    static const char *const weights[] = {"dense/kernel",  "dense/bias",  "dense_1/kernel",
                                          "logits/kernel", "logits/bias", "dense_2/kernel",
                                          "dense_2/bias"};
    assert_int_equal(m.n_layers, 9);
    for (int i = 0; i < m.n_layers; i++) assert_string_equal(m.layer[i].name, names[i]);
    assert_int_equal(m.n_weights, 7);
    for (int i = 0; i < m.n_weights; i++) assert_string_equal(m.weight[i]->path, weights[i]);
    assert_false(m.weight[2]->trainable);
    assert_true(m.weight[3]->trainable);
    assert_string_equal(m.weight[0]->initializer.kind->name, "GlorotUniform");
    assert_string_equal(m.weight[4]->initializer.kind->name, "Constant");
    assert_int_equal(m.parameters, 784 * 512 + 512 + 512 * 64 + 64 * 10 + 10 + 10 * 10 + 10);
    assert_string_equal(m.input[0].name, "image");
    dt_type in = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 28, 28}),
            out = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 10});
    assert_true(dt_type_equal(&m.input[0].type, &in));
    assert_true(dt_type_equal(&m.output[0].type, &out));
    assert_int_equal(m.layer[4].at.line, 5);
    dt_arena_destroy(arena);
}

static void test_input_has_keras_defaults(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    ok(read_model(arena, "- Input: {shape: [], dtype: int64}\n- Flatten", &m));
    assert_string_equal(m.input[0].name, "input_layer");
    dt_type in = dt_type_of(DT_INT64, 1, (int64_t[]){DT_BATCH}),
            out = dt_type_of(DT_INT64, 2, (int64_t[]){DT_BATCH, 1});
    assert_true(dt_type_equal(&m.input[0].type, &in));
    assert_true(dt_type_equal(&m.output[0].type, &out));
    dt_arena_destroy(arena);
}

static void test_snake_case(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"Dense", "dense"},
        {"ReLU", "re_lu"},
        {"LeakyReLU", "leaky_re_lu"},
        {"Conv2D", "conv2d"},
        {"Conv2DTranspose", "conv2d_transpose"},
        {"MaxPooling2D", "max_pooling2d"},
        {"LSTM", "lstm"},
        {"RMSprop", "rm_sprop"},
        {"InputLayer", "input_layer"},
        {"SparseCategoricalAccuracy", "sparse_categorical_accuracy"},
        {"AUC", "auc"},
    };
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(dt_snake_case(arena, rows[i][0]), rows[i][1]);
    dt_arena_destroy(arena);
}

static void test_float64_input_makes_float64_weights(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    ok(read_model(arena, "- Input: {shape: [4], dtype: float64}\n- Dense: {units: 2}", &m));
    assert_int_equal(m.weight[0]->type.dtype, DT_FLOAT64);
    assert_int_equal(m.output[0].type.dtype, DT_FLOAT64);
    dt_arena_destroy(arena);
}

/* ---- bad ones ---- */

#define INPUT "- Input: {name: x, shape: [4]}\n"

static const struct bad {
    const char *layers;
    int number, line, column;
    const char *text, *suggestion; /* suggestion NULL: whatever it is */
} bad[] = {
    {INPUT "- Dense: {units: 0}", DT_E_RANGE, 2, 18, "units must be at least 1, got 0", NULL},
    {INPUT "- Dense: {units: -5}", DT_E_RANGE, 2, 18, "units must be at least 1, got -5", NULL},
    {INPUT "- Dense: {units: 1000000000000}", DT_E_MODEL_SIZE, 2, 3,
     "weight 'dense/kernel' of shape (4, 1000000000000) needs 14.6 TiB; one weight may take at "
     "most 1 TiB",
     NULL},
    {INPUT "- Dense: {units: 4611686018427387904}", DT_E_MODEL_SIZE, 2, 3,
     "weight 'dense/kernel' of shape (4, 4611686018427387904) needs 64.0 EiB; one weight may take "
     "at most 1 TiB",
     NULL},
    {INPUT "- Dense: {units: 9223372036854775808}", DT_E_RANGE, 2, 18,
     "units: 9223372036854775808 is out of range", NULL},
    {"- Input: {shape: [1]}\n- Dense: {units: 100000000000, use_bias: false}", DT_E_MODEL_SIZE, 2,
     3, "an example of shape (B, 100000000000) needs 372.5 GiB; one may take at most 256 GiB",
     NULL},
    {INPUT "- Dense: {units: 3, activation: reu}", DT_E_UNKNOWN_NAME, 2, 33,
     "unknown activation 'reu'", "did you mean 'relu'?"},
    {INPUT "- RandomFlip", DT_E_UNKNOWN_NAME, 2, 3, "unknown layer 'RandomFlip'",
     "a step of dataset.map: random_flip"},
    {INPUT "- Dese: {units: 3}", DT_E_UNKNOWN_NAME, 2, 3, "unknown layer 'Dese'",
     "did you mean 'Dense'?"},
    {INPUT "- Dense: {unit: 3}", DT_E_UNKNOWN_KEY, 2, 11, "unknown key 'unit' in Dense",
     "did you mean 'units'?"},
    {INPUT "- Dense: {hidden_size: 3, units: 3}", DT_E_UNKNOWN_KEY, 2, 11,
     "unknown key 'hidden_size' in Dense", "write 'units'"},
    {INPUT "- Dense: {units: 3, lora_rank: 2}", DT_E_UNKNOWN_KEY, 2, 21,
     "key 'lora_rank' in Dense is not implemented yet", "leave it out"},
    {INPUT "- Dense: {units: 3, kernel_regularizer: l3}", DT_E_UNKNOWN_NAME, 2, 41,
     "unknown regularizer 'l3'", "did you mean 'l1'?"},
    {INPUT "- Dense: {units: 3, bias_regularizer: orthogonal_regularizer}", DT_E_MODEL_SHAPE, 2, 39,
     "OrthogonalRegularizer is for matrices, got a weight of 1 dimensions", NULL},
    {INPUT "- Dense: {units: 3, activity_regularizer: {OrthogonalRegularizer: {factor: 1}}}",
     DT_E_RANGE, 2, 44,
     "OrthogonalRegularizer applies to weights only; a layer's output can have L1, L2 or both",
     NULL},
    {INPUT "- Dense: {units: 3, kernel_constraint: nonneg}", DT_E_UNKNOWN_NAME, 2, 40,
     "unknown constraint 'nonneg'", "did you mean 'NonNeg'?"},
    {INPUT "- Dense: {units: 3, bias_constraint: {UnitNorm: {axis: 1}}}", DT_E_MODEL_SHAPE, 2, 39,
     "UnitNorm: axis 1 is out of bounds for the weight 'dense/bias' of shape (3)", NULL},
    {INPUT "- Dense: {units: 3, kernel_constraint: {MaxNorm: {axis: [1, -1]}}}", DT_E_MODEL_SHAPE,
     2, 41, "MaxNorm: axis -1 is named twice for the weight 'dense/kernel' of shape (4, 3)", NULL},
    {INPUT "- Dense: {units: 3, kernel_constraint: {MaxNorm: {axis: []}}}", DT_E_RANGE, 2, 57,
     "axis must name a dimension", NULL},
    {INPUT "- Dense: {units: 3, kernel_constraint: {MinMaxNorm: {rate: 2}}}", DT_E_RANGE, 2, 60,
     "rate must be in [0, 1], got 2", NULL},
    {INPUT "- Dense", DT_E_MISSING_KEY, 2, 3, "required key 'units' is missing in Dense", NULL},
    {INPUT "- Dense: {units: 3, kernel_initializer: he_norml}", DT_E_UNKNOWN_NAME, 2, 41,
     "unknown initializer 'he_norml'", "did you mean 'he_normal'?"},
    {INPUT "- {Dense: {units: 3}, ReLU: {}}", DT_E_WRONG_TYPE, 2, 3,
     "layer: expected a name or NAME: {...}, got a mapping of 2 keys", NULL},
    {"[]", DT_E_MODEL_LAYERS, 1, 1, "the model has no layers", NULL},
    {"{Dense: {units: 3}}", DT_E_UNKNOWN_KEY, 1, 2, "unknown key 'Dense' in model", NULL},
    {"- Dense: {units: 3}", DT_E_MODEL_LAYERS, 1, 3, "the first layer must be an Input, got Dense",
     "put '- Input: {shape: [...]}' before it"},
    {INPUT INPUT "- Dense: {units: 3}", DT_E_LAYER_NAME, 2, 17,
     "'x' is already the name of layers[0]", NULL},
    {INPUT "- Input: {shape: [3]}", DT_E_MODEL_LAYERS, 2, 3,
     "layers[1] is an Input; a sequential model has one, as its first layer", NULL},
    {"- Input: {shape: [-4]}\n- Flatten", DT_E_RANGE, 1, 19, "shape[0] must be at least 1, got -4",
     NULL},
    {"- Input: {shape: [65536, 65536, 65536, 65536]}\n- Flatten", DT_E_MODEL_SIZE, 1, 3,
     "an example of shape (B, 65536, 65536, 65536, 65536) needs 64.0 EiB; one may take at most "
     "256 GiB",
     NULL},
    {"- Input: {shape: [1, 1, 1, 1, 1, 1, 1, 1]}", DT_E_MODEL_SHAPE, 1, 3,
     "shape has 8 dimensions; at most 7 are possible", NULL},
    {"- Input: {shape: [4], dtype: float16}", DT_E_UNKNOWN_NAME, 1, 30, "unknown dtype 'float16'",
     NULL},
    {"- Input: {}\n- Flatten", DT_E_MISSING_KEY, 1, 10, "required key 'shape' is missing in Input",
     NULL},
    {"- Input: {shape: [4], dtype: int32}\n- Dense: {units: 3}", DT_E_MODEL_SHAPE, 2, 3,
     "Dense needs floating-point values, got int32",
     "set 'dtype: float32' on the Input to convert the values"},
    {"- Input: {shape: []}\n- Dense: {units: 3}", DT_E_MODEL_SHAPE, 2, 3,
     "Dense needs (B, features) or more dimensions, got (B)", NULL},
    {INPUT "- Softmax: {axis: 0}", DT_E_MODEL_SHAPE, 2, 3,
     "axis 0 is the batch, which has no fixed size, for input shape (B, 4)", NULL},
    {INPUT "- Dense: {units: 3, name: ../../x}", DT_E_LAYER_NAME, 2, 27,
     "layer name '../../x' contains '/' or '..', which are not allowed", NULL},
    {INPUT "- Dense: {units: 3, name: ''}", DT_E_LAYER_NAME, 2, 27,
     "the name of layers[1] is empty", NULL},
    {INPUT "- Dense: {units: 3, name: \"a\\tb\"}", DT_E_LAYER_NAME, 2, 27,
     "layer name 'a\\x09b' contains control characters", NULL},
    {INPUT "- Dense: {units: 3, name: h}\n- Dense: {units: 3, name: h}", DT_E_LAYER_NAME, 3, 27,
     "'h' is already the name of layers[1]", NULL},
    {INPUT "- Dense: {units: 3, name: dense_1}\n- Dense: {units: 3}\n- Dense: {units: 3}",
     DT_E_LAYER_NAME, 4, 3, "'dense_1' is already the name of layers[1]", NULL},
};

static void test_bad_models_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_arena *arena = dt_arena_create();
        dt_model_spec m;
        dt_status *s = read_model(arena, bad[i].layers, &m);
        if (!s) fail_msg("taken: %s", bad[i].layers);
        if (strcmp(dt_status_text(s), bad[i].text) != 0)
            fail_msg("'%s' instead of '%s'", dt_status_text(s), bad[i].text);
        assert_int_equal(dt_status_number(s), bad[i].number);
        assert_int_equal(dt_status_code(s), 78);
        assert_string_equal(dt_status_file(s), "job.yaml");
        assert_int_equal(dt_status_line(s), bad[i].line);
        assert_int_equal(dt_status_column(s), bad[i].column);
        if (bad[i].suggestion) assert_string_equal(dt_status_suggestion(s), bad[i].suggestion);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

/* Faults of arguments, names and shapes come in one run, each in its words. */
static void test_all_faults_come_at_once(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    dt_status *s = read_model(arena,
                              "- Input: {name: x, shape: []}\n"
                              "- Dense: {units: 3, name: a}\n"
                              "- Dense: {units: 0, actvation: relu}\n"
                              "- Dese: {units: 3}\n"
                              "- Dense: {units: 3, name: a}\n",
                              &m);
    char *text = dt_status_format(s);
    assert_string_equal(
        text, "job.yaml:3:18: error: units must be at least 1, got 0 [DT017]\n"
              "    3 | - Dense: {units: 0, actvation: relu}\n"
              "      |                  ^\n"
              "job.yaml:3:21: error: unknown key 'actvation' in Dense [DT001]\n"
              "    3 | - Dense: {units: 0, actvation: relu}\n"
              "      |                     ^^^^^^^^^ did you mean 'activation'?\n"
              "job.yaml:4:3: error: unknown layer 'Dese' [DT013]\n"
              "    4 | - Dese: {units: 3}\n"
              "      |   ^^^^ did you mean 'Dense'?\n"
              "job.yaml:5:27: error: 'a' is already the name of layers[1] [DT066]\n"
              "    5 | - Dense: {units: 3, name: a}\n"
              "      |                           ^\n"
              "job.yaml:2:3: error: Dense needs (B, features) or more dimensions, got (B) [DT060]\n"
              "    2 | - Dense: {units: 3, name: a}\n"
              "      |   ^^^^^\n"
              "    in layer 'a' on f32[B]\n"
              "5 errors. For details, run 'dtrain explain DT017'.\n");
    free(text);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_no_list_at_all(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_model_spec m;
    dt_location at = {.line = 0};
    dt_status *s = dt_model_read(arena, NULL, &at, &m);
    assert_int_equal(dt_status_number(s), DT_E_MODEL_LAYERS);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* As many layers as a job file can hold; nothing recurses over them. */
static void test_a_thousand_layers(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_str text = {0};
    dt_model_spec m;
    dt_str_puts(&text, "- Input: {shape: [2]}\n");
    for (int i = 0; i < 1000; i++) dt_str_puts(&text, "- Dense: {units: 2}\n- ReLU\n");
    ok(read_model(arena, dt_str_text(&text), &m));
    assert_int_equal(m.n_weights, 2000);
    assert_string_equal(m.layer[1999].name, "dense_999");
    dt_str_release(&text);
    dt_arena_destroy(arena);
}

/* ---- the tables ---- */

/* Rows can be written by name, have words for the help, and aliases that are no other row's
 * name. */
static void assert_table(const dt_kind *const *rows, int n) {
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        assert_true(rows[i]->name && *rows[i]->name && rows[i]->about && *rows[i]->about);
        for (const dt_field *f = rows[i]->fields; f && f->kind != DT_FIELD_END; f++)
            if (!f->instead && !(f->help && *f->help))
                fail_msg("%s.%s has no help", rows[i]->name, f->name);
        for (int k = 0; k < i; k++) assert_string_not_equal(rows[i]->name, rows[k]->name);
        for (const char *const *a = rows[i]->aliases; a && *a; a++)
            for (int k = 0; k < n; k++) assert_string_not_equal(*a, rows[k]->name);
    }
}

static void test_tables_are_whole(void **state) {
    (void)state;
    const dt_kind *const *(*const tables[])(int *) = {dt_layers, dt_losses, dt_metrics,
                                                      dt_optimizers, dt_initializers};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int n;
        const dt_kind *const *rows = tables[i](&n);
        assert_table(rows, n);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_shapes_and_weights),
        cmocka_unit_test(test_input_has_keras_defaults),
        cmocka_unit_test(test_snake_case),
        cmocka_unit_test(test_float64_input_makes_float64_weights),
        cmocka_unit_test(test_bad_models_are_refused),
        cmocka_unit_test(test_all_faults_come_at_once),
        cmocka_unit_test(test_no_list_at_all),
        cmocka_unit_test(test_a_thousand_layers),
        cmocka_unit_test(test_tables_are_whole),
    };
    return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Models as handles: made in a scope, weights in and out, compile, fit and evaluate without a
 * job. */
#define HERE "build/tmp/train-model"
#include "kit.h"

static dt_model *model(const char *layers) {
    dt_model *m = NULL;
    OK(dt_model_create(&m, "%s", layers));
    return m;
}

static dt_dataset *data(const char *keys) {
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d,
                       "{format: synthetic, examples: 22, element: {image: {shape: [6]}, label: "
                       "{num_classes: 3}}, "
                       "global_batch_size: 8%s}",
                       keys));
    return d;
}

/* ---- making ---- */

static void test_model_captures_the_strategy_of_its_scope(void **state) {
    (void)state;
    dt_strategy *s = strategy_of(&(setup){.replicas = 3});
    dt_model *inside = NULL, *outside = model(KIT_LAYERS);

    DT_SCOPE(s)
    inside = model(KIT_LAYERS);
    assert_ptr_equal(inside->strategy, s);
    assert_string_equal(dt_strategy_type(outside->strategy), "default");
    dt_strategy_unref(s);
    assert_int_equal(dt_strategy_replicas(inside->strategy), 3);
    assert_int_equal(dt_model_parameters(inside), 6 * 7 + 7 + 7 * 3 + 3);
    dt_model_unref(inside);
    dt_model_unref(outside);
}

/* compile, fit and evaluate enter it by themselves, so they cannot be called where another
 * strategy's is open. */
static void test_captured_scope_is_entered(void **state) {
    (void)state;
    dt_strategy *s = strategy_of(&(setup){.replicas = 2}),
                *other = strategy_of(&(setup){.replicas = 3});
    dt_dataset *d = NULL;
    dt_model *m = NULL;

    OK(dt_dataset_open(&d, "%s", KIT_DATA));
    DT_SCOPE(s)
    m = model(KIT_LAYERS);
    OK(dt_model_compile(m, KIT_COMPILE));
    OK(dt_model_fit(m, d, NULL, "{epochs: 1}"));
    DT_SCOPE(s) {
        OK(dt_model_fit(m, d, NULL, "{epochs: 1}"));
        assert_ptr_equal(dt_get_strategy(), s);
    }
    DT_SCOPE(other) {
        fails(dt_model_compile(m, KIT_COMPILE), DT_E_SCOPE, "mixing different strategies");
        fails(dt_model_fit(m, d, NULL, "{epochs: 1}"), DT_E_SCOPE, "mixing different strategies");
        fails(dt_model_evaluate(m, d, NULL), DT_E_SCOPE, "mixing different strategies");
        assert_ptr_equal(dt_get_strategy(), other);
    }
    assert_string_equal(dt_strategy_type(dt_get_strategy()), "default");
    dt_dataset_unref(d);
    dt_model_unref(m);
    dt_strategy_unref(s);
    dt_strategy_unref(other);
}

static void test_bad_layers_make_no_model(void **state) {
    (void)state;
    dt_model *m = NULL;
    dt_status *s = dt_model_create(
        &m, "- Input: {shape: [4]}\n- Dence: {units: %d}\n- Dense: {units: 0}\n", 3);

    assert_int_equal(dt_status_count(s), 2);
    assert_int_equal(dt_status_line(s), 2);
    assert_int_equal(dt_status_code(s), 78);
    dt_status_free(s);
    assert_null(m);
}

/* ---- weights ---- */

static void test_seeds_draw_weights(void **state) {
    (void)state;
    char first[65];
    dt_model *a = model(KIT_LAYERS), *b = model(KIT_LAYERS);

    snprintf(first, sizeof first, "%s", dt_model_weights_sha256(a));
    assert_int_equal(strlen(first), 64);
    assert_string_equal(dt_model_weights_sha256(b), first);
    OK(dt_model_seed(b, 5));
    assert_string_not_equal(dt_model_weights_sha256(b), first);
    OK(dt_model_seed(b, 0));
    assert_string_equal(dt_model_weights_sha256(b), first);
    dt_model_unref(a);
    dt_model_unref(b);
}

/* Path, dtype and shape belong to the hash, not only the numbers. */
static void test_hash_is_of_more_than_numbers(void **state) {
    (void)state;
    static const char *const layers[] = {
        "[Input: {shape: [4]}, Dense: {units: 2, kernel_initializer: zeros}]",
        "[Input: {shape: [2]}, Dense: {units: 4, kernel_initializer: zeros}]",
        "[Input: {shape: [4]}, Dense: {name: d, units: 2, kernel_initializer: zeros}]",
        "[Input: {shape: [4]}, Dense: {units: 2, kernel_initializer: zeros, use_bias: false}]",
    };
    char sha[4][65];

    for (int i = 0; i < 4; i++) {
        dt_model *m = model(layers[i]);
        snprintf(sha[i], sizeof sha[i], "%s", dt_model_weights_sha256(m));
        for (int k = 0; k < i; k++) assert_string_not_equal(sha[i], sha[k]);
        dt_model_unref(m);
    }
}

/* Its definition, spelt out: sorted by path; path, dtype, shape, bytes. */
static void test_hash_as_it_is_defined(void **state) {
    (void)state;
    const float kernel[2] = {1, -2}, bias[1] = {0.5f};
    dt_model *m = model("[Input: {shape: [2]}, Dense: {units: 1}]");
    dt_tensor *t = NULL;
    dt_str text = {0};

    OK(dt_tensor_create(&t, DT_FLOAT32, 2, (int64_t[]){2, 1}, kernel));
    OK(dt_model_set_weight(m, "dense/kernel", t));
    OK(dt_tensor_create(&t, DT_FLOAT32, 1, (int64_t[]){1}, bias));
    OK(dt_model_set_weight(m, "dense/bias", t));
    dt_str_puts(&text, "dense/bias\nfloat32\n1\n");
    dt_str_add(&text, bias, sizeof bias);
    dt_str_puts(&text, "dense/kernel\nfloat32\n2,1\n");
    dt_str_add(&text, kernel, sizeof kernel);
    assert_string_equal(dt_model_weights_sha256(m), dt_sha256_of(text.data, text.size).hex);
    dt_str_release(&text);
    dt_tensor_unref(t);
    dt_model_unref(m);
}

static void test_weights_are_copied_out_and_in(void **state) {
    (void)state;
    dt_model *m = model(KIT_LAYERS);
    dt_tensor *t = NULL, *again = NULL, *wrong = NULL;

    OK(dt_model_get_weight(m, "dense_1/kernel", &t));
    assert_int_equal(dt_tensor_dim(t, 0), 7);
    assert_int_equal(dt_tensor_dim(t, 1), 3);
    ((float *)(uintptr_t)dt_tensor_data(t))[4] = 42;
    OK(dt_model_get_weight(m, "dense_1/kernel", &again));
    assert_true(((const float *)dt_tensor_data(again))[4] < 2); /* a copy */
    OK(dt_model_set_weight(m, "dense_1/kernel", t));
    OK(dt_model_get_weight(m, "dense_1/kernel", &again));
    assert_true(((const float *)dt_tensor_data(again))[4] == 42);
    fails(dt_model_get_weight(m, "dense_2/kernel", &again), DT_E_WEIGHT,
          "did you mean 'dense_1/kernel'?");
    fails(dt_model_set_weight(m, "dense/kernel", t), DT_E_WEIGHT, "another dtype or shape");
    OK(dt_tensor_create(&wrong, DT_FLOAT64, 2, (int64_t[]){7, 3}, NULL));
    fails(dt_model_set_weight(m, "dense_1/kernel", wrong), DT_E_WEIGHT, "another dtype or shape");
    dt_tensor_unref(t);
    dt_tensor_unref(again);
    dt_tensor_unref(wrong);
    dt_model_unref(m);
}

/* ---- compile, fit, evaluate ---- */

static void test_fit_needs_compile(void **state) {
    (void)state;
    dt_model *m = model(KIT_LAYERS);
    dt_dataset *d = data("");
    dt_history *h = NULL;

    fails(dt_model_fit(m, d, &h, "{epochs: 1}"), DT_E_WEIGHT, "not compiled");
    fails(dt_model_evaluate(m, d, &h), DT_E_WEIGHT, "not compiled");
    fails(dt_model_compile(m, "{optimizer: Adem, loss: MeanSquaredError}"), DT_E_UNKNOWN_NAME,
          "did you mean 'Adam'?");
    fails(dt_model_fit(m, d, &h, "{epochs: 1}"), DT_E_WEIGHT, "not compiled");
    assert_null(h);
    dt_dataset_unref(d);
    dt_model_unref(m);
}

/* A second compile that fails leaves the first one whole; one that succeeds begins with a new
 * optimizer. */
static void test_compile_again(void **state) {
    (void)state;
    dt_model *m = model(KIT_LAYERS);
    dt_dataset *d = data("");
    dt_history *h = NULL;

    OK(dt_model_compile(m, KIT_COMPILE));
    OK(dt_model_fit(m, d, &h, "{epochs: 1}"));
    fails(dt_model_compile(m, "{optimizer: SGD, metrics: [nothing]}"), DT_E_MISSING_KEY, "loss");
    OK(dt_model_fit(m, d, &h, "{epochs: 1}"));
    assert_int_equal(*(int64_t *)m->optimizer->iteration->host_data, 6);
    OK(dt_model_compile(m, KIT_COMPILE));
    OK(dt_model_fit(m, d, NULL, "{epochs: 1}"));
    assert_int_equal(*(int64_t *)m->optimizer->iteration->host_data, 3);
    dt_history_unref(h);
    dt_dataset_unref(d);
    dt_model_unref(m);
}

/* The words that depend on shapes train as the classes that they stand for. */
static void test_losses_that_fit_the_shapes(void **state) {
    (void)state;
    static const struct {
        const char *classes, *map, *loss, *accuracy;
    } rows[] = {
        {"3", "", "SparseCategoricalCrossentropy", "SparseCategoricalAccuracy"},
        {"3", ", map: {label: [{one_hot: 3}]}", "CategoricalCrossentropy", "CategoricalAccuracy"},
        {"1", "", "BinaryCrossentropy", "BinaryAccuracy"},
    };
    for (int i = 0; i < 6; i++) {
        const int r = i / 2;
        static char sha[2][65];
        dt_model *m = NULL;
        dt_dataset *d = NULL;
        dt_history *h = NULL;
        OK(dt_model_create(&m,
                           "[Input: {name: image, shape: [6]}, Dense: {units: %s, activation: %s}]",
                           rows[r].classes, r < 2 ? "softmax" : "sigmoid"));
        OK(dt_dataset_open(&d,
                           "{format: synthetic, examples: 24, global_batch_size: 8, "
                           "element: {image: {shape: [6]}, label: {num_classes: %d}}%s}",
                           r < 2 ? 3 : 2, rows[r].map));
        OK(dt_model_compile(m,
                            "{optimizer: SGD, loss: %s, metrics: [accuracy, {%s: {name: same}}]}",
                            i % 2 ? rows[r].loss : "crossentropy", rows[r].accuracy));
        OK(dt_model_fit(m, d, &h, "{epochs: 2}"));
        snprintf(sha[i % 2], sizeof sha[0], "%s", dt_model_weights_sha256(m));
        assert_true(dt_history_last(h, "accuracy") == dt_history_last(h, "same"));
        dt_history_unref(h);
        dt_dataset_unref(d);
        dt_model_unref(m);
        if (i % 2) assert_string_equal(sha[0], sha[1]);
    }
}

static void test_fit_is_what_a_run_is(void **state) {
    (void)state;
    outcome o = fit_well(&(setup){.replicas = 2});
    dt_strategy *s = strategy_of(&(setup){.replicas = 2});
    dt_model *m = NULL;
    dt_dataset *d = NULL;
    dt_history *h = NULL;

    DT_SCOPE(s)
    m = model(KIT_LAYERS);
    OK(dt_dataset_open(&d, "%s", KIT_DATA));
    OK(dt_model_compile(m, "%s", KIT_COMPILE));
    OK(dt_model_fit(m, d, &h, "{epochs: %d}", 2));
    assert_string_equal(dt_model_weights_sha256(m), o.sha);
    assert_int_equal(dt_history_epochs(h), 2);
    for (int i = 0; i < 2; i++)
        assert_true(dt_history_at(h, "val_accuracy", i) ==
                    dt_history_at(o.history, "val_accuracy", i));
    double loss = dt_history_last(h, "val_loss");
    OK(dt_model_evaluate(m, d, &h)); /* the validation part, since there is one */
    assert_int_equal(dt_history_epochs(h), 1);
    assert_true(dt_history_last(h, "loss") == loss);
    assert_true(isnan(dt_history_last(h, "val_loss")));
    assert_string_equal(dt_model_weights_sha256(m), o.sha);
    dt_history_unref(h);
    dt_dataset_unref(d);
    dt_model_unref(m);
    dt_strategy_unref(s);
    outcome_free(&o);
}

/* `seed` beside fit's keys is that of the shuffle, unless the data set has one of its own. */
static void test_seed_of_the_shuffle(void **state) {
    (void)state;
    static const struct {
        const char *data, *fit;
        int like; /* the run before that ends the same; -1: none */
    } runs[] = {{", shuffle: true", "{epochs: 1}", -1},
                {", shuffle: true", "{epochs: 1, seed: 4}", -1},
                {", shuffle: {seed: 4}", "{epochs: 1}", 1},
                {", shuffle: {seed: 4}", "{epochs: 1, seed: 9}", 1},
                {", shuffle: true", "{seed: null, epochs: 1}", 0},
                {"", "{epochs: 1, seed: 4}", -1}};
    enum { RUNS = sizeof runs / sizeof *runs };
    char sha[RUNS][65];

    for (int i = 0; i < RUNS; i++) {
        dt_model *m = model(KIT_LAYERS);
        dt_dataset *d = data(runs[i].data);
        OK(dt_model_compile(m, KIT_COMPILE));
        OK(dt_model_fit(m, d, NULL, "%s", runs[i].fit));
        snprintf(sha[i], sizeof sha[i], "%s", dt_model_weights_sha256(m));
        for (int k = 0; k < i; k++)
            assert_int_equal(strcmp(sha[i], sha[k]) == 0,
                             runs[i].like >= 0 &&
                                 (k == runs[i].like || runs[k].like == runs[i].like));
        dt_dataset_unref(d);
        dt_model_unref(m);
    }
}

static void test_bad_fit_is_refused(void **state) {
    (void)state;
    dt_model *m = model(KIT_LAYERS);
    dt_dataset *d = data("");
    char sha[65];

    OK(dt_model_compile(m, KIT_COMPILE));
    snprintf(sha, sizeof sha, "%s", dt_model_weights_sha256(m));
    fails(dt_model_fit(m, d, NULL, "{}"), DT_E_FIT_KEYS, "fit needs epochs or steps");
    fails(dt_model_fit(m, d, NULL, "{epochs: 2, steps: 3}"), DT_E_FIT_KEYS, "not both");
    fails(dt_model_fit(m, d, NULL, "{epochs: 0}"), DT_E_RANGE, "epochs");
    fails(dt_model_fit(m, d, NULL, "{epochs: 2, seed: -1}"), DT_E_RANGE, "seed");
    fails(dt_model_fit(m, d, NULL, "{epochs: 2, batch_size: 3}"), DT_E_UNKNOWN_KEY,
          "dataset.global_batch_size");
    fails(dt_model_fit(m, d, NULL, "5"), DT_E_WRONG_TYPE, "");
    assert_string_equal(dt_model_weights_sha256(m), sha);
    dt_dataset_unref(d);
    dt_model_unref(m);
}

/* A frozen layer stays as it is. */
static void test_frozen_layers_stay(void **state) {
    (void)state;
    dt_model *m = model("[Input: {name: image, shape: [6]}, Dense: {units: 7, activation: relu, "
                        "trainable: false}, Dense: {units: 3}]");
    dt_tensor *before = NULL, *after = NULL, *head = NULL, *trained = NULL;
    dt_dataset *d = data("");

    OK(dt_model_compile(m, KIT_COMPILE));
    OK(dt_model_get_weight(m, "dense/kernel", &before));
    OK(dt_model_get_weight(m, "dense_1/kernel", &head));
    OK(dt_model_fit(m, d, NULL, "{epochs: 2}"));
    OK(dt_model_get_weight(m, "dense/kernel", &after));
    OK(dt_model_get_weight(m, "dense_1/kernel", &trained));
    assert_memory_equal(dt_tensor_data(after), dt_tensor_data(before), 6 * 7 * 4);
    assert_memory_not_equal(dt_tensor_data(trained), dt_tensor_data(head), 7 * 3 * 4);
    dt_tensor_unref(before);
    dt_tensor_unref(after);
    dt_tensor_unref(head);
    dt_tensor_unref(trained);
    dt_dataset_unref(d);
    dt_model_unref(m);
}

/* ---- history ---- */

static void test_history_by_key_and_epoch(void **state) {
    (void)state;
    dt_history *h = dt_history_create();

    assert_int_equal(dt_history_epochs(h), 0);
    assert_int_equal(dt_history_epochs(NULL), 0);
    assert_true(isnan(dt_history_last(h, "loss")));
    assert_true(isnan(dt_history_at(NULL, "loss", 0)));
    dt_history_add(
        h, (dt_metric[]){{.name = "loss", .value = 2}, {.name = "accuracy", .value = 0.25}}, 2);
    dt_history_add(h, (dt_metric[]){{.name = "loss", .value = 1}}, 1);
    assert_true(dt_history_at(h, "loss", 0) == 2);
    assert_true(dt_history_last(h, "loss") == 1);
    assert_true(isnan(dt_history_last(h, "accuracy")));
    assert_true(isnan(dt_history_at(h, "loss", -1)));
    dt_history_unref(h);
    dt_history_unref(NULL);
}

static void test_last_line_of_a_history(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int n;
    } files[] = {{"{\"epoch\": 1, \"step\": 3, \"loss\": 2}\n{\"epoch\": 2, \"step\": 6, \"loss\": "
                  "1.5, \"val_loss\": 7}\n",
                  2},
                 {"", 0},
                 {"\n", 0},
                 {"{\"epoch\": 1, \"loss\": 1}\nnot a line\n", 0},
                 {"{\"loss\": null, \"accuracy\": 0.5}\n", 1}};
    dt_arena *arena = dt_arena_create();
    dt_metric m[4];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        OK(dt_file_commit(HERE "/history.jsonl", files[i].text, strlen(files[i].text)));
        assert_int_equal(dt_history_last_line(HERE "/history.jsonl", arena, m, 4), files[i].n);
        if (i == 0) {
            assert_string_equal(m[1].name, "val_loss");
            assert_true(m[0].value == 1.5 && m[1].value == 7);
        }
    }
    assert_int_equal(dt_history_last_line(HERE "/nowhere", arena, m, 4), 0);
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_captures_the_strategy_of_its_scope),
        cmocka_unit_test(test_captured_scope_is_entered),
        cmocka_unit_test(test_bad_layers_make_no_model),
        cmocka_unit_test(test_seeds_draw_weights),
        cmocka_unit_test(test_hash_is_of_more_than_numbers),
        cmocka_unit_test(test_hash_as_it_is_defined),
        cmocka_unit_test(test_weights_are_copied_out_and_in),
        cmocka_unit_test(test_fit_needs_compile),
        cmocka_unit_test(test_compile_again),
        cmocka_unit_test(test_losses_that_fit_the_shapes),
        cmocka_unit_test(test_fit_is_what_a_run_is),
        cmocka_unit_test(test_seed_of_the_shuffle),
        cmocka_unit_test(test_bad_fit_is_refused),
        cmocka_unit_test(test_frozen_layers_stay),
        cmocka_unit_test(test_history_by_key_and_epoch),
        cmocka_unit_test(test_last_line_of_a_history),
    };
    return cmocka_run_group_tests_name("train/model", tests, clean_folder, NULL);
}

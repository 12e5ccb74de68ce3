/* SPDX-License-Identifier: Apache-2.0 */
/* Saved models: what comes back is the same to the last bit, whoever loads it, and what is no saved
 * model is told so. */
#define HERE "build/tmp/train-saved"
#include "kit.h"

static dt_model *compiled(dt_strategy *s) {
    dt_model *m = NULL;

    DT_SCOPE(s) {
        OK(dt_model_create(&m, "%s", KIT_LAYERS));
        OK(dt_model_seed(m, 11));
        OK(dt_model_compile(m, "%s", KIT_COMPILE));
    }
    return m;
}

static dt_dataset *data(void) {
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d, "{format: synthetic, examples: 22, element: {image: {shape: [6]}, "
                           "label: {num_classes: 3}}, global_batch_size: 8}"));
    return d;
}

/* The weights' hash after `epochs` more, and the loss then. */
static double train(dt_model *m, dt_dataset *d, int epochs, char sha[65]) {
    dt_history *h = NULL;

    if (epochs > 0) OK(dt_model_fit(m, d, NULL, "{epochs: %d}", epochs));
    OK(dt_model_evaluate(m, d, &h));
    double loss = dt_history_last(h, "loss");
    dt_history_unref(h);
    snprintf(sha, 65, "%s", dt_model_weights_sha256(m));
    return loss;
}

static dt_strategy *replicas(int n) { return strategy_of(&(setup){.replicas = n}); }

/* Saved by one strategy, loaded by another: evaluates the same, and trains on as if nothing had
 * happened. */
static void test_a_saved_model_goes_on(void **state) {
    (void)state;
    char whole[65], saved[65], again[65];
    dt_dataset *d = data();

    for (int from = 1; from <= 3; from++) {
        int to = from % 3 + 1;
        dt_strategy *s = replicas(from), *other = replicas(to);
        dt_model *m = compiled(s), *loaded = NULL;
        double loss = train(m, d, 2, saved);

        /* parents are made, the older one is replaced */
        OK(dt_model_save(m, HERE "/deep/er/model/"));
        DT_SCOPE(other)
        OK(dt_model_load(&loaded, HERE "/deep/er/model"));
        assert_ptr_equal(loaded->strategy, other);
        assert_true(train(loaded, d, 0, again) == loss);
        assert_string_equal(again, saved);
        loss = train(m, d, 2, whole);
        assert_true(train(loaded, d, 2, again) == loss);
        assert_string_equal(again, whole);
        dt_model_unref(m);
        dt_model_unref(loaded);
        dt_strategy_unref(s);
        dt_strategy_unref(other);
    }
    assert_false(is_there(HERE "/deep/er/model.dtrain-tmp"));
    dt_dataset_unref(d);
}

/* Slots of every form: of one or more per variable, beside the variables, factored, running
 * means. */
static void test_the_state_of_any_optimizer_comes_back(void **state) {
    (void)state;
    static const char *const optimizers[] = {
        "Adam: {use_ema: true, ema_momentum: 0.9}",
        "SGD: {momentum: 0.9, nesterov: true}",
        "Nadam: {}",
        "Adafactor: {}",
        "Muon: {}",
        "ScheduleFreeAdamW: {}",
        "RMSprop: {centered: true, momentum: 0.5}",
        ("SGD: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.1, "
         "decay_steps: 2, decay_rate: 0.5}}}"),
    };
    dt_dataset *d = data();

    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        dt_strategy *s = replicas(2);
        dt_model *m = compiled(s), *loaded = NULL;
        char whole[65], again[65];

        OK(dt_model_compile(
            m, "{optimizer: {%s}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}",
            optimizers[i]));
        train(m, d, 2, whole);
        OK(dt_model_save(m, HERE "/optimizer"));
        DT_SCOPE(s)
        OK(dt_model_load(&loaded, HERE "/optimizer"));
        train(m, d, 2, whole);
        train(loaded, d, 2, again);
        if (strcmp(whole, again) != 0)
            fail_msg("%s: trains otherwise after loading", optimizers[i]);
        dt_model_unref(m);
        dt_model_unref(loaded);
        dt_strategy_unref(s);
    }
    dt_dataset_unref(d);
}

static void test_a_model_need_not_be_compiled(void **state) {
    (void)state;
    dt_model *m = NULL, *loaded = NULL;
    dt_dataset *d = data();
    dt_tensor *a = NULL, *b = NULL;

    OK(dt_model_create(&m, "[Input: {name: image, shape: [6], dtype: float64}, Dense: {name: "
                           "\"10\", units: 2, activation: softmax}]"));
    OK(dt_model_save(m, HERE "/plain"));
    OK(dt_model_load(&loaded, HERE "/plain"));
    assert_false(loaded->compiled);
    assert_string_equal(dt_strategy_type(loaded->strategy), "default");
    fails(dt_model_evaluate(loaded, d, NULL), DT_E_WEIGHT, "not compiled");
    OK(dt_model_predict(m, d, &a));
    OK(dt_model_predict(loaded, d, &b));
    assert_int_equal(dt_tensor_dtype(b), DT_FLOAT64);
    assert_memory_equal(dt_tensor_data(a), dt_tensor_data(b), 22 * 2 * 8);
    dt_tensor_unref(a);
    dt_tensor_unref(b);
    dt_dataset_unref(d);
    dt_model_unref(m);
    dt_model_unref(loaded);
}

/* A checkpoint of a run is a saved model too. */
static void test_checkpoints_of_runs_load(void **state) {
    (void)state;
    outcome o = {0};
    dt_model *m = NULL;
    const setup s = {.directory = HERE "/run",
                     .job = "{\"model\": {\"layers\": "
                            "[{\"Input\": {\"name\": \"image\", \"shape\": [6]}}, "
                            "{\"Dense\": {\"units\": 7, \"activation\": \"relu\"}}, {\"Dense\": "
                            "{\"units\": 3}}]}, \"compile\": "
                            "{\"optimizer\": {\"Adam\": {\"learning_rate\": 0.02}}, \"loss\": "
                            "{\"SparseCategoricalCrossentropy\": "
                            "{\"from_logits\": true}}}}"};

    o = fit_well(&s);
    OK(dt_model_load(&m, o.checkpoint));
    assert_string_equal(dt_model_weights_sha256(m), o.sha);
    assert_int_equal(*(const int64_t *)m->optimizer->iteration->host_data, o.last_step);
    dt_model_unref(m);
    outcome_free(&o);
}

/* A fit that writes no files, from the weights of a saved model or from those that the model has. */
static void fit_from(dt_strategy *s, dt_dataset *d, const char *path, uint64_t seed, char sha[65]) {
    const dt_init_from from = {.path = path};
    const dt_fit_spec fit = {.epochs = 1};
    const dt_run_options run = {0};
    dt_model *m = compiled(s);
    dt_trainer *trainer = NULL;

    OK(dt_model_seed(m, seed));
    OK(dt_trainer_create(&trainer, &(dt_trainer_options){.strategy = s,
                                                         .model = m,
                                                         .compile = &m->compile,
                                                         .optimizer = m->optimizer,
                                                         .data = d}));
    OK(dt_fit(&(dt_fit_request){.trainer = trainer,
                                .fit = &fit,
                                .init_from = path ? &from : NULL,
                                .name = "saved",
                                .run = &run}));
    dt_trainer_destroy(trainer);
    snprintf(sha, 65, "%s", dt_model_weights_sha256(m));
    dt_model_unref(m);
}

static void test_a_fit_without_files_begins_with_saved_weights(void **state) {
    (void)state;
    char own[65], saved[65], other[65];
    dt_dataset *d = data();
    dt_strategy *s = replicas(1);
    dt_model *m = compiled(s);

    OK(dt_model_save(m, HERE "/first"));
    fit_from(s, d, NULL, 11, own);
    fit_from(s, d, HERE "/first", 12, saved);
    fit_from(s, d, NULL, 12, other);
    assert_string_equal(saved, own);
    assert_string_not_equal(saved, other);
    dt_model_unref(m);
    dt_strategy_unref(s);
    dt_dataset_unref(d);
}

static void test_what_is_no_saved_model(void **state) {
    (void)state;
    dt_strategy *s = replicas(2), *other = replicas(3);
    dt_model *m = compiled(s), *loaded = NULL;
    dt_tensor *nan = NULL;

    fails(dt_model_load(&loaded, HERE "/nowhere"), DT_E_NO_INPUT, HERE "/nowhere");
    fails(dt_model_load(&loaded, NULL), DT_E_NO_INPUT, "no");
    fails(dt_model_save(m, ""), DT_E_CANT_CREATE, "path");
    OK(dt_dir_make(HERE "/mine"));
    OK(dt_file_commit(HERE "/mine/letter", "dear", 4));
    fails(dt_model_save(m, HERE "/mine"), DT_E_CANT_CREATE, "exists and is not a checkpoint");
    fails(dt_model_save(m, HERE "/mine/letter"), DT_E_CANT_CREATE,
          "exists and is not a checkpoint");
    assert_true(is_there(HERE "/mine/letter"));
    DT_SCOPE(other)
    fails(dt_model_save(m, HERE "/scoped"), DT_E_SCOPE, "mixing different strategies");
    OK(dt_model_save(m, HERE "/cut"));
    assert_int_equal(truncate(HERE "/cut/model.safetensors", 100), 0);
    fails(dt_model_load(&loaded, HERE "/cut"), DT_E_CHECKPOINT, HERE "/cut/model.safetensors");
    assert_null(loaded);
    OK(dt_tensor_create(&nan, DT_FLOAT32, 1, (int64_t[]){3}, (const float[]){1, NAN, 2}));
    OK(dt_model_set_weight(m, "dense_1/bias", nan));
    fails(dt_model_save(m, HERE "/nan"), DT_E_CHECKPOINT_NOT_FINITE, "dense_1/bias");
    assert_false(is_there(HERE "/nan"));
    dt_tensor_unref(nan);
    dt_model_unref(m);
    dt_strategy_unref(s);
    dt_strategy_unref(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_saved_model_goes_on),
        cmocka_unit_test(test_the_state_of_any_optimizer_comes_back),
        cmocka_unit_test(test_a_model_need_not_be_compiled),
        cmocka_unit_test(test_checkpoints_of_runs_load),
        cmocka_unit_test(test_a_fit_without_files_begins_with_saved_weights),
        cmocka_unit_test(test_what_is_no_saved_model),
    };
    return cmocka_run_group_tests(tests, clean_folder, NULL);
}

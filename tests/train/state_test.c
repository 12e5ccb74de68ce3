/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that draw, and layers that remember the batches they saw: what they do must not depend on
 * how a batch divides, nor on where a run was interrupted.
 */
#define HERE "build/tmp/train-state"
#include "kit.h"

/* ---- placement ---- */

#define WORDS                                                                                      \
    "{format: synthetic, examples: 22, validation: 9, element: {words: {shape: [5], num_classes: " \
    "7}, label: {num_classes: 3}}, "                                                               \
    "global_batch_size: 8, shuffle: true}"
#define WORDS_INPUT                                                                                \
    "Input: {name: words, shape: [5], dtype: int32}, Embedding: {input_dim: 7, output_dim: 6}"
#define IMAGE_INPUT "Input: {name: image, shape: [6]}, Dense: {units: 7}"

static const struct {
    const char *name, *layers, *data;
} models[] = {
    {"normalised",
     "[" IMAGE_INPUT ", LayerNormalization, GroupNormalization: {groups: 7}, Dense: {units: 3}]",
     NULL},
    {"synchronized",
     "[" IMAGE_INPUT ", BatchNormalization: {synchronized: true}, Dense: {units: 3}]", NULL},
    {"dropping",
     "[" IMAGE_INPUT ", Dropout: {rate: 0.3}, GaussianNoise: {stddev: 0.1}, Dropout: {rate: 0.3, "
     "seed: 1}, Dense: {units: 3}]",
     NULL},
    {"embedded", "[" WORDS_INPUT ", SpatialDropout1D: {rate: 0.2}, Flatten, Dense: {units: 3}]",
     WORDS},
    {"attending",
     "[" WORDS_INPUT ", MultiHeadAttention: {num_heads: 2, key_dim: 3, dropout: 0.2, "
     "use_causal_mask: true}, Flatten, "
     "Dense: {units: 3}]",
     WORDS},
    {"recurrent",
     "[" WORDS_INPUT ", LSTM: {units: 4, return_sequences: true}, GRU: {units: 3, reset_after: "
     "false}, Dense: {units: 3}]",
     WORDS},
};
enum { MODELS = sizeof models / sizeof *models };

static void test_one_hash_whatever_the_replicas(void **state) {
    (void)state;
    static const int replicas[] = {4, 3, 8};
    for (int m = 0; m < MODELS; m++)
        for (int shards = 0; shards <= 4; shards += 4) {
            setup s = {
                .layers = models[m].layers, .data = models[m].data, .shards = shards, .seed = 5};
            outcome one = fit_well(&s);
            for (size_t i = 0; i < sizeof replicas / sizeof *replicas; i++) {
                s.replicas = replicas[i];
                outcome o = fit_well(&s);
                if (strcmp(o.sha, one.sha) != 0)
                    fail_msg("%s, %d shards: other weights on %d replicas", models[m].name, shards,
                             replicas[i]);
                outcome_free(&o);
            }
            outcome_free(&one);
        }
}

/* ---- going on ---- */

static void test_resumed_runs_end_as_whole_ones(void **state) {
    (void)state;
    static const char *const layers[] = {
        "[" IMAGE_INPUT ", BatchNormalization, Dense: {units: 3}]",
        "[" IMAGE_INPUT
        ", Dropout: {rate: 0.4}, BatchNormalization: {momentum: 0.5}, Dense: {units: 3}]",
    };
    for (int i = 0; i < 2; i++) {
        setup s = {.layers = layers[i], .replicas = 2, .directory = HERE "/whole"};
        outcome whole = fit_well(&s);
        s.directory = HERE "/parts";
        for (s.stop_at = 1; s.stop_at < 6; s.stop_at += 2) {
            outcome part = fit(&s);
            fails(part.status, DT_E_STOPPED, "state saved");
            part.status = NULL;
            outcome_free(&part);
        }
        s.stop_at = 0;
        outcome last = fit_well(&s);
        assert_true(last.resumed);
        assert_string_equal(last.sha, whole.sha);
        outcome_free(&last);
        outcome_free(&whole);
        forget(HERE "/whole");
        forget(HERE "/parts");
    }
}

/* Evaluation uses what is remembered, and changes nothing. */
static void test_evaluation_leaves_state_alone(void **state) {
    (void)state;
    const setup s = {.layers = "[" IMAGE_INPUT
                               ", Dropout: {rate: 0.5}, BatchNormalization, Dense: {units: 3}]",
                     .replicas = 2};
    char before[65];
    double loss[2];
    rig r;
    rig_make(&r, &s);
    snprintf(before, sizeof before, "%s", dt_model_weights_sha256(r.model));
    for (int i = 0; i < 2; i++) {
        dt_history *h = NULL;
        OK(dt_model_evaluate(r.model, r.data, &h));
        loss[i] = dt_history_last(h, "loss");
        dt_history_unref(h);
    }
    assert_true(loss[0] == loss[1]);
    assert_string_equal(dt_model_weights_sha256(r.model), before);
    rig_free(&r);
}

/* ---- statistics of several replicas ---- */

static void normalise(dt_trace *t, void *user) {
    dt_return(t, "y", dt_model_call(user, dt_arg(t, "x"), DT_TRAINING));
}

/* Replicas with 1, 3 and no example of one number each. */
static const float numbers[3][3] = {{5}, {1, 2, 6}};
static const int64_t rows[3] = {1, 3, 0};

static dt_values *numbers_per_replica(void) {
    dt_tensor *t[3] = {NULL};
    dt_values *v = NULL;
    for (int r = 0; r < 3; r++)
        OK(dt_tensor_create(&t[r], DT_FLOAT32, 2, (int64_t[]){rows[r], 1}, numbers[r]));
    OK(dt_values_create(&v));
    OK(dt_values_set_per_replica(v, "x", t, 3));
    for (int r = 0; r < 3; r++) dt_tensor_unref(t[r]);
    return v;
}

static float weight_of(dt_model *m, const char *path) {
    dt_tensor *t = NULL;
    OK(dt_model_get_weight(m, path, &t));
    float x = (float)dt_tensor_item(t);
    dt_tensor_unref(t);
    return x;
}

static void expect_statistics(bool synchronized, const float y[2], float mean, float variance) {
    dt_strategy *s = strategy_of(&(setup){.replicas = 3});
    dt_function *f = NULL;
    dt_model *m = NULL;
    dt_values *x = numbers_per_replica(), *results = NULL;
    DT_SCOPE(s)
    OK(dt_model_create(&m,
                       "[Input: {shape: [1]}, BatchNormalization: {name: n, momentum: 0.9, "
                       "epsilon: 0, synchronized: %s}]",
                       synchronized ? "true" : "false"));
    OK(dt_function_create(&f, normalise, m));
    OK(dt_strategy_run(s, f, x, &results));
    assert_float_equal(((const float *)dt_tensor_data(dt_values_local(results, "y", 1)))[0], y[0],
                       1e-5);
    assert_float_equal(((const float *)dt_tensor_data(dt_values_local(results, "y", 1)))[2], y[1],
                       1e-5);
    assert_float_equal(weight_of(m, "n/moving_mean"), mean, 1e-6);
    assert_float_equal(weight_of(m, "n/moving_variance"), variance, 1e-6);
    dt_values_unref(results);
    dt_values_unref(x);
    dt_function_unref(f);
    dt_model_unref(m);
    dt_strategy_unref(s);
}

/* Replica 1 has mean 3 and variance 14/3, replica 0 mean 5 and variance 0; all four have mean 3.5
 * and variance 17/4. A replica's statistics move the common ones by its share of the examples. */
static void test_statistics_weigh_examples(void **state) {
    (void)state;
    const float own = sqrtf(14.0f / 3), all = sqrtf(17.0f / 4);
    expect_statistics(false, (float[]){-2 / own, 3 / own}, 0.1f * (5 * 1 + 3 * 3) / 4,
                      0.9f + 0.1f * (14.0f / 3 * 3) / 4);
    expect_statistics(true, (float[]){-2.5f / all, 2.5f / all}, 0.1f * 3.5f, 0.9f + 0.1f * 17 / 4);
}

/* ---- rows that are not there ---- */

static dt_values *words_per_replica(const int32_t words[2][2]) {
    dt_tensor *t[2] = {NULL};
    dt_values *v = NULL;
    for (int r = 0; r < 2; r++)
        OK(dt_tensor_create(&t[r], DT_INT32, 2, (int64_t[]){1, 2}, words[r]));
    OK(dt_values_create(&v));
    OK(dt_values_set_per_replica(v, "x", t, 2));
    for (int r = 0; r < 2; r++) dt_tensor_unref(t[r]);
    return v;
}

/* Negative numbers count from the end; others that have no row are told with their place in the
 * global batch. */
static void test_row_numbers_out_of_range(void **state) {
    (void)state;
    static const struct {
        int32_t words[2][2];
        const char *error;
    } cases[] = {
        {{{0, 4}, {-1, -5}}, NULL},
        {{{0, 4}, {3, 5}}, "row number 5 at [1, 1] is not in [0, 5)"},
        {{{0, -6}, {3, 1}}, "row number -1 at [0, 1] is not in [0, 5)"},
    };
    dt_strategy *s = strategy_of(&(setup){.replicas = 2});
    dt_function *f = NULL;
    dt_model *m = NULL;
    DT_SCOPE(s)
    OK(dt_model_create(
        &m, "[Input: {shape: [2], dtype: int32}, Embedding: {input_dim: 5, output_dim: 3}]"));
    OK(dt_function_create(&f, normalise, m));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_values *x = words_per_replica(cases[i].words), *results = NULL;
        dt_status *bad = dt_strategy_run(s, f, x, &results);
        if (cases[i].error) fails(bad, DT_E_ROW_NUMBER, cases[i].error);
        else OK(bad);
        dt_values_unref(results);
        dt_values_unref(x);
    }
    dt_function_unref(f);
    dt_model_unref(m);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_hash_whatever_the_replicas),
        cmocka_unit_test(test_resumed_runs_end_as_whole_ones),
        cmocka_unit_test(test_evaluation_leaves_state_alone),
        cmocka_unit_test(test_statistics_weigh_examples),
        cmocka_unit_test(test_row_numbers_out_of_range),
    };
    return cmocka_run_group_tests_name("train state", tests, clean_folder, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fewer digits in a run: one hash wherever it is computed, resumed to the bit with its loss scale,
 * gradients that overflow left out. What the numbers are is held against Keras in
 * tests/conformance/mixed_precision.c.
 */
#define HERE "build/tmp/train-precision"
#include "kit.h"

#define DATA                                                                                       \
    "{format: synthetic, examples: 90, validation: 20, element: {image: {shape: [8, 6]}, label: "  \
    "{num_classes: 5}}, global_batch_size: 32, shuffle: true}"
#define LAYERS                                                                                     \
    "[Input: {name: image, shape: [8, 6]}, Conv1D: {filters: 8, kernel_size: 3}, "                 \
    "BatchNormalization: {synchronized: true}, ReLU: {}, "                                         \
    "LSTM: {units: 6, return_sequences: true}, TransformerEncoder: {intermediate_dim: 12, "        \
    "num_heads: 2, dropout: 0.1}, Flatten: {}, "                                                   \
    "Dropout: {rate: 0.2}, Dense: {units: 5}]"
#define COMPILE(rest)                                                                              \
    "{optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: "            \
    "{from_logits: true}}, metrics: [accuracy], " rest "}"

static const char *const policies[] = {
    COMPILE("precision: mixed_bfloat16"),
    COMPILE("precision: mixed_float16"),
    COMPILE("precision: mixed_float16, loss_scale: {initial_scale: 1e9, dynamic_growth_steps: 2}"),
    COMPILE("precision: mixed_float16, loss_scale: 256"),
};
enum { POLICIES = sizeof policies / sizeof *policies };

static setup job(int policy) {
    return (setup){.layers = LAYERS,
                   .data = DATA,
                   .compile = policies[policy],
                   .fit = "{epochs: 2}",
                   .seed = 5};
}

static void test_one_hash(void **state) {
    (void)state;
    static const setup placements[] = {{.replicas = 1, .threads = 1},
                                       {.replicas = 3, .threads = 2},
                                       {.replicas = 64, .threads = 3},
                                       {.slice = "sim:v3-8", .threads = 2}};
    char sha[65] = "", last[65] = "";
    for (int i = 0; i < POLICIES * 2; i++) {
        setup s = job(i / 2);
        s.shards = i % 2 ? 4 : 0;
        for (size_t k = 0; k < sizeof placements / sizeof *placements; k++) {
            s.replicas = placements[k].replicas;
            s.slice = placements[k].slice;
            s.threads = placements[k].threads;
            outcome o = fit_well(&s);
            if (k == 0) snprintf(sha, sizeof sha, "%s", o.sha);
            if (strcmp(o.sha, sha) != 0)
                fail_msg("%s, %d shards, placement %zu: other bits", s.compile, s.shards, k);
            outcome_free(&o);
        }
        assert_string_not_equal(sha, last); /* policies are no names for one thing */
        snprintf(last, sizeof last, "%s", sha);
    }
}

static void test_goes_on_to_the_bit(void **state) {
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        setup s = job(i);
        outcome whole = fit_well(&s);
        for (int64_t step = 1; step <= 5; step += 2) {
            s.directory = HERE "/run";
            s.stop_at = step;
            outcome stopped = fit(&s);
            fails(stopped.status, DT_E_STOPPED, "state saved");
            stopped.status = NULL;
            s.stop_at = 0;
            outcome o = fit_well(&s);
            assert_int_equal(o.resumed, true);
            assert_string_equal(o.sha, whole.sha);
            outcome_free(&o);
            outcome_free(&stopped);
            assert_int_equal(system("rm -rf " HERE "/run"), 0);
        }
        outcome_free(&whole);
    }
}

static double slot(const rig *r, const char *name) {
    dt_tensor *t = NULL;
    OK(dt_optimizer_get_slot(r->model->optimizer, name, &t));
    const void *x = dt_tensor_data(t);
    double value =
        dt_tensor_dtype(t) == DT_INT64 ? (double)*(const int64_t *)x : (double)*(const float *)x;
    dt_tensor_unref(t);
    return value;
}

/* The scale, the steps counted towards its doubling and the updates after a run of some steps. */
static void test_scale_moves(void **state) {
    (void)state;
    static const struct {
        const char *scale, *fit;
        double ought[3];
    } rows[] = {
        {"1024, dynamic_growth_steps: 2", "{steps: 5}", {4096, 1, 5}},
        {"1024, dynamic_growth_steps: 1", "{steps: 3}", {8192, 0, 3}},
        /* overflows each time: halved, left out */
        {"1e30, dynamic_growth_steps: 9", "{steps: 3}", {1.25e29, 0, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char compile[512];
        snprintf(compile, sizeof compile,
                 COMPILE("precision: mixed_float16, loss_scale: {initial_scale: %s}"),
                 rows[i].scale);
        const setup s = {.compile = compile, .fit = rows[i].fit, .seed = 3};
        outcome o = {0};
        rig r;
        rig_make(&r, &s);
        char before[65];
        snprintf(before, sizeof before, "%s", dt_model_weights_sha256(r.model));
        OK(rig_trainer(&r, &s));
        OK(rig_fit(&r, &s, &o));
        assert_float_equal(slot(&r, "dynamic_scale") / rows[i].ought[0], 1, 1e-6);
        assert_float_equal(slot(&r, "step_counter"), rows[i].ought[1], 0);
        assert_float_equal(slot(&r, "iteration"), rows[i].ought[2], 0);
        assert_int_equal(strcmp(before, dt_model_weights_sha256(r.model)) == 0,
                         rows[i].ought[2] == 0);
        outcome_free(&o);
        rig_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_hash),
        cmocka_unit_test(test_goes_on_to_the_bit),
        cmocka_unit_test(test_scale_moves),
    };
    return cmocka_run_group_tests_name("train/precision", tests, clean_folder, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit.gradient_accumulation_steps: k batches make the update of one that has all their examples,
 * also in the last window of an epoch, which has fewer batches, one of them partial; and a run goes
 * on within a window.
 */
#define HERE "build/tmp/train-accumulate"
#include "kit.h"

#define LAYERS                                                                                     \
    "[Input: {name: image, shape: [6]}, Dense: {units: 7, activation: tanh}, Dense: {units: 3}]"
#define DATA(batch)                                                                                \
    "{format: synthetic, examples: 90, element: {image: {shape: [6]}, label: {num_classes: 3}}, "  \
    "global_batch_size: " batch ", shuffle: true}"
#define LOSS ", loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]"

/* Schedules and moments count updates, clipping sees whole gradients. */
static const char *const compiles[] = {
    "{optimizer: {Adam: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.05, "
    "decay_steps: 2, decay_rate: 0.7}}, global_clipnorm: 0.3}}" LOSS "}",
    "{optimizer: {SGD: {learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01, use_ema: true, "
    "ema_overwrite_frequency: 2}}" LOSS "}",
    "{optimizer: {RMSprop: {learning_rate: 0.01, clipnorm: 0.1}}" LOSS
    ", precision: mixed_float16}",
};
enum { COMPILES = sizeof compiles / sizeof *compiles };

/* 12 batches of 8, the last of 2: windows of 32, 32 and 26 examples, as batches of 32 are. */
static setup job(int i, bool accumulates) {
    return (setup){.layers = LAYERS,
                   .compile = compiles[i],
                   .data = accumulates ? DATA("8") : DATA("32"),
                   .seed = 4,
                   .no_history = true,
                   .fit =
                       accumulates ? "{epochs: 3, gradient_accumulation_steps: 4}" : "{epochs: 3}"};
}

static void run(rig *r, const setup *s) {
    outcome o = {0};
    rig_make(r, s);
    OK(rig_trainer(r, s));
    OK(rig_fit(r, s, &o));
    outcome_free(&o);
}

static void expect_near(const dt_variable *is, const dt_variable *ought, double tolerance) {
    const float *x = is->host_data, *y = ought->host_data;
    assert_string_equal(is->path, ought->path);
    for (int64_t i = 0; i < dt_type_elements(&ought->type); i++)
        if (fabs((double)(x[i] - y[i])) > tolerance)
            fail_msg("%s[%d]: %.9g, the full batch makes it %.9g", ought->path, (int)i,
                     (double)x[i], (double)y[i]);
}

static void test_equals_the_full_batch(void **state) {
    (void)state;
    for (int i = 0; i < COMPILES; i++) {
        const setup parts = job(i, true), full = job(i, false);
        rig a, b;
        run(&a, &parts);
        run(&b, &full);
        for (int k = 0; k < b.model->n_weights; k++)
            /* float16's gradients are rounded batch by batch */
            expect_near(a.model->weight[k], b.model->weight[k], i == 2 ? 5e-3 : 2e-5);
        assert_int_equal(*(const int64_t *)a.model->optimizer->iteration->host_data, 9);
        assert_float_equal(*(const float *)a.model->optimizer->examples->host_data, 0, 0);
        rig_free(&a);
        rig_free(&b);
    }
}

static void test_goes_on_within_a_window(void **state) {
    (void)state;
    for (int i = 0; i < COMPILES; i++) {
        setup s = job(i, true);
        outcome whole = fit_well(&s);
        for (int64_t step = 1; step <= 14; step += 4) {
            s.directory = HERE "/run";
            s.replicas = 1;
            s.stop_at = step;
            outcome stopped = fit(&s);
            fails(stopped.status, DT_E_STOPPED, "state saved");
            stopped.status = NULL;
            s.stop_at = 0;
            s.replicas = 3;
            outcome o = fit_well(&s);
            assert_string_equal(o.sha, whole.sha);
            outcome_free(&o);
            outcome_free(&stopped);
            assert_int_equal(system("rm -rf " HERE "/run"), 0);
        }
        outcome_free(&whole);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_the_full_batch),
        cmocka_unit_test(test_goes_on_within_a_window),
    };
    return cmocka_run_group_tests_name("train/accumulate", tests, clean_folder, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One model, three ways: a custom loop trains it as fit does where batches divide evenly, and
 * predict gives the outputs that evaluate judges.
 */
#define HERE "build/tmp/train-custom-loop"
#include "custom_kit.h"

static dt_dataset *data(const char *keys) {
    dt_dataset *d = NULL;
    OK(dt_dataset_open(
        &d, "{format: synthetic, element: {image: {shape: [6]}, label: {num_classes: 3}}, %s}",
        keys));
    return d;
}

/* ---- training ---- */

static void train_step(dt_trace *t, void *user) {
    const loop *my = user;
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "label"),
                                 dt_model_call(my->model, dt_arg(t, "image"), DT_TRAINING));
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "loss", loss);
}

static void train_by_hand(dt_strategy *s, loop *my, dt_dataset *d, int epochs) {
    dt_dist_dataset *batches = NULL;
    dt_function *step = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL;

    OK(dt_strategy_distribute_dataset(s, d, NULL, &batches));
    OK(dt_function_create(&step, train_step, my));
    for (int i = 0; i < epochs; i++) {
        OK(dt_iterator_create(&it, batches));
        for (OK(dt_iterator_next(it, &batch)); batch; OK(dt_iterator_next(it, &batch)))
            OK(dt_strategy_run(s, step, batch, NULL));
    }
    dt_iterator_unref(it);
    dt_function_unref(step);
    dt_dist_dataset_unref(batches);
}

static void expect_same_weights(dt_model *a, dt_model *b) {
    for (int i = 0; i < a->n_weights; i++)
        for (int64_t k = 0; k < dt_type_elements(&a->weight[i]->type); k++) {
            double x = (double)((const float *)a->weight[i]->host_data)[k],
                   y = (double)((const float *)b->weight[i]->host_data)[k];
            if (fabs(x - y) > 1e-6)
                fail_msg("%s[%lld]: %.9g by fit, %.9g by hand", a->weight[i]->path, (long long)k, x,
                         y);
        }
}

static void test_a_custom_loop_trains_as_fit_does(void **state) {
    (void)state;
    static const struct {
        const char *optimizer, *loss;
        const char *head;
    } rows[] = {
        {"Adam: {learning_rate: 0.02}", "SparseCategoricalCrossentropy: {from_logits: true}",
         "linear"},
        {"SGD: {learning_rate: 0.1, momentum: 0.9}", "SparseCategoricalCrossentropy", "softmax"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int n = 1; n <= 4; n *= 2) {
            char layers[200];
            dt_strategy *s = strategy_of(&(setup){.replicas = n});
            dt_dataset *d = data("examples: 24, global_batch_size: 8, shuffle: true");
            loop my = {0};

            snprintf(layers, sizeof layers,
                     "[Input: {name: image, shape: [6]}, Dense: {units: 7, activation: relu}, "
                     "Dense: {units: 3, activation: %s}]",
                     rows[i].head);
            dt_model *fitted = model_in(s, layers);
            my.model = model_in(s, layers);
            OK(dt_loss_create(&my.loss, "%s", rows[i].loss));
            OK(dt_optimizer_create(&my.optimizer, "%s", rows[i].optimizer));
            OK(dt_model_compile(fitted, "{optimizer: {%s}, loss: {%s%s}}", rows[i].optimizer,
                                rows[i].loss, i ? ": {}" : ""));
            OK(dt_model_fit(fitted, d, NULL, "{epochs: 3}"));
            train_by_hand(s, &my, d, 3);
            expect_same_weights(fitted, my.model);
            dt_optimizer_unref(my.optimizer);
            dt_loss_unref(my.loss);
            dt_model_unref(my.model);
            dt_model_unref(fitted);
            dt_dataset_unref(d);
            dt_strategy_unref(s);
        }
}

/* ---- predicting ---- */

/* The mean squared error that evaluate tells is that of the predictions, for any number of replicas
 * and whatever batch is last. */
static void test_predictions_are_what_evaluate_judges(void **state) {
    (void)state;
    static const char *const keys[] = {
        "examples: 22, global_batch_size: 8, shuffle: true, map: {label: [one_hot: 3]}",
        ("examples: 22, global_batch_size: 22, last_batch: drop_remainder, "
         "map: {label: [one_hot: 3]}"),
        "examples: 5, global_batch_size: 8, last_batch: pad, map: {label: [one_hot: 3]}",
        "examples: 30, validation: 9, per_replica_batch_size: 2, map: {label: [one_hot: 3]}",
    };
    static const int rows[] = {22, 22, 5, 9};

    for (int k = 0; k < 4; k++) {
        dt_tensor *first = NULL, *p = NULL;
        for (int n = 1; n <= 3; n++) {
            dt_strategy *s = strategy_of(&(setup){.replicas = n});
            dt_model *m = model_in(s, KIT_LAYERS);
            dt_dataset *d = data(keys[k]);
            dt_history *h = NULL;
            dt_iterator *feed = NULL;
            dt_example b;
            double sum = 0;

            OK(dt_model_compile(m, "{optimizer: SGD, loss: MeanSquaredError}"));
            OK(dt_model_evaluate(m, d, &h));
            OK(dt_model_predict(m, d, &p));
            assert_int_equal(dt_tensor_rank(p), 2);
            assert_int_equal(dt_tensor_dim(p, 0), rows[k]);
            assert_int_equal(dt_tensor_dim(p, 1), 3);
            OK(dt_iterator_open_batches(
                &feed, d,
                &(dt_batch_options){.part = k == 3 ? DT_PART_VALIDATION : DT_PART_TRAIN,
                                    .batch = rows[k]}));
            OK(dt_iterator_next_batch(feed, &b));
            for (int i = 0; i < rows[k] * 3; i++) {
                double e = (double)((const float *)dt_tensor_data(p))[i] -
                           (double)((const float *)b.tensor[dt_dataset_find(d, "label")]->data)[i];
                sum += e * e / (rows[k] * 3);
            }
            assert_true(fabs(sum - dt_history_last(h, "loss")) < 1e-6 * sum);
            if (!first) OK(dt_model_predict(m, d, &first));
            assert_memory_equal(dt_tensor_data(first), dt_tensor_data(p), (size_t)rows[k] * 3 * 4);
            dt_iterator_close(feed);
            dt_history_unref(h);
            dt_dataset_unref(d);
            dt_model_unref(m);
            dt_strategy_unref(s);
        }
        dt_tensor_unref(first);
        dt_tensor_unref(p);
    }
}

static void test_predict_wants_the_input(void **state) {
    (void)state;
    dt_strategy *s = strategy_of(&(setup){.replicas = 2});
    dt_model *m = model_in(s, "[Input: {name: picture, shape: [6]}, Dense: {units: 2}]");
    dt_model *wide = model_in(s, "[Input: {name: image, shape: [7]}, Dense: {units: 2}]");
    dt_dataset *d = data("examples: 5, global_batch_size: 2");
    dt_tensor *p = NULL;

    fails(dt_model_predict(m, d, &p), DT_E_ELEMENTS, "no element 'picture'");
    fails(dt_model_predict(wide, d, &p), DT_E_ELEMENTS, "the model takes 'image' as (B, 7)");
    assert_null(p);
    dt_dataset_unref(d);
    dt_model_unref(m);
    dt_model_unref(wide);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_custom_loop_trains_as_fit_does),
        cmocka_unit_test(test_predictions_are_what_evaluate_judges),
        cmocka_unit_test(test_predict_wants_the_input),
    };
    return cmocka_run_group_tests(tests, clean_folder, NULL);
}

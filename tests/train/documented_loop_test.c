/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training loop that TensorFlow documents, and losses on two replicas, recorded in
 * tests/golden/train_mlp.json and done again through the public API.
 */
#define HERE "build/tmp/train-documented-loop"
#include "golden_kit.h"

/* ---- the documented loop ---- */

/* Losses and gradients are summed over replicas, not scaled: the loop's loss knows nothing of a
 * strategy. */
static void documented_step(dt_trace *t, void *user) {
    network *n = user;
    dt_value logits = dt_model_call(n->model, dt_arg(t, "features"), DT_TRAINING);
    dt_value loss = dt_multiply(dt_loss_call(n->loss, dt_arg(t, "labels"), logits),
                                dt_constant(t, n->replicas));

    dt_optimizer_apply(n->optimizer, dt_gradient(loss, dt_model_trainable(n->model)));
    dt_return(t, "loss", loss);
}

static dt_tensor *recorded_rows(const json_t *tensor, int64_t first, int64_t n, dt_dtype dtype) {
    const json_t *shape = json_object_get(tensor, "shape"), *data = json_object_get(tensor, "data");
    int64_t dim[2] = {n, json_integer_value(json_array_get(shape, 1))};
    int rank = (int)json_array_size(shape);
    dt_tensor *t = NULL;

    OK(dt_tensor_create(&t, dtype, rank, dim, NULL));
    int64_t each = rank == 2 ? dim[1] : 1;
    for (int64_t i = 0; i < n * each; i++)
        put((void *)(uintptr_t)dt_tensor_data(t), dtype, i, number_at(data, first * each + i));
    return t;
}

static void set_recorded(dt_model *m, const char *path, const json_t *tensor) {
    dt_tensor *t = recorded_rows(
        tensor, 0, json_integer_value(json_array_get(json_object_get(tensor, "shape"), 0)),
        DT_FLOAT32);
    OK(dt_model_set_weight(m, path, t));
    dt_tensor_unref(t);
}

static void check_recorded(const char *id, dt_model *m, const char *path, const json_t *tensor) {
    dt_tensor *t = NULL;

    OK(dt_model_get_weight(m, path, &t));
    for (int64_t i = 0; i < dt_tensor_elements(t); i++)
        near(id, path, element(t, i), number_at(json_object_get(tensor, "data"), i), 1e-5, 1e-6);
    dt_tensor_unref(t);
}

/* The data set repeats two rows for ever; each replica takes the next one. */
static dt_values *next_rows(const json_t *inputs, int replicas, int64_t *taken) {
    dt_tensor *features[8], *labels[8];
    dt_values *v = NULL;

    OK(dt_values_create(&v));
    for (int r = 0; r < replicas; r++, ++*taken) {
        features[r] = recorded_rows(json_object_get(inputs, "x"), *taken % 2, 1, DT_FLOAT32);
        labels[r] = recorded_rows(json_object_get(inputs, "y"), *taken % 2, 1, DT_INT32);
    }
    OK(dt_values_set_per_replica(v, "features", features, replicas));
    OK(dt_values_set_per_replica(v, "labels", labels, replicas));
    for (int r = 0; r < replicas; r++) {
        dt_tensor_unref(features[r]);
        dt_tensor_unref(labels[r]);
    }
    return v;
}

static void run_documented(const json_t *c) {
    const json_t *out = json_object_get(c, "out"), *inputs = json_object_get(out, "inputs"),
                 *steps = json_object_get(out, "steps"), *step;
    const char *id = text_at(c, "id");
    network n = {.replicas = (int)json_integer_value(
                     json_object_get(json_object_get(c, "in"), "num_replicas"))};
    dt_function *f = NULL;
    dt_values *r = NULL;
    int64_t taken = 0;
    size_t i;

    n.strategy = n.replicas == 8 ? strategy_of(&(setup){.slice = "sim:v3-8"})
                                 : strategy_of(&(setup){.replicas = n.replicas});
    DT_SCOPE(n.strategy) {
        OK(dt_model_create(&n.model, "[Input: {shape: [5]}, Dense: {units: 2}]"));
        OK(dt_optimizer_create(&n.optimizer, "SGD: {learning_rate: 0.1}"));
        OK(dt_loss_create(&n.loss, "SparseCategoricalCrossentropy"));
    }
    set_recorded(n.model, "dense/kernel", json_object_get(inputs, "kernel"));
    set_recorded(n.model, "dense/bias", json_object_get(inputs, "bias"));
    OK(dt_function_create(&f, documented_step, &n));
    json_array_foreach((json_t *)(uintptr_t)steps, i, step) {
        dt_values *args = next_rows(inputs, n.replicas, &taken);
        OK(dt_strategy_run(n.strategy, f, args, &r));
        for (int k = 0; k < n.replicas; k++)
            near(id, "loss", dt_tensor_item(dt_values_local(r, "loss", k)),
                 number_at(json_object_get(
                               json_array_get(json_object_get(step, "per_replica_loss"), (size_t)k),
                               "data"),
                           0),
                 1e-5, 1e-6);
        check_recorded(id, n.model, "dense/kernel", json_object_get(step, "kernel"));
        check_recorded(id, n.model, "dense/bias", json_object_get(step, "bias"));
        dt_values_unref(args);
    }
    dt_values_unref(r);
    dt_function_unref(f);
    network_free(&n);
}

static void test_documented_loop(void **state) {
    (void)state;
    for_each_case("doc_training_loop", run_documented);
}

/* ---- scaling of losses, metrics over replicas ---- */

static void loss_step(dt_trace *t, void *user) {
    network *n = user;
    dt_return(t, "loss", dt_loss_call(n->loss, dt_arg(t, "y"), dt_arg(t, "p")));
}

static void run_scaling(const json_t *c) {
    const json_t *p = json_object_get(json_object_get(c, "out"), "y_pred_by_replica"), *reductions;
    network n = {.strategy = strategy_of(&(setup){.replicas = 2}), .replicas = 2};
    dt_tensor *prediction[2] = {NULL, NULL}, *zero[2] = {NULL, NULL};
    dt_function *f = NULL;
    dt_values *args = NULL, *r = NULL;

    /* the default */
    reductions = json_object_get(json_object_get(json_object_get(c, "out"), "loss_by_reduction"),
                                 "sum_over_batch_size");
    OK(dt_values_create(&args));
    for (int i = 0; i < 2; i++) {
        OK(dt_tensor_create(&prediction[i], DT_FLOAT32, 2, (int64_t[]){1, 2}, NULL));
        OK(dt_tensor_create(&zero[i], DT_FLOAT32, 2, (int64_t[]){1, 2}, NULL));
        for (int k = 0; k < 2; k++)
            put((void *)(uintptr_t)dt_tensor_data(prediction[i]), DT_FLOAT32, k,
                number_at(json_array_get(p, (size_t)i), k));
    }
    OK(dt_values_set_per_replica(args, "p", prediction, 2));
    OK(dt_values_set_per_replica(args, "y", zero, 2));
    OK(dt_loss_create(&n.loss, "MeanSquaredError"));
    OK(dt_function_create(&f, loss_step, &n));
    OK(dt_strategy_run(n.strategy, f, args, &r));
    for (int i = 0; i < 2; i++) {
        near(text_at(c, "id"), "loss", dt_tensor_item(dt_values_local(r, "loss", i)),
             number_at(json_object_get(json_array_get(reductions, (size_t)i), "data"), 0), 1e-6, 0);
        dt_tensor_unref(prediction[i]);
        dt_tensor_unref(zero[i]);
    }
    dt_values_unref(args);
    dt_values_unref(r);
    dt_function_unref(f);
    network_free(&n);
}

static void test_loss_scaling(void **state) {
    (void)state;
    for_each_case("loss_scaling", run_scaling);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented_loop),
        cmocka_unit_test(test_loss_scaling),
    };
    return cmocka_run_group_tests_name("train/documented_loop", tests, clean_folder, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit.class_weight. With `mean_with_sample_weight` an example counts as often as its class says: a
 * class of weight 2 is as if each of its examples were there twice, and one of weight 0 as if it
 * were not. By default the weighted sum is divided by the number of examples, as in Keras.
 */
#define HERE "build/tmp/train-class-weight"
#include "kit.h"

enum { ROWS = 12, FEATURES = 4, CLASSES = 3 };
#define LAYERS                                                                                     \
    "[Input: {name: x, shape: [4]}, Dense: {units: 5, activation: tanh}, Dense: {units: 3}]"

static int label_of(int i) { return (i * 5 + 1) % CLASSES; }

/* Every example so often as `times` of its class says. */
static dt_dataset *data_of(const int times[CLASSES], bool one_hot) {
    float x[ROWS * CLASSES * FEATURES], hot[ROWS * CLASSES * CLASSES] = {0};
    int32_t y[ROWS * CLASSES];
    int64_t n = 0;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < times[label_of(i)]; k++, n++) {
            for (int j = 0; j < FEATURES; j++)
                x[n * FEATURES + j] = sinf((float)(7 * i + 3 * j + 1));
            y[n] = label_of(i);
            hot[n * CLASSES + y[n]] = 1;
        }
    dt_values *values = NULL;
    dt_tensor *inputs = NULL, *targets = NULL;
    dt_dataset *data = NULL;
    OK(dt_values_create(&values));
    OK(dt_tensor_create(&inputs, DT_FLOAT32, 2, (int64_t[]){n, FEATURES}, x));
    OK(dt_tensor_create(&targets, one_hot ? DT_FLOAT32 : DT_INT32, one_hot ? 2 : 1,
                        (int64_t[]){n, CLASSES}, one_hot ? (const void *)hot : y));
    OK(dt_values_set(values, "x", inputs));
    OK(dt_values_set(values, "y", targets));
    OK(dt_dataset_from_values(&data, values, "{global_batch_size: 64}"));
    dt_values_unref(values);
    dt_tensor_unref(inputs);
    dt_tensor_unref(targets);
    return data;
}

static dt_model *model_of(int replicas, bool one_hot, const char *reduction) {
    dt_strategy *s = strategy_of(&(setup){.replicas = replicas});
    dt_model *m = NULL;
    DT_SCOPE(s) {
        OK(dt_model_create(&m, LAYERS));
        OK(dt_model_seed(m, 9));
        OK(dt_model_compile(m,
                            "{optimizer: {SGD: {learning_rate: 0.2}}, loss: {%s: {from_logits: "
                            "true%s}}, metrics: [accuracy]}",
                            one_hot ? "CategoricalCrossentropy" : "SparseCategoricalCrossentropy",
                            reduction));
    }
    dt_strategy_unref(s);
    return m;
}

static double fit_loss(dt_model *m, dt_dataset *d, const char *fit) {
    dt_history *h = NULL;
    OK(dt_model_fit(m, d, &h, "%s", fit));
    double loss = dt_history_last(h, "loss");
    dt_history_unref(h);
    return loss;
}

static void test_counts_as_often(void **state) {
    (void)state;
    static const struct {
        const char *fit;
        int times[CLASSES];
    } rows[] = {
        {"{epochs: 3, class_weight: {1: 2}}", {1, 2, 1}},
        {"{epochs: 3, class_weight: {0: 3, 1: 0}}", {3, 0, 1}},
        {"{epochs: 3, class_weight: {}}", {1, 1, 1}},
        /* shares alone count */
        {"{epochs: 3, class_weight: {0: 0.5, 1: 0.5, 2: 0.5}}", {1, 1, 1}},
    };
    static const int once[CLASSES] = {1, 1, 1};
    for (size_t i = 0; i < 4 * sizeof rows / sizeof *rows; i++) {
        bool one_hot = i % 2, parts = i / 2 % 2;
        const size_t k = i / 4;
        dt_model *weighted =
                     model_of(parts ? 5 : 1, one_hot, ", reduction: mean_with_sample_weight"),
                 *repeated = model_of(1, one_hot, "");
        dt_dataset *d = data_of(once, one_hot), *more = data_of(rows[k].times, one_hot);
        double is = fit_loss(weighted, d, rows[k].fit),
               ought = fit_loss(repeated, more, "{epochs: 3}");
        if (!(fabs(is - ought) < 1e-5))
            fail_msg("%s: loss %.9g, of data repeated %.9g", rows[k].fit, is, ought);
        for (int w = 0; w < repeated->n_weights; w++)
            for (int64_t j = 0; j < dt_type_elements(&repeated->weight[w]->type); j++)
                assert_float_equal(((const float *)weighted->weight[w]->host_data)[j],
                                   ((const float *)repeated->weight[w]->host_data)[j], 1e-5);
        dt_dataset_unref(d);
        dt_dataset_unref(more);
        dt_model_unref(weighted);
        dt_model_unref(repeated);
    }
}

/* Weights of 0.5 halve the loss: it is divided by how many examples there are, not by what they
 * count. */
static void test_default_divides_by_examples(void **state) {
    (void)state;
    static const int once[CLASSES] = {1, 1, 1};
    static const char *const written[] = {"", ", reduction: sum_over_batch_size",
                                          ", reduction: mean"};
    char sha[65] = "";
    for (int i = 0; i < 4 * 3; i++) {
        dt_model *m = model_of(1 + i / 3, false, written[i % 3]);
        dt_dataset *d = data_of(once, false);
        double loss = fit_loss(m, d, "{epochs: 1, class_weight: {0: 0.5, 1: 0.5, 2: 0.5}}");
        if (i > 0 && strcmp(sha, dt_model_weights_sha256(m)) != 0)
            fail_msg("%d replicas, '%s': other weights than by default on one replica", 1 + i / 3,
                     written[i % 3]);
        snprintf(sha, sizeof sha, "%s", dt_model_weights_sha256(m));
        dt_model *same = model_of(1, false, "");
        double plain = fit_loss(same, d, "{epochs: 1}");
        assert_float_equal(loss, plain / 2, 1e-6);
        dt_dataset_unref(d);
        dt_model_unref(same);
        dt_model_unref(m);
    }
}

static void test_nothing_counts(void **state) {
    (void)state;
    static const int once[CLASSES] = {1, 1, 1};
    for (int hot = 0; hot < 2; hot++) {
        dt_model *m = model_of(2, hot, "");
        dt_dataset *d = data_of(once, hot);
        fails(dt_model_fit(m, d, NULL, "{epochs: 2, class_weight: {0: 0, 1: 0, 2: 0}}"),
              DT_E_LABELS, "class_weight leaves nothing to train on");
        dt_dataset_unref(d);
        dt_model_unref(m);
    }
}

/* Examples in memory have no names of classes. */
static void test_no_names(void **state) {
    (void)state;
    static const int once[CLASSES] = {1, 1, 1};
    dt_model *m = model_of(1, false, "");
    dt_dataset *d = data_of(once, false);
    fails(dt_model_fit(m, d, NULL, "{epochs: 1, class_weight: {0: 1, cat: 2}}"), DT_E_LABELS,
          "class_weight names 'cat', but the classes of");
    dt_dataset_unref(d);
    dt_model_unref(m);
}

static void test_faults(void **state) {
    (void)state;
    static const struct {
        const char *text;
        dt_error id;
        const char *part;
    } rows[] = {
        {"{epochs: 1, class_weight: {a: b}}", DT_E_WRONG_TYPE, "expected a number"},
        {"{epochs: 1, class_weight: {-1: 1}}", DT_E_RANGE, "class"},
        {"{epochs: 1, class_weight: {1: -2}}", DT_E_RANGE,
         "the weight of class 1 must not be negative, got -2"},
        {"{epochs: 1, class_weight: [1, 2]}", DT_E_WRONG_TYPE,
         "class_weight: expected a mapping or balanced, got a list"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_location at = {0};
        dt_fit_spec fit;
        fails(dt_fit_read(arena, parse(arena, "fit", rows[i].text), &at, &fit), rows[i].id,
              rows[i].part);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_as_often), cmocka_unit_test(test_default_divides_by_examples),
        cmocka_unit_test(test_nothing_counts),  cmocka_unit_test(test_no_names),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests_name("train/class_weight", tests, clean_folder, NULL);
}

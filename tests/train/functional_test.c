/* SPDX-License-Identifier: Apache-2.0 */
/* Models of several inputs as handles: saved and loaded they go on as they were, and a loop by hand
 * trains them as fit does. */
#define HERE "build/tmp/train-functional"
#include "kit.h"

#define MODEL                                                                                      \
    "{type: functional, layers: [Input: {name: a, shape: [4]}, Dense: {name: x, units: 5}, "       \
    "Input: {name: b, shape: [3]}, "                                                               \
    "Dense: {name: y, units: 5, activation: tanh}, Add: {inputs: [x, y]}, BatchNormalization: "    \
    "{synchronized: true}, "                                                                       \
    "Concatenate: {inputs: [batch_normalization, b]}, Dense: {units: 3}]}"

static dt_dataset *data(int examples) {
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d,
                       "{format: synthetic, examples: %d, element: {b: {shape: [3]}, label: "
                       "{num_classes: 3}, a: {shape: [4]}}, "
                       "global_batch_size: 8}",
                       examples));
    return d;
}

static dt_model *compiled(dt_strategy *s) {
    dt_model *m = NULL;
    DT_SCOPE(s) {
        OK(dt_model_create(&m, MODEL));
        OK(dt_model_seed(m, 7));
        OK(dt_model_compile(m, KIT_COMPILE));
    }
    return m;
}

static void test_a_saved_model_goes_on(void **state) {
    (void)state;
    dt_strategy *two = strategy_of(&(setup){.replicas = 2}),
                *three = strategy_of(&(setup){.replicas = 3});
    dt_dataset *d = data(22);
    dt_model *m = compiled(two), *loaded = NULL;
    dt_tensor *y[2] = {NULL};

    OK(dt_model_fit(m, d, NULL, "{epochs: 2}"));
    OK(dt_model_save(m, HERE "/model"));
    DT_SCOPE(three)
    OK(dt_model_load(&loaded, HERE "/model"));
    OK(dt_model_predict(m, d, &y[0]));
    OK(dt_model_predict(loaded, d, &y[1]));
    assert_memory_equal(dt_tensor_data(y[0]), dt_tensor_data(y[1]), 22 * 3 * sizeof(float));
    OK(dt_model_fit(m, d, NULL, "{epochs: 1}"));
    OK(dt_model_fit(loaded, d, NULL, "{epochs: 1}"));
    char *sha = strdup(dt_model_weights_sha256(m));
    assert_string_equal(dt_model_weights_sha256(loaded), sha);
    free(sha);
    for (int i = 0; i < 2; i++) dt_tensor_unref(y[i]);
    dt_model_unref(m);
    dt_model_unref(loaded);
    dt_dataset_unref(d);
    dt_strategy_unref(two);
    dt_strategy_unref(three);
}

/* ---- by hand ---- */

typedef struct loop {
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
    int n; /* inputs that are given */
} loop;

static void train_step(dt_trace *t, void *user) {
    const loop *my = user;
    const dt_value inputs[] = {dt_arg(t, "a"), dt_arg(t, "b")};
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "label"),
                                 dt_model_call_inputs(my->model, inputs, my->n, DT_TRAINING));
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "loss", loss);
}

/* One epoch of whole batches. */
static dt_status *train_by_hand(dt_strategy *s, loop *my, dt_dataset *d) {
    dt_dist_dataset *batches = NULL;
    dt_function *step = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL;
    dt_status *bad = NULL;

    OK(dt_strategy_distribute_dataset(s, d, NULL, &batches));
    OK(dt_function_create(&step, train_step, my));
    OK(dt_iterator_create(&it, batches));
    for (OK(dt_iterator_next(it, &batch)); batch && !bad; OK(dt_iterator_next(it, &batch)))
        bad = dt_strategy_run(s, step, batch, NULL);
    dt_values_unref(batch);
    dt_iterator_unref(it);
    dt_function_unref(step);
    dt_dist_dataset_unref(batches);
    return bad;
}

static void test_a_loop_by_hand_trains_as_fit_does(void **state) {
    (void)state;
    dt_strategy *s = strategy_of(&(setup){.replicas = 2});
    dt_dataset *d = data(32);
    dt_model *fitted = compiled(s), *looped = compiled(s);
    loop my = {.model = looped, .n = 2};

    DT_SCOPE(s) {
        OK(dt_loss_create(&my.loss, "{SparseCategoricalCrossentropy: {from_logits: true}}"));
        OK(dt_optimizer_create(&my.optimizer, "{Adam: {learning_rate: 0.02}}"));
    }
    OK(dt_model_fit(fitted, d, NULL, "{epochs: 1}"));
    OK(train_by_hand(s, &my, d));
    for (int k = 0; k < fitted->n_weights; k++)
        for (int64_t i = 0; i < dt_type_elements(&fitted->weight[k]->type); i++)
            assert_true(fabs((double)((float *)fitted->weight[k]->host_data)[i] -
                             (double)((float *)looped->weight[k]->host_data)[i]) < 2e-5);
    my.n = 1;
    fails(train_by_hand(s, &my, d), DT_E_MODEL_SHAPE, "the model expects 2 inputs, got 1");
    dt_loss_unref(my.loss);
    dt_optimizer_unref(my.optimizer);
    dt_model_unref(fitted);
    dt_model_unref(looped);
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

/* ---- elements ---- */

static void test_elements_that_are_not_there(void **state) {
    (void)state;
    static const struct {
        const char *element, *text;
    } cases[] = {
        {"{a: {shape: [4]}, label: {num_classes: 3}}",
         "the data set has no element 'b' for the input; it has 'a', 'label'"},
        {"{a: {shape: [4]}, b: {shape: [3]}}",
         "the data set has no element besides the inputs, so there is no target"},
        {"{a: {shape: [4]}, b: {shape: [3]}, c: {shape: [1]}, label: {num_classes: 3}}",
         "several elements of the data set could be the target: 'c', 'label'"},
        {"{a: {shape: [4]}, b: {shape: [4]}, label: {num_classes: 3}}",
         "the model takes 'b' as (B, 3), the data set has (B, 4)"},
    };
    dt_strategy *s = strategy_of(&(setup){.replicas = 1});
    dt_model *m = compiled(s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_dataset *d = NULL;
        OK(dt_dataset_open(&d,
                           "{format: synthetic, examples: 8, element: %s, global_batch_size: 8}",
                           cases[i].element));
        fails(dt_model_fit(m, d, NULL, "{epochs: 1}"), DT_E_ELEMENTS, cases[i].text);
        dt_dataset_unref(d);
    }
    dt_model_unref(m);
    dt_strategy_unref(s);
}

/* ---- several outputs ---- */

#define KIND "Dense: {name: kind, inputs: x, units: 3}"
#define SIZE "Dense: {name: size, inputs: x, units: 2}"

/* Layers of one name and seed begin alike. */
static dt_model *model_of(const char *outputs, const char *heads) {
    dt_model *m = NULL;
    OK(dt_model_create(&m,
                       "{type: functional, outputs: %s, layers: [Input: {name: a, shape: [4]}, "
                       "Dense: {name: x, units: 5, activation: tanh}, %s]}",
                       outputs, heads));
    OK(dt_model_seed(m, 7));
    return m;
}

static void test_every_output_is_predicted(void **state) {
    (void)state;
    static const char *const names[] = {"kind", "size"}, *const heads[] = {KIND, SIZE};
    dt_strategy *three = strategy_of(&(setup){.replicas = 3});
    dt_dataset *d = data(22);
    dt_values *all = NULL;
    dt_tensor *one = NULL;

    DT_SCOPE(three) {
        dt_model *both = model_of("[kind, size]", KIND ", " SIZE);
        OK(dt_model_predict_outputs(both, d, &all));
        assert_int_equal(dt_values_count(all), 2);
        for (int i = 0; i < 2; i++) {
            dt_model *m = model_of(names[i], heads[i]);
            OK(dt_model_predict(m, d, &one));
            const dt_tensor *same = dt_values_local(all, names[i], 0);
            assert_non_null(same);
            assert_int_equal(dt_tensor_elements(same), 22 * (i ? 2 : 3));
            assert_memory_equal(dt_tensor_data(same), dt_tensor_data(one),
                                (size_t)dt_tensor_elements(one) * sizeof(float));
            dt_model_unref(m);
        }
        fails(dt_model_predict(both, d, &one), DT_E_MISUSE,
              "the model has 2 outputs, not one tensor");
        dt_model_unref(both);
    }
    dt_values_unref(all);
    dt_tensor_unref(one);
    dt_dataset_unref(d);
    dt_strategy_unref(three);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_saved_model_goes_on),
        cmocka_unit_test(test_a_loop_by_hand_trains_as_fit_does),
        cmocka_unit_test(test_every_output_is_predicted),
        cmocka_unit_test(test_elements_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, clean_folder, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong use of the public calls about models and data: NULL where something is needed, empty texts,
 * handles of another strategy, an error that waits. Each is answered with an error that names the
 * call, or with a harmless value; nothing crashes.
 */
#define HERE "build/tmp/train-misuse"
#include "kit.h"

/* ---- NULL ---- */

typedef struct things {
    dt_model *model;
    dt_dataset *data;
    dt_tensor *tensor;
} things;

#define LAYERS "[Input: {name: image, shape: [4]}, Dense: {units: 3, name: out}]"
#define DATA                                                                                       \
    "{format: synthetic, examples: 24, element: {image: {shape: [4], dtype: float32}, label: "     \
    "{num_classes: 3}}, global_batch_size: 8}"
#define COMPILE "{optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}"

static things make_things(void) {
    things t = {0};

    OK(dt_model_create(&t.model, LAYERS));
    OK(dt_model_compile(t.model, COMPILE));
    OK(dt_dataset_open(&t.data, DATA));
    OK(dt_tensor_create(&t.tensor, DT_FLOAT32, 1, (int64_t[]){3}, NULL));
    return t;
}

static void free_things(things *t) {
    dt_model_unref(t->model);
    dt_dataset_unref(t->data);
    dt_tensor_unref(t->tensor);
}

static void test_null_where_something_is_needed(void **state) {
    (void)state;
    things t = make_things();
    const char *none = NULL; /* not a literal: the compiler would see through it */
    dt_model *model = NULL;
    dt_tensor *tensor = NULL;
    dt_values *values = NULL;

    REFUSED(dt_model_create(NULL, LAYERS));
    REFUSED(dt_model_seed(NULL, 1));
    REFUSED(dt_model_compile(NULL, COMPILE));
    REFUSED(dt_model_fit(NULL, t.data, NULL, "{epochs: 1}"));
    REFUSED(dt_model_fit(t.model, NULL, NULL, "{epochs: 1}"));
    REFUSED(dt_model_evaluate(NULL, t.data, NULL));
    REFUSED(dt_model_evaluate(t.model, NULL, NULL));
    REFUSED(dt_model_predict(NULL, t.data, &tensor));
    REFUSED(dt_model_predict(t.model, NULL, &tensor));
    REFUSED(dt_model_predict(t.model, t.data, NULL));
    REFUSED(dt_model_predict_outputs(NULL, t.data, &values));
    REFUSED(dt_model_predict_outputs(t.model, NULL, &values));
    REFUSED(dt_model_predict_outputs(t.model, t.data, NULL));
    REFUSED(dt_model_save(NULL, HERE "/saved"));
    REFUSED(dt_model_load(NULL, HERE "/saved"));
    REFUSED(dt_model_get_weight(NULL, "out/kernel", &tensor));
    REFUSED(dt_model_get_weight(t.model, none, &tensor));
    REFUSED(dt_model_get_weight(t.model, "out/kernel", NULL));
    REFUSED(dt_model_set_weight(NULL, "out/bias", t.tensor));
    REFUSED(dt_model_set_weight(t.model, none, t.tensor));
    REFUSED(dt_model_set_weight(t.model, "out/bias", NULL));
    REFUSED(dt_optimizer_create(NULL, "SGD"));
    REFUSED(dt_loss_create(NULL, "MeanSquaredError"));
    REFUSED(dt_dataset_open(NULL, DATA));
    REFUSED(dt_data_synth(none, HERE, 0));
    REFUSED(dt_data_synth("digits", none, 0));
    assert_null(model);
    assert_null(tensor);
    free_things(&t);
}

static void test_questions_about_nothing(void **state) {
    (void)state;
    assert_int_equal(dt_model_parameters(NULL), 0);
    assert_null(dt_model_weights_sha256(NULL));
    assert_int_equal(dt_history_epochs(NULL), 0);
    assert_true(isnan(dt_history_at(NULL, "loss", 0)));
    assert_true(isnan(dt_history_last(NULL, "loss")));
    assert_int_equal(dt_dataset_examples(NULL), 0);
    assert_int_equal(dt_dataset_batch_size(NULL), 0);
    dt_model_unref(NULL);
    dt_optimizer_unref(NULL);
    dt_loss_unref(NULL);
    dt_history_unref(NULL);
    dt_dataset_unref(NULL);
}

/* ---- texts ---- */

static void test_texts_with_nothing_in_them(void **state) {
    (void)state;
    static const char *const texts[] = {NULL, "", "  \n", "# a comment"};
    things t = make_things();

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *part = texts[i] ? "the text that was given is empty" : "no text was given";
        dt_model *model = NULL;
        dt_optimizer *optimizer = NULL;
        dt_loss *loss = NULL;
        dt_dataset *data = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
        fails(dt_model_create(&model, texts[i]), DT_E_MISUSE, part);
        fails(dt_model_compile(t.model, texts[i]), DT_E_MISUSE, part);
        fails(dt_model_fit(t.model, t.data, NULL, texts[i]), DT_E_MISUSE, part);
        fails(dt_optimizer_create(&optimizer, texts[i]), DT_E_MISUSE, part);
        fails(dt_loss_create(&loss, texts[i]), DT_E_MISUSE, part);
        fails(dt_dataset_open(&data, texts[i]), DT_E_MISUSE, part);
#pragma GCC diagnostic pop
    }
    OK(dt_model_fit(t.model, t.data, NULL, "{epochs: 1}")); /* it is as it was */
    free_things(&t);
}

/* ---- step functions ---- */

typedef struct step_things {
    dt_model *model;
    dt_loss *loss;
    dt_optimizer *optimizer;
    int which;
} step_things;

/* Wrong calls, one a step; what they give goes on to right ones. */
static void misuse(dt_trace *t, void *user) {
    const step_things *my = user;
    const char *none = NULL;
    dt_value x = dt_arg(t, "x"), y = dt_model_call(my->model, x, DT_TRAINING), zero = {0},
             loss = dt_reduce_mean(y, DT_NO_AXIS);

    switch (my->which) {
    case 0: y = dt_model_call(NULL, x, DT_TRAINING); break;
    case 1: y = dt_loss_call(NULL, y, y); break;
    case 2: y = dt_arg(t, none); break;
    case 3: dt_return(t, none, y); break;
    case 4: dt_optimizer_apply(NULL, dt_gradient(loss, dt_model_trainable(my->model))); break;
    case 5: dt_optimizer_apply(my->optimizer, dt_gradient(loss, NULL)); break;
    case 6: dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(NULL))); break;
    case 7: y = dt_loss_call(my->loss, y, zero); break;
    case 8: y = dt_model_weight(t, NULL, "out/kernel"); break;
    case 9: y = dt_model_weight(t, my->model, none); break;
    case 10: y = dt_arg(t, "nothing of this name"); break;
    case 11: y = dt_add(y, zero); break;
    case 12: y = dt_loss_call(my->loss, zero, y); break;
    case 13:
        dt_optimizer_apply(my->optimizer, (dt_gradients){0});
        break; /* of no trace that could be told */
    default: break;
    }
    dt_return(t, "y", dt_multiply(y, y));
}

static void test_wrong_calls_in_step_functions(void **state) {
    (void)state;
    step_things my = {0};
    dt_values *args = NULL;
    dt_tensor *x = NULL;

    OK(dt_model_create(&my.model, LAYERS));
    OK(dt_loss_create(&my.loss, "MeanSquaredError"));
    OK(dt_optimizer_create(&my.optimizer, "SGD"));
    OK(dt_values_create(&args));
    OK(dt_tensor_create(&x, DT_FLOAT32, 2, (int64_t[]){6, 4}, NULL));
    OK(dt_values_set(args, "x", x));
    for (my.which = 0; my.which <= 14; my.which++) {
        dt_function *f = NULL;
        OK(dt_function_create(&f, misuse, &my));
        dt_status *s = dt_strategy_run(dt_get_strategy(), f, args, NULL);
        if (dt_status_code(s) == 70 || (s == NULL) != (my.which >= 13))
            fail_msg("wrong call %d: %s", my.which, s ? dt_status_text(s) : "no error");
        dt_status_free(s);
        dt_function_unref(f);
    }
    dt_tensor_unref(x);
    dt_values_unref(args);
    dt_optimizer_unref(my.optimizer);
    dt_loss_unref(my.loss);
    dt_model_unref(my.model);
}

/* ---- strategies ---- */

static dt_strategy *mirrored(int n) {
    static const char *const devices[] = {"CPU:0", "CPU:1", "CPU:2"};
    dt_strategy *s = NULL;

    OK(dt_mirrored_strategy(&s, devices, n));
    return s;
}

/* dt_model_call in a step function. */
static void call_model(dt_trace *t, void *user) {
    dt_model *m = user;
    dt_return(t, "y", dt_model_call(m, dt_arg(t, "x"), DT_INFERENCE));
}

static void test_models_of_another_strategy(void **state) {
    (void)state;
    dt_strategy *a = mirrored(2), *b = mirrored(3);
    dt_function *f = NULL;
    dt_values *args = NULL;
    dt_tensor *x = NULL;
    things t = {0};

    DT_SCOPE(a)
    t = make_things();
    OK(dt_values_create(&args));
    OK(dt_tensor_create(&x, DT_FLOAT32, 2, (int64_t[]){6, 4}, NULL));
    OK(dt_values_set(args, "x", x));
    OK(dt_function_create(&f, call_model, t.model));
    DT_SCOPE(b) {
        fails(dt_model_fit(t.model, t.data, NULL, "{epochs: 1}"), DT_E_SCOPE,
              "different strategies");
        fails(dt_model_evaluate(t.model, t.data, NULL), DT_E_SCOPE, "different strategies");
        fails(dt_strategy_run(b, f, args, NULL), DT_E_SCOPE, "strateg");
    }
    fails(dt_strategy_run(b, f, args, NULL), DT_E_SCOPE, "strateg");
    OK(dt_strategy_run(a, f, args, NULL));
    OK(dt_model_fit(t.model, t.data, NULL, "{epochs: 1}"));
    free_things(&t);
    dt_function_unref(f);
    dt_values_unref(args);
    dt_tensor_unref(x);
    dt_strategy_unref(a);
    dt_strategy_unref(b);
}

/* ---- an error that waits ---- */

#define RETURNS_WAITING(call)                                                                      \
    (dt_scope_enter(NULL), fails((call), DT_E_SCOPE, "no strategy was given"))

static void test_waiting_errors_come_first(void **state) {
    (void)state;
    things t = make_things();
    dt_model *model = NULL;

    RETURNS_WAITING(dt_model_create(&model, LAYERS));
    RETURNS_WAITING(dt_model_fit(t.model, t.data, NULL, "{epochs: 1}"));
    RETURNS_WAITING(dt_model_evaluate(t.model, t.data, NULL));
    RETURNS_WAITING(dt_data_synth("digits", HERE, 0));
    free_things(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_where_something_is_needed),
        cmocka_unit_test(test_questions_about_nothing),
        cmocka_unit_test(test_texts_with_nothing_in_them),
        cmocka_unit_test(test_wrong_calls_in_step_functions),
        cmocka_unit_test(test_models_of_another_strategy),
        cmocka_unit_test(test_waiting_errors_come_first),
    };
    return cmocka_run_group_tests_name("train/misuse", tests, clean_folder, NULL);
}

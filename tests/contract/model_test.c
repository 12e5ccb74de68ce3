/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand inside a scope and what outside: compile, fit, evaluate, predict, save, load and
 * restore give the same numbers in both places, variables are read and written in both, and what is
 * loaded inside a scope is distributed and goes on training.
 */
#include "../strategy/kit.h"

static const char layers[] =
    "- Input: {name: x, shape: [3]}\n- Dense: {units: 4, activation: tanh}\n- Dense: {units: 1}\n";
static const char settings[] =
    "{optimizer: {Adam: {learning_rate: 0.05}}, loss: MeanSquaredError, metrics: [mae]}";

static dt_dataset *examples(void) {
    dt_values *v = values();
    dt_dataset *d = NULL;
    double x[24 * 3], y[24];

    for (int i = 0; i < 24; i++) {
        for (int k = 0; k < 3; k++) x[3 * i + k] = ((i * 7 + k * 5) % 11) / 5.0 - 1;
        y[i] = x[3 * i] - 0.5 * x[3 * i + 1] + 0.25;
    }
    give(v, "x", tensor(DT_FLOAT32, 2, (int64_t[]){24, 3}, x));
    give(v, "y", tensor(DT_FLOAT32, 2, (int64_t[]){24, 1}, y));
    OK(dt_dataset_from_values(&d, v, "{global_batch_size: 8, shuffle: false}"));
    dt_values_unref(v);
    return d;
}

/* Everything that a program does with a model; the results of each part. */
typedef struct story {
    double loss, mae, first;
    char sha[80], again[80], restored[80];
} story;

static void save_and_restore(dt_model *m, dt_strategy *s, bool inside, story *out) {
    dt_model *other = NULL;
    dt_dataset *d = examples();

    snprintf(out->sha, sizeof out->sha, "%s", dt_model_weights_sha256(m));
    if (inside) DT_SCOPE(s)
    OK(dt_model_save(m, "build/tmp/strategy/contract-model"));
    else OK(dt_model_save(m, "build/tmp/strategy/contract-model"));
    /* loading creates variables: so that they are distributed, and it goes on training */
    DT_SCOPE(s)
    OK(dt_model_load(&other, "build/tmp/strategy/contract-model"));
    snprintf(out->again, sizeof out->again, "%s", dt_model_weights_sha256(other));
    OK(dt_model_fit(other, d, NULL, "{epochs: 2}"));
    OK(dt_model_fit(m, d, NULL, "{epochs: 2}"));
    assert_string_equal(dt_model_weights_sha256(other), dt_model_weights_sha256(m));
    OK(dt_model_load(&other, "build/tmp/strategy/contract-model"));
    snprintf(out->restored, sizeof out->restored, "%s", dt_model_weights_sha256(other));
    dt_model_unref(other);
    dt_dataset_unref(d);
}

static void use(dt_model *m, story *out) {
    dt_dataset *d = examples();
    dt_history *h = NULL;
    dt_tensor *p = NULL;

    OK(dt_model_compile(m, settings));
    OK(dt_model_fit(m, d, &h, "{epochs: 3}"));
    OK(dt_model_evaluate(m, d, &h));
    out->loss = dt_history_last(h, "loss");
    out->mae = dt_history_last(h, "mae");
    OK(dt_model_predict(m, d, &p));
    assert_int_equal(dt_tensor_dim(p, 0), 24);
    out->first = get(p, 0);
    dt_tensor_unref(p);
    dt_history_unref(h);
    dt_dataset_unref(d);
}

static story told(dt_strategy *s, bool inside) {
    story out = {0};
    dt_model *m = NULL;

    DT_SCOPE(s) {
        OK(dt_model_create(&m, layers));
        OK(dt_model_seed(m, 3));
        if (inside) use(m, &out);
    }
    if (!inside) use(m, &out);
    save_and_restore(m, s, inside, &out);
    dt_model_unref(m);
    return out;
}

static void test_inside_and_outside_are_the_same(void **state) {
    dt_strategy *all[] = {mirrored(1), mirrored(2), mirrored(3), tpu("sim:v3-8")};
    story first = told(all[0], true);

    (void)state;
    assert_true(first.loss > 0 && first.loss < 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (int inside = 0; inside < 2; inside++) {
            story now = told(all[i], inside);
            assert_string_equal(now.sha, first.sha);
            assert_string_equal(now.again, first.sha);
            assert_string_equal(now.restored, first.sha);
            assert_float_equal(now.loss, first.loss, 0);
            assert_float_equal(now.mae, first.mae, 0);
            assert_float_equal(now.first, first.first, 0);
        }
        dt_strategy_unref(all[i]);
    }
}

/* In the scope of another strategy the captured one does not take over: that is an error, as mixing
 * strategies is. */
static void test_another_scope_is_refused(void **state) {
    dt_strategy *s = mirrored(2), *other = mirrored(2);
    dt_dataset *d = examples();
    dt_model *m = NULL;
    dt_status *bad = NULL;

    (void)state;
    DT_SCOPE(s)
    OK(dt_model_create(&m, layers));
    OK(dt_model_compile(m, settings));
    DT_SCOPE(other)
    bad = dt_model_fit(m, d, NULL, "{epochs: 1}");
    assert_string_equal(dt_status_kind(bad), "RuntimeError");
    dt_status_free(bad);
    dt_model_unref(m);
    dt_dataset_unref(d);
    dt_strategy_unref(other);
    dt_strategy_unref(s);
}

/* A variable remembers its strategy: reading and writing it needs no scope. */
static void test_variables_are_used_in_and_outside_of_the_scope(void **state) {
    dt_strategy *s = mirrored(3);
    dt_tensor *one = scalar(1), *five = scalar(5), *t = NULL;
    dt_variable *v = NULL, *plain = NULL;

    (void)state;
    DT_SCOPE(s)
    OK(dt_variable_create(&v, one, NULL));
    OK(dt_variable_create(&plain, one, NULL));
    assert_string_equal(dt_variable_kind(v), "MirroredVariable");
    assert_int_equal(dt_variable_copies(v), 3);
    assert_string_equal(dt_variable_kind(plain), "Variable");
    assert_int_equal(dt_variable_copies(plain), 1);
    for (int inside = 0; inside < 2; inside++) {
        if (inside) DT_SCOPE(s)
        OK(dt_variable_set(v, DT_ASSIGN_ADD, five));
        else OK(dt_variable_set(v, DT_ASSIGN_ADD, five));
        for (int r = 0; r < 3; r++) {
            OK(dt_variable_local(v, r, &t));
            assert_float_equal(dt_tensor_item(t), 6 + 5 * inside, 0);
        }
    }
    dt_tensor_unref(t);
    dt_tensor_unref(five);
    dt_tensor_unref(one);
    dt_variable_unref(plain);
    dt_variable_unref(v);
    dt_strategy_unref(s);
}

/* A step function and a data set may be made in either place. */
static void twice(dt_trace *t, void *user) {
    (void)user;
    dt_value x = dt_arg(t, "value");
    dt_return(t, "twice", dt_add(x, x));
}

static void test_functions_and_data_sets_are_made_anywhere(void **state) {
    dt_strategy *s = mirrored(2);

    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        dt_dataset *d = NULL;
        dt_dist_dataset *dist = NULL;
        dt_iterator *it = NULL;
        dt_function *f = NULL;
        dt_values *batch = NULL, *out = NULL;
        if (inside) {
            DT_SCOPE(s) {
                OK(dt_dataset_range(&d, 0, 4, 1));
                OK(dt_function_create(&f, twice, NULL));
            }
        } else {
            OK(dt_dataset_range(&d, 0, 4, 1));
            OK(dt_function_create(&f, twice, NULL));
        }
        OK(dt_dataset_batch(&d, d, 2, false));
        OK(dt_strategy_distribute_dataset(s, d, NULL, &dist));
        OK(dt_iterator_create(&it, dist));
        for (int step = 0; step < 2; step++) {
            OK(dt_iterator_next(it, &batch));
            OK(dt_strategy_run(s, f, batch, &out));
            for (int r = 0; r < 2; r++) is_local(out, "twice", r, SHAPE(1), X(2 * (2 * step + r)));
        }
        dt_values_unref(out);
        dt_values_unref(batch);
        dt_function_unref(f);
        dt_iterator_unref(it);
        dt_dist_dataset_unref(dist);
        dt_dataset_unref(d);
    }
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inside_and_outside_are_the_same),
        cmocka_unit_test(test_another_scope_is_refused),
        cmocka_unit_test(test_variables_are_used_in_and_outside_of_the_scope),
        cmocka_unit_test(test_functions_and_data_sets_are_made_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

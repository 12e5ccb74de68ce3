/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that a program writes itself: the loss of a batch that does not divide, gradients of any
 * values, variables without a model, several lists of variables for one optimizer, and labels that
 * are floats.
 */
#define HERE "build/tmp/train-custom-step"
#include "custom_kit.h"

/* ---- the loss of a batch that does not divide ---- */

typedef struct loss_case {
    const char *loss;
    bool weighted, sparse;
} loss_case;

typedef struct loss_step {
    dt_loss *loss;
    bool weighted;
} loss_step;

static void loss_of_rows(dt_trace *t, void *user) {
    const loss_step *my = user;
    dt_value y = dt_arg(t, "y"), p = dt_arg(t, "p"), dp;
    dt_value loss = my->weighted ? dt_loss_call_weighted(my->loss, y, p, dt_arg(t, "w"))
                                 : dt_loss_call(my->loss, y, p);

    dt_gradient_values(loss, &p, 1, &dp);
    dt_return(t, "loss", loss);
    dt_return(t, "dp", dp);
}

enum { ROWS = 7, CLASSES = 3 };

/* 7 rows for replicas of 4 at most: 4 and 3; 3, 2, 2 and 0. */
static dt_values *rows_for(int replicas, bool sparse) {
    static const int cuts[5][5] = {{0}, {0, 7}, {0, 4, 7}, {0}, {0, 3, 5, 7, 7}};
    const int *cut = cuts[replicas];
    float p[ROWS * CLASSES], one_hot[ROWS * CLASSES], w[ROWS];
    int32_t class[ROWS];
    dt_values *v = NULL;

    for (int i = 0; i < ROWS; i++) {
        class[i] = i * 5 % CLASSES;
        w[i] = (float)(i % 3);
        for (int k = 0; k < CLASSES; k++) {
            one_hot[i * CLASSES + k] = k == class[i];
            p[i * CLASSES + k] = (float)(1 + (3 * i + 2 * k) % 5) / 8;
        }
    }
    OK(dt_values_create(&v));
    dt_tensor *part[3][4] = {{0}};
    for (int r = 0; r < replicas; r++) {
        int64_t n = cut[r + 1] - cut[r];
        OK(dt_tensor_create(&part[0][r], DT_FLOAT32, 2, (int64_t[]){n, CLASSES},
                            p + cut[r] * CLASSES));
        OK(dt_tensor_create(&part[1][r], sparse ? DT_INT32 : DT_FLOAT32, sparse ? 1 : 2,
                            (int64_t[]){n, CLASSES},
                            sparse ? (const void *)(class + cut[r]) : one_hot + cut[r] * CLASSES));
        OK(dt_tensor_create(&part[2][r], DT_FLOAT32, 1, (int64_t[]){n}, w + cut[r]));
    }
    for (int i = 0; i < 3; i++) {
        OK(dt_values_set_per_replica(v, (const char *const[]){"p", "y", "w"}[i], part[i],
                                     replicas));
        for (int r = 0; r < replicas; r++) dt_tensor_unref(part[i][r]);
    }
    return v;
}

/* The losses' sum over replicas, and the gradients, one replica's after another's. */
static double loss_over(const loss_case *c, int replicas, dt_loss_average average,
                        float dp[ROWS * CLASSES]) {
    dt_strategy *s = strategy_of(&(setup){.replicas = replicas});
    loss_step my = {.weighted = c->weighted};
    dt_values *args = rows_for(replicas, c->sparse), *results = NULL;
    dt_function *f = NULL;
    double sum = 0;

    OK(dt_loss_create(&my.loss, "%s", c->loss));
    OK(dt_loss_set_average(my.loss, average));
    OK(dt_function_create(&f, loss_of_rows, &my));
    OK(dt_strategy_run(s, f, args, &results));
    for (int r = 0; r < replicas; r++) {
        const dt_tensor *g = dt_values_local(results, "dp", r);
        sum += dt_tensor_item(dt_values_local(results, "loss", r));
        memcpy(dp, dt_tensor_data(g), (size_t)dt_tensor_elements(g) * sizeof *dp);
        dp += dt_tensor_elements(g);
    }
    dt_function_unref(f);
    dt_values_unref(args);
    dt_values_unref(results);
    dt_loss_unref(my.loss);
    dt_strategy_unref(s);
    return sum;
}

static void test_the_loss_of_a_batch_that_does_not_divide(void **state) {
    (void)state;
    static const loss_case cases[] = {
        {"CategoricalCrossentropy", false, false},
        {"CategoricalCrossentropy: {from_logits: true}", true, false},
        {"SparseCategoricalCrossentropy: {from_logits: true}", false, true},
        {"SparseCategoricalCrossentropy: {ignore_class: 1}", false, true},
        {"SparseCategoricalCrossentropy: {ignore_class: 1}", true, true},
        {"SparseCategoricalCrossentropy: {ignore_class: 1, reduction: mean_with_sample_weight}",
         true, true},
        {"MeanSquaredError: {reduction: mean}", false, false},
        {"MeanAbsoluteError: {reduction: mean_with_sample_weight}", true, false},
        {"Huber: {reduction: mean_with_sample_weight}", false, false},
        {"BinaryCrossentropy", true, false},
        {"KLDivergence", false, false},
        {"CosineSimilarity", true, false},
        {"MeanSquaredError: {reduction: sum}", true, false},
        {"Dice", false, false},
        {"Tversky: {alpha: 0.3, beta: 0.7}", false, false},
        {"Dice: {axis: [0]}", false, false},
        {"Dice: {axis: [1]}", false, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float one[ROWS * CLASSES], many[ROWS * CLASSES];
        double whole = loss_over(&cases[i], 1, DT_GLOBAL_AVERAGE, one);
        assert_true(isfinite(whole) && whole != 0);
        for (int n = 2; n <= 4; n += 2) {
            double sum = loss_over(&cases[i], n, DT_GLOBAL_AVERAGE, many);
            if (fabs(sum - whole) > 1e-6)
                fail_msg("%s: %.9g on %d replicas, %.9g on one", cases[i].loss, sum, n, whole);
            for (int k = 0; k < ROWS * CLASSES; k++)
                if (fabsf(many[k] - one[k]) > 1e-6f)
                    fail_msg("%s: gradient %d is %.9g on %d replicas, %.9g on one", cases[i].loss,
                             k, (double)many[k], n, (double)one[k]);
        }
    }
}

/* Keras' formula: 4 and 3 rows count the same. */
static void test_the_average_of_replicas_is_an_option(void **state) {
    (void)state;
    static const loss_case mse = {"MeanSquaredError", false, false},
                           sum = {"MeanSquaredError: {reduction: sum}", false, false};
    float dp[ROWS * CLASSES], by_sum[ROWS * CLASSES];
    double keras = loss_over(&mse, 2, DT_REPLICA_AVERAGE, dp),
           own = loss_over(&mse, 1, DT_REPLICA_AVERAGE, by_sum);

    assert_true(fabs(own - loss_over(&mse, 1, DT_GLOBAL_AVERAGE, by_sum)) == 0);
    loss_over(&sum, 2, DT_GLOBAL_AVERAGE, by_sum);
    for (int k = 0; k < ROWS * CLASSES; k++)
        assert_true(fabsf(dp[k] - by_sum[k] / (k < 4 * CLASSES ? 8 : 6)) < 1e-6f);
    assert_true(fabs(keras - own) > 1e-4);
    dt_loss *released = NULL;
    OK(dt_loss_create(&released, "MeanSquaredError"));
    dt_loss_unref(released);
    fails(dt_loss_set_average(released, DT_GLOBAL_AVERAGE), DT_E_MISUSE, "dt_loss_set_average");
    fails(dt_loss_set_average(NULL, DT_GLOBAL_AVERAGE), DT_E_MISUSE, "dt_loss_set_average");
}

/* ---- gradients ---- */

static void gradients_of_values(dt_trace *t, void *user) {
    dt_model *m = user;
    dt_value x = dt_arg(t, "x"), y = dt_multiply(x, x), constant = dt_arg(t, "c");
    dt_value kernel = dt_model_weight(t, m, "dense/kernel");
    dt_value of[] = {x, y, constant, kernel}, g[4];

    dt_gradient_values(y, of, 4, g); /* (B): counts as its sum */
    dt_return(t, "dx", g[0]);
    dt_return(t, "dy", g[1]);
    if (g[2].trace || g[3].trace) dt_return(t, "unexpected", x);
    dt_gradient_values(dt_all_reduce(DT_SUM, dt_reduce_sum(y, 0)), of, 1, g);
    dt_return(t, "dx_all", g[0]);
}

static void test_gradients_of_any_values(void **state) {
    (void)state;
    dt_strategy *s = strategy_of(&(setup){.replicas = 2});
    dt_model *m = model_in(s, "[Input: {shape: [6]}, Dense: {units: 2}]");
    dt_values *args = NULL, *results = NULL;
    dt_tensor *x[2] = {0}, *c = NULL;
    dt_function *f = NULL;

    for (int r = 0; r < 2; r++)
        OK(dt_tensor_create(&x[r], DT_FLOAT32, 1, (int64_t[]){2},
                            r ? (const float[]){3, 4} : (const float[]){1, 2}));
    OK(dt_tensor_create(&c, DT_FLOAT32, 0, NULL, NULL));
    OK(dt_values_create(&args));
    OK(dt_values_set_per_replica(args, "x", x, 2));
    OK(dt_values_set(args, "c", c));
    OK(dt_function_create(&f, gradients_of_values, m));
    OK(dt_strategy_run(s, f, args, &results));
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 2; i++) {
            float own = ((const float *)dt_tensor_data(x[r]))[i];
            assert_true(((const float *)dt_tensor_data(dt_values_local(results, "dx", r)))[i] ==
                        2 * own);
            assert_true(((const float *)dt_tensor_data(dt_values_local(results, "dy", r)))[i] == 1);
            /* each replica's loss is the sum */
            assert_true(((const float *)dt_tensor_data(dt_values_local(results, "dx_all", r)))[i] ==
                        4 * own);
        }
    assert_int_equal(dt_values_locals(results, "unexpected"), 0);
    dt_function_unref(f);
    dt_values_unref(args);
    dt_values_unref(results);
    dt_tensor_unref(x[0]);
    dt_tensor_unref(x[1]);
    dt_tensor_unref(c);
    dt_model_unref(m);
    dt_strategy_unref(s);
}

static void wrong_path(dt_trace *t, void *user) {
    dt_return(t, "w", dt_model_weight(t, user, "dense/kernle"));
}

static void no_gradient(dt_trace *t, void *user) {
    const loop *my = user;
    dt_gradients g = dt_gradient(dt_constant(t, 1), dt_model_trainable(my->model));

    for (int i = 0; i < dt_variables_count(g.variables); i++)
        if (g.value[i].trace) dt_return(t, "unexpected", g.value[i]);
    dt_optimizer_apply(my->optimizer, g);
}

static void test_what_has_no_gradient(void **state) {
    (void)state;
    dt_strategy *s = strategy_of(&(setup){.replicas = 2});
    loop my = {.model = model_in(s, KIT_LAYERS)};
    dt_function *f = NULL;

    OK(dt_optimizer_create(&my.optimizer, "SGD"));
    OK(dt_function_create(&f, wrong_path, my.model));
    fails(dt_strategy_run(s, f, NULL, NULL), DT_E_WEIGHT, "did you mean 'dense/kernel'?");
    OK(dt_function_create(&f, no_gradient, &my));
    fails(dt_strategy_run(s, f, NULL, NULL), DT_E_NO_GRADIENT,
          "no gradients provided for any variable");
    dt_function_unref(f);
    dt_optimizer_unref(my.optimizer);
    dt_model_unref(my.model);
    dt_strategy_unref(s);
}

/* ---- variables of one's own ---- */

typedef struct line {
    dt_variable *slope, *offset, *unused;
    dt_variables *all;
    dt_optimizer *optimizer;
} line;

/* y = slope x + offset, fitted to 3 x - 1 */
static void fit_line(dt_trace *t, void *user) {
    const line *my = user;
    dt_value x = dt_arg(t, "x"), n = dt_constant(t, dt_strategy_replicas(dt_get_strategy()));
    dt_value y =
        dt_add(dt_multiply(dt_variable_read(t, my->slope), x), dt_variable_read(t, my->offset));
    dt_value wanted = dt_subtract(dt_multiply(x, dt_constant(t, 3)), dt_constant(t, 1)),
             off = dt_subtract(y, wanted);
    dt_value loss = dt_divide(dt_reduce_mean(dt_multiply(off, off), 0), n);

    dt_optimizer_apply(my->optimizer, dt_gradient(loss, my->all));
    dt_return(t, "loss", loss);
}

static dt_variable *zero(const char *name) {
    dt_variable *v = NULL;
    OK(dt_variable_create(&v, NULL, &(dt_variable_options){.name = name, .dtype = DT_FLOAT32}));
    return v;
}

/* A variable that the loss does not depend on stays; the others are trained alike on any number of
 * replicas. */
static void test_optimizers_train_variables_of_ones_own(void **state) {
    (void)state;
    for (int n = 1; n <= 2; n++) {
        dt_strategy *s = strategy_of(&(setup){.replicas = n});
        line my = {0};
        dt_tensor *x[2] = {0}, *value = NULL;
        dt_values *args = NULL;
        dt_function *f = NULL;

        DT_SCOPE(s) {
            my.slope = zero("slope");
            my.offset = zero("offset");
            my.unused = zero("unused");
            OK(dt_optimizer_create(&my.optimizer, "SGD: {learning_rate: 0.05, momentum: 0.9}"));
        }
        OK(dt_variables_create(&my.all, (dt_variable *[]){my.slope, my.unused, my.offset}, 3));
        for (int r = 0; r < n; r++)
            OK(dt_tensor_create(&x[r], DT_FLOAT32, 1, (int64_t[]){4 / n},
                                r ? (const float[]){2, 3} : (const float[]){0, 1, 2, 3}));
        OK(dt_values_create(&args));
        OK(dt_values_set_per_replica(args, "x", x, n));
        OK(dt_function_create(&f, fit_line, &my));
        for (int i = 0; i < 400; i++) OK(dt_strategy_run(s, f, args, NULL));
        OK(dt_variable_value(my.slope, &value));
        assert_float_equal(dt_tensor_item(value), 3, 1e-4);
        OK(dt_variable_value(my.offset, &value));
        assert_float_equal(dt_tensor_item(value), -1, 1e-4);
        OK(dt_variable_value(my.unused, &value));
        assert_true(dt_tensor_item(value) == 0);
        dt_function_unref(f);
        dt_values_unref(args);
        dt_tensor_unref(value);
        dt_tensor_unref(x[0]);
        dt_tensor_unref(x[1]);
        dt_variables_unref(my.all);
        dt_optimizer_unref(my.optimizer);
        dt_variable_unref(my.slope);
        dt_variable_unref(my.offset);
        dt_variable_unref(my.unused);
        dt_strategy_unref(s);
    }
}

/* Both losses read the variable before the first update: each is differentiated by what it read. */
static void two_losses(dt_trace *t, void *user) {
    const line *my = user;
    dt_value w = dt_variable_read(t, my->slope), first = dt_multiply(w, dt_constant(t, 2)),
             second = dt_multiply(w, dt_constant(t, 3));

    dt_optimizer_apply(my->optimizer, dt_gradient(first, my->all));
    dt_optimizer_apply(my->optimizer, dt_gradient(second, my->all));
}

static void test_two_losses_of_one_variable(void **state) {
    (void)state;
    line my = {.slope = zero("slope")};
    dt_strategy *s = strategy_of(&(setup){.replicas = 1});
    dt_tensor *value = NULL;
    dt_function *f = NULL;

    OK(dt_variables_create(&my.all, &my.slope, 1));
    OK(dt_optimizer_create(&my.optimizer, "SGD: {learning_rate: 1}"));
    OK(dt_function_create(&f, two_losses, &my));
    OK(dt_strategy_run(s, f, NULL, NULL));
    OK(dt_variable_value(my.slope, &value));
    assert_true(dt_tensor_item(value) == -5);
    dt_function_unref(f);
    dt_tensor_unref(value);
    dt_variables_unref(my.all);
    dt_optimizer_unref(my.optimizer);
    dt_variable_unref(my.slope);
    dt_strategy_unref(s);
}

/* ---- one optimizer and several lists of variables ---- */

typedef struct pair {
    dt_variable *a, *b;
    dt_variables *of;
    dt_optimizer *optimizer;
} pair;

static void sum_of_squares(dt_trace *t, void *user) {
    const pair *my = user;
    dt_value a = dt_variable_read(t, my->a), b = dt_variable_read(t, my->b);

    dt_optimizer_apply(my->optimizer,
                       dt_gradient(dt_add(dt_multiply(a, a), dt_multiply(b, b)), my->of));
}

static void test_an_optimizer_is_of_its_first_variables(void **state) {
    (void)state;
    pair my = {.a = zero("w"), .b = zero("w")};
    dt_variable *fresh = zero("fresh"), *first = my.a;
    dt_strategy *s = strategy_of(&(setup){.replicas = 1});
    dt_tensor *slot = NULL;
    dt_function *f = NULL;

    OK(dt_tensor_create(&slot, DT_FLOAT32, 0, NULL, &(float){1}));
    OK(dt_variable_set(my.b, DT_ASSIGN, slot));
    OK(dt_variables_create(&my.of, (dt_variable *[]){my.a, my.b}, 2));
    OK(dt_optimizer_create(&my.optimizer, "SGD: {learning_rate: 0.25, momentum: 0.5}"));
    OK(dt_function_create(&f, sum_of_squares, &my));
    OK(dt_strategy_run(s, f, NULL, NULL));

    /* Slots of variables with the same path have names of their own. */
    assert_int_equal(dt_optimizer_slots(my.optimizer), 3);
    OK(dt_optimizer_get_slot(my.optimizer, "w/momentum", &slot));
    assert_true(dt_tensor_item(slot) == 0);
    OK(dt_optimizer_get_slot(my.optimizer, "w_1/momentum", &slot));
    assert_true(dt_tensor_item(slot) == -0.5); /* -0.25 * 2 */

    /* Some of them may be left out. Others are an error, which changes nothing. */
    OK(dt_variables_create(&my.of, &my.b, 1));
    OK(dt_function_create(&f, sum_of_squares, &my));
    OK(dt_strategy_run(s, f, NULL, NULL));
    OK(dt_variables_create(&my.of, (dt_variable *[]){my.b, fresh}, 2));
    my.a = fresh;
    OK(dt_function_create(&f, sum_of_squares, &my));
    fails(dt_strategy_run(s, f, NULL, NULL), DT_E_OTHER_VARIABLES, "'fresh' is not among them");
    assert_int_equal(dt_optimizer_slots(my.optimizer), 3);

    dt_function_unref(f);
    dt_tensor_unref(slot);
    dt_variables_unref(my.of);
    dt_optimizer_unref(my.optimizer);
    dt_variable_unref(first);
    dt_variable_unref(my.b);
    dt_variable_unref(fresh);
    dt_strategy_unref(s);
}

/* One wrong use each; `user` says which. */
static void misuse(dt_trace *t, void *user) {
    dt_value x = dt_constant(t, 1), g;

    switch (*(int *)user) {
    case 0: dt_gradient(x, NULL); break;
    case 1: dt_gradient_values(x, NULL, 1, &g); break;
    case 2: dt_gradient_values(x, &x, 1, NULL); break;
    case 3: dt_gradient_values(x, &x, -1, &g); break;
    case 4: dt_model_weight(t, NULL, "dense/kernel"); break;
    case 5: dt_loss_call(NULL, x, x); break;
    case 6: dt_gradient(dt_replica_id(t), NULL); break;
    }
    dt_return(t, "x", x);
}

static void test_wrong_use_in_a_step(void **state) {
    (void)state;
    dt_strategy *s = strategy_of(&(setup){.replicas = 2});

    for (int i = 0; i < 7; i++) {
        dt_function *f = NULL;
        OK(dt_function_create(&f, misuse, &i));
        dt_status *bad = dt_strategy_run(s, f, NULL, NULL);
        if (!bad) fail_msg("wrong use %d is no error", i);
        dt_status_free(bad);
        dt_function_unref(f);
    }
    dt_strategy_unref(s);
}

/* ---- labels ---- */

static void label_step(dt_trace *t, void *user) {
    dt_loss *loss = user;
    dt_return(t, "loss", dt_loss_call(loss, dt_arg(t, "label"), dt_arg(t, "scores")));
}

/* Labels may be floats when they are whole numbers; what is none, or no class, is an error before
 * the step runs. */
static void test_labels_that_are_floats(void **state) {
    static const struct row {
        float label[3];
        const char *text;
    } rows[] = {
        {{0, 2, 1}, NULL},
        {{0, 1.5F, 1},
         "label 1.5 is not a whole number in [0, 3), the classes that have a score; labels are 0 "
         "1.5 1"},
        {{0, 3, 1}, "label 3 is outside of [0, 3)"},
        {{0, -1, 1}, "label -1 is outside of [0, 3)"},
        {{0, NAN, 1}, "label nan is not a whole number"},
    };
    const float scores[9] = {2, 1, -1, 0, 0.5F, 1, 1, 1, 1};
    dt_tensor *p = NULL, *y = NULL;
    dt_loss *loss = NULL;

    (void)state;
    OK(dt_loss_create(&loss, "SparseCategoricalCrossentropy: {from_logits: true}"));
    OK(dt_tensor_create(&p, DT_FLOAT32, 2, (int64_t[]){3, 3}, scores));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_values *args = NULL, *out = NULL;
        dt_function *f = NULL;
        OK(dt_tensor_create(&y, DT_FLOAT32, 1, (int64_t[]){3}, rows[i].label));
        OK(dt_values_create(&args));
        OK(dt_values_set(args, "label", y));
        OK(dt_values_set(args, "scores", p));
        OK(dt_function_create(&f, label_step, loss));
        dt_status *s = dt_strategy_run(dt_get_strategy(), f, args, &out);
        if (rows[i].text) {
            assert_int_equal(dt_status_number(s), DT_E_LABEL_RANGE);
            assert_non_null(strstr(dt_status_text(s), rows[i].text));
            dt_status_free(s);
        } else {
            OK(s);
            assert_float_equal(dt_tensor_item(dt_values_local(out, "loss", 0)), 0.709298, 1e-5);
        }
        dt_values_unref(out);
        dt_values_unref(args);
        dt_function_unref(f);
    }
    dt_tensor_unref(y);
    dt_tensor_unref(p);
    dt_loss_unref(loss);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_loss_of_a_batch_that_does_not_divide),
        cmocka_unit_test(test_the_average_of_replicas_is_an_option),
        cmocka_unit_test(test_gradients_of_any_values),
        cmocka_unit_test(test_what_has_no_gradient),
        cmocka_unit_test(test_optimizers_train_variables_of_ones_own),
        cmocka_unit_test(test_two_losses_of_one_variable),
        cmocka_unit_test(test_an_optimizer_is_of_its_first_variables),
        cmocka_unit_test(test_wrong_use_in_a_step),
        cmocka_unit_test(test_labels_that_are_floats),
    };
    return cmocka_run_group_tests(tests, clean_folder, NULL);
}

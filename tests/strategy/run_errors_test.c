/* SPDX-License-Identifier: Apache-2.0 */
/* What run refuses, and that a refused run leaves things as they were. */
#include "kit.h"

#include "op/op.h"

typedef struct setting {
    dt_strategy *strategy;
    dt_function *function;
    dt_values *args, *out;
    int calls;
    dt_variable *variable;
} setting;

static void setting_make(setting *x, int replicas, void (*step)(dt_trace *t, void *user)) {
    *x = (setting){.strategy = mirrored(replicas), .args = values()};
    OK(dt_function_create(&x->function, step, x));
}

static void setting_free(setting *x) {
    dt_values_unref(x->args);
    dt_values_unref(x->out);
    dt_function_unref(x->function);
    dt_strategy_unref(x->strategy);
    dt_variable_unref(x->variable);
}

static dt_status *run(setting *x) {
    return dt_strategy_run(x->strategy, x->function, x->args, &x->out);
}

static void add_x_and_y(dt_trace *t, void *user) {
    ((setting *)user)->calls++;
    dt_return(t, "sum", dt_add(dt_arg(t, "x"), dt_arg(t, "y")));
}

/* ---- arguments ---- */

static void test_unknown_argument_is_named(void **state) {
    (void)state;
    setting x;

    setting_make(&x, 2, add_x_and_y);
    give(x.args, "x", scalar(1));
    give(x.args, "z", scalar(1));
    fails(run(&x), DT_E_NO_ARGUMENT, "no argument 'y'");
    assert_null(x.out);
    give(x.args, "y", scalar(2)); /* a failed trace is not kept */
    OK(run(&x));
    is_local(x.out, "sum", 0, SCALAR, X(3));
    assert_int_equal(x.calls, 2);
    setting_free(&x);
}

static void test_rows_must_agree(void **state) {
    (void)state;
    setting x;

    setting_make(&x, 2, add_x_and_y);
    give_rows(x.args, "x", (const int64_t[]){2, 3}, 2);
    give_rows(x.args, "y", (const int64_t[]){2, 4}, 2);
    fails(run(&x), DT_E_ARGUMENT, "on replica 1, argument 'y' has 4 rows and 'x' has 3");
    assert_int_equal(x.calls, 0);
    give_rows(x.args, "y", (const int64_t[]){2, 3}, 2);
    OK(run(&x));
    is_local(x.out, "sum", 1, SHAPE(3), X(4, 6, 8));
    setting_free(&x);
}

/* The rows of one argument come whole, of the other apart: they are compared all the same. */
static void test_rows_of_wholes_must_agree(void **state) {
    (void)state;
    setting x;
    dt_tensor *t = count_from(0, 4);

    setting_make(&x, 2, add_x_and_y);
    dt_values_set_whole(x.args, "x", &(dt_whole){t, DT_ROWS, x.strategy, (int32_t[]){0, 1, 4}});
    give_rows(x.args, "y", (const int64_t[]){2, 2}, 2);
    fails(run(&x), DT_E_ARGUMENT, "on replica 0, argument 'y' has 2 rows and 'x' has 1");
    dt_tensor_unref(t);
    setting_free(&x);
}

static void test_replicas_have_one_dtype_and_rank(void **state) {
    (void)state;
    const int64_t shape[] = {2, 3};
    const struct {
        dt_dtype dtype;
        int rank;
        const int64_t *shape;
    } others[] = {{DT_FLOAT64, 2, shape}, {DT_FLOAT32, 1, shape}, {DT_FLOAT32, 0, shape}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        setting x;
        dt_tensor *t[2] = {NULL, NULL};
        setting_make(&x, 2, add_x_and_y);
        OK(dt_tensor_create(&t[0], DT_FLOAT32, 2, shape, NULL));
        OK(dt_tensor_create(&t[1], others[i].dtype, others[i].rank, others[i].shape, NULL));
        give_each(x.args, "x", t, 2);
        fails(run(&x), DT_E_ARGUMENT, "argument 'x' of replica 1 differs from that of replica 0");
        setting_free(&x);
    }
}

static void test_one_value_for_each_replica(void **state) {
    (void)state;
    for (int n = 1; n <= 3; n += 2) {
        setting x;
        char text[96];
        setting_make(&x, 2, add_x_and_y);
        give_rows(x.args, "x", (const int64_t[]){1, 1, 1}, n);
        snprintf(text, sizeof text,
                 "argument 'x' has values for %d replicas, but the strategy has 2", n);
        fails(run(&x), DT_E_ARGUMENT, text);
        setting_free(&x);
    }
}

static void test_rows_are_counted_in_31_bits(void **state) {
    (void)state;
    const int64_t shape[] = {INT32_MAX, 0}; /* takes no memory */
    dt_tensor *t[2] = {NULL, NULL};
    setting x;

    setting_make(&x, 2, add_x_and_y);
    for (int r = 0; r < 2; r++) OK(dt_tensor_create(&t[r], DT_FLOAT32, 2, shape, NULL));
    give_each(x.args, "x", t, 2);
    fails(run(&x), DT_E_ARGUMENT, "more than 2^31 rows");
    setting_free(&x);
}

static void returns_whatever(dt_trace *t, void *user) {
    setting *x = user;
    x->calls++;
    dt_return(t, "one", dt_constant(t, 1));
}

/* A name that looks like two arguments is one. */
static void test_signatures_do_not_run_together(void **state) {
    (void)state;
    setting x;

    setting_make(&x, 1, returns_whatever);
    give(x.args, "a", scalar(1));
    give(x.args, "b", scalar(1));
    OK(run(&x));
    dt_values_unref(x.args);
    x.args = values();
    give(x.args, "a:f32[],b", scalar(1));
    OK(run(&x));
    assert_int_equal(x.calls, 2);
    setting_free(&x);
}

/* ---- results ---- */

/* x (B) + c (3, 1) is (3, B) */
static void batch_in_the_middle(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "sum", dt_add(dt_arg(t, "x"), dt_arg(t, "c")));
}

static void test_batch_stands_in_front(void **state) {
    (void)state;
    setting x;

    setting_make(&x, 2, batch_in_the_middle);
    give_rows(x.args, "x", (const int64_t[]){1, 5}, 2);
    give(x.args, "c", tensor(DT_FLOAT32, 2, (int64_t[]){3, 1}, X(1, 2, 3)));
    fails(run(&x), DT_E_MODEL_SHAPE,
          "makes f32[3,B] with the batch at dimension 1; it can only be dimension 0");
    setting_free(&x);
}

static void adds_shapes_that_do_not_fit(dt_trace *t, void *user) {
    setting *x = user;
    if (x->calls++ == 0) dt_return(t, "sum", dt_matmul(dt_arg(t, "x"), dt_arg(t, "x")));
    else dt_return(t, "x", dt_arg(t, "x"));
}

/* What was in the out-parameter is there after a failure, and is replaced by a success. */
static void test_failure_leaves_the_results_alone(void **state) {
    (void)state;
    setting x;

    setting_make(&x, 2, adds_shapes_that_do_not_fit);
    x.out = values();
    give(x.out, "before", scalar(4));
    give_rows(x.args, "x", (const int64_t[]){1, 2}, 2);
    fails(run(&x), DT_E_MODEL_SHAPE, "matmul");
    is_local(x.out, "before", 0, SCALAR, X(4));
    OK(run(&x));
    assert_int_equal(dt_values_locals(x.out, "before"), 0);
    is_local(x.out, "x", 1, SHAPE(2), X(1, 2));
    setting_free(&x);
}

/* ---- variables ---- */

static void assigns(dt_trace *t, void *user) {
    setting *x = user;
    dt_value sum = dt_reduce_sum(dt_arg(t, "x"), 0), v = dt_read(t, x->variable);

    dt_assign(t, x->variable, dt_add(v, x->calls++ == 0 ? sum : dt_all_reduce(DT_SUM, sum)));
    dt_return(t, "before", v);
}

static void test_varying_updates_are_refused(void **state) {
    (void)state;
    const dt_type type = dt_scalar_type(DT_FLOAT32);
    setting x;

    setting_make(&x, 2, assigns);
    OK(dt_variable_alloc(&x.variable, "counter", &type, false));
    give_rows(x.args, "x", (const int64_t[]){2, 2}, 2);
    fails(run(&x), DT_E_VARYING_UPDATE, "'counter'");
    assert_int_equal(*(float *)x.variable->host_data, 0);
    OK(run(&x));
    assert_int_equal(*(float *)x.variable->host_data, 6);
    is_local(x.out, "before", 1, SCALAR, X(0));
    OK(run(&x));
    assert_int_equal(*(float *)x.variable->host_data, 12);
    is_local(x.out, "before", 1, SCALAR, X(6));
    setting_free(&x);
}

/* A function keeps the variables of its traces. */
static void test_function_keeps_variables(void **state) {
    (void)state;
    const dt_type type = dt_scalar_type(DT_FLOAT32);
    setting x;

    setting_make(&x, 2, assigns);
    x.calls = 1;
    OK(dt_variable_alloc(&x.variable, "counter", &type, false));
    give_rows(x.args, "x", (const int64_t[]){2, 2}, 2);
    OK(run(&x));
    dt_variable_unref(x.variable);
    x.variable = NULL;
    OK(run(&x));
    is_local(x.out, "before", 0, SCALAR, X(6));
    setting_free(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_argument_is_named),
        cmocka_unit_test(test_rows_must_agree),
        cmocka_unit_test(test_rows_of_wholes_must_agree),
        cmocka_unit_test(test_replicas_have_one_dtype_and_rank),
        cmocka_unit_test(test_one_value_for_each_replica),
        cmocka_unit_test(test_rows_are_counted_in_31_bits),
        cmocka_unit_test(test_signatures_do_not_run_together),
        cmocka_unit_test(test_batch_stands_in_front),
        cmocka_unit_test(test_failure_leaves_the_results_alone),
        cmocka_unit_test(test_varying_updates_are_refused),
        cmocka_unit_test(test_function_keeps_variables),
    };
    return cmocka_run_group_tests_name("run_errors", tests, NULL, NULL);
}

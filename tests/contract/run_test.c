/* SPDX-License-Identifier: Apache-2.0 */
/* run with RunOptions, arguments by position and by name, nests of them, and reduce and gather of
 * the parts of a result, on one host and on several. */
#include "../strategy/kit.h"

/* ---- arguments and results ---- */

/* fn(x, scale=, bias={"a": .., "b": [..]}): y = x * scale + a + b[0], and what it was made of. */
static void nested(dt_trace *t, void *user) {
    dt_value x = dt_arg(t, "x"), y = dt_multiply(x, dt_arg(t, "scale"));

    (void)user;
    y = dt_add(y, dt_arg(t, "bias/a"));
    y = dt_add(y, dt_arg(t, "bias/b/0"));
    dt_return(t, "y", y);
    dt_return(t, "parts/sum", dt_reduce_sum(y, 0));
    dt_return(t, "parts/rest/0", x);
    dt_return(t, "parts/rest/1", dt_constant(t, 7));
}

static dt_values *nested_arguments(dt_strategy *s) {
    dt_values *args = values();
    int n = dt_strategy_replicas(s);
    dt_tensor **bias = calloc((size_t)n, sizeof *bias);
    int64_t *rows = calloc((size_t)n, sizeof *rows);

    for (int r = 0; r < n; r++) {
        rows[r] = 2;
        bias[r] = scalar(100 * r);
    }
    give_rows(args, "x", rows, n);
    give(args, "scale", scalar(3));
    give_each(args, "bias/a", bias, n);
    give(args, "bias/b/0", scalar(0.5));
    free(bias);
    free(rows);
    return args;
}

/* Results have the names that fn gave, each with a value per replica, or a single one where it is
 * the same by its nature. */
static void expect_nest(dt_strategy *s, const dt_values *v) {
    for (int r = 0; r < dt_strategy_replicas(s); r++) {
        double x = 2 * r, y[] = {3 * x + 100 * r + 0.5, 3 * (x + 1) + 100 * r + 0.5};
        is_local(v, "y", r, SHAPE(2), y);
        is_local(v, "parts/sum", r, SCALAR, X(y[0] + y[1]));
        is_local(v, "parts/rest/0", r, SHAPE(2), X(x, x + 1));
    }
    assert_int_equal(dt_values_count(v), 4);
    assert_false(dt_values_is_per_replica(v, "parts/rest/1"));
    is_local(v, "parts/rest/1", 0, SCALAR, X(7));
}

static void test_nests_of_arguments_and_results(void **state) {
    dt_strategy *all[] = {mirrored(2), mirrored(3), tpu("sim:v3-8"), tpu("sim:v3-32")};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        dt_values *args = nested_arguments(all[i]), *v = NULL;
        dt_function *f = NULL;
        OK(dt_function_create(&f, nested, NULL));
        OK(dt_strategy_run(all[i], f, args, &v));
        expect_nest(all[i], v);
        dt_values_unref(v);
        dt_values_unref(args);
        dt_function_unref(f);
        dt_strategy_unref(all[i]);
    }
}

static void positional(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "difference", dt_subtract(dt_arg_at(t, 0), dt_arg_at(t, 1)));
    dt_return(t, "named", dt_subtract(dt_arg(t, "second"), dt_arg(t, "first")));
}

static void test_arguments_by_position_and_by_name(void **state) {
    dt_strategy *s = mirrored(2);
    dt_values *args = values(), *v = NULL;
    dt_function *f = NULL;

    (void)state;
    give(args, "first", scalar(10));
    give(args, "second", scalar(4));
    OK(dt_function_create(&f, positional, NULL));
    OK(dt_strategy_run(s, f, args, &v));
    is_local(v, "difference", 0, SCALAR, X(6));
    is_local(v, "named", 0, SCALAR, X(-6));
    dt_values_unref(v);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

/* ---- RunOptions ---- */

typedef struct seen {
    int traces;
    int64_t rows;
} seen;

static void note_rows(dt_trace *t, void *user) {
    seen *my = user;
    dt_value x = dt_arg(t, "x");

    my->traces++;
    my->rows = dt_dim(x, 0);
    dt_return(t, "sum", dt_reduce_sum(x, 0));
}

/* Dynamic sizes, the default, record once for all batches; fixed ones record each size, whose rows
 * are a number then. Sums are the same. */
static void test_run_options(void **state) {
    static const int64_t sizes[][2] = {{4, 4}, {2, 2}, {4, 4}};
    static const double sums[][2] = {{6, 22}, {1, 5}, {6, 22}};

    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        dt_strategy *s = mirrored(2);
        dt_function *f = NULL;
        dt_values *v = NULL;
        seen my = {0};
        OK(dt_function_create(&f, note_rows, &my));
        for (int i = 0; i < 3; i++) {
            dt_values *args = values();
            give_rows(args, "x", sizes[i], 2);
            OK(dt_strategy_run_with(s, f, args, &(dt_step_options){.fixed_batch_size = fixed}, &v));
            for (int r = 0; r < 2; r++) is_local(v, "sum", r, SCALAR, &sums[i][r]);
            assert_int_equal(my.rows, fixed ? (i == 2 ? 2 : sizes[i][0]) : -1);
            dt_values_unref(args);
        }
        assert_int_equal(my.traces, fixed ? 2 : 1);
        dt_values_unref(v);
        dt_function_unref(f);
        dt_strategy_unref(s);
    }
}

/* Replicas with other shapes have no fixed size in common. */
static void test_fixed_sizes_are_the_same_on_all(void **state) {
    const int64_t rows[] = {4, 2};
    dt_strategy *s = mirrored(2);
    dt_values *args = values(), *v = NULL;
    dt_function *f = NULL;
    seen my = {0};

    (void)state;
    give_rows(args, "x", rows, 2);
    OK(dt_function_create(&f, note_rows, &my));
    dt_status *bad =
        dt_strategy_run_with(s, f, args, &(dt_step_options){.fixed_batch_size = true}, &v);
    assert_non_null(bad);
    dt_status_free(bad);
    OK(dt_strategy_run_with(s, f, args, NULL, &v));
    is_local(v, "sum", 0, SCALAR, X(6));
    is_local(v, "sum", 1, SCALAR, X(9));
    dt_values_unref(v);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

/* ---- reduce and gather of a result's parts, over hosts ---- */

static void test_parts_of_a_result_are_reduced(void **state) {
    dt_strategy *all[] = {mirrored(2), tpu("sim:v3-8"), tpu("sim:v3-32")};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        dt_values *args = nested_arguments(all[i]), *v = NULL;
        dt_function *f = NULL;
        dt_tensor *t = NULL;
        double n = dt_strategy_replicas(all[i]), rows = 2 * n, ids = n * (n - 1) / 2,
               count = rows * (rows - 1) / 2;
        OK(dt_function_create(&f, nested, NULL));
        OK(dt_strategy_run(all[i], f, args, &v));
        OK(dt_strategy_reduce(all[i], DT_SUM, v, "parts/sum", DT_NO_AXIS, &t));
        assert_float_equal(dt_tensor_item(t), 3 * count + 200 * ids + 0.5 * rows, 1e-3);
        OK(dt_strategy_reduce(all[i], DT_MEAN, v, "parts/rest/0", 0, &t));
        assert_float_equal(dt_tensor_item(t), (rows - 1) / 2, 1e-4);
        dt_tensor_unref(t);
        dt_values_unref(v);
        dt_values_unref(args);
        dt_function_unref(f);
        dt_strategy_unref(all[i]);
    }
}

/* The first host of all replicas has the result, in the order of replicas. */
static void test_gather_on_several_hosts(void **state) {
    dt_strategy *s = tpu("sim:v3-32");
    dt_values *v = values();
    dt_tensor *t = NULL;
    int64_t rows[32];

    (void)state;
    assert_int_equal(dt_strategy_num_hosts(s), 4);
    for (int r = 0; r < 32; r++) rows[r] = r % 3; /* uneven, some empty */
    give_rows(v, "x", rows, 32);
    OK(dt_strategy_gather(s, v, "x", 0, &t));
    assert_int_equal(dt_tensor_dim(t, 0), 31);
    for (int64_t i = 0; i < 31; i++) assert_float_equal(get(t, i), i, 0);
    assert_string_equal(dt_tensor_device(t), "/job:worker/replica:0/task:0/device:CPU:0");
    OK(dt_strategy_reduce(s, DT_SUM, v, "x", 0, &t));
    assert_float_equal(dt_tensor_item(t), 31 * 30 / 2, 0);
    assert_string_equal(dt_tensor_device(t), dt_strategy_host_device(s));
    dt_tensor_unref(t);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

/* ---- where gather and reduce may be called, and of what ---- */

typedef struct inside {
    dt_strategy *s;
    const dt_values *v;
    bool gather;
} inside;

static void combine_within(dt_trace *t, void *user) {
    const inside *my = user;
    dt_tensor *out = NULL;

    dt_trace_fail(t, my->gather ? dt_strategy_gather(my->s, my->v, "x", 0, &out)
                                : dt_strategy_reduce(my->s, DT_SUM, my->v, "x", 0, &out));
    assert_null(out);
}

static void test_steps_cannot_gather_or_reduce(void **state) {
    const int64_t rows[] = {2, 2};
    dt_strategy *s = mirrored(2);
    dt_values *v = values();

    (void)state;
    give_rows(v, "x", rows, 2);
    for (int gather = 0; gather < 2; gather++) {
        inside my = {s, v, gather};
        dt_function *f = NULL;
        OK(dt_function_create(&f, combine_within, &my));
        dt_status *bad = dt_strategy_run(s, f, NULL, NULL);
        assert_non_null(bad);
        assert_string_equal(dt_status_kind(bad), "RuntimeError");
        dt_status_free(bad);
        dt_function_unref(f);
    }
    dt_values_unref(v);
    dt_strategy_unref(s);
}

/* A tensor that no replica made: under OneDeviceStrategy and the default strategy it is gathered
 * and reduced as it is. */
static void test_regular_tensors_on_one_device(void **state) {
    dt_strategy *all[2] = {0};
    dt_values *v = values(), *out = values();

    (void)state;
    OK(dt_one_device_strategy(&all[0], "CPU:0"));
    OK(dt_default_strategy(&all[1]));
    give(v, "x", tensor(DT_FLOAT32, 2, (int64_t[]){2, 2}, X(1, 2, 3, 5)));
    for (int i = 0; i < 2; i++) {
        dt_tensor *t = NULL;
        OK(dt_strategy_gather(all[i], v, "x", 1, &t));
        give(out, "gathered", t);
        is_local(out, "gathered", 0, SHAPE(2, 2), X(1, 2, 3, 5));
        t = NULL;
        OK(dt_strategy_reduce(all[i], DT_SUM, v, "x", DT_NO_AXIS, &t));
        give(out, "sum", t);
        is_local(out, "sum", 0, SHAPE(2, 2), X(1, 2, 3, 5));
        t = NULL;
        OK(dt_strategy_reduce(all[i], DT_MEAN, v, "x", 0, &t));
        give(out, "mean", t);
        is_local(out, "mean", 0, SHAPE(2), X(2, 3.5));
        dt_strategy_unref(all[i]);
    }
    dt_values_unref(out);
    dt_values_unref(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nests_of_arguments_and_results),
        cmocka_unit_test(test_arguments_by_position_and_by_name),
        cmocka_unit_test(test_run_options),
        cmocka_unit_test(test_fixed_sizes_are_the_same_on_all),
        cmocka_unit_test(test_parts_of_a_result_are_reduced),
        cmocka_unit_test(test_gather_on_several_hosts),
        cmocka_unit_test(test_steps_cannot_gather_or_reduce),
        cmocka_unit_test(test_regular_tensors_on_one_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

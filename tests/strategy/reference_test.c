/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The examples that the reference documents show for the methods of a strategy, with the output
 * that they show. GPUs are CPU devices here; a value that Python would print is compared as
 * numbers.
 */
#include "kit.h"

static dt_strategy *two_devices(void) {
    const char *const devices[] = {"CPU:0", "CPU:1"};
    dt_strategy *s = NULL;
    OK(dt_mirrored_strategy(&s, devices, 2));
    return s;
}

/* ---- distribute_values_from_function ---- */

static dt_status *constant_one(const dt_value_context *ctx, dt_values *out, void *user) {
    dt_tensor *t = scalar(1);
    dt_status *s = dt_values_set(out, "value", t);
    (void)ctx, (void)user;
    dt_tensor_unref(t);
    return s;
}

static dt_status *from_array(const dt_value_context *ctx, dt_values *out, void *user) {
    const double *array = user;
    dt_tensor *t = tensor(DT_FLOAT64, 0, NULL, &array[ctx->replica_id_in_sync_group]);
    dt_status *s = dt_values_set(out, "value", t);
    dt_tensor_unref(t);
    return s;
}

static dt_status *from_count(const dt_value_context *ctx, dt_values *out, void *user) {
    double n = ctx->num_replicas_in_sync;
    dt_tensor *t = tensor(DT_INT32, 0, NULL, &n);
    dt_status *s = dt_values_set(out, "value", t);
    (void)user;
    dt_tensor_unref(t);
    return s;
}

static void test_values_from_function(void **state) {
    double array[] = {3, 2, 1};
    const struct {
        dt_value_fn fn;
        double want[2];
    } rows[] = {{constant_one, {1, 1}}, {from_array, {3, 2}}, {from_count, {2, 2}}};
    dt_strategy *s = two_devices();

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_values *v = NULL;
        OK(dt_strategy_values_from_function(s, rows[i].fn, array, &v));
        assert_int_equal(dt_values_locals(v, "value"), 2);
        for (int r = 0; r < 2; r++) is_local(v, "value", r, SCALAR, &rows[i].want[r]);
        dt_values_unref(v);
    }
    dt_strategy_unref(s);
}

/* ---- gather ---- */

typedef struct repeated {
    dt_tensor *t;
} repeated;

static dt_status *same_for_all(const dt_value_context *ctx, dt_values *out, void *user) {
    (void)ctx;
    return dt_values_set(out, "value", ((repeated *)user)->t);
}

static void is_gathered(dt_strategy *s, dt_tensor *each, int axis, const int64_t *shape,
                        const double *want) {
    repeated user = {each};
    dt_values *v = NULL, *out = values();
    dt_tensor *t = NULL;

    OK(dt_strategy_values_from_function(s, same_for_all, &user, &v));
    OK(dt_strategy_gather(s, v, "value", axis, &t));
    give(out, "gathered", t);
    is_local(out, "gathered", 0, shape, want);
    dt_values_unref(out);
    dt_values_unref(v);
}

static void test_gather(void **state) {
    dt_strategy *two = two_devices(), *four = mirrored(4);
    dt_tensor *column = tensor(DT_INT32, 2, SHAPE(2, 1), X(1, 2)),
              *block = tensor(DT_INT32, 3, SHAPE(1, 2, 3), X(0, 1, 2, 3, 4, 5));

    (void)state;
    is_gathered(two, column, 0, SHAPE(4, 1), X(1, 2, 1, 2));
    is_gathered(four, block, 0, SHAPE(4, 2, 3),
                X(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
    is_gathered(four, block, 1, SHAPE(1, 8, 3),
                X(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
    is_gathered(four, block, 2, SHAPE(1, 2, 12),
                X(0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5));
    dt_tensor_unref(column);
    dt_tensor_unref(block);
    dt_strategy_unref(two);
    dt_strategy_unref(four);
}

/* ---- reduce ---- */

static void own_id(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "id", dt_replica_id(t));
}

static void test_reduce_of_replica_ids(void **state) {
    dt_strategy *s = two_devices();
    dt_function *f = NULL;
    dt_values *v = NULL;
    dt_tensor *total = NULL;
    dt_reduce_op op;

    (void)state;
    OK(dt_function_create(&f, own_id, NULL));
    OK(dt_strategy_run(s, f, NULL, &v));
    assert_string_equal(dt_tensor_device(dt_values_local(v, "id", 0)),
                        "/job:localhost/replica:0/task:0/device:CPU:0");
    assert_string_equal(dt_tensor_device(dt_values_local(v, "id", 1)),
                        "/job:localhost/replica:0/task:0/device:CPU:1");
    OK(dt_reduce_op_named("SUM", &op));
    OK(dt_strategy_reduce(s, op, v, "id", DT_NO_AXIS, &total));
    assert_int_equal(dt_tensor_dtype(total), DT_INT32);
    assert_float_equal(dt_tensor_item(total), 1, 0);
    assert_string_equal(dt_tensor_device(total), "/job:localhost/replica:0/task:0/device:CPU:0");
    dt_tensor_unref(total);
    dt_values_unref(v);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

/* "What should axis be?": eight examples, then a last batch of six. */
static void test_reduce_along_the_batch(void **state) {
    dt_strategy *s = two_devices();
    dt_values *full = values(), *last = values(), *out = values();
    dt_tensor *t = NULL;

    (void)state;
    give_rows(full, "loss", SHAPE(4, 4), 2);
    give_rows(last, "loss", SHAPE(4, 2), 2);
    OK(dt_strategy_reduce(s, DT_SUM, full, "loss", DT_NO_AXIS, &t));
    give(out, "sum", t);
    is_local(out, "sum", 0, SHAPE(4), X(0 + 4, 1 + 5, 2 + 6, 3 + 7));
    t = NULL;
    OK(dt_strategy_reduce(s, DT_SUM, full, "loss", 0, &t));
    assert_float_equal(dt_tensor_item(t), 28, 0);
    fails(dt_strategy_reduce(s, DT_SUM, last, "loss", DT_NO_AXIS, &t), DT_E_REDUCE_TYPE,
          "replica 1");
    OK(dt_strategy_reduce(s, DT_MEAN, last, "loss", 0, &t));
    assert_float_equal(dt_tensor_item(t), 15. / 6, 1e-6);
    dt_tensor_unref(t);
    dt_values_unref(full);
    dt_values_unref(last);
    dt_values_unref(out);
    dt_strategy_unref(s);
}

/* ---- run ---- */

static void twice(dt_trace *t, void *user) {
    dt_value input = dt_arg(t, "value");
    (void)user;
    dt_return(t, "result", dt_add(input, input));
}

static void test_run_of_distributed_values(void **state) {
    dt_strategy *s = tpu("sim:v3-8");
    dt_function *f = NULL;
    dt_values *v = NULL, *out = NULL;

    (void)state;
    OK(dt_strategy_values_from_function(s, from_count, NULL, &v));
    OK(dt_function_create(&f, twice, NULL));
    OK(dt_strategy_run(s, f, v, &out));
    for (int r = 0; r < 8; r++) is_local(out, "result", r, SCALAR, X(16));
    dt_values_unref(v);
    dt_values_unref(out);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

/* ---- scope ---- */

static void looks(dt_trace *t, void *user) {
    dt_replica_context c;
    assert_true(dt_has_strategy());
    assert_false(dt_in_cross_replica_context());
    assert_true(dt_get_replica_context(&c));
    assert_ptr_equal(c.trace, t);
    assert_ptr_equal(c.strategy, user);
    assert_int_equal(c.num_replicas_in_sync, 2);
}

/* Entering installs the strategy and cross-replica context; outside there is the default one; run
 * enters by itself. */
static void test_scope_and_contexts(void **state) {
    dt_strategy *s = two_devices();
    dt_replica_context c;
    dt_function *f = NULL;

    (void)state;
    assert_false(dt_has_strategy());
    assert_false(dt_in_cross_replica_context());
    assert_true(dt_get_replica_context(&c));
    assert_int_equal(c.replica_id_in_sync_group, 0);
    assert_int_equal(c.num_replicas_in_sync, 1);
    DT_SCOPE(s) {
        assert_ptr_equal(dt_get_strategy(), s);
        assert_true(dt_in_cross_replica_context());
        assert_false(dt_get_replica_context(&c));
    }
    OK(dt_function_create(&f, looks, s));
    OK(dt_strategy_run(s, f, NULL, NULL));
    OK(dt_set_strategy(s));
    assert_ptr_equal(dt_get_strategy(), s);
    assert_true(dt_in_cross_replica_context());
    OK(dt_set_strategy(NULL));
    assert_false(dt_has_strategy());
    dt_function_unref(f);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_from_function),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_reduce_of_replica_ids),
        cmocka_unit_test(test_reduce_along_the_batch),
        cmocka_unit_test(test_run_of_distributed_values),
        cmocka_unit_test(test_scope_and_contexts),
    };
    return cmocka_run_group_tests_name("reference", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* reduce, against the cases recorded from TensorFlow and by hand. */
#include "kit.h"

/* ---- recorded ---- */

static dt_strategy *strategy_of(const json_t *in) {
    const json_t *strategy = json_object_get(in, "strategy");
    dt_strategy *s = NULL;

    if (strcmp(text_of(strategy, "type"), "MirroredStrategy") == 0)
        return mirrored((int)json_integer_value(json_object_get(strategy, "num_replicas")));
    if (strcmp(text_of(strategy, "type"), "OneDeviceStrategy") == 0)
        OK(dt_one_device_strategy(&s, "CPU:0"));
    else OK(dt_default_strategy(&s));
    return s;
}

/* NULL: of a dtype that there is not. */
static dt_tensor *recorded_tensor(const json_t *j) {
    const json_t *shape = json_object_get(j, "shape"), *data = json_object_get(j, "data"), *x;
    int64_t dim[DT_MAX_RANK] = {0};
    dt_tensor *t = NULL;
    dt_dtype dtype;
    size_t i;

    if (!dt_dtype_parse(text_of(j, "dtype"), &dtype)) return NULL;
    json_array_foreach((json_t *)(uintptr_t)shape, i, x) dim[i] = json_integer_value(x);
    OK(dt_tensor_create(&t, dtype, (int)json_array_size(shape), dim, NULL));
    json_array_foreach((json_t *)(uintptr_t)data, i, x)
        /* "nan" */
        put(t->data, dtype, (int64_t)i,
            json_is_true(x)     ? 1
            : json_is_string(x) ? NAN
                                : json_number_value(x));
    return t;
}

static bool give_recorded(dt_values *v, const json_t *in) {
    const json_t *value = json_object_get(in, "value");
    dt_tensor *t[8] = {NULL};
    int n = json_is_array(value) ? (int)json_array_size(value) : 1;

    for (int r = 0; r < n; r++) {
        t[r] = recorded_tensor(json_is_array(value) ? json_array_get(value, (size_t)r) : value);
        if (!t[r]) return false;
    }
    if (json_is_array(value)) give_each(v, "x", t, n);
    else give(v, "x", t[0]);
    return true;
}

static void expect_recorded(const char *id, const dt_tensor *is, const json_t *recorded) {
    dt_tensor *ought = recorded_tensor(recorded);

    if (!dt_type_equal(&is->type, &ought->type))
        fail_msg("%s: dtype %d rank %d, recorded dtype %d rank %d", id, is->type.dtype,
                 is->type.rank, ought->type.dtype, ought->type.rank);
    for (int64_t i = 0; i < dt_tensor_elements(is); i++)
        if (fabs(get(is, i) - get(ought, i)) > 1e-6 * fabs(get(ought, i)) + 1e-7 ||
            isnan(get(is, i)) != isnan(get(ought, i)))
            fail_msg("%s: element %lld is %g, recorded %g", id, (long long)i, get(is, i),
                     get(ought, i));
    dt_tensor_unref(ought);
}

/* Whether the case's words can be said with this library: an enum for the op, one axis or none, its
 * dtypes. */
static bool can_say(const json_t *in, dt_reduce_op *op, int *axis) {
    const json_t *a = json_object_get(in, "axis");
    const char *name = text_of(in, "reduce_op");

    name = strncmp(name, "ReduceOp.", 9) == 0 ? name + 9 : name;
    *op = strcasecmp(name, "SUM") == 0 ? DT_SUM : DT_MEAN;
    *axis = json_is_integer(a) ? (int)json_integer_value(a) : DT_NO_AXIS;
    return (*op == DT_SUM || strcasecmp(name, "MEAN") == 0) &&
           (json_is_null(a) || json_is_integer(a));
}

/* The kind of error, and nothing of ours that TensorFlow would not have refused. */
static void expect_recorded_error(const char *id, dt_status *s, const json_t *error) {
    if (!s) fail_msg("%s: no error, recorded %s", id, text_of(error, "message"));
    if (strcmp(dt_status_kind(s), text_of(error, "type")) != 0)
        fail_msg("%s: %s '%s', recorded %s", id, dt_status_kind(s), dt_status_text(s),
                 text_of(error, "type"));
    dt_status_free(s);
}

static void run_recorded(const json_t *c, dt_reduce_op op, int axis, int *done) {
    const json_t *in = json_object_get(c, "in"), *error = json_object_get(c, "error");
    dt_strategy *s = strategy_of(in);
    dt_values *v = values();
    dt_tensor *t = NULL;

    if (give_recorded(v, in)) {
        dt_status *bad = dt_strategy_reduce(s, op, v, "x", axis, &t);
        if (error) {
            expect_recorded_error(text_of(c, "id"), bad, error);
        } else {
            OK(bad);
            expect_recorded(text_of(c, "id"), t,
                            json_object_get(json_object_get(c, "out"), "result"));
        }
        ++*done;
    }
    dt_tensor_unref(t);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

static void test_recorded_cases(void **state) {
    (void)state;
    json_t *root, *c, *cases = golden_cases("reduce.json", &root);
    int done = 0, left = 0, axis;
    dt_reduce_op op;
    size_t i;

    json_array_foreach(cases, i, c) {
        int before = done;
        if (strcmp(text_of(c, "op"), "reduce") == 0 &&
            can_say(json_object_get(c, "in"), &op, &axis))
            run_recorded(c, op, axis, &done);
        left += done == before;
    }
    json_decref(root);
    print_message("%d cases, %d left out\n", done, left);
    assert_true(done > 30);
}

/* ---- by hand ---- */

static void replica_id(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "id", dt_replica_id(t));
    dt_return(t, "constant", dt_constant(t, 2));
    dt_return(t, "three", dt_scalar(t, DT_INT32, 3));
    dt_return(
        t, "pair",
        dt_broadcast_to(dt_constant(t, 2), &(dt_type){.dtype = DT_FLOAT32, .rank = 1, .dim = {2}}));
    dt_return(t, "given", dt_arg(t, "given"));
}

/* A constant of a step is there once, but each replica has returned it. */
static void each_returned_its_constant(dt_strategy *s, dt_values *out) {
    dt_tensor *r = NULL;
    assert_int_equal(dt_values_locals(out, "constant"), 1);
    OK(dt_strategy_reduce(s, DT_SUM, out, "constant", DT_NO_AXIS, &r));
    assert_true(dt_tensor_item(r) == 4);
    OK(dt_strategy_reduce(s, DT_MEAN, out, "constant", DT_NO_AXIS, &r));
    assert_true(dt_tensor_item(r) == 2);
    OK(dt_strategy_reduce(s, DT_SUM, out, "three", DT_NO_AXIS, &r));
    assert_true(dt_tensor_item(r) == 6 && dt_tensor_dtype(r) == DT_INT32);
    /* as of any integers of replicas */
    OK(dt_strategy_reduce(s, DT_MEAN, out, "three", DT_NO_AXIS, &r));
    assert_true(dt_tensor_item(r) == 3 && dt_tensor_dtype(r) == DT_FLOAT64);
    OK(dt_strategy_reduce(s, DT_SUM, out, "pair", DT_NO_AXIS, &r));
    assert_true(dt_tensor_elements(r) == 2 && ((const float *)dt_tensor_data(r))[1] == 4);
    OK(dt_strategy_reduce(s, DT_SUM, out, "pair", 0, &r));
    assert_true(dt_tensor_item(r) == 8);
    OK(dt_strategy_gather(s, out, "pair", 0, &r));
    assert_true(dt_tensor_elements(r) == 4 && ((const float *)dt_tensor_data(r))[3] == 2);
    dt_tensor_unref(r);
}

/* The reference's example: what each replica returns lies on its device, the sum on CPU:0. */
static void test_sum_of_replica_numbers_lies_on_the_host(void **state) {
    (void)state;
    const char *const names[] = {"CPU:3", "CPU:1"};
    dt_strategy *s = NULL;
    dt_function *f = NULL;
    dt_values *args = values(), *out = NULL;
    dt_tensor *total = NULL;

    OK(dt_mirrored_strategy(&s, names, 2));
    OK(dt_function_create(&f, replica_id, NULL));
    give(args, "given", scalar(1));
    OK(dt_strategy_run(s, f, args, &out));
    OK(dt_strategy_reduce(s, DT_SUM, out, "id", DT_NO_AXIS, &total));
    assert_int_equal(dt_tensor_dtype(total), DT_INT32);
    assert_true(dt_tensor_item(total) == 1);
    assert_string_equal(dt_tensor_device(dt_values_local(out, "id", 0)),
                        "/job:localhost/replica:0/task:0/device:CPU:3");
    assert_string_equal(dt_tensor_device(dt_values_local(out, "id", 1)),
                        "/job:localhost/replica:0/task:0/device:CPU:1");
    assert_string_equal(dt_tensor_device(total), "/job:localhost/replica:0/task:0/device:CPU:0");
    each_returned_its_constant(s, out);
    fails(dt_strategy_reduce(s, DT_SUM, out, "given", DT_NO_AXIS, &total), DT_E_REDUCE,
          "is one value for all 2 replicas");
    fails(dt_strategy_reduce(s, DT_SUM, args, "given", DT_NO_AXIS, &total), DT_E_REDUCE,
          "is one value for all 2 replicas");
    dt_tensor_unref(total);
    dt_values_unref(args);
    dt_values_unref(out);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

static void test_results_lie_on_the_first_host_of_a_pod(void **state) {
    (void)state;
    dt_resolver *pod = NULL;
    dt_strategy *s = NULL;
    dt_tensor *result = NULL, *part[16];
    dt_values *v = NULL;

    OK(dt_tpu_resolver(&pod, "sim:v3-32"));
    OK(dt_tpu_strategy(&s, pod, NULL));
    assert_int_equal(dt_strategy_replicas(s), 32);
    OK(dt_values_create(&v));
    dt_tensor *all[32];
    for (int r = 0; r < 32; r++) all[r] = r < 16 ? (part[r] = count_from(r, 2)) : part[r - 16];
    OK(dt_values_set_per_replica(v, "x", all, 32));
    OK(dt_strategy_reduce(s, DT_SUM, v, "x", DT_NO_AXIS, &result));
    assert_string_equal(dt_tensor_device(result), "/job:worker/replica:0/task:0/device:CPU:0");
    OK(dt_strategy_reduce(s, DT_MEAN, v, "x", 0, &result));
    assert_string_equal(dt_tensor_device(result), dt_strategy_host_device(s));
    OK(dt_strategy_gather(s, v, "x", 0, &result));
    assert_string_equal(dt_tensor_device(result), dt_strategy_host_device(s));
    for (int r = 0; r < 16; r++) dt_tensor_unref(part[r]);
    dt_tensor_unref(result);
    dt_values_unref(v);
    dt_strategy_unref(s);
    dt_resolver_unref(pod);
}

static void test_integers_wrap_at_their_width(void **state) {
    (void)state;
    static const struct {
        dt_dtype dtype;
        double a, b, sum;
    } cases[] = {
        {DT_UINT8, 200, 100, 44},
        {DT_INT8, 100, 100, -56},
        {DT_INT16, 30000, 10000, -25536},
        {DT_INT32, 2147483647, 1, -2147483648.0},
        {DT_INT64, 4611686018427387904.0, 4611686018427387904.0, -9223372036854775808.0},
    };
    dt_strategy *s = mirrored(2);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_tensor *t[] = {tensor(cases[i].dtype, 0, NULL, &cases[i].a),
                          tensor(cases[i].dtype, 0, NULL, &cases[i].b)},
                  *sum = NULL;
        dt_values *v = values();
        give_each(v, "x", t, 2);
        OK(dt_strategy_reduce(s, DT_SUM, v, "x", DT_NO_AXIS, &sum));
        assert_int_equal(dt_tensor_dtype(sum), cases[i].dtype);
        assert_true(dt_tensor_item(sum) == cases[i].sum);
        dt_tensor_unref(sum);
        dt_values_unref(v);
    }
    dt_strategy_unref(s);
}

static void test_means_of_integers_are_fractions(void **state) {
    (void)state;
    static const struct {
        dt_dtype from, to;
    } cases[] = {{DT_UINT8, DT_FLOAT32},  {DT_INT8, DT_FLOAT32},  {DT_INT16, DT_FLOAT32},
                 {DT_INT32, DT_FLOAT64},  {DT_INT64, DT_FLOAT64}, {DT_FLOAT32, DT_FLOAT32},
                 {DT_FLOAT64, DT_FLOAT64}};
    dt_strategy *strategies[] = {mirrored(4), tpu("sim:v2-8")};

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            int n = dt_strategy_replicas(strategies[k]);
            dt_tensor *t[8], *mean = NULL;
            dt_values *v = values();
            for (int r = 0; r < n; r++) t[r] = tensor(cases[i].from, 0, NULL, X(r == 0));
            give_each(v, "x", t, n);
            OK(dt_strategy_reduce(strategies[k], DT_MEAN, v, "x", DT_NO_AXIS, &mean));
            assert_int_equal(dt_tensor_dtype(mean), cases[i].to);
            assert_true(dt_tensor_item(mean) == 1.0 / n);
            dt_tensor_unref(mean);
            dt_values_unref(v);
        }
    dt_strategy_unref(strategies[0]);
    dt_strategy_unref(strategies[1]);
}

/* A thousand small terms must not drown in a large one. */
static void test_sums_are_made_in_double(void **state) {
    (void)state;
    enum { N = 1001 };
    dt_strategy *s = mirrored(N);
    dt_tensor *t[N], *sum = NULL;
    dt_values *v = values();

    for (int r = 0; r < N; r++) t[r] = scalar(r == 0 ? 16777216 : 1);
    give_each(v, "x", t, N);
    OK(dt_strategy_reduce(s, DT_SUM, v, "x", DT_NO_AXIS, &sum));
    assert_true(dt_tensor_item(sum) == 16777216 + 1000);
    dt_tensor_unref(sum);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

static void test_shared_values(void **state) {
    (void)state;
    dt_strategy *s = mirrored(3);
    dt_values *v = values();
    dt_tensor *out = NULL;

    give(v, "integers", tensor(DT_INT32, 1, (int64_t[]){3}, X(1, 2, 4)));
    give(v, "truth", tensor(DT_BOOL, 0, NULL, X(1)));
    OK(dt_strategy_reduce(s, DT_MEAN, v, "integers", DT_NO_AXIS, &out));
    assert_int_equal(dt_tensor_dtype(out), DT_INT32); /* as it is */
    assert_memory_equal(dt_tensor_data(out), ((int32_t[]){1, 2, 4}), 12);
    OK(dt_strategy_reduce(s, DT_SUM, v, "integers", 0, &out));
    assert_int_equal(dt_tensor_dtype(out), DT_INT32);
    assert_true(dt_tensor_item(out) == 21);
    OK(dt_strategy_reduce(s, DT_MEAN, v, "integers", 0, &out));
    assert_true(fabs(dt_tensor_item(out) - 7.0 / 3) < 1e-15);
    OK(dt_strategy_reduce(s, DT_MEAN, v, "truth", DT_NO_AXIS, &out));
    assert_int_equal(dt_tensor_dtype(out), DT_BOOL);
    fails(dt_strategy_reduce(s, DT_SUM, v, "truth", DT_NO_AXIS, &out), DT_E_REDUCE,
          "one value for all 3 replicas");
    dt_tensor_unref(out);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

/* Rows of 4, 0 and 2: along the rows, along the columns, from either end. */
static void test_axes_of_uneven_parts(void **state) {
    (void)state;
    dt_strategy *s = mirrored(3);
    dt_values *v = values();
    dt_tensor *t =
                  tensor(DT_FLOAT64, 2, (int64_t[]){6, 2}, X(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)),
              *out = NULL;

    dt_values_set_whole(v, "x", &(dt_whole){t, DT_ROWS, s, (int32_t[]){0, 4, 4, 6}});
    for (int axis = -2; axis <= 0; axis += 2) {
        OK(dt_strategy_reduce(s, DT_SUM, v, "x", axis, &out));
        assert_int_equal(dt_tensor_rank(out), 1);
        assert_memory_equal(dt_tensor_data(out), X(30, 36), 16);
        OK(dt_strategy_reduce(s, DT_MEAN, v, "x", axis, &out));
        assert_memory_equal(dt_tensor_data(out), X(5, 6), 16);
    }
    fails(dt_strategy_reduce(s, DT_SUM, v, "x", 1, &out), DT_E_REDUCE_TYPE,
          "'x' is f64[4,2] on replica 0 and f64[0,2] on replica 1");
    fails(dt_strategy_reduce(s, DT_SUM, v, "x", DT_NO_AXIS, &out), DT_E_REDUCE_TYPE,
          "on replica 1");
    fails(dt_strategy_reduce(s, DT_SUM, v, "x", 2, &out), DT_E_REDUCE,
          "axis 2 is out of range for 'x', which has 2 dimensions");
    fails(dt_strategy_reduce(s, DT_SUM, v, "x", -3, &out), DT_E_REDUCE, "axis -3");
    fails(dt_strategy_reduce(s, DT_SUM, v, "y", 0, &out), DT_E_REDUCE, "no value 'y'");
    fails(dt_strategy_reduce(s, DT_SUM, NULL, "x", 0, &out), DT_E_MISUSE, "no values");
    assert_memory_equal(dt_tensor_data(out), X(5, 6), 16); /* failures leave it alone */
    dt_tensor_unref(t);
    dt_tensor_unref(out);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

static void test_values_of_another_strategy_are_refused(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    dt_values *v = values();
    dt_tensor *out = NULL;

    give_rows(v, "x", (const int64_t[]){1, 1, 1}, 3);
    fails(dt_strategy_reduce(s, DT_SUM, v, "x", 0, &out), DT_E_REDUCE,
          "'x' has values for 3 replicas, but the strategy has 2");
    assert_null(out);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

static void test_nothing_has_no_mean(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    dt_values *v = values();
    dt_tensor *out = NULL;

    give_rows(v, "x", (const int64_t[]){0, 0}, 2);
    OK(dt_strategy_reduce(s, DT_MEAN, v, "x", 0, &out));
    assert_true(isnan(dt_tensor_item(out)));
    OK(dt_strategy_reduce(s, DT_SUM, v, "x", 0, &out));
    assert_true(dt_tensor_item(out) == 0);
    dt_tensor_unref(out);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_cases),
        cmocka_unit_test(test_sum_of_replica_numbers_lies_on_the_host),
        cmocka_unit_test(test_results_lie_on_the_first_host_of_a_pod),
        cmocka_unit_test(test_integers_wrap_at_their_width),
        cmocka_unit_test(test_means_of_integers_are_fractions),
        cmocka_unit_test(test_sums_are_made_in_double),
        cmocka_unit_test(test_shared_values),
        cmocka_unit_test(test_axes_of_uneven_parts),
        cmocka_unit_test(test_values_of_another_strategy_are_refused),
        cmocka_unit_test(test_nothing_has_no_mean),
    };
    return cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
}

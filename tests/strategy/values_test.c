/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and named lists of them: what is kept, what is replaced, and the replicas' parts of a
 * whole. */
#include "kit.h"

/* Read by the thread sanitizer: a size that no machine has is refused as elsewhere. */
DT_API const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

/* ---- tensors ---- */

static void test_tensor_copies_what_it_is_given(void **state) {
    (void)state;
    const int64_t shape[] = {2, 3};
    float x[6] = {1, 2, 3, 4, 5, 6};
    dt_tensor *t = NULL;

    OK(dt_tensor_create(&t, DT_FLOAT32, 2, shape, x));
    x[0] = 9;
    assert_int_equal(dt_tensor_rank(t), 2);
    assert_int_equal(dt_tensor_dim(t, 1), 3);
    assert_int_equal(dt_tensor_dim(t, 2), -1);
    assert_int_equal(dt_tensor_elements(t), 6);
    assert_int_equal(dt_tensor_dtype(t), DT_FLOAT32);
    assert_memory_equal(dt_tensor_data(t), ((float[]){1, 2, 3, 4, 5, 6}), sizeof x);
    assert_true(isnan(dt_tensor_item(t)));
    assert_string_equal(dt_tensor_device(t), "/job:localhost/replica:0/task:0/device:CPU:0");
    OK(dt_tensor_create(&t, DT_INT64, 1, shape, NULL)); /* replaces it, with zeros */
    assert_memory_equal(dt_tensor_data(t), ((int64_t[]){0, 0}), 16);
    dt_tensor_unref(t);
}

static void test_item_of_every_dtype(void **state) {
    (void)state;
    static const double x[] = {[DT_BOOL] = 1,      [DT_UINT8] = 200,         [DT_INT8] = -100,
                               [DT_INT16] = -3000, [DT_INT32] = -2000000000, [DT_INT64] = -9e15,
                               [DT_FLOAT32] = 0.5, [DT_FLOAT64] = 1e300};

    for (int d = DT_BOOL; d <= DT_FLOAT64; d++) {
        dt_tensor *t = tensor((dt_dtype)d, 0, NULL, &x[d]);
        assert_true(dt_tensor_item(t) == x[d]);
        dt_tensor_unref(t);
    }
    assert_true(isnan(dt_tensor_item(NULL)));
}

static void test_impossible_tensors_are_refused(void **state) {
    (void)state;
    const int64_t huge[] = {INT64_C(1) << 40, INT64_C(1) << 40}, negative[] = {2, -1},
                  large[] = {INT64_C(1) << 61};
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    dt_tensor *t = NULL;

    fails(dt_tensor_create(&t, DT_FLOAT32, 2, huge, NULL), DT_E_TENSOR, "dimension 1");
    fails(dt_tensor_create(&t, DT_FLOAT32, 2, negative, NULL), DT_E_TENSOR, "cannot be -1");
    fails(dt_tensor_create(&t, DT_FLOAT64, 1, large, NULL), DT_E_TENSOR, "too large");
    fails(dt_tensor_create(&t, DT_FLOAT32, 9, nine, NULL), DT_E_TENSOR, "0 to 8 dimensions, got 9");
    fails(dt_tensor_create(&t, DT_FLOAT32, -1, nine, NULL), DT_E_TENSOR, "got -1");
    fails(dt_tensor_create(&t, (dt_dtype)99, 0, NULL, NULL), DT_E_TENSOR, "99 is not a dtype");
    fails(dt_tensor_create(&t, DT_FLOAT32, 1, (int64_t[]){INT64_C(1) << 55}, NULL), DT_E_NO_MEMORY,
          "out of memory");
    assert_null(t);
}

/* ---- lists ---- */

static void test_entries_are_found_replaced_and_counted(void **state) {
    (void)state;
    dt_values *v = values();
    dt_tensor *t = scalar(7), *pair[] = {t, t};

    give(v, "a", scalar(1));
    OK(dt_values_set_per_replica(v, "b/0", pair, 2));
    dt_tensor_unref(t);
    assert_int_equal(dt_values_count(v), 2);
    assert_string_equal(dt_values_name(v, 1), "b/0");
    assert_null(dt_values_name(v, 2));
    assert_int_equal(dt_values_locals(v, "a"), 1);
    assert_int_equal(dt_values_locals(v, "b/0"), 2);
    assert_int_equal(dt_values_locals(v, "c"), 0);
    assert_false(dt_values_is_per_replica(v, "a"));
    assert_true(dt_values_is_per_replica(v, "b/0"));
    assert_null(dt_values_local(v, "c", 0));
    assert_null(dt_values_local(v, "b/0", 2));
    is_local(v, "b/0", 1, SCALAR, X(7));
    /* a tensor of the entry that is replaced */
    OK(dt_values_set(v, "b/0", (dt_tensor *)(uintptr_t)dt_values_local(v, "b/0", 0)));
    assert_int_equal(dt_values_count(v), 2);
    assert_false(dt_values_is_per_replica(v, "b/0"));
    is_local(v, "b/0", 0, SCALAR, X(7));
    dt_values_unref(v);
}

static void test_entry_can_be_replaced_under_its_own_name(void **state) {
    (void)state;
    dt_values *v = values();

    give(v, "a longer name than the one before it", scalar(1));
    give(v, dt_values_name(v, 0), scalar(2));
    assert_int_equal(dt_values_count(v), 1);
    assert_string_equal(dt_values_name(v, 0), "a longer name than the one before it");
    is_local(v, dt_values_name(v, 0), 0, SCALAR, X(2));
    dt_values_unref(v);
}

static void test_number_of_replicas_has_limits(void **state) {
    (void)state;
    dt_values *v = values();
    dt_tensor *t = scalar(1);

    fails(dt_values_set_per_replica(v, "x", &t, 0), DT_E_TENSOR, "for 0 replicas");
    fails(dt_values_set_per_replica(v, "x", &t, DT_MAX_REPLICAS + 1), DT_E_TENSOR,
          "for 65537 replicas");
    assert_int_equal(dt_values_count(v), 0);
    dt_tensor_unref(t);
    dt_values_unref(v);
}

/* ---- parts of a whole ---- */

static void test_rows_are_cut_at_the_offsets(void **state) {
    (void)state;
    dt_strategy *s = mirrored(3);
    dt_values *v = values();
    dt_tensor *t = tensor(DT_FLOAT32, 2, (int64_t[]){5, 2}, X(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));

    dt_values_set_whole(v, "x", &(dt_whole){t, DT_ROWS, s, (int32_t[]){0, 3, 5, 5}});
    assert_int_equal(dt_values_locals(v, "x"), 3);
    is_local(v, "x", 0, SHAPE(3, 2), X(0, 1, 2, 3, 4, 5));
    is_local(v, "x", 1, SHAPE(2, 2), X(6, 7, 8, 9));
    is_local(v, "x", 2, SHAPE(0, 2), X(0));
    assert_ptr_equal(dt_values_local(v, "x", 1), dt_values_local(v, "x", 1));
    assert_string_equal(dt_tensor_device(dt_values_local(v, "x", 2)), dt_strategy_device(s, 2));
    dt_tensor_unref(t);
    dt_strategy_unref(s); /* the entry keeps it */
    assert_string_equal(dt_tensor_device(dt_values_local(v, "x", 1)),
                        "/job:localhost/replica:0/task:0/device:CPU:1");
    dt_values_unref(v);
}

/* A reshape made two rows of each example. */
static void test_rows_that_are_several_per_example(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    dt_values *v = values();
    dt_tensor *t = count_from(0, 6);

    dt_values_set_whole(v, "x", &(dt_whole){t, DT_ROWS, s, (int32_t[]){0, 2, 3}});
    is_local(v, "x", 0, SHAPE(4), X(0, 1, 2, 3));
    is_local(v, "x", 1, SHAPE(2), X(4, 5));
    /* no rows at all */
    dt_values_set_whole(v, "x", &(dt_whole){t, DT_ROWS, s, (int32_t[]){0, 0, 0}});
    is_local(v, "x", 0, SHAPE(0), X(0));
    dt_tensor_unref(t);
    dt_strategy_unref(s);
    dt_values_unref(v);
}

static void test_stacked_and_uniform_wholes(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    dt_values *v = values();
    dt_tensor *t = tensor(DT_FLOAT32, 2, (int64_t[]){2, 3}, X(1, 2, 3, 4, 5, 6));

    dt_values_set_whole(v, "stacked", &(dt_whole){t, DT_STACKED, s, NULL});
    dt_values_set_whole(v, "uniform", &(dt_whole){t, DT_UNIFORM, s, NULL});
    dt_values_set_whole(v, "single", &(dt_whole){t, DT_UNIFORM, NULL, NULL});
    dt_tensor_unref(t);
    dt_strategy_unref(s);
    is_local(v, "stacked", 1, SHAPE(3), X(4, 5, 6));
    is_local(v, "uniform", 0, SHAPE(2, 3), X(1, 2, 3, 4, 5, 6));
    assert_ptr_equal(dt_tensor_data(dt_values_local(v, "uniform", 1)),
                     dt_tensor_data(dt_values_local(v, "uniform", 0)));
    assert_false(dt_values_is_per_replica(v, "single"));
    assert_int_equal(dt_values_locals(v, "single"), 1);
    dt_values_unref(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor_copies_what_it_is_given),
        cmocka_unit_test(test_item_of_every_dtype),
        cmocka_unit_test(test_impossible_tensors_are_refused),
        cmocka_unit_test(test_entries_are_found_replaced_and_counted),
        cmocka_unit_test(test_entry_can_be_replaced_under_its_own_name),
        cmocka_unit_test(test_number_of_replicas_has_limits),
        cmocka_unit_test(test_rows_are_cut_at_the_offsets),
        cmocka_unit_test(test_rows_that_are_several_per_example),
        cmocka_unit_test(test_stacked_and_uniform_wholes),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}

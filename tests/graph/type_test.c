/* SPDX-License-Identifier: Apache-2.0 */
/* Types: names, text, sizes with and without B, counts that do not fit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/graph.h"

enum { N_DTYPES = DT_FLOAT64 + 1 };

static void test_dtype_names_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < N_DTYPES; i++) {
        dt_dtype d = DT_BOOL;
        assert_true(dt_dtype_parse(dt_dtype_name((dt_dtype)i), &d));
        assert_int_equal(d, i);
    }
    dt_dtype kept = DT_INT16;
    assert_false(dt_dtype_parse("float", &kept));
    assert_false(dt_dtype_parse("", &kept));
    assert_int_equal(kept, DT_INT16);
}

static void test_dtype_sizes(void **state) {
    (void)state;
    static const size_t size[N_DTYPES] = {1, 1, 1, 2, 4, 8, 4, 8};
    for (int i = 0; i < N_DTYPES; i++) {
        assert_int_equal(dt_dtype_size((dt_dtype)i), size[i]);
        assert_int_equal(dt_dtype_is_float((dt_dtype)i), i == DT_FLOAT32 || i == DT_FLOAT64);
    }
}

static void test_type_text(void **state) {
    (void)state;
    static const struct {
        dt_dtype dtype;
        int rank;
        int64_t dim[3];
        const char *type, *shape;
    } cases[] = {
        {DT_FLOAT32, 0, {0}, "f32[]", "()"},
        {DT_FLOAT32, 2, {DT_BATCH, 784}, "f32[B,784]", "(B, 784)"},
        {DT_INT64, 1, {0}, "i64[0]", "(0)"},
        {DT_BOOL, 3, {-7, 1, 2}, "i1[B*7,1,2]", "(B*7, 1, 2)"},
        {DT_UINT8, 1, {INT64_MAX}, "ui8[9223372036854775807]", "(9223372036854775807)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_type t = dt_type_of(cases[i].dtype, cases[i].rank, cases[i].dim);
        dt_str text = {0};
        dt_type_print(&t, &text);
        assert_string_equal(dt_str_text(&text), cases[i].type);
        dt_str_clear(&text);
        dt_shape_print(&t, &text);
        assert_string_equal(dt_str_text(&text), cases[i].shape);
        dt_str_release(&text);
    }
}

static void test_type_equal_ignores_nothing_and_no_more(void **state) {
    (void)state;
    dt_type a = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
    dt_type same = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3, 99});
    dt_type other_dtype = dt_type_of(DT_INT32, 2, (int64_t[]){DT_BATCH, 3});
    dt_type other_dim = dt_type_of(DT_FLOAT32, 2, (int64_t[]){-2, 3});
    dt_type other_rank = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 3, 0});
    assert_true(dt_type_equal(&a, &same));
    assert_false(dt_type_equal(&a, &other_dtype));
    assert_false(dt_type_equal(&a, &other_dim));
    assert_false(dt_type_equal(&a, &other_rank));
}

static void test_type_at_a_batch(void **state) {
    (void)state;
    dt_type t = dt_type_of(DT_FLOAT64, 3, (int64_t[]){-3, 5, DT_BATCH});
    assert_true(dt_type_has_batch(&t));
    assert_int_equal(dt_type_elements(&t), 15);
    dt_type at = dt_type_at(&t, 4);
    assert_false(dt_type_has_batch(&at));
    assert_int_equal(at.dim[0], 12);
    assert_int_equal(at.dim[2], 4);
    assert_int_equal(dt_type_elements(&at), 240);
    assert_int_equal(dt_type_bytes(&at), 1920);
    dt_type empty = dt_type_at(&t, 0);
    assert_int_equal(dt_type_bytes(&empty), 0);
}

static void test_type_counts_saturate(void **state) {
    (void)state;
    const int64_t big = INT64_C(1) << 40;
    dt_type t = dt_type_of(DT_FLOAT32, 2, (int64_t[]){big, big});
    assert_int_equal(dt_type_elements(&t), INT64_MAX);
    assert_int_equal(dt_type_bytes(&t), INT64_MAX);
    dt_type bytes_only = dt_type_of(DT_FLOAT64, 1, (int64_t[]){INT64_MAX / 4});
    assert_int_equal(dt_type_elements(&bytes_only), INT64_MAX / 4);
    assert_int_equal(dt_type_bytes(&bytes_only), INT64_MAX);
    dt_type empty = dt_type_of(DT_FLOAT32, 3, (int64_t[]){big, big, 0});
    assert_int_equal(dt_type_bytes(&empty), 0);
    dt_type rows = dt_type_of(DT_FLOAT32, 1, (int64_t[]){-big});
    dt_type at = dt_type_at(&rows, big);
    assert_int_equal(at.dim[0], INT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype_names_round_trip),
        cmocka_unit_test(test_dtype_sizes),
        cmocka_unit_test(test_type_text),
        cmocka_unit_test(test_type_equal_ignores_nothing_and_no_more),
        cmocka_unit_test(test_type_at_a_batch),
        cmocka_unit_test(test_type_counts_saturate),
    };
    return cmocka_run_group_tests_name("graph/type", tests, NULL, NULL);
}

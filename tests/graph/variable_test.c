/* SPDX-License-Identifier: Apache-2.0 */
/* Variables: zeroed, aligned, counted, and a clear word when there is no memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "graph/graph.h"

static void test_variable_is_zeroed_and_aligned(void **state) {
    (void)state;
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){7, 3});
    dt_variable *v = NULL;
    assert_null(dt_variable_alloc(&v, "dense/kernel", &type, true));
    assert_string_equal(v->path, "dense/kernel");
    assert_true(v->trainable);
    assert_false(v->slot);
    assert_int_equal((uintptr_t)v->host_data % 64, 0);
    for (int i = 0; i < 21; i++) assert_true(((const float *)v->host_data)[i] == 0);
    dt_variable_unref(v);
}

static void test_variable_lives_until_the_last_unref(void **state) {
    (void)state;
    dt_type type = dt_scalar_type(DT_INT64);
    dt_variable *v = NULL;
    assert_null(dt_variable_alloc(&v, "step", &type, false));
    v->refs++;
    dt_variable_unref(v);
    assert_int_equal(v->refs, 1);
    *(int64_t *)v->host_data = 42;
    assert_int_equal(*(const int64_t *)v->host_data, 42);
    dt_variable_unref(v);
    dt_variable_unref(NULL);
}

/* A device that holds 7. */
static dt_status *fetch_seven(void *fetched, dt_variable *v) {
    ++*(int *)fetched;
    *(int64_t *)v->host_data = 7;
    return NULL;
}

static dt_status *fetch_nothing(void *fetched, dt_variable *v) {
    ++*(int *)fetched;
    return dt_fail(DT_E_BACKEND, NULL, "the device of '%s' is lost", v->path);
}

static void test_variable_is_fetched_from_its_device_once(void **state) {
    (void)state;
    int fetched = 0;
    const dt_variable_holder device = {.fetch = fetch_seven, .state = &fetched},
                             lost = {.fetch = fetch_nothing, .state = &fetched};
    dt_type type = dt_scalar_type(DT_INT64);
    dt_variable *v = NULL;
    assert_null(dt_variable_alloc(&v, "step", &type, false));
    assert_null(dt_variable_fetch(v));
    assert_int_equal(fetched, 0);

    v->newer = &device;
    assert_null(dt_variables_fetch(&v, 1));
    assert_null(dt_variable_fetch(v));
    assert_int_equal(fetched, 1);
    assert_int_equal(*(const int64_t *)dt_host_data(v), 7);
    assert_int_equal(v->written, 0);

    v->newer = &device;
    assert_null(dt_variable_edit(v)); /* in part: the rest is the device's */
    assert_int_equal(fetched, 2);
    assert_int_equal(v->written, 1);
    v->newer = &device;
    *(int64_t *)dt_host_edit(v) = 8; /* all of it: the device's is worth nothing any more */
    assert_int_equal(fetched, 2);
    assert_int_equal(v->written, 2);
    assert_int_equal(*(const int64_t *)dt_host_data(v), 8);

    v->newer = &lost;
    dt_status *s = dt_variable_fetch(v);
    assert_string_equal(dt_status_text(s), "the device of 'step' is lost");
    dt_status_free(s);
    assert_ptr_equal(v->newer, &lost); /* and so the next asks again */
    dt_variable_unref(v);
}

static void count(void *forgotten) { ++*(int *)forgotten; }

/* One device at a time has a copy: it is fetched from when another takes the variable, and told
 * when the variable goes. */
static void test_devices_take_turns_and_forget(void **state) {
    (void)state;
    int one = 0, other = 0;
    const dt_variable_holder a = {.fetch = fetch_seven, .state = &one, .forget = count},
                             b = {.fetch = fetch_seven, .state = &other, .forget = count};
    dt_type type = dt_scalar_type(DT_INT64);
    dt_variable *v = NULL;
    assert_null(dt_variable_alloc(&v, "step", &type, false));
    assert_null(dt_variable_hold(v, &a));
    assert_null(dt_variable_hold(v, &a));
    v->newer = &a;
    assert_null(dt_variable_hold(v, &b));
    assert_int_equal(one, 2); /* fetched, then forgotten */
    assert_int_equal(*(const int64_t *)dt_host_data(v), 7);
    assert_int_equal(other, 0);
    dt_variable_unref(v);
    assert_int_equal(one, 2);
    assert_int_equal(other, 1);
}

static void test_copies_of_replicas_are_fetched_together(void **state) {
    (void)state;
    int fetched = 0;
    const dt_variable_holder device = {.fetch = fetch_seven, .state = &fetched};
    dt_type type = dt_scalar_type(DT_INT64);
    dt_variable *v = NULL;
    assert_null(dt_variable_alloc(&v, "step", &type, false));
    v->newer = &device;
    assert_null(dt_variable_diverge(v, 2));
    assert_int_equal(fetched, 1);
    assert_int_equal(((const int64_t *)dt_host_data(v))[1], 7);
    v->stack->newer = &device;
    assert_null(dt_variable_edit(v));
    assert_int_equal(fetched, 2);
    assert_int_equal(v->stack->written, 1);
    dt_variable_unref(v);
}

static void test_variable_too_large_is_named(void **state) {
    (void)state;
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){INT64_C(1) << 40, INT64_C(1) << 40});
    dt_variable *v = NULL;
    dt_status *s = dt_variable_alloc(&v, "dense/kernel", &type, true);
    assert_non_null(s);
    assert_null(v);
    assert_int_equal(dt_status_number(s), DT_E_NO_MEMORY);
    assert_non_null(strstr(dt_status_text(s), "'dense/kernel'"));
    dt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variable_is_zeroed_and_aligned),
        cmocka_unit_test(test_variable_lives_until_the_last_unref),
        cmocka_unit_test(test_variable_is_fetched_from_its_device_once),
        cmocka_unit_test(test_devices_take_turns_and_forget),
        cmocka_unit_test(test_copies_of_replicas_are_fetched_together),
        cmocka_unit_test(test_variable_too_large_is_named),
    };
    return cmocka_run_group_tests_name("graph/variable", tests, NULL, NULL);
}

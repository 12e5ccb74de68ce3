/* SPDX-License-Identifier: Apache-2.0 */
/* Patience at joins, from waits of given lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/thread.h"

static const dt_wait short_sleep = {.ns = 30000, .slept = true},
                     long_sleep = {.ns = 3000000, .slept = true}, spun = {.ns = 30000};

static int64_t after(int64_t patience, dt_wait w, int times) {
    for (int i = 0; i < times; i++) patience = dt_patience_after(patience, w);
    return patience;
}

static void test_twenty_short_sleeps_give_all_patience(void **state) {
    (void)state;
    assert_true(after(0, short_sleep, 19) < DT_MOST_PATIENCE);
    assert_int_equal(after(0, short_sleep, 20), DT_MOST_PATIENCE);
    assert_int_equal(after(0, short_sleep, 1000), DT_MOST_PATIENCE);
}

static void test_a_long_wait_halves_patience(void **state) {
    (void)state;
    assert_int_equal(after(DT_MOST_PATIENCE, long_sleep, 1), DT_MOST_PATIENCE / 2);
    assert_int_equal(after(DT_MOST_PATIENCE, long_sleep, 2), DT_MOST_PATIENCE / 4);
    assert_int_equal(after(DT_MOST_PATIENCE, long_sleep, 20), 0);
    assert_int_equal(after(after(DT_MOST_PATIENCE, long_sleep, 1), short_sleep, 10),
                     DT_MOST_PATIENCE);
}

/* A long wait among 28 joins, as a step that meets a thread of its own process now and then: most
 * waits begin with nearly all patience. */
static void test_rare_long_waits_leave_patience(void **state) {
    (void)state;
    int64_t patience = 0, full = 0;
    for (int i = 0; i < 2800; i++) {
        patience = after(patience, i % 28 ? short_sleep : long_sleep, 1);
        full += patience == DT_MOST_PATIENCE;
    }
    assert_true(full > 1700);
}

static void test_a_frequent_neighbour_leaves_none(void **state) {
    (void)state;
    int64_t patience = DT_MOST_PATIENCE;
    for (int i = 0; i < 100; i++) patience = after(patience, i % 2 ? short_sleep : long_sleep, 1);
    assert_true(patience < DT_MOST_PATIENCE / 8);
}

static void test_other_waits_teach_nothing(void **state) {
    (void)state;
    const dt_wait between = {.ns = 150000, .slept = true},
                  excused = {.ns = 3000000, .slept = true, .excused = true};
    for (int64_t patience = 0; patience <= DT_MOST_PATIENCE; patience += DT_MOST_PATIENCE / 4) {
        assert_int_equal(after(patience, spun, 10), patience);
        assert_int_equal(after(patience, between, 10), patience);
        assert_int_equal(after(patience, excused, 10), patience);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twenty_short_sleeps_give_all_patience),
        cmocka_unit_test(test_a_long_wait_halves_patience),
        cmocka_unit_test(test_rare_long_waits_leave_patience),
        cmocka_unit_test(test_a_frequent_neighbour_leaves_none),
        cmocka_unit_test(test_other_waits_teach_nothing),
    };
    return cmocka_run_group_tests_name("base/patience", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The order of examples: every pass is a bijection, passes differ, and any index can be asked for
 * at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "data/workers.h"

static void check_bijection(dt_order *o, int64_t epoch, int64_t first) {
    char *seen = calloc(1, (size_t)o->n);
    assert_non_null(seen);
    for (int64_t i = 0; i < o->n; i++) {
        int64_t k = dt_order_at(o, epoch, first + i);
        assert_in_range(k, 0, o->n - 1);
        assert_int_equal(seen[k]++, 0);
    }
    free(seen);
}

static void test_every_pass_is_a_bijection(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 5, 17, 64, 255, 256, 257, 1000, 10007};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            dt_order o = dt_order_make(11, sizes[i], 2, true, true);
            check_bijection(&o, epoch, 0);
            check_bijection(&o, epoch, sizes[i]);
        }
}

static int64_t differences(dt_order *a, int64_t epoch_a, dt_order *b, int64_t epoch_b) {
    int64_t n = 0;
    for (int64_t i = 0; i < a->n; i++)
        n += dt_order_at(a, epoch_a, i) != dt_order_at(b, epoch_b, i);
    return n;
}

static void test_epochs_and_seeds_differ(void **state) {
    (void)state;
    dt_order a = dt_order_make(1, 1000, 1, true, true), b = a,
             c = dt_order_make(2, 1000, 1, true, true);
    assert_in_range(differences(&a, 0, &b, 1), 900, 1000);
    assert_in_range(differences(&a, 0, &c, 0), 900, 1000);
    assert_int_equal(differences(&a, 5, &b, 5), 0);
}

static void test_without_reshuffle_all_epochs_are_the_first(void **state) {
    (void)state;
    dt_order a = dt_order_make(1, 1000, 2, true, false), b = dt_order_make(1, 1000, 1, true, true);
    assert_int_equal(differences(&a, 7, &b, 0), 0);
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(dt_order_at(&a, 3, i), dt_order_at(&a, 4, 1000 + i));
}

static void test_without_shuffle_it_counts(void **state) {
    (void)state;
    dt_order o = dt_order_make(1, 10, 3, false, true);
    for (int64_t i = 0; i < 30; i++) assert_int_equal(dt_order_at(&o, 2, i), i % 10);
}

/* Passes of `repeat` are numbered on through the epochs: none comes twice. */
static void test_repeated_passes_differ(void **state) {
    (void)state;
    dt_order o = dt_order_make(1, 500, 2, true, true);
    int64_t same_epoch = 0, next_epoch = 0;
    for (int64_t i = 0; i < 500; i++) {
        same_epoch += dt_order_at(&o, 0, i) != dt_order_at(&o, 0, 500 + i);
        next_epoch += dt_order_at(&o, 0, 500 + i) != dt_order_at(&o, 1, i);
    }
    assert_in_range(same_epoch, 450, 500);
    assert_in_range(next_epoch, 450, 500);
}

static void test_random_access_is_sequential_access(void **state) {
    (void)state;
    dt_order o = dt_order_make(9, 300, 2, true, true);
    int64_t list[3][600];
    for (int e = 0; e < 3; e++)
        for (int i = 0; i < 600; i++) list[e][i] = dt_order_at(&o, e, i);
    for (int k = 0; k < 2000; k++) {
        int e = k * 7 % 3, i = k * 389 % 600;
        assert_int_equal(dt_order_at(&o, e, i), list[e][i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pass_is_a_bijection),
        cmocka_unit_test(test_epochs_and_seeds_differ),
        cmocka_unit_test(test_without_reshuffle_all_epochs_are_the_first),
        cmocka_unit_test(test_without_shuffle_it_counts),
        cmocka_unit_test(test_repeated_passes_differ),
        cmocka_unit_test(test_random_access_is_sequential_access),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}

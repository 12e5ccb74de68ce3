/* SPDX-License-Identifier: Apache-2.0 */
/* How scores are kept: as they are while they are few, counted in buckets when there are more. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "train/spread.h"
#include "../support/status.h"

enum { EXACT = 1 << 20 };

static void test_few_are_kept_exactly(void **state) {
    (void)state;
    static const double values[] = {0.5, -1, 0.25, 0.5, -0.0, 0, 3};
    dt_spread s = {0};
    dt_spread_group *g = NULL;
    int64_t n;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        OK(dt_spread_add(&s, values[i], i == 0));
    OK(dt_spread_groups(&s, &g, &n));
    assert_int_equal(n, 5);
    static const double want[] = {-1, 0, 0.25, 0.5, 3};
    for (int i = 0; i < 5; i++) assert_true(g[i].value == want[i]);
    assert_int_equal(g[1].count[0], 2);
    assert_int_equal(g[3].count[0], 1);
    assert_int_equal(g[3].count[1], 1);
    /* numpy.quantile([-1, 0, 0, 0.25, 0.5, 0.5, 3], ...) */
    assert_true(dt_spread_quantile(g, n, 0) == -1);
    assert_true(dt_spread_quantile(g, n, 0.5) == 0.25);
    assert_true(fabs(dt_spread_quantile(g, n, 0.95) - 2.25) < 1e-12);
    assert_true(dt_spread_quantile(g, n, 1) == 3);
    free(g);
    dt_spread_release(&s);
}

/* Numbers in (-2, 2) in an order of no meaning. */
static double number(int64_t i) { return (double)(i * 7919 % 4000001) / 1e6 - 2; }

static void test_many_are_counted(void **state) {
    (void)state;
    enum { MANY = EXACT + 500000 };
    dt_spread s = {0}, reversed = {0};
    dt_spread_group *g = NULL, *h = NULL;
    int64_t n, m, all = 0;
    for (int64_t i = 0; i < MANY; i++) {
        OK(dt_spread_add(&s, number(i), i % 3 == 0));
        OK(dt_spread_add(&reversed, number(MANY - 1 - i), (MANY - 1 - i) % 3 == 0));
    }
    assert_null(s.key);
    OK(dt_spread_groups(&s, &g, &n));
    OK(dt_spread_groups(&reversed, &h, &m));
    assert_int_equal(n, m);
    assert_memory_equal(g, h, (size_t)n * sizeof *g);
    for (int64_t i = 0; i < n; i++) {
        all += g[i].count[0] + g[i].count[1];
        assert_true(i == 0 || g[i].value > g[i - 1].value);
    }
    assert_int_equal(all, MANY);
    /* each number is known to 1/2048 of its size */
    assert_true(fabs(dt_spread_quantile(g, n, 0.99) - 1.96) < 0.01);
    assert_true(fabs(dt_spread_quantile(g, n, 0.5)) < 0.01);
    free(g);
    free(h);
    dt_spread_release(&s);
    dt_spread_release(&reversed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_are_kept_exactly),
        cmocka_unit_test(test_many_are_counted),
    };
    return cmocka_run_group_tests_name("train spread", tests, NULL, NULL);
}

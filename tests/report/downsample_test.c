/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of very many points: what stays is recorded, few, and has the extremes, the ends and the
 * gaps of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "report/run.h"

enum { MOST = 1000 };

static double y_of(int i) { return sin(i * 0.001) + (i % 977) * 1e-3; }

static void fill(dt_series *s, int n, int every) {
    for (int i = 0; i < n; i++)
        if (i % every == 0) dt_series_add(s, i, y_of(i));
}

static bool has(const dt_series *s, double x) {
    for (int i = 0; i < s->n; i++)
        if (s->p[i].x == x) return true;
    return false;
}

static void release(dt_series *s) {
    free(s->p);
    free(s->mean);
}

static void test_short_curves_stay_whole(void **state) {
    (void)state;
    dt_series s = {.name = "loss"}, empty = {.name = "val_loss"};
    fill(&s, MOST, 1);
    dt_thin((dt_series *[]){&s, &empty}, 2, MOST);
    assert_int_equal(s.n, MOST);
    assert_int_equal(s.of, 0);
    assert_null(s.mean);
    for (int i = 0; i < s.n; i++) assert_true(s.p[i].x == i && s.p[i].y == y_of(i));
    release(&s);
}

static void test_long_ones_keep_extremes(void **state) {
    (void)state;
    enum { ALL = 300000, SPIKE = 123457, DIP = 222222, GAP = 150001, FEW = ALL / 1000 };
    dt_series s = {.name = "loss"}, few = {.name = "val_loss"}, before = {.name = "loss"};
    fill(&s, ALL, 1);
    fill(&few, ALL, 1000);
    s.p[SPIKE].y = 50;
    s.p[DIP].y = -50;
    s.p[GAP].y = (double)NAN;
    for (int i = 0; i < s.n; i++) dt_series_add(&before, s.p[i].x, s.p[i].y);
    dt_thin((dt_series *[]){&s, &few}, 2, MOST);
    assert_int_equal(s.of, ALL);
    assert_int_equal(few.of, FEW);
    assert_true(s.n > 400 && s.n <= 2 * MOST);
    for (int i = 0; i < s.n; i++) {
        const dt_point *from = &before.p[(int)s.p[i].x];
        assert_true(from->x == s.p[i].x && (from->y == s.p[i].y || isnan(from->y)));
        assert_true(i == 0 || s.p[i - 1].x < s.p[i].x);
    }
    const double stay[] = {0, SPIKE, DIP, GAP, ALL - 1};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) assert_true(has(&s, stay[i]));
    assert_true(few.n > 100 && few.n <= FEW);
    for (int i = 0; i < few.n; i++) /* where one curve has a point, the others show theirs */
        assert_true(has(&s, few.p[i].x));
    release(&s);
    release(&few);
    release(&before);
}

/* Each stretch of 300000 / 1000 points has the mean of its points, except the one that is not a
 * number. */
static void test_means_are_of_stretches(void **state) {
    (void)state;
    enum { ALL = 300000, EACH = ALL / MOST };
    dt_series s = {.name = "loss"};
    fill(&s, ALL, 1);
    s.p[5].y = (double)NAN;
    dt_thin((dt_series *[]){&s}, 1, MOST);
    assert_int_equal(s.n_mean, MOST);
    for (int i = 0; i < MOST; i++) {
        double sum = 0;
        for (int k = 0; k < EACH; k++) sum += i == 0 && k == 5 ? 0 : y_of(i * EACH + k);
        assert_true(s.mean[i].x == (i + 1) * EACH - 1);
        assert_true(fabs(s.mean[i].y - sum / (EACH - (i == 0))) < 1e-12);
    }
    release(&s);
}

static void test_bands_are_as_wide_as_anywhere(void **state) {
    (void)state;
    dt_series least = {.name = "loss_min"}, most = {.name = "loss_max"};
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < 5000; i++) {
        dt_series_add(&least, i, y_of(i) - 9 * (i == 77));
        dt_series_add(&most, i, y_of(i) + 9 * (i == 4001));
    }
    dt_thin_band(&least, &most, MOST);
    for (int i = 0; i < least.n; i++) {
        low = fmin(low, least.p[i].y);
        high = fmax(high, most.p[i].y);
    }
    assert_int_equal(least.n, most.n);
    assert_true(least.n <= MOST);
    assert_true(low == y_of(77) - 9 && high == y_of(4001) + 9);
    dt_thin_band(NULL, &most, MOST / 2); /* too many names: there is no series */
    assert_int_equal(most.n, MOST / 2);
    release(&least);
    release(&most);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_curves_stay_whole),
        cmocka_unit_test(test_long_ones_keep_extremes),
        cmocka_unit_test(test_means_are_of_stretches),
        cmocka_unit_test(test_bands_are_as_wide_as_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

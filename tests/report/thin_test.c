/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of very many points: what stays is recorded, few, and has the extremes, the ends and the gaps of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "report/chart.h"

static double y_of(int i)
{
    return sin(i * 0.001) + (i % 977) * 1e-3;
}

static void fill(dt_series *s, int n, int every)
{
    for (int i = 0; i < n; i++)
        if (i % every == 0)
            dt_series_add(s, i, y_of(i));
}

static bool has(const dt_series *s, double x)
{
    for (int i = 0; i < s->n; i++)
        if (s->p[i].x == x)
            return true;
    return false;
}

static void test_short_curves_stay_whole(void **state)
{
    (void)state;
    dt_series s = {.name = "loss"};
    dt_thinned t = {0};
    fill(&s, 1000, 1);
    dt_chart c = {.n = 1, .curve = {{.line = &s}}};
    dt_thin(&c, &t);
    assert_false(t.is_thinned);
    assert_int_equal(t.curve[0].mean.n, 1000);
    dt_thinned_release(&t);
    free(s.p);
}

static void test_long_ones_keep_extremes(void **state)
{
    (void)state;
    enum { ALL = 300000, SPIKE = 123457, DIP = 222222, GAP = 150001 };
    dt_series s = {.name = "loss"}, few = {.name = "val_loss"};
    dt_thinned t = {0};
    fill(&s, ALL, 1);
    fill(&few, ALL, 1000);
    s.p[SPIKE].y = 50;
    s.p[DIP].y = -50;
    s.p[GAP].y = (double)NAN;
    dt_chart c = {.n = 2, .curve = {{.line = &s}, {.line = &few}}};
    dt_thin(&c, &t);
    const dt_series *line = &t.curve[0].line;
    assert_true(t.is_thinned);
    assert_true(line->n > 400 && line->n <= 2 * DT_CHART_POINTS);
    for (int i = 0; i < line->n; i++) {
        const dt_point *from = &s.p[(int)line->p[i].x];
        assert_true(from->x == line->p[i].x && (from->y == line->p[i].y || isnan(from->y)));
        assert_true(i == 0 || line->p[i - 1].x < line->p[i].x);
    }
    const double stay[] = {0, SPIKE, DIP, GAP, ALL - 1};
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
        assert_true(has(line, stay[i]));
    assert_true(t.curve[1].line.n > 100 && t.curve[1].line.n <= few.n);
    for (int i = 0; i < t.curve[1].line.n; i++) /* where one curve has a point, the others show theirs */
        assert_true(has(line, t.curve[1].line.p[i].x));
    dt_thinned_release(&t);
    free(s.p);
    free(few.p);
}

static void test_bands_are_as_wide_as_anywhere(void **state)
{
    (void)state;
    dt_series line = {.name = "loss"}, least = {.name = "loss_min"}, most = {.name = "loss_max"};
    dt_thinned t = {0};
    double low = INFINITY, high = -INFINITY;
    fill(&line, 5000, 1);
    for (int i = 0; i < 5000; i++) {
        dt_series_add(&least, i, y_of(i) - 9 * (i == 77));
        dt_series_add(&most, i, y_of(i) + 9 * (i == 4001));
    }
    dt_chart c = {.n = 1, .curve = {{.line = &line, .least = &least, .most = &most}}};
    dt_thin(&c, &t);
    for (int i = 0; i < t.curve[0].least.n; i++) {
        low = fmin(low, t.curve[0].least.p[i].y);
        high = fmax(high, t.curve[0].most.p[i].y);
    }
    assert_int_equal(t.curve[0].least.n, t.curve[0].most.n);
    assert_true(t.curve[0].least.n <= DT_CHART_POINTS);
    assert_true(low == y_of(77) - 9 && high == y_of(4001) + 9);
    dt_thinned_release(&t);
    free(line.p);
    free(least.p);
    free(most.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_curves_stay_whole), cmocka_unit_test(test_long_ones_keep_extremes),
        cmocka_unit_test(test_bands_are_as_wide_as_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

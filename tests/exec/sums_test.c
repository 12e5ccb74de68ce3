/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of many values: near the sum in float64, in one order whatever is summed beside them, and with the same bits on every instruction set. */
#include <math.h>

#include "kit.h"

#include "base/half.h"
#include "exec/sums.h"

typedef struct matrix {
    int64_t rows, columns;
    float *x;
} matrix;

static float any_value(dt_random *r, int kind, int64_t column)
{
    switch (kind) {
    case 0: return 0.1f;                                                             /* what images have most of: one value */
    case 1: return (float)dt_random_normal(r) + 3;
    case 2: return (float)column + 1000 + (float)dt_random_normal(r) / 64;           /* far from 0, close together */
    default: return dt_random_u32(r) % 100 ? 1e-3f : 1e3f * (float)dt_random_normal(r);
    }
}

static matrix draw_matrix(uint64_t seed, int64_t rows, int64_t columns, int kind)
{
    dt_random r = dt_random_stream(seed, "sums of rows", (uint64_t)kind);
    matrix m = { rows, columns, dt_alloc((size_t)(rows * columns + 1) * sizeof(float)) };
    for (int64_t i = 0; i < rows * columns; i++)
        m.x[i] = any_value(&r, kind, i % columns);
    return m;
}

/* The sum of column j in float64, and that of absolute values, which is what errors are relative to. */
static double exact(const matrix *m, int64_t j, const float *mean, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        const double x = m->x[i * m->columns + j], d = mean ? (double)(m->x[i * m->columns + j] - mean[j]) : 0;
        sum += mean ? d * d : x;
        *size += mean ? d * d : fabs(x);
    }
    return sum;
}

static void expect_near(const matrix *m, const float *sum, const float *mean, uint64_t seed)
{
    for (int64_t j = 0; j < m->columns; j++) {
        double size;
        const double wanted = exact(m, j, mean, &size);
        if (!(fabs((double)sum[j] - wanted) <= 1e-6 * size))
            fail_msg("seed %llu: %lld x %lld, column %lld: %.9g, wanted %.9g", (unsigned long long)seed, (long long)m->rows, (long long)m->columns,
                     (long long)j, (double)sum[j], wanted);
    }
}

static const int64_t sizes[][2] = { { 0, 3 }, { 1, 1 }, { 31, 1 }, { 4097, 1 }, { 300000, 1 }, { 10, 3 }, { 5000, 7 }, { 1000, 64 }, { 33, 127 }, { 2500, 128 }, { 700, 129 },
                                    { 65, 1000 }, { 100000, 5 } };

static void test_sums_of_rows_keep_their_digits(void **state)
{
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    const int n = dt_simd_list(list);
    for (uint64_t k = 0; k < 4 * sizeof sizes / sizeof *sizes; k++) {
        matrix m = draw_matrix(k, sizes[k / 4][0], sizes[k / 4][1], (int)(k % 4));
        float *sum = dt_alloc((size_t)m.columns * sizeof *sum), *mean = dt_alloc((size_t)m.columns * sizeof *mean), *other = dt_alloc((size_t)m.columns * sizeof *other);
        dt_sum_source s = { .at = m.x, .load = DT_S_COPY, .rows = m.rows, .n = m.columns, .stride = m.columns };
        dt_sum_rows(list[0], &s, sum);
        expect_near(&m, sum, NULL, k);
        for (int64_t j = 0; j < m.columns; j++)
            mean[j] = m.rows ? sum[j] / (float)m.rows : 0;
        s.mean = mean;
        dt_sum_rows(list[0], &s, sum);
        expect_near(&m, sum, mean, k);
        for (int i = 1; i < n; i++) {
            dt_sum_rows(list[i], &s, other);
            assert_memory_equal(sum, other, (size_t)m.columns * sizeof *sum);
        }
        free(sum);
        free(mean);
        free(other);
        free(m.x);
    }
}

/* A column has the same bits alone, beside some and beside all others: threads may divide columns in any way. */
static void test_a_column_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    dt_simd_list(list);
    for (uint64_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        matrix m = draw_matrix(k, sizes[k][0], sizes[k][1], 1);
        float *all = dt_alloc((size_t)m.columns * sizeof *all), *some = dt_alloc((size_t)m.columns * sizeof *some);
        dt_random r = dt_random_stream(k, "columns", 0);
        const dt_sum_source whole = { .at = m.x, .load = DT_S_COPY, .rows = m.rows, .n = m.columns, .stride = m.columns };
        dt_sum_rows(list[0], &whole, all);
        for (int i = 0; i < 5; i++) {
            const int64_t from = dt_random_u32(&r) % m.columns, n = 1 + dt_random_u32(&r) % (m.columns - from);
            const dt_sum_source part = { .at = m.x + from, .load = DT_S_COPY, .rows = m.rows, .n = n, .stride = m.columns };
            dt_sum_rows(list[0], &part, some);
            assert_memory_equal(all + from, some, (size_t)n * sizeof *all);
        }
        free(all);
        free(some);
        free(m.x);
    }
}

/* Values in 16 bits have the sums of the same values as floats. */
static void test_narrow_rows_have_the_sums_of_floats(void **state)
{
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    dt_simd_list(list);
    for (uint64_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        matrix m = draw_matrix(k, sizes[k][0], sizes[k][1], 1);
        uint16_t *narrow = dt_alloc((size_t)(m.rows * m.columns + 1) * sizeof *narrow);
        float *wanted = dt_alloc((size_t)m.columns * sizeof *wanted), *got = dt_alloc((size_t)m.columns * sizeof *got);
        for (int64_t i = 0; i < m.rows * m.columns; i++) {
            narrow[i] = dt_bfloat_of((double)m.x[i]);
            list[0]->strip[DT_S_FROM_BF16](&m.x[i], &narrow[i], NULL, NULL, 1);
        }
        dt_sum_source s = { .at = m.x, .load = DT_S_COPY, .rows = m.rows, .n = m.columns, .stride = m.columns };
        dt_sum_rows(list[0], &s, wanted);
        s.at = narrow;
        s.load = DT_S_FROM_BF16;
        dt_sum_rows(list[0], &s, got);
        assert_memory_equal(wanted, got, (size_t)m.columns * sizeof *got);
        free(narrow);
        free(wanted);
        free(got);
        free(m.x);
    }
}

static void test_the_sum_of_a_row_keeps_its_digits(void **state)
{
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    const int sets = dt_simd_list(list);
    for (uint64_t k = 0; k < 4; k++)
        for (int64_t n = 1; n < 4000000; n = 5 * n + 3) {
            matrix m = draw_matrix(k, n, 1, (int)k);
            for (int i = 0; i < sets; i++) {
                const float sum = list[i]->sum(m.x, n);
                expect_near(&m, &sum, NULL, k);
                assert_true(sum == dt_simd_base.sum(m.x, n));
            }
            free(m.x);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_rows_keep_their_digits),
        cmocka_unit_test(test_a_column_does_not_depend_on_its_neighbours),
        cmocka_unit_test(test_narrow_rows_have_the_sums_of_floats),
        cmocka_unit_test(test_the_sum_of_a_row_keeps_its_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of many values: near the sum in float64, in one order whatever is summed beside them, and
 * with the same bits on every instruction set. */
#include <math.h>

#include "kit.h"

#include "base/half.h"
#include "exec/sums.h"

typedef struct matrix {
    int64_t rows, columns;
    float *x;
} matrix;

static float any_value(dt_random *r, int kind, int64_t column) {
    switch (kind) {
    case 0: return 0.1f; /* what images have most of: one value */
    case 1: return (float)dt_random_normal(r) + 3;
    case 2:
        return (float)column + 1000 +
               (float)dt_random_normal(r) / 64; /* far from 0, close together */
    default: return dt_random_u32(r) % 100 ? 1e-3f : 1e3f * (float)dt_random_normal(r);
    }
}

static matrix draw_matrix(uint64_t seed, int64_t rows, int64_t columns, int kind) {
    dt_random r = dt_random_stream(seed, "sums of rows", (uint64_t)kind);
    matrix m = {rows, columns, dt_alloc((size_t)(rows * columns + 1) * sizeof(float))};
    for (int64_t i = 0; i < rows * columns; i++) m.x[i] = any_value(&r, kind, i % columns);
    return m;
}

/* The sum of column j in float64, and that of absolute values, which is what errors are relative
 * to. */
static double exact(const matrix *m, int64_t j, const float *mean, double *size) {
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        const double x = m->x[i * m->columns + j],
                     d = mean ? (double)(m->x[i * m->columns + j] - mean[j]) : 0;
        sum += mean ? d * d : x;
        *size += mean ? d * d : fabs(x);
    }
    return sum;
}

static void expect_near(const matrix *m, const float *sum, const float *mean, uint64_t seed) {
    for (int64_t j = 0; j < m->columns; j++) {
        double size;
        const double wanted = exact(m, j, mean, &size);
        if (!(fabs((double)sum[j] - wanted) <= 1e-6 * size))
            fail_msg("seed %llu: %lld x %lld, column %lld: %.9g, wanted %.9g",
                     (unsigned long long)seed, (long long)m->rows, (long long)m->columns,
                     (long long)j, (double)sum[j], wanted);
    }
}

static const int64_t sizes[][2] = {{0, 3},     {1, 1},     {31, 1},    {4097, 1}, {300000, 1},
                                   {10, 3},    {5000, 7},  {1000, 64}, {33, 127}, {2500, 128},
                                   {700, 129}, {65, 1000}, {100000, 5}};

static void test_sums_of_rows_keep_their_digits(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    const int n = dt_simd_list(list);
    for (uint64_t k = 0; k < 4 * sizeof sizes / sizeof *sizes; k++) {
        matrix m = draw_matrix(k, sizes[k / 4][0], sizes[k / 4][1], (int)(k % 4));
        float *sum = dt_alloc((size_t)m.columns * sizeof *sum),
              *mean = dt_alloc((size_t)m.columns * sizeof *mean),
              *other = dt_alloc((size_t)m.columns * sizeof *other);
        dt_sum_source s = {
            .at = m.x, .load = DT_S_COPY, .rows = m.rows, .n = m.columns, .stride = m.columns};
        dt_sum_rows(list[0], &s, sum);
        expect_near(&m, sum, NULL, k);
        for (int64_t j = 0; j < m.columns; j++) mean[j] = m.rows ? sum[j] / (float)m.rows : 0;
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

/* A column has the same bits alone, beside some and beside all others: threads may divide columns
 * in any way. */
static void test_a_column_does_not_depend_on_its_neighbours(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    dt_simd_list(list);
    for (uint64_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        matrix m = draw_matrix(k, sizes[k][0], sizes[k][1], 1);
        float *all = dt_alloc((size_t)m.columns * sizeof *all),
              *some = dt_alloc((size_t)m.columns * sizeof *some);
        dt_random r = dt_random_stream(k, "columns", 0);
        const dt_sum_source whole = {
            .at = m.x, .load = DT_S_COPY, .rows = m.rows, .n = m.columns, .stride = m.columns};
        dt_sum_rows(list[0], &whole, all);
        for (int i = 0; i < 5; i++) {
            const int64_t from = dt_random_u32(&r) % m.columns,
                          n = 1 + dt_random_u32(&r) % (m.columns - from);
            const dt_sum_source part = {
                .at = m.x + from, .load = DT_S_COPY, .rows = m.rows, .n = n, .stride = m.columns};
            dt_sum_rows(list[0], &part, some);
            assert_memory_equal(all + from, some, (size_t)n * sizeof *all);
        }
        free(all);
        free(some);
        free(m.x);
    }
}

/* Values in 16 bits have the sums of the same values as floats. */
static void test_narrow_rows_have_the_sums_of_floats(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    dt_simd_list(list);
    for (uint64_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        matrix m = draw_matrix(k, sizes[k][0], sizes[k][1], 1);
        uint16_t *narrow = dt_alloc((size_t)(m.rows * m.columns + 1) * sizeof *narrow);
        float *wanted = dt_alloc((size_t)m.columns * sizeof *wanted),
              *got = dt_alloc((size_t)m.columns * sizeof *got);
        for (int64_t i = 0; i < m.rows * m.columns; i++) {
            narrow[i] = dt_bfloat_of((double)m.x[i]);
            list[0]->strip[DT_S_FROM_BF16](&m.x[i], &narrow[i], NULL, NULL, 1);
        }
        dt_sum_source s = {
            .at = m.x, .load = DT_S_COPY, .rows = m.rows, .n = m.columns, .stride = m.columns};
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

static void test_the_sum_of_a_row_keeps_its_digits(void **state) {
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

/* ---- sums by row number ---- */

typedef struct lookup {
    int64_t n, rows, width;
    dt_dtype number;
    int kind; /* which rows: all one; most of them few; some beyond the table; each once */
    float *x;
    int64_t *row;
} lookup;

static int64_t any_row(dt_random *r, const lookup *l, int64_t i) {
    switch (l->kind) {
    case 0: return l->rows / 2;
    case 1: return (int64_t)((double)l->rows * pow((double)(dt_random_u32(r) % 1000) / 1000, 8));
    case 2: return dt_random_u32(r) % (l->rows + 3) - 1;
    default: return i * 7919 % l->rows;
    }
}

static void *numbers(const lookup *l) {
    int32_t *narrow = dt_alloc((size_t)(l->n + 1) * sizeof *narrow);
    for (int64_t i = 0; i < l->n; i++) narrow[i] = (int32_t)l->row[i];
    return narrow;
}

static dt_value argument(dt_trace *t, const char *name, dt_dtype d, int rank, int64_t width) {
    const dt_type type = dt_type_of(d, rank, (int64_t[]){-1, width});
    return dt_trace_declare(t, name, &type);
}

/* What the engine makes of it: (rows, width). */
static float *scatter(const lookup *l, const dt_engine_options *o) {
    dt_trace *t = dt_trace_create("scatter");
    dt_value x = argument(t, "x", DT_FLOAT32, 2, l->width);
    dt_value number = argument(t, "number", l->number, 1, 0);
    dt_graph *g = NULL;
    dt_engine *e = NULL;
    dt_exec *exec = NULL;
    dt_return(t, "y", dt_scatter_add(x, number, l->rows));
    ok_for(dt_trace_end(t, &g), 0);
    assert_string_equal(dt_kernel_find(g, g->result[0].node)->name, "scatter_add");

    dt_arena *arena = dt_arena_create();
    void *narrow = numbers(l);
    const int64_t dim[] = {l->n, l->width};
    dt_view arg[] = {{dt_type_of(DT_FLOAT32, 2, dim), l->x},
                     {dt_type_of(l->number, 1, dim),
                      l->number == DT_INT64 ? (void *)l->row : narrow}},
            result;
    const dt_env env = {.batch = l->n, .replicas = 1};
    const dt_partition_options whole = {.batch = l->n, .can_split = dt_exec_can_split};
    dt_program *p = dt_partition(g, &whole, arena);
    ok_for(dt_engine_open(&e, o), 0);
    ok_for(dt_exec_compile(&exec, e, p), 0);
    ok_for(dt_exec_run(exec, &env, arg, &result), 0);
    const size_t bytes = (size_t)(l->rows * l->width) * sizeof(float);
    float *y = memcpy(dt_alloc(bytes), result.data, bytes);
    dt_exec_destroy(exec);
    dt_engine_close(e);
    dt_graph_destroy(g);
    dt_arena_destroy(arena);
    free(narrow);
    return y;
}

static void expect_sums_by_row(const lookup *l, const float *y) {
    const size_t cells = (size_t)(l->rows * l->width);
    double *sum = calloc(cells, sizeof *sum), *size = calloc(cells, sizeof *size);
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->width && l->row[i] >= 0 && l->row[i] < l->rows; j++) {
            sum[l->row[i] * l->width + j] += (double)l->x[i * l->width + j];
            size[l->row[i] * l->width + j] += fabs((double)l->x[i * l->width + j]);
        }
    for (size_t k = 0; k < cells; k++)
        if (!(fabs((double)y[k] - sum[k]) <= 1e-6 * size[k]))
            fail_msg("rows of kind %d, %lld into %lld x %lld: element %zu is %.9g, wanted %.9g",
                     l->kind, (long long)l->n, (long long)l->rows, (long long)l->width, k,
                     (double)y[k], sum[k]);
    free(sum);
    free(size);
}

/* Chains of DT_SUM_ROWS rows in the order of the ids, and the tree of sums.h over them. */
static void expect_chains_and_a_tree(const lookup *l, const float *y) {
    const dt_simd *list[DT_MAX_SIMD];
    float *level = dt_alloc((size_t)dt_sum_levels(l->n + 1) * sizeof *level);
    dt_simd_list(list);
    for (int64_t cell = 0; cell < l->rows * l->width; cell++) {
        dt_sum_tree t = {.level = level, .stride = 1, .n = 1, .add = list[0]->strip[DT_S_add]};
        float chain = 0;
        int64_t rows = 0;
        for (int64_t i = 0; i < l->n; i++) {
            if (l->row[i] != cell / l->width) continue;
            chain += l->x[i * l->width + cell % l->width];
            if (++rows % DT_SUM_ROWS) continue;
            *dt_sum_next(&t) = chain;
            dt_sum_push(&t);
            chain = 0;
        }
        *dt_sum_next(&t) = chain;
        if (rows % DT_SUM_ROWS || rows == 0) dt_sum_push(&t);
        dt_sum_end(&t);
        assert_memory_equal(&y[cell], level, sizeof *y);
    }
    free(level);
}

static const int64_t lookups[][3] = {
    /* ids, rows, width */
    {1000000, 3, 1}, {30000, 50, 24}, {33, 1, 7},    {16, 2, 64},   {17, 2, 64},  {2000, 5000, 5},
    {1, 1, 1},       {900, 6, 2},     {5000, 70, 3}, {5000, 20, 4}, {3000, 9, 8}, {3000, 40, 16},
};

/* Ids that a batch has often, such as padding, lose no digits. */
static void test_sums_by_row_number_keep_their_digits(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    const int sets = dt_simd_list(list);
    for (int k = 0; k < 4 * (int)(sizeof lookups / sizeof *lookups); k++) {
        const int64_t *is = lookups[k / 4];
        matrix m = draw_matrix((uint64_t)k, is[0], is[2], k % 3);
        lookup l = {.n = is[0],
                    .rows = is[1],
                    .width = is[2],
                    .number = k & 4 ? DT_INT64 : DT_INT32,
                    .kind = k % 4,
                    .x = m.x,
                    .row = dt_alloc((size_t)is[0] * sizeof(int64_t))};
        dt_random r = dt_random_stream((uint64_t)k, "row numbers", 0);
        for (int64_t i = 0; i < l.n; i++) l.row[i] = any_row(&r, &l, i);
        float *y = scatter(&l, &(dt_engine_options){.threads = 1});
        expect_sums_by_row(&l, y);
        if (is[0] * is[1] * is[2] < 50000000) expect_chains_and_a_tree(&l, y);
        for (int i = 0; i < sets; i++) {
            float *other =
                scatter(&l, &(dt_engine_options){.threads = 1 + i % 3, .isa = list[i]->name});
            assert_memory_equal(y, other, (size_t)(l.rows * l.width) * sizeof *y);
            free(other);
        }
        free(y);
        free(l.row);
        free(m.x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_rows_keep_their_digits),
        cmocka_unit_test(test_a_column_does_not_depend_on_its_neighbours),
        cmocka_unit_test(test_narrow_rows_have_the_sums_of_floats),
        cmocka_unit_test(test_the_sum_of_a_row_keeps_its_digits),
        cmocka_unit_test(test_sums_by_row_number_keep_their_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

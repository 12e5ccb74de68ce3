/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of a kernel: products against the estimates of libtpu's compiler and what was measured on
 * hardware, and what must hold for any chip: more work takes longer, nothing beats the roofline,
 * padding costs what it pads to.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "compiler_estimate.h"
#include "cost/cost.h"
#include "cost/expected_error.h"

typedef struct row {
    const char *generation;
    dt_matrix_work product;
    double cycles;
} row;

#define ESTIMATE(generation, dtype, count, m, k, n, cycles)                                        \
    {#generation, {count, m, k, n, dtype, 0, false}, cycles},
static const row shared[] = {
#define ESTIMATE_SHARED
#include "estimates.h"
#undef ESTIMATE_SHARED
};
#define ESTIMATE(generation, dtype, count, m, k, n, cycles)                                        \
    {#generation, {count, m, k, n, dtype, 0, false}, cycles},
static const row drawn[] = {
#define ESTIMATE_DRAWN
#include "estimates.h"
#undef ESTIMATE_DRAWN
};
static const char *const generations[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"};
#define N(a) (sizeof(a) / sizeof *(a))

/* A device as programs see it. */
static dt_core core_of(const char *generation) {
    const dt_chip *chip = dt_chip_find(generation);
    assert_non_null(chip);
    return (dt_core){.chip = chip, .cores = chip->cores / chip->devices};
}

/* ---- the compiler's estimates ---- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Absolute relative errors of the rows of a generation (NULL: of all), in order; returns their
 * count. */
static int errors_of(const row *r, int n, const char *generation, double *error) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        dt_core core = core_of(r[i].generation);
        if (!generation || core.chip == dt_chip_find(generation))
            error[count++] = fabs(estimated_cycles(&core, &r[i].product) / r[i].cycles - 1);
    }
    qsort(error, (size_t)count, sizeof *error, by_size);
    return count;
}

static void expect_errors(const char *what, const row *r, int n, double median, double ninth,
                          double worst) {
    double error[1024];
    assert_true(n > 0 && n <= (int)N(error));
    for (size_t g = 0; g < N(generations); g++) {
        int count = errors_of(r, n, generations[g], error);
        if (count > 0)
            print_message("%s, %-5s %3d rows: median %4.1f %%, worst %4.1f %%\n", what,
                          generations[g], count, 100 * error[count / 2], 100 * error[count - 1]);
    }
    errors_of(r, n, NULL, error);
    print_message(
        "%s, all   %3d rows: median %4.1f %%, nine of ten below %4.1f %%, worst %4.1f %%\n", what,
        n, 100 * error[n / 2], 100 * error[n * 9 / 10], 100 * error[n - 1]);
    assert_true(error[n / 2] < median && error[n * 9 / 10] < ninth && error[n - 1] < worst);
}

static void test_estimates_of_the_shared_rows(void **state) {
    (void)state;
    expect_errors("shared", shared, (int)N(shared), 0.05, 0.15, 0.30);
}

/* `dtrain plan` prints these errors to four digits. */
static void test_errors_that_plans_print(void **state) {
    (void)state;
    double error[N(shared)];
    for (size_t g = 0; g < N(generations); g++) {
        const dt_expected_error *e = dt_expected_error_of(&dt_compiler_estimate, generations[g]);
        int n = errors_of(shared, (int)N(shared), generations[g], error);
        double median = (error[(n - 1) / 2] + error[n / 2]) / 2, worst = error[n - 1];
        assert_non_null(e);
        if (e->rows != n || fabs(e->median - median) > 6e-5 || fabs(e->worst - worst) > 6e-5)
            fail_msg("expected_errors.h: write \"compiler-estimate\", \"\", \"\", \"\", \"%s\", "
                     "%d, %.4f, %.4f",
                     generations[g], n, median, worst);
    }
}

/* Shapes at random are odder than those that people measure: thin ones, in batches, of all
 * dtypes. */
static void test_estimates_of_shapes_never_fitted(void **state) {
    (void)state;
    expect_errors("drawn", drawn, (int)N(drawn), 0.06, 0.20, 0.40);
}

/* ---- hardware ---- */

static dt_cost cost_of(double count, int64_t m, int64_t k, int64_t n, dt_dtype dtype) {
    double size = (double)dt_dtype_size(dtype), a = (double)m * (double)k,
           b = (double)k * (double)n, y = (double)m * (double)n;
    return (dt_cost){.flops = 2 * count * a * (double)n,
                     .bytes = count * size * (a + b + y),
                     .product = {{.count = count, .m = m, .k = k, .n = n, .dtype = dtype}}};
}

static void test_products_measured_on_hardware(void **state) {
    (void)state;
    static const struct {
        const char *generation;
        int64_t m, k, n;
        double seconds, tolerance;
    } rows[] = {
        /* AI-Hypercomputer/tpu-recipes, microbenchmarks; [mb-01] of the shared rows */
        {"v6e", 8192, 8192, 8192, 0.001328756094, 0.08},
        /* the same, Ironwood: mb-tpu7x-gemm-128, -256, -16384 */
        {"tpu7x", 128, 128, 128, 1.6194466098639974e-06, 0.35},
        {"tpu7x", 256, 256, 256, 1.8349338043082686e-06, 0.35},
        {"tpu7x", 16384, 16384, 16384, 0.00925779111603117, 0.05},
        /* prof-01: [32,1024,8192] x [8192,32768] over 4 x 2 cores */
        {"v2", 8 * 1024, 8192, 16384, 0.096, 0.05},
    };
    for (size_t i = 0; i < N(rows); i++) {
        dt_core core = core_of(rows[i].generation);
        dt_cost work = cost_of(1, rows[i].m, rows[i].k, rows[i].n, DT_FLOAT16);
        double seconds = dt_core_time(&core, &work).seconds, error = seconds / rows[i].seconds - 1;
        print_message("%-5s %5lld x %5lld x %5lld: %.4g s, measured %.4g: %+.1f %%\n",
                      rows[i].generation, (long long)rows[i].m, (long long)rows[i].k,
                      (long long)rows[i].n, seconds, rows[i].seconds, 100 * error);
        assert_true(fabs(error) < rows[i].tolerance);
    }
}

/* ---- what holds for all ---- */

static const uint64_t seed = 20260801;
static const dt_dtype dtypes[] = {DT_FLOAT16, DT_FLOAT32, DT_INT8};

static int64_t extent(dt_random *r) { return (int64_t)pow(2, 1 + 12 * dt_random_uniform(r)); }

static void test_larger_products_take_no_less(void **state) {
    (void)state;
    print_message("seed %d\n", (int)seed);
    for (int i = 0; i < 2000; i++) {
        dt_random r = dt_random_stream(seed, "larger", (uint64_t)i);
        dt_core core = core_of(generations[i % 7]);
        int64_t m = 1 + extent(&r), k = extent(&r), n = 1 + extent(&r);
        dt_dtype dtype = dtypes[i % 3];
        dt_cost work = cost_of(1, m, k, n, dtype),
                twice[] = {cost_of(1, 2 * m, k, n, dtype), cost_of(1, m, 2 * k, n, dtype),
                           cost_of(1, m, k, 2 * n, dtype), cost_of(2, m, k, n, dtype)};
        double seconds = dt_core_time(&core, &work).seconds;
        for (size_t t = 0; t < N(twice); t++)
            if (dt_core_time(&core, &twice[t]).seconds < seconds)
                fail_msg("%s: %lld x %lld x %lld takes longer than one twice as large (%d)",
                         core.chip->generation, (long long)m, (long long)k, (long long)n, (int)t);
    }
}

static void test_nothing_beats_the_roofline(void **state) {
    (void)state;
    print_message("seed %d\n", (int)seed);
    for (int i = 0; i < 2000; i++) {
        dt_random r = dt_random_stream(seed, "roofline", (uint64_t)i);
        dt_core core = core_of(generations[i % 7]);
        dt_cost work =
            cost_of((double)(1 + i % 5), extent(&r), extent(&r), extent(&r), dtypes[i % 3]);
        work.vector = (double)extent(&r) * (double)extent(&r);
        if (i % 4 == 0) work = (dt_cost){.vector = work.vector, .bytes = work.bytes};
        assert_true(dt_core_time(&core, &work).seconds >= dt_core_roofline(&core, &work).seconds);
    }
}

static double matrix_seconds(const dt_core *c, int64_t size) {
    dt_cost work = cost_of(1, size, size, size, DT_FLOAT16);
    return dt_core_time(c, &work).seconds;
}

/* 1,025 is padded to the next tile, which takes about as long as a product that fills it: rows that
 * stream by are padded to 8 alone. */
static void test_padding_is_paid_for(void **state) {
    (void)state;
    for (size_t g = 0; g < N(generations); g++) {
        dt_core core = core_of(generations[g]);
        int64_t next = 1024 + core.chip->mxu_size;
        dt_cost odd = cost_of(1, 8192, 1025, 1025, DT_FLOAT16),
                even = cost_of(1, 8192, next, next, DT_FLOAT16);
        double part = dt_core_time(&core, &odd).matrix_s / dt_core_time(&core, &even).matrix_s;
        assert_true(part > 0.75 && part <= 1);
        assert_true(matrix_seconds(&core, 129) <= matrix_seconds(&core, 256));
    }
}

static void test_nothing_takes_no_time(void **state) {
    (void)state;
    for (size_t g = 0; g < N(generations); g++) {
        dt_core core = core_of(generations[g]);
        assert_true(dt_core_time(&core, &(dt_cost){0}).seconds == 0);
        assert_true(dt_core_time(&core, &(dt_cost){.bytes = 4}).launch_s > 0);
    }
}

/* Scores of attention stay in the chip in 32 bits, in float32 as well as in bfloat16. Results of 16
 * bits take longer, because they are rounded and packed. */
static void test_results_that_stay_take_as_long_in_each_precision(void **state) {
    (void)state;
    for (int g = 0; g < 7; g++) {
        dt_core core = core_of(generations[g]);
        dt_cost narrow = {.product = {{.count = 64, .m = 512, .k = 64, .n = 512}}}, wide;
        narrow.product[0].dtype = DT_BFLOAT16;
        wide = narrow;
        wide.product[0].dtype = DT_FLOAT32;
        assert_true(dt_core_time(&core, &wide).seconds < dt_core_time(&core, &narrow).seconds);
        narrow.product[0].stays = true;
        assert_true(dt_core_time(&core, &wide).seconds == dt_core_time(&core, &narrow).seconds);
    }
}

/* In a step, matrix units do not keep up the rate of a product by itself. */
static void test_steps_sustain_less_than_single_products(void **state) {
    (void)state;
    for (int g = 0; g < 7; g++) {
        dt_core alone = core_of(generations[g]), step = alone;
        step.sustained = 0.5;
        const dt_cost work = cost_of(1, 8192, 8192, 8192, DT_BFLOAT16);
        const double ratio =
            dt_core_time(&step, &work).matrix_s / dt_core_time(&alone, &work).matrix_s;
        assert_true(ratio > 1.9 && ratio < 2.4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates_of_the_shared_rows),
        cmocka_unit_test(test_errors_that_plans_print),
        cmocka_unit_test(test_estimates_of_shapes_never_fitted),
        cmocka_unit_test(test_products_measured_on_hardware),
        cmocka_unit_test(test_larger_products_take_no_less),
        cmocka_unit_test(test_nothing_beats_the_roofline),
        cmocka_unit_test(test_padding_is_paid_for),
        cmocka_unit_test(test_results_that_stay_take_as_long_in_each_precision),
        cmocka_unit_test(test_steps_sustain_less_than_single_products),
        cmocka_unit_test(test_nothing_takes_no_time),
    };
    return cmocka_run_group_tests_name("cost/core", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own loops: errors of exp, log, tanh, logistic and rsqrt against the C library in double, special values, and the same bits
 * on every instruction set that this processor has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <float.h>
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "exec/strip.h"

enum { N = 4096 };

/* ---- accuracy ---- */

/* The distance of y from the exact value in units in the last place of the float nearest to it. */
static double ulps(float y, double exact)
{
    float nearest = (float)exact;
    if (isnan(exact) || isnan(y))
        return isnan(exact) && isnan(y) ? 0 : INFINITY;
    if (isinf(nearest) || isinf(y))
        return nearest == y ? 0 : INFINITY;
    double spacing = (double)(nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest));
    return fabs((double)y - exact) / spacing;
}

static double exact_logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_rsqrt(double x)
{
    return 1 / sqrt(x);
}

typedef struct function {
    const char *name;
    dt_strip_op op;
    double (*exact)(double);
    float from, to; /* where it is looked at */
    double most;    /* ulp, as strip.c says */
} function;

static const function functions[] = {
    { "exp, normal results", DT_S_EXPONENTIAL, exp, -87.3f, 88.7f, 0.99 },
    { "exp, denormal results", DT_S_EXPONENTIAL, exp, -103.9f, -87.3f, 0.99 },
    { "log", DT_S_LOG, log, FLT_MIN, FLT_MAX, 0.82 },
    { "log of denormals", DT_S_LOG, log, 1e-45f, FLT_MIN, 0.82 },
    { "log near 1", DT_S_LOG, log, 0.5f, 2, 0.82 },
    { "tanh", DT_S_TANH, tanh, -20, 20, 1.31 },
    { "tanh near 0", DT_S_TANH, tanh, -1e-3f, 1e-3f, 1.31 },
    { "logistic", DT_S_LOGISTIC, exact_logistic, -103, 103, 2.76 },
    { "erf", DT_S_ERF, erf, -5, 5, 3.1 },
    { "erf near 0", DT_S_ERF, erf, -1e-3f, 1e-3f, 2 },
    { "rsqrt", DT_S_RSQRT, exact_rsqrt, FLT_MIN, FLT_MAX, 1.5 },
    { "sqrt", DT_S_SQRT, sqrt, 0, FLT_MAX, 0.5 },
};

/* A float between the two: half of the time even in value, half in its bits, which covers all magnitudes. */
static float between(dt_random *r, float from, float to)
{
    int32_t a, b, i;
    if (from < 0 || dt_random_below(r, 2))
        return (float)(from + (to - from) * dt_random_uniform(r));
    memcpy(&a, &from, sizeof a);
    memcpy(&b, &to, sizeof b);
    i = a + (int32_t)dt_random_below(r, (uint64_t)(b - a) + 1);
    memcpy(&from, &i, sizeof from);
    return from;
}

static void measure(const dt_simd *simd, const function *f)
{
    static float x[N], y[N];
    dt_random r = dt_random_stream(9, f->name, 0);
    double worst = 0;
    float at = 0;
    for (int block = 0; block < 200; block++) {
        for (int i = 0; i < N; i++)
            x[i] = between(&r, f->from, f->to);
        simd->strip[f->op](y, x, NULL, NULL, N);
        for (int i = 0; i < N; i++)
            if (ulps(y[i], f->exact((double)x[i])) > worst) {
                worst = ulps(y[i], f->exact((double)x[i]));
                at = x[i];
            }
    }
    print_message("%-22s at most %.3f ulp of %d floats, at %.9g\n", f->name, worst, 200 * N, (double)at);
    if (worst > f->most)
        fail_msg("%s: %g ulp at %.9g, %g are promised", f->name, worst, (double)at, f->most);
}

static void test_accuracy(void **state)
{
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    dt_simd_list(list);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        measure(list[0], &functions[i]);
}

/* ---- special values ---- */

static const struct { dt_strip_op op; float x, y; } specials[] = {
    { DT_S_EXPONENTIAL, 0, 1 }, { DT_S_EXPONENTIAL, -0.0f, 1 }, { DT_S_EXPONENTIAL, INFINITY, INFINITY }, { DT_S_EXPONENTIAL, -INFINITY, 0 },
    { DT_S_EXPONENTIAL, 89, INFINITY }, { DT_S_EXPONENTIAL, 1e30f, INFINITY }, { DT_S_EXPONENTIAL, -105, 0 }, { DT_S_EXPONENTIAL, -1e30f, 0 },
    { DT_S_EXPONENTIAL, 1e-45f, 1 }, { DT_S_EXPONENTIAL, NAN, NAN },
    { DT_S_LOG, 1, 0 }, { DT_S_LOG, 0, -INFINITY }, { DT_S_LOG, -0.0f, -INFINITY }, { DT_S_LOG, -1, NAN }, { DT_S_LOG, INFINITY, INFINITY },
    { DT_S_LOG, -INFINITY, NAN }, { DT_S_LOG, NAN, NAN },
    { DT_S_SQRT, -0.0f, -0.0f }, { DT_S_SQRT, -1, NAN }, { DT_S_SQRT, INFINITY, INFINITY }, { DT_S_SQRT, NAN, NAN },
    { DT_S_RSQRT, 0, INFINITY }, { DT_S_RSQRT, -0.0f, -INFINITY }, { DT_S_RSQRT, INFINITY, 0 }, { DT_S_RSQRT, -1, NAN }, { DT_S_RSQRT, NAN, NAN },
    { DT_S_TANH, 0, 0 }, { DT_S_TANH, -0.0f, -0.0f }, { DT_S_TANH, INFINITY, 1 }, { DT_S_TANH, -INFINITY, -1 }, { DT_S_TANH, 1e-45f, 1e-45f },
    { DT_S_TANH, -1e-40f, -1e-40f }, { DT_S_TANH, NAN, NAN },
    { DT_S_LOGISTIC, 0, 0.5f }, { DT_S_LOGISTIC, INFINITY, 1 }, { DT_S_LOGISTIC, -INFINITY, 0 }, { DT_S_LOGISTIC, NAN, NAN },
    { DT_S_ERF, 0, 0 }, { DT_S_ERF, -0.0f, -0.0f }, { DT_S_ERF, INFINITY, 1 }, { DT_S_ERF, -INFINITY, -1 }, { DT_S_ERF, NAN, NAN },
    { DT_S_GELU, 0, 0 }, { DT_S_GELU, 1e30f, 1e30f }, { DT_S_GELU, -30, -0.0f }, { DT_S_GELU, NAN, NAN },
    { DT_S_NEAR_GELU, 0, 0 }, { DT_S_NEAR_GELU, 30, 30 }, { DT_S_NEAR_GELU, NAN, NAN },
    { DT_S_SIGN, -0.0f, -0.0f }, { DT_S_SIGN, 1e-45f, 1 }, { DT_S_SIGN, -INFINITY, -1 }, { DT_S_SIGN, NAN, NAN },
    { DT_S_ABS, -0.0f, 0 }, { DT_S_ABS, -INFINITY, INFINITY }, { DT_S_ABS, NAN, NAN }, { DT_S_NEGATE, 0, -0.0f }, { DT_S_NEGATE, -1e-45f, 1e-45f },
    { DT_S_COPY, -0.0f, -0.0f }, { DT_S_COPY, NAN, NAN },
    { DT_S_BFLOAT16, -0.0f, -0.0f }, { DT_S_BFLOAT16, NAN, NAN }, { DT_S_BFLOAT16, -NAN, NAN }, { DT_S_BFLOAT16, INFINITY, INFINITY },
    { DT_S_BFLOAT16, FLT_MAX, INFINITY }, { DT_S_BFLOAT16, 1.00390625f, 1 }, { DT_S_BFLOAT16, 1.01171875f, 1.015625f },
    { DT_S_BFLOAT16, -1.005f, -1.0078125f }, { DT_S_BFLOAT16, 0x1p-133f, 0x1p-133f }, { DT_S_BFLOAT16, 0x1p-134f, 0 }, { DT_S_BFLOAT16, 0x3p-134f, 0x1p-132f },
    { DT_S_FLOAT16, -0.0f, -0.0f }, { DT_S_FLOAT16, NAN, NAN }, { DT_S_FLOAT16, -INFINITY, -INFINITY }, { DT_S_FLOAT16, 65519, 65504 },
    { DT_S_FLOAT16, 65520, INFINITY }, { DT_S_FLOAT16, -FLT_MAX, -INFINITY }, { DT_S_FLOAT16, 1.00048828125f, 1 }, { DT_S_FLOAT16, 1.00146484375f, 1.001953125f },
    { DT_S_FLOAT16, 0x1p-24f, 0x1p-24f }, { DT_S_FLOAT16, -0x1p-25f, -0.0f }, { DT_S_FLOAT16, 0x3p-25f, 0x1p-23f }, { DT_S_FLOAT16, 0x1.ff8p-15f, 0x1.ff8p-15f },
    { DT_S_FLOAT16, 0x1.fffp-15f, 0x1p-14f }, { DT_S_FLOAT16, 1e-40f, 0 },
};

static bool same_float(float a, float b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static const struct { dt_strip_op op; float a, b, y; } special_pairs[] = {
    { DT_S_MAXIMUM, NAN, 1, NAN }, { DT_S_MAXIMUM, 1, NAN, NAN }, { DT_S_MAXIMUM, -INFINITY, 1, 1 }, { DT_S_MAXIMUM, -0.0f, 0.0f, 0.0f },
    { DT_S_MAXIMUM, 0.0f, -0.0f, 0.0f }, { DT_S_MINIMUM, NAN, 1, NAN }, { DT_S_MINIMUM, 1, NAN, NAN }, { DT_S_MINIMUM, 0.0f, -0.0f, -0.0f },
    { DT_S_MINIMUM, -0.0f, 0.0f, -0.0f }, { DT_S_MINIMUM, INFINITY, 1, 1 },
    { DT_S_EQ, NAN, NAN, 0 }, { DT_S_NE, NAN, NAN, 1 }, { DT_S_LT, NAN, 1, 0 }, { DT_S_GE, NAN, 1, 0 }, { DT_S_EQ, 0.0f, -0.0f, 1 },
    { DT_S_LE, 1, 1, 1 }, { DT_S_GT, 1, 1, 0 }, { DT_S_LT, -INFINITY, INFINITY, 1 },
    { DT_S_DIVIDE, 1, 0, INFINITY }, { DT_S_DIVIDE, 0, 0, NAN }, { DT_S_ADD, INFINITY, -INFINITY, NAN }, { DT_S_SUBTRACT, 0.0f, 0.0f, 0.0f },
    { DT_S_MULTIPLY, 0, INFINITY, NAN }, { DT_S_MULTIPLY, 1e-30f, 1e-15f, 1e-45f },
};

/* The value stands at every place of a long strip, and alone: vector loops and their ends. */
static void expect_special(const dt_simd *simd, dt_strip_op op, float a, float b, float y)
{
    static float x0[67], x1[67], out[67];
    for (int n = 1; n <= 67; n += 33) {
        for (int i = 0; i < n; i++)
            x0[i] = a, x1[i] = b;
        simd->strip[op](out, x0, x1, NULL, n);
        for (int i = 0; i < n; i++)
            if (!same_float(out[i], y))
                fail_msg("%s: op %d of %g and %g is %.9g, not %.9g", simd->name, (int)op, (double)a, (double)b, (double)out[i], (double)y);
    }
}

static void test_special_values(void **state)
{
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    int n = dt_simd_list(list);
    for (int s = 0; s < n; s++) {
        for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
            expect_special(list[s], specials[i].op, specials[i].x, 0, specials[i].y);
        for (size_t i = 0; i < sizeof special_pairs / sizeof *special_pairs; i++)
            expect_special(list[s], special_pairs[i].op, special_pairs[i].a, special_pairs[i].b, special_pairs[i].y);
    }
}

/* ---- one instruction set like another ---- */

/* Floats of all kinds: any bits, small numbers, and what is special. */
static void draw_floats(dt_random *r, float *x, int n)
{
    static const float odd[] = { 0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 1e-45f, -1e-40f, FLT_MAX, FLT_MIN, 88.8f, -104 };
    for (int i = 0; i < n; i++) {
        uint32_t bits = dt_random_u32(r);
        if (i % 3 == 0)
            memcpy(&x[i], &bits, sizeof bits);
        else
            x[i] = i % 3 == 1 ? (float)(4 * dt_random_normal(r)) : odd[bits % (sizeof odd / sizeof *odd)];
    }
}

/* All NaNs count as one: which of two goes on is the compiler's choice of operands. */
static void expect_same_floats(const char *what, const dt_simd *simd, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!same_float(a[i], b[i]))
            fail_msg("%s of %s: element %d of %d is %.9g, of base %.9g", what, simd->name, (int)i, (int)n, (double)a[i], (double)b[i]);
}

static const int lengths[] = { 0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 1000, DT_STRIP };

static void compare_strips(const dt_simd *simd)
{
    static float x[3][DT_STRIP], a[DT_STRIP], b[DT_STRIP];
    dt_random r = dt_random_stream(10, "strips", 0);
    for (int op = 0; op < DT_S_COUNT; op++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            for (int i = 0; i < 3; i++)
                draw_floats(&r, x[i], DT_STRIP);
            memset(a, 0, sizeof a);
            memset(b, 0, sizeof b);
            simd->strip[op](a, x[0], x[1], x[2], lengths[k]);
            dt_simd_base.strip[op](b, x[0], x[1], x[2], lengths[k]);
            expect_same_floats("a strip", simd, a, b, DT_STRIP);
        }
}

static void compare_sums(const dt_simd *simd)
{
    static float x[DT_STRIP], a[DT_STRIP], b[DT_STRIP];
    dt_random r = dt_random_stream(11, "sums", 0);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int n = lengths[k], rows = n ? DT_STRIP / n : 0;
        for (int i = 0; i < DT_STRIP; i++)
            x[i] = (float)dt_random_normal(&r);
        float sums[2] = { simd->sum(x, n), dt_simd_base.sum(x, n) }, tops[2] = { simd->max(x, n), dt_simd_base.max(x, n) };
        expect_same_floats("a sum", simd, &sums[0], &sums[1], 1);
        expect_same_floats("a maximum", simd, &tops[0], &tops[1], 1);
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
        simd->add_rows(a, x, rows, n, n);
        dt_simd_base.add_rows(b, x, rows, n, n);
        expect_same_floats("a sum of rows", simd, a, b, n);
    }
}

static void compare_class_scores(const dt_simd *simd)
{
    static float z[DT_STRIP], y[DT_STRIP], dy[DT_STRIP], a[DT_STRIP], b[DT_STRIP];
    static int32_t label[DT_STRIP];
    dt_random r = dt_random_stream(12, "scores", 0);
    for (int n = 1; n <= 300; n += n < 20 ? 1 : 139) {
        int rows = DT_STRIP / n;
        for (int i = 0; i < DT_STRIP; i++) {
            z[i] = (float)(3 * dt_random_normal(&r));
            y[i] = (float)dt_random_uniform(&r);
            dy[i] = (float)dt_random_normal(&r);
            label[i] = (int32_t)dt_random_below(&r, (uint64_t)n + 1); /* some are outside */
        }
        simd->softmax(a, z, rows, n), dt_simd_base.softmax(b, z, rows, n);
        expect_same_floats("softmax", simd, a, b, rows * n);
        simd->sparse_entropy(a, z, label, rows, n), dt_simd_base.sparse_entropy(b, z, label, rows, n);
        expect_same_floats("sparse_entropy", simd, a, b, rows);
        simd->entropy(a, z, y, rows, n), dt_simd_base.entropy(b, z, y, rows, n);
        expect_same_floats("entropy", simd, a, b, rows);
        simd->sparse_entropy_grad(a, z, label, dy, rows, n), dt_simd_base.sparse_entropy_grad(b, z, label, dy, rows, n);
        expect_same_floats("sparse_entropy_grad", simd, a, b, rows * n);
        simd->entropy_grad(a, z, y, dy, rows, n), dt_simd_base.entropy_grad(b, z, y, dy, rows, n);
        expect_same_floats("entropy_grad", simd, a, b, rows * n);
    }
}

static void test_every_instruction_set_gives_the_same_bits(void **state)
{
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    int n = dt_simd_list(list);
    assert_ptr_equal(list[n - 1], &dt_simd_base);
    for (int i = 0; i < n - 1; i++) {
        print_message("%s against base\n", list[i]->name);
        compare_strips(list[i]);
        compare_sums(list[i]);
        compare_class_scores(list[i]);
    }
}

/* A row gives the same bits whichever rows are beside it. */
static void test_rows_do_not_depend_on_their_neighbours(void **state)
{
    (void)state;
    static float z[DT_STRIP * 2], y[DT_STRIP * 2], all[DT_STRIP * 2], one[DT_STRIP * 2], dy[DT_STRIP];
    static int32_t label[DT_STRIP];
    const dt_simd *list[DT_MAX_SIMD];
    dt_random r = dt_random_stream(15, "rows", 0);
    for (int i = 0; i < 2 * DT_STRIP; i++)
        z[i] = (float)(3 * dt_random_normal(&r)), y[i] = (float)dt_random_uniform(&r);
    for (int s = dt_simd_list(list) - 1; s >= 0; s--)
        for (int n = 1; n <= 2 * DT_STRIP; n = n < 12 ? n + 1 : 2 * n) {
            int rows = 2 * DT_STRIP / n > DT_STRIP ? DT_STRIP : 2 * DT_STRIP / n;
            for (int i = 0; i < rows; i++)
                dy[i] = z[i], label[i] = i % n;
            for (int which = 0; which < 5; which++) {
                int width = which < 2 ? 1 : n;
                for (int i = -1; i < rows; i++) { /* all at once, then one by one */
                    float *to = i < 0 ? all : one + i * width;
                    int from = i < 0 ? 0 : i, count = i < 0 ? rows : 1;
                    switch (which) {
                    case 0: list[s]->sparse_entropy(to, z + from * n, label + from, count, n); break;
                    case 1: list[s]->entropy(to, z + from * n, y + from * n, count, n); break;
                    case 2: list[s]->softmax(to, z + from * n, count, n); break;
                    case 3: list[s]->sparse_entropy_grad(to, z + from * n, label + from, dy + from, count, n); break;
                    default: list[s]->entropy_grad(to, z + from * n, y + from * n, dy + from, count, n); break;
                    }
                }
                expect_same_floats("rows one by one", list[s], one, all, rows * width);
            }
        }
}

/* A result may lie where an operand lies. */
static void test_strips_in_place(void **state)
{
    (void)state;
    static float x[2][100], y[100], z[100];
    const dt_simd *list[DT_MAX_SIMD];
    dt_random r = dt_random_stream(13, "in place", 0);
    for (int s = dt_simd_list(list) - 1; s >= 0; s--)
        for (int op = 0; op <= DT_S_GE; op++) {
            draw_floats(&r, x[0], 100);
            draw_floats(&r, x[1], 100);
            list[s]->strip[op](y, x[0], x[1], NULL, 100);
            memcpy(z, x[0], sizeof z);
            list[s]->strip[op](z, z, x[1], NULL, 100);
            expect_same_floats("over its first operand", list[s], z, y, 100);
            if (op > DT_S_MINIMUM && op < DT_S_EQ)
                continue;
            memcpy(z, x[1], sizeof z);
            list[s]->strip[op](z, x[0], z, NULL, 100);
            expect_same_floats("over its second operand", list[s], z, y, 100);
        }
}

/* ---- sums ---- */

static void test_sums_are_close(void **state)
{
    (void)state;
    static float x[100000];
    const dt_simd *list[DT_MAX_SIMD];
    dt_random r = dt_random_stream(14, "sum", 0);
    double exact = 0;
    dt_simd_list(list);
    for (int i = 0; i < 100000; i++) {
        x[i] = (float)dt_random_uniform(&r);
        exact += (double)x[i];
    }
    assert_float_equal(list[0]->sum(x, 100000), exact, 50000 * 1e-5);
    assert_true(list[0]->sum(x, 0) == 0);
    assert_true(list[0]->max(x, 0) == -INFINITY);
    x[50] = NAN;
    assert_true(isnan(list[0]->max(x, 100)) && isnan(list[0]->sum(x, 100)));
}

/* Against the numbers drawn one by one. */
static void test_uniform_numbers_are_those_of_philox(void **state)
{
    (void)state;
    static float x[1000];
    const uint64_t key = UINT64_C(0x123456789abcdef0), stream = UINT64_MAX - 5;
    const dt_simd *list[DT_MAX_SIMD];
    for (int s = dt_simd_list(list) - 1; s >= 0; s--)
        for (int n = 1; n <= 1000; n = n < 20 ? n + 1 : 7 * n) {
            x[n] = -1;
            (*list[s]->uniform)(x, key, stream, n);
            for (int i = 0; i < n; i++) {
                uint32_t word[4];
                dt_philox(key, (uint64_t)i, stream, word);
                assert_true(x[i] == (float)(word[0] >> 8) * 0x1p-24f);
            }
            assert_true(x[n] == -1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(test_rows_do_not_depend_on_their_neighbours),
        cmocka_unit_test(test_strips_in_place),
        cmocka_unit_test(test_sums_are_close),
        cmocka_unit_test(test_uniform_numbers_are_those_of_philox),
    };
    return cmocka_run_group_tests_name("exec/strip", tests, NULL, NULL);
}

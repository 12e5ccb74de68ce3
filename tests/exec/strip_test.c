/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own loops: errors of exp, log, tanh, logistic and rsqrt against the C library in double,
 * special values, and the same bits on every instruction set that this processor has.
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

#include "base/elementary.h"
#include "base/half.h"
#include "base/random.h"
#include "exec/sums.h"
#include "op/op.h"

enum { N = 4096 };

/* ---- accuracy ---- */

/* The distance of y from the exact value in units in the last place of the float nearest to it. */
static double ulps(float y, double exact) {
    float nearest = (float)exact;
    if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
    if (isinf(nearest) || isinf(y)) return nearest == y ? 0 : INFINITY;
    double spacing = (double)(nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest));
    return fabs((double)y - exact) / spacing;
}

static double exact_logistic(double x) { return 1 / (1 + exp(-x)); }

static double exact_rsqrt(double x) { return 1 / sqrt(x); }

typedef struct function {
    const char *name;
    dt_strip_op op;
    double (*exact)(double);
    float from, to; /* where it is looked at */
    double most;    /* ulp, as strip.c says */
} function;

static const function functions[] = {
    {"exp, normal results", DT_S_exponential, exp, -87.3f, 88.7f, 0.99},
    {"exp, denormal results", DT_S_exponential, exp, -103.9f, -87.3f, 0.99},
    {"log", DT_S_log, log, FLT_MIN, FLT_MAX, 0.82},
    {"log of denormals", DT_S_log, log, 1e-45f, FLT_MIN, 0.82},
    {"log near 1", DT_S_log, log, 0.5f, 2, 0.82},
    {"tanh", DT_S_tanh, tanh, -20, 20, 1.31},
    {"tanh near 0", DT_S_tanh, tanh, -1e-3f, 1e-3f, 1.31},
    {"logistic", DT_S_logistic, exact_logistic, -103, 103, 2.76},
    {"erf", DT_S_erf, erf, -5, 5, 3.1},
    {"erf near 0", DT_S_erf, erf, -1e-3f, 1e-3f, 2},
    {"rsqrt", DT_S_rsqrt, exact_rsqrt, FLT_MIN, FLT_MAX, 1.5},
    {"sqrt", DT_S_sqrt, sqrt, 0, FLT_MAX, 0.5},
};

/* A float between the two: half of the time even in value, half in its bits, which covers all
 * magnitudes. */
static float between(dt_random *r, float from, float to) {
    int32_t a, b, i;
    if (from < 0 || dt_random_below(r, 2))
        return (float)(from + (to - from) * dt_random_uniform(r));
    memcpy(&a, &from, sizeof a);
    memcpy(&b, &to, sizeof b);
    i = a + (int32_t)dt_random_below(r, (uint64_t)(b - a) + 1);
    memcpy(&from, &i, sizeof from);
    return from;
}

static void measure(const dt_simd *simd, const function *f) {
    static float x[N], y[N];
    dt_random r = dt_random_stream(9, f->name, 0);
    double worst = 0;
    float at = 0;
    for (int block = 0; block < 200; block++) {
        for (int i = 0; i < N; i++) x[i] = between(&r, f->from, f->to);
        simd->strip[f->op](y, x, NULL, NULL, N);
        for (int i = 0; i < N; i++)
            if (ulps(y[i], f->exact((double)x[i])) > worst) {
                worst = ulps(y[i], f->exact((double)x[i]));
                at = x[i];
            }
    }
    print_message("%-22s at most %.3f ulp of %d floats, at %.9g\n", f->name, worst, 200 * N,
                  (double)at);
    if (worst > f->most)
        fail_msg("%s: %g ulp at %.9g, %g are promised", f->name, worst, (double)at, f->most);
}

static void test_accuracy(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    dt_simd_list(list);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        measure(list[0], &functions[i]);
}

/* ---- special values ---- */

static const struct {
    dt_strip_op op;
    float x, y;
} specials[] = {
    {DT_S_exponential, 0, 1},
    {DT_S_exponential, -0.0f, 1},
    {DT_S_exponential, INFINITY, INFINITY},
    {DT_S_exponential, -INFINITY, 0},
    {DT_S_exponential, 89, INFINITY},
    {DT_S_exponential, 1e30f, INFINITY},
    {DT_S_exponential, -105, 0},
    {DT_S_exponential, -1e30f, 0},
    {DT_S_exponential, 1e-45f, 1},
    {DT_S_exponential, NAN, NAN},
    {DT_S_log, 1, 0},
    {DT_S_log, 0, -INFINITY},
    {DT_S_log, -0.0f, -INFINITY},
    {DT_S_log, -1, NAN},
    {DT_S_log, INFINITY, INFINITY},
    {DT_S_log, -INFINITY, NAN},
    {DT_S_log, NAN, NAN},
    {DT_S_sqrt, -0.0f, -0.0f},
    {DT_S_sqrt, -1, NAN},
    {DT_S_sqrt, INFINITY, INFINITY},
    {DT_S_sqrt, NAN, NAN},
    {DT_S_rsqrt, 0, INFINITY},
    {DT_S_rsqrt, -0.0f, -INFINITY},
    {DT_S_rsqrt, INFINITY, 0},
    {DT_S_rsqrt, -1, NAN},
    {DT_S_rsqrt, NAN, NAN},
    {DT_S_tanh, 0, 0},
    {DT_S_tanh, -0.0f, -0.0f},
    {DT_S_tanh, INFINITY, 1},
    {DT_S_tanh, -INFINITY, -1},
    {DT_S_tanh, 1e-45f, 1e-45f},
    {DT_S_tanh, -1e-40f, -1e-40f},
    {DT_S_tanh, NAN, NAN},
    {DT_S_logistic, 0, 0.5f},
    {DT_S_logistic, INFINITY, 1},
    {DT_S_logistic, -INFINITY, 0},
    {DT_S_logistic, NAN, NAN},
    {DT_S_erf, 0, 0},
    {DT_S_erf, -0.0f, -0.0f},
    {DT_S_erf, INFINITY, 1},
    {DT_S_erf, -INFINITY, -1},
    {DT_S_erf, NAN, NAN},
    {DT_S_gelu, 0, 0},
    {DT_S_gelu, 1e30f, 1e30f},
    {DT_S_gelu, -30, -0.0f},
    {DT_S_gelu, NAN, NAN},
    {DT_S_near_gelu, 0, 0},
    {DT_S_near_gelu, 30, 30},
    {DT_S_near_gelu, NAN, NAN},
    {DT_S_sign, -0.0f, -0.0f},
    {DT_S_sign, 1e-45f, 1},
    {DT_S_sign, -INFINITY, -1},
    {DT_S_sign, NAN, NAN},
    {DT_S_abs, -0.0f, 0},
    {DT_S_abs, -INFINITY, INFINITY},
    {DT_S_abs, NAN, NAN},
    {DT_S_negate, 0, -0.0f},
    {DT_S_negate, -1e-45f, 1e-45f},
    {DT_S_COPY, -0.0f, -0.0f},
    {DT_S_COPY, NAN, NAN},
    {DT_S_reduce_precision, -0.0f, -0.0f},
    {DT_S_reduce_precision, NAN, NAN},
    {DT_S_reduce_precision, -NAN, NAN},
    {DT_S_reduce_precision, INFINITY, INFINITY},
    {DT_S_reduce_precision, FLT_MAX, INFINITY},
    {DT_S_reduce_precision, 1.00390625f, 1},
    {DT_S_reduce_precision, 1.01171875f, 1.015625f},
    {DT_S_reduce_precision, -1.005f, -1.0078125f},
    {DT_S_reduce_precision, 0x1p-133f, 0x1p-133f},
    {DT_S_reduce_precision, 0x1p-134f, 0},
    {DT_S_reduce_precision, 0x3p-134f, 0x1p-132f},
    {DT_S_float16_precision, -0.0f, -0.0f},
    {DT_S_float16_precision, NAN, NAN},
    {DT_S_float16_precision, -INFINITY, -INFINITY},
    {DT_S_float16_precision, 65519, 65504},
    {DT_S_float16_precision, 65520, INFINITY},
    {DT_S_float16_precision, -FLT_MAX, -INFINITY},
    {DT_S_float16_precision, 1.00048828125f, 1},
    {DT_S_float16_precision, 1.00146484375f, 1.001953125f},
    {DT_S_float16_precision, 0x1p-24f, 0x1p-24f},
    {DT_S_float16_precision, -0x1p-25f, -0.0f},
    {DT_S_float16_precision, 0x3p-25f, 0x1p-23f},
    {DT_S_float16_precision, 0x1.ff8p-15f, 0x1.ff8p-15f},
    {DT_S_float16_precision, 0x1.fffp-15f, 0x1p-14f},
    {DT_S_float16_precision, 1e-40f, 0},
};

static bool same_float(float a, float b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static const struct {
    dt_strip_op op;
    float a, b, y;
} special_pairs[] = {
    {DT_S_maximum, NAN, 1, NAN},
    {DT_S_maximum, 1, NAN, NAN},
    {DT_S_maximum, -INFINITY, 1, 1},
    {DT_S_maximum, -0.0f, 0.0f, 0.0f},
    {DT_S_maximum, 0.0f, -0.0f, 0.0f},
    {DT_S_minimum, NAN, 1, NAN},
    {DT_S_minimum, 1, NAN, NAN},
    {DT_S_minimum, 0.0f, -0.0f, -0.0f},
    {DT_S_minimum, -0.0f, 0.0f, -0.0f},
    {DT_S_minimum, INFINITY, 1, 1},
    {DT_S_compare, NAN, NAN, 0},
    {DT_S_unequal, NAN, NAN, 1},
    {DT_S_less, NAN, 1, 0},
    {DT_S_greater_equal, NAN, 1, 0},
    {DT_S_compare, 0.0f, -0.0f, 1},
    {DT_S_less_equal, 1, 1, 1},
    {DT_S_greater, 1, 1, 0},
    {DT_S_less, -INFINITY, INFINITY, 1},
    {DT_S_divide, 1, 0, INFINITY},
    {DT_S_divide, 0, 0, NAN},
    {DT_S_add, INFINITY, -INFINITY, NAN},
    {DT_S_subtract, 0.0f, 0.0f, 0.0f},
    {DT_S_multiply, 0, INFINITY, NAN},
    {DT_S_multiply, 1e-30f, 1e-15f, 1e-45f},
};

/* The value stands at every place of a long strip, and alone: vector loops and their ends. */
static void expect_special(const dt_simd *simd, dt_strip_op op, float a, float b, float y) {
    static float x0[67], x1[67], out[67];
    for (int n = 1; n <= 67; n += 33) {
        for (int i = 0; i < n; i++) x0[i] = a, x1[i] = b;
        simd->strip[op](out, x0, x1, NULL, n);
        for (int i = 0; i < n; i++)
            if (!same_float(out[i], y))
                fail_msg("%s: op %d of %g and %g is %.9g, not %.9g", simd->name, (int)op, (double)a,
                         (double)b, (double)out[i], (double)y);
    }
}

static void test_special_values(void **state) {
    (void)state;
    const dt_simd *list[DT_MAX_SIMD];
    int n = dt_simd_list(list);
    for (int s = 0; s < n; s++) {
        for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
            expect_special(list[s], specials[i].op, specials[i].x, 0, specials[i].y);
        for (size_t i = 0; i < sizeof special_pairs / sizeof *special_pairs; i++)
            expect_special(list[s], special_pairs[i].op, special_pairs[i].a, special_pairs[i].b,
                           special_pairs[i].y);
    }
}

/* ---- one instruction set like another ---- */

/* Floats of all kinds: any bits, small numbers, and what is special. */
static void draw_floats(dt_random *r, float *x, int n) {
    static const float odd[] = {0,      -0.0f,   1,       -1,      INFINITY, -INFINITY, NAN,
                                1e-45f, -1e-40f, FLT_MAX, FLT_MIN, 88.8f,    -104};
    for (int i = 0; i < n; i++) {
        uint32_t bits = dt_random_u32(r);
        if (i % 3 == 0) memcpy(&x[i], &bits, sizeof bits);
        else
            x[i] = i % 3 == 1 ? (float)(4 * dt_random_normal(r))
                              : odd[bits % (sizeof odd / sizeof *odd)];
    }
}

/* All NaNs count as one: which of two goes on is the compiler's choice of operands. */
static void expect_same_floats(const char *what, const dt_simd *simd, const float *a,
                               const float *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!same_float(a[i], b[i]))
            fail_msg("%s of %s: element %d of %d is %.9g, not %.9g", what, simd->name, (int)i,
                     (int)n, (double)a[i], (double)b[i]);
}

/* ---- functions in double precision ---- */

static const struct {
    const char *name;
    dt_strip_op op;
    double (*of)(double);
} definitions[] = {
    {"log_plus_one", DT_S_log_plus_one, dt_portable_log1p},
    {"exponential_minus_one", DT_S_exponential_minus_one, dt_portable_expm1},
    {"sine", DT_S_sine, dt_portable_sin},
    {"cosine", DT_S_cosine, dt_portable_cos},
};

/* What a loop has to give: the op's definition, rounded. */
static void expect_definitions(const dt_simd *simd, const float *x, const float *y, int n) {
    static float got[N], ought[N];
    for (size_t f = 0; f < sizeof definitions / sizeof *definitions; f++) {
        simd->strip[definitions[f].op](got, x, NULL, NULL, n);
        for (int i = 0; i < n; i++) ought[i] = (float)definitions[f].of((double)x[i]);
        expect_same_floats(definitions[f].name, simd, got, ought, n);
    }
    simd->strip[DT_S_power](got, x, y, NULL, n);
    for (int i = 0; i < n; i++) ought[i] = (float)dt_portable_pow((double)x[i], (double)y[i]);
    expect_same_floats("power", simd, got, ought, n);
}

static void test_definitions(void **state) {
    (void)state;
    static float x[N], y[N];
    const dt_simd *list[DT_MAX_SIMD];
    const int n = dt_simd_list(list);
    dt_random r = dt_random_stream(14, "definitions", 0);
    for (int block = 0; block < 100; block++) {
        draw_floats(&r, x, N);
        draw_floats(&r, y, N);
        for (int i = 0; i < N && block % 2; i++) /* whole exponents, and bases near 1 */
            y[i] = (float)(int)dt_random_below(&r, 21) - 10, x[i] *= i % 4 ? 0.25f : 1;
        for (int s = 0; s < n; s++) expect_definitions(list[s], x, y, N);
    }
}

/* ---- one instruction set like another: all loops ---- */

static const int lengths[] = {0,  1,  2,  7,   15,  16,  17,  31,   32,      33,
                              63, 64, 65, 127, 128, 129, 255, 1000, DT_STRIP};

static void compare_strips(const dt_simd *simd) {
    static float x[3][DT_STRIP], a[DT_STRIP], b[DT_STRIP];
    dt_random r = dt_random_stream(10, "strips", 0);
    for (int op = 0; op < DT_S_COUNT; op++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            for (int i = 0; i < 3; i++) draw_floats(&r, x[i], DT_STRIP);
            memset(a, 0, sizeof a);
            memset(b, 0, sizeof b);
            simd->strip[op](a, x[0], x[1], x[2], lengths[k]);
            dt_simd_base.strip[op](b, x[0], x[1], x[2], lengths[k]);
            expect_same_floats("a strip", simd, a, b, DT_STRIP);
        }
}

static void compare_sums(const dt_simd *simd) {
    static float x[DT_STRIP], a[DT_STRIP], b[DT_STRIP];
    dt_random r = dt_random_stream(11, "sums", 0);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int n = lengths[k], rows = n ? DT_STRIP / n : 0;
        for (int i = 0; i < DT_STRIP; i++) x[i] = (float)dt_random_normal(&r);
        float sums[2] = {simd->sum(x, n), dt_simd_base.sum(x, n)},
              tops[2] = {simd->max(x, n), dt_simd_base.max(x, n)};
        expect_same_floats("a sum", simd, &sums[0], &sums[1], 1);
        expect_same_floats("a maximum", simd, &tops[0], &tops[1], 1);
        const dt_sum_source rows_of_x = {.at = x,
                                         .load = DT_S_COPY,
                                         .rows = rows,
                                         .n = n,
                                         .stride = n,
                                         .mean = k % 2 ? x : NULL};
        dt_sum_rows(simd, &rows_of_x, a);
        dt_sum_rows(&dt_simd_base, &rows_of_x, b);
        expect_same_floats("a sum of rows", simd, a, b, n);
    }
}

static void compare_class_scores(const dt_simd *simd) {
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
        simd->sparse_entropy(a, z, label, rows, n),
            dt_simd_base.sparse_entropy(b, z, label, rows, n);
        expect_same_floats("sparse_entropy", simd, a, b, rows);
        simd->entropy(a, z, y, rows, n), dt_simd_base.entropy(b, z, y, rows, n);
        expect_same_floats("entropy", simd, a, b, rows);
        simd->sparse_entropy_grad(a, z, label, dy, rows, n),
            dt_simd_base.sparse_entropy_grad(b, z, label, dy, rows, n);
        expect_same_floats("sparse_entropy_grad", simd, a, b, rows * n);
        simd->entropy_grad(a, z, y, dy, rows, n), dt_simd_base.entropy_grad(b, z, y, dy, rows, n);
        expect_same_floats("entropy_grad", simd, a, b, rows * n);
    }
}

static void test_every_instruction_set_gives_the_same_bits(void **state) {
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
static void test_rows_do_not_depend_on_their_neighbours(void **state) {
    (void)state;
    static float z[DT_STRIP * 2], y[DT_STRIP * 2], all[DT_STRIP * 2], one[DT_STRIP * 2],
        dy[DT_STRIP];
    static int32_t label[DT_STRIP];
    const dt_simd *list[DT_MAX_SIMD];
    dt_random r = dt_random_stream(15, "rows", 0);
    for (int i = 0; i < 2 * DT_STRIP; i++)
        z[i] = (float)(3 * dt_random_normal(&r)), y[i] = (float)dt_random_uniform(&r);
    for (int s = dt_simd_list(list) - 1; s >= 0; s--)
        for (int n = 1; n <= 2 * DT_STRIP; n = n < 12 ? n + 1 : 2 * n) {
            int rows = 2 * DT_STRIP / n > DT_STRIP ? DT_STRIP : 2 * DT_STRIP / n;
            for (int i = 0; i < rows; i++) dy[i] = z[i], label[i] = i % n;
            for (int which = 0; which < 5; which++) {
                int width = which < 2 ? 1 : n;
                for (int i = -1; i < rows; i++) { /* all at once, then one by one */
                    float *to = i < 0 ? all : one + i * width;
                    int from = i < 0 ? 0 : i, count = i < 0 ? rows : 1;
                    switch (which) {
                    case 0:
                        list[s]->sparse_entropy(to, z + from * n, label + from, count, n);
                        break;
                    case 1: list[s]->entropy(to, z + from * n, y + from * n, count, n); break;
                    case 2: list[s]->softmax(to, z + from * n, count, n); break;
                    case 3:
                        list[s]->sparse_entropy_grad(to, z + from * n, label + from, dy + from,
                                                     count, n);
                        break;
                    default:
                        list[s]->entropy_grad(to, z + from * n, y + from * n, dy + from, count, n);
                        break;
                    }
                }
                expect_same_floats("rows one by one", list[s], one, all, rows * width);
            }
        }
}

/* A result may lie where an operand lies. */
static void test_strips_in_place(void **state) {
    (void)state;
    static float x[3][100], y[100], z[100];
    const dt_simd *list[DT_MAX_SIMD];
    dt_random r = dt_random_stream(13, "in place", 0);
    for (int s = dt_simd_list(list) - 1; s >= 0; s--)
        for (int op = 0; op < DT_S_LOOPS; op++) {
            for (int k = 0; k < 3; k++) draw_floats(&r, x[k], 100);
            list[s]->strip[op](y, x[0], x[1], x[2], 100);
            for (int over = 0; over < 3; over++) {
                memcpy(z, x[over], sizeof z);
                list[s]->strip[op](z, over == 0 ? z : x[0], over == 1 ? z : x[1],
                                   over == 2 ? z : x[2], 100);
                expect_same_floats("over an operand", list[s], z, y, 100);
            }
        }
}

/* ---- the loops of ops ---- */

static const struct {
    const dt_op *op;
    dt_strip_op loop;
} loops[] = {
#define DT_LOOP(name, y) {&dt_op_##name, DT_S_##name},
#include "op/ops.h"
};

/* Ops of floats without attributes; the others are run as nodes of graphs (fused_test.c). */
static bool takes_floats(const dt_op *op, const dt_type *type) {
    const dt_type in[DT_MAX_IN] = {*type, *type, *type};
    dt_infer q = {.op = op, .in = in, .n_in = op->n_in};
    dt_status *bad = op->attr.size ? NULL : op->infer(&q);
    bool takes = !op->attr.size && !bad && dt_type_equal(&q.out, type);
    dt_status_free(bad);
    return takes;
}

static void test_loops_compute_what_their_ops_define(void **state) {
    (void)state;
    static float x[2][N], y[N], defined[N];
    const dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){N});
    const dt_view in[] = {{type, x[0]}, {type, x[1]}};
    const dt_simd *list[DT_MAX_SIMD];
    dt_random r = dt_random_stream(16, "ops", 0);
    int looked = 0;
    dt_simd_list(list);
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        const dt_op *op = loops[k].op;
        if (!takes_floats(op, &type)) continue;
        draw_floats(&r, x[0], N);
        draw_floats(&r, x[1], N);
        const dt_node node = {.op = op, .type = type, .n_in = op->n_in, .path = ""};
        op->eval(&(dt_call){.node = &node, .in = in, .out = {type, defined}});
        list[0]->strip[loops[k].loop](y, x[0], x[1], NULL, N);
        for (int i = 0; i < N; i++)
            if (ulps(y[i], (double)defined[i]) > 4)
                fail_msg("%s of %.9g and %.9g is %.9g, its loop says %.9g", op->name,
                         (double)x[0][i], (double)x[1][i], (double)defined[i], (double)y[i]);
        looked++;
    }
    assert_true(looked >= 16);
}

/* ---- sums ---- */

static void test_sums_are_close(void **state) {
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
/* Number i of a stream, as it is defined. */
static float number_of(uint64_t key, uint64_t i, uint64_t stream, bool normal) {
    dt_random r = {.key = key, .counter = {i, stream}, .used = 4};
    return normal ? (float)dt_random_normal(&r) : (float)(dt_random_u32(&r) >> 8) * 0x1p-24f;
}

static void test_random_numbers_are_those_of_philox(void **state) {
    (void)state;
    static float x[2 << 16];
    const uint64_t key = UINT64_C(0x123456789abcdef0), stream = UINT64_MAX - 5;
    const dt_simd *list[DT_MAX_SIMD];
    for (int s = 2 * dt_simd_list(list) - 1; s >= 0; s--) {
        const dt_random_functions *random = list[s / 2]->random;
        for (int n = 1; n <= 100000; n = n < 20 ? n + 1 : 7 * n) {
            x[n] = -9;
            (s % 2 ? random->normal : random->uniform)(x, key, stream, n);
            for (int i = 0; i < n; i++)
                assert_true(x[i] == number_of(key, (uint64_t)i, stream, s % 2));
            assert_true(x[n] == -9);
        }
    }
}

/* ---- 16 bits ---- */

/* Every float16 as a float, and floats of all kinds as float16, beside base/half.h. */
static void test_float16(void **state) {
    (void)state;
    enum { ALL = 1 << 16, MORE = 5 }; /* so that the last ones are no whole vector */
    static uint16_t half[ALL + MORE], back[ALL + MORE];
    static float x[ALL + MORE];
    const dt_simd *list[DT_MAX_SIMD];
    const int n = dt_simd_list(list);
    for (int i = 0; i < ALL + MORE; i++) half[i] = (uint16_t)i;
    for (int s = 0; s < n; s++) {
        dt_random r = dt_random_stream(9, "float16", 0);
        list[s]->strip[DT_S_FROM_F16](x, half, NULL, NULL, ALL + MORE);
        for (int i = 0; i < ALL + MORE; i++)
            if (!same_float(x[i], (float)dt_half_to_double(half[i])))
                fail_msg("%s: float16 %04x is %g", list[s]->name, half[i], (double)x[i]);
        draw_floats(&r, x, ALL + MORE);
        for (int i = 0; i < ALL; i += 4) x[i] *= 1e-6f; /* denormals */
        list[s]->strip[DT_S_TO_F16](back, x, NULL, NULL, ALL + MORE);
        for (int i = 0; i < ALL + MORE; i++)
            if (back[i] != dt_half_of((double)x[i]))
                fail_msg("%s: %a is %04x", list[s]->name, (double)x[i], back[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_every_instruction_set_gives_the_same_bits),
        cmocka_unit_test(test_rows_do_not_depend_on_their_neighbours),
        cmocka_unit_test(test_strips_in_place),
        cmocka_unit_test(test_loops_compute_what_their_ops_define),
        cmocka_unit_test(test_sums_are_close),
        cmocka_unit_test(test_random_numbers_are_those_of_philox),
        cmocka_unit_test(test_float16),
    };
    return cmocka_run_group_tests_name("exec/strip", tests, NULL, NULL);
}

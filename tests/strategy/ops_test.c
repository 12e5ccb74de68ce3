/* SPDX-License-Identifier: Apache-2.0 */
/* The public operations in a step: values and gradients at points where they are known,
 * broadcasting, and what does not fit. */
#include "kit.h"

/* ---- element by element ---- */

typedef struct unary {
    const char *name;
    dt_value (*op)(dt_value x);
    double x, y, slope;
} unary;

static const unary unaries[] = {
    {"negate", dt_negate, 0.5, -0.5, -1},
    {"abs", dt_abs, -0.5, 0.5, -1},
    {"sign", dt_sign, -0.5, -1, 0},
    {"exponential", dt_exponential, 0.5, 1.6487212707001282, 1.6487212707001282},
    {"exponential_minus_one", dt_exponential_minus_one, 0.5, 0.6487212707001282,
     1.6487212707001282},
    {"log", dt_log, 0.5, -0.6931471805599453, 2},
    {"log_plus_one", dt_log_plus_one, 0.5, 0.4054651081081644, 2 / 3.},
    {"sqrt", dt_sqrt, 0.25, 0.5, 1},
    {"rsqrt", dt_rsqrt, 0.25, 2, -4},
    {"sine", dt_sine, 0.5, 0.479425538604203, 0.8775825618903728},
    {"cosine", dt_cosine, 0.5, 0.8775825618903728, -0.479425538604203},
    {"tanh", dt_tanh, 0.5, 0.46211715726000973, 0.7864477329659274},
    {"logistic", dt_logistic, 0.5, 0.6224593312018546, 0.2350037122015945},
    {"erf", dt_erf, 0.5, 0.5204998778130465, 0.8787825789354449},
};

static void one_unary(dt_trace *t, void *user) {
    const unary *u = user;
    const dt_value x = dt_arg(t, "x"), y = u->op(x);
    dt_value slope;
    dt_return(t, "y", y);
    dt_gradient_values(y, &x, 1, &slope);
    dt_return(t, "slope", slope.trace ? slope : dt_constant(t, 0));
}

static double item(const dt_values *v, const char *name) {
    return dt_tensor_item(dt_values_local(v, name, 0));
}

/* Runs a step with the scalar argument x and returns its results. */
static dt_values *run_at(void (*step)(dt_trace *t, void *user), const void *user, double x) {
    dt_strategy *s = NULL;
    dt_function *f = NULL;
    dt_values *in = values(), *out = NULL;
    OK(dt_default_strategy(&s));
    OK(dt_function_create(&f, step, (void *)(uintptr_t)user));
    give(in, "x", scalar(x));
    OK(dt_strategy_run(s, f, in, &out));
    dt_values_unref(in);
    dt_function_unref(f);
    dt_strategy_unref(s);
    return out;
}

static void test_values_and_slopes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        dt_values *out = run_at(one_unary, &unaries[i], unaries[i].x);
        if (fabs(item(out, "y") - unaries[i].y) > 1e-6 ||
            fabs(item(out, "slope") - unaries[i].slope) > 1e-5)
            fail_msg("%s(%g) is %.9g with slope %.9g", unaries[i].name, unaries[i].x,
                     item(out, "y"), item(out, "slope"));
        dt_values_unref(out);
    }
}

/* ---- two values, shapes, axes ---- */

/* x is (): everything else is made of it, so that results are known. */
static void many(dt_trace *t, void *user) {
    (void)user;
    /* 0 1 0 */
    const dt_value one = dt_arg(t, "x"),
                   line =
                       dt_convert(dt_one_hot(dt_convert(one, DT_INT32), 3, DT_FLOAT32), DT_FLOAT32);
    /* 0 5 0 */
    const dt_value row = dt_reshape(dt_multiply(line, dt_constant(t, 5)), 2, (int64_t[]){1, 3});
    /* 1 2 1 */
    const dt_value column = dt_reshape(dt_add(line, dt_constant(t, 1)), 2, (int64_t[]){3, 1});
    const dt_value grid = dt_maximum(row, column); /* (3, 3): 1 5 1, 2 5 2, 1 5 1 */

    dt_return(t, "sum", dt_reduce_sum(grid, DT_NO_AXIS));            /* 23 */
    dt_return(t, "least", dt_reduce_min(grid, DT_NO_AXIS));          /* 1 */
    dt_return(t, "most", dt_reduce_max(dt_reduce_min(grid, 0), -1)); /* 5 */
    dt_return(t, "best", dt_reduce_sum(dt_argmax(grid, -1), 0));     /* 1 + 1 + 1 */
    /* 6 */
    dt_return(t, "equal",
              dt_reduce_sum(dt_convert(dt_compare(row, column, DT_LT), DT_INT32), DT_NO_AXIS));
    /* 4 */
    dt_return(t, "chosen",
              dt_reduce_sum(dt_select(dt_compare(row, one, DT_GT), column, dt_constant(t, 0)),
                            DT_NO_AXIS));
    /* 15 */
    dt_return(
        t, "turned",
        dt_reduce_sum(dt_slice_axis(dt_transpose(grid, (int[]){1, 0}), 0, 1, 1, 1), DT_NO_AXIS));
    /* 46 */
    dt_return(t, "joined",
              dt_reduce_sum(dt_concatenate((dt_value[]){grid, grid}, 2, -1), DT_NO_AXIS));
    dt_return(t, "row", dt_reduce_sum(dt_gather(grid, dt_convert(one, DT_INT32)), 0)); /* 9 */
    dt_return(t, "soft", dt_reduce_sum(dt_softmax(grid), DT_NO_AXIS));                 /* 3 */
    dt_return(t, "cube", dt_power(dt_constant(t, 2), dt_constant(t, 3)));              /* 8 */
    dt_return(t, "clamped", dt_clamp(dt_constant(t, 7), -1, 2.5));                     /* 2.5 */
    dt_value slope;
    const dt_value square = dt_multiply(one, dt_stop_gradient(one));
    dt_gradient_values(square, &one, 1, &slope);
    dt_return(t, "slope", slope); /* 1: the other factor is a constant */
}

static void test_shapes_and_axes(void **state) {
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"sum", 23},   {"least", 1},     {"most", 5},    {"best", 3}, {"equal", 6},
                {"chosen", 4}, {"turned", 15},   {"joined", 46}, {"row", 9},  {"soft", 3},
                {"cube", 8},   {"clamped", 2.5}, {"slope", 1}};
    dt_values *out = run_at(many, NULL, 1);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (fabs(item(out, rows[i].name) - rows[i].value) > 1e-6)
            fail_msg("%s is %g, not %g", rows[i].name, item(out, rows[i].name), rows[i].value);
    dt_values_unref(out);
}

/* ---- what does not fit ---- */

static void misfits(dt_trace *t, void *user) {
    const dt_value x = dt_arg(t, "x"),
                   two = dt_reshape(dt_concatenate((dt_value[]){dt_reshape(x, 1, (int64_t[]){1}),
                                                                dt_reshape(x, 1, (int64_t[]){1})},
                                                   2, 0),
                                    1, (int64_t[]){2});
    dt_value y = x;
    switch (*(const int *)user) {
    case 0: y = dt_maximum(x, dt_scalar(t, DT_INT32, 1)); break;
    case 1: y = dt_compare(two, dt_concatenate((dt_value[]){two, x}, 2, 0), DT_EQ); break;
    case 2: y = dt_compare(x, x, (dt_direction)9); break;
    case 3: y = dt_select(x, x, x); break;
    case 4: y = dt_reshape(two, 1, (int64_t[]){3}); break;
    case 5: y = dt_reshape(two, 9, NULL); break;
    case 6: y = dt_transpose(two, NULL); break;
    case 7: y = dt_transpose(two, (int[]){256}); break;
    case 8: y = dt_slice_axis(two, 1, 0, 1, 1); break;
    case 9: y = dt_slice_axis(two, 0, 1, 2, 1); break;
    case 10: y = dt_concatenate(NULL, 2, 0); break;
    case 11: y = dt_gather(two, x); break;
    case 12: y = dt_one_hot(x, 3, DT_FLOAT32); break;
    case 13: y = dt_one_hot(dt_scalar(t, DT_INT32, 0), 0, DT_FLOAT32); break;
    case 14: y = dt_argmax(x, 0); break;
    case 15: y = dt_softmax(x); break;
    case 16: y = dt_log(dt_scalar(t, DT_INT32, 1)); break;
    case 17: y = dt_stateless_uniform(two, dt_scalar(t, DT_INT64, 0), 1); break; /* no batch */
    case 18: y = dt_stateless_normal(x, x, 1); break;
    default: y = dt_reduce_max(two, 5); break;
    }
    dt_return(t, "y", y);
}

/* ---- random numbers ---- */

typedef struct draws {
    bool normal;
    int64_t counter;
    uint64_t seed;
} draws;

static void draw(dt_trace *t, void *user) {
    const draws *d = user;
    const dt_value counter = dt_scalar(t, DT_INT64, (double)d->counter), x = dt_arg(t, "x");
    dt_return(t, "y",
              (d->normal ? dt_stateless_normal : dt_stateless_uniform)(x, counter, d->seed));
}

enum { ROWS = 8, COLUMNS = 500 };

static dt_status *rows_of(const dt_value_context *ctx, dt_values *out, void *user) {
    (void)user;
    const int64_t dim[] = {ROWS / ctx->num_replicas_in_sync, COLUMNS};
    dt_tensor *x = NULL;
    OK(dt_tensor_create(&x, DT_FLOAT32, 2, dim, NULL));
    OK(dt_values_set(out, "x", x));
    dt_tensor_unref(x);
    return NULL;
}

/* (ROWS, COLUMNS) on so many replicas. */
static dt_tensor *drawn(const draws *d, int replicas) {
    const char *const devices[] = {"CPU:0", "CPU:1", "CPU:2", "CPU:3"};
    dt_strategy *s = NULL;
    dt_function *f = NULL;
    dt_values *in = NULL, *out = NULL;
    dt_tensor *y = NULL;
    OK(dt_mirrored_strategy(&s, devices, replicas));
    OK(dt_function_create(&f, draw, (void *)(uintptr_t)d));
    OK(dt_strategy_values_from_function(s, rows_of, NULL, &in));
    OK(dt_strategy_run(s, f, in, &out));
    OK(dt_strategy_gather(s, out, "y", 0, &y));
    dt_values_unref(out);
    dt_values_unref(in);
    dt_function_unref(f);
    dt_strategy_unref(s);
    return y;
}

static bool same_numbers(const draws *a, int replicas_a, const draws *b, int replicas_b) {
    dt_tensor *x = drawn(a, replicas_a), *y = drawn(b, replicas_b);
    const bool same =
        memcmp(dt_tensor_data(x), dt_tensor_data(y), sizeof(float[ROWS][COLUMNS])) == 0;
    dt_tensor_unref(x);
    dt_tensor_unref(y);
    return same;
}

static void test_random_numbers_depend_on_seed_counter_and_example(void **state) {
    (void)state;
    for (int normal = 0; normal < 2; normal++) {
        const draws d = {normal, 3, 7}, next = {normal, 4, 7}, other = {normal, 3, 8};
        assert_true(same_numbers(&d, 1, &d, 2));
        assert_true(same_numbers(&d, 1, &d, 4));
        assert_false(same_numbers(&d, 1, &next, 1));
        assert_false(same_numbers(&d, 1, &other, 1));
        dt_tensor *y = drawn(&d, 2);
        const float *p = dt_tensor_data(y);
        double sum = 0, squares = 0;
        const int n = ROWS * COLUMNS;
        for (int i = 0; i < n; i++) {
            sum += (double)p[i];
            squares += (double)p[i] * (double)p[i];
            assert_true(normal || (p[i] >= 0 && p[i] < 1));
        }
        const double mean = sum / n, variance = squares / n - mean * mean;
        assert_true(fabs(mean - (normal ? 0 : 0.5)) < 0.05); /* three standard errors */
        assert_true(fabs(variance - (normal ? 1 : 1 / 12.)) < (normal ? 0.07 : 0.004));
        dt_tensor_unref(y);
    }
}

static void test_what_does_not_fit(void **state) {
    dt_strategy *s = NULL;
    (void)state;
    OK(dt_default_strategy(&s));
    for (int i = 0; i < 20; i++) {
        dt_function *f = NULL;
        dt_values *in = values(), *out = NULL;
        give(in, "x", scalar(1));
        OK(dt_function_create(&f, misfits, &i));
        dt_status *bad = dt_strategy_run(s, f, in, &out);
        if (!bad || strcmp(dt_status_kind(bad), "ValueError") != 0)
            fail_msg("misfit %d: %s", i, bad ? dt_status_text(bad) : "not refused");
        dt_status_free(bad);
        dt_values_unref(in);
        dt_values_unref(out);
        dt_function_unref(f);
    }
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_slopes), cmocka_unit_test(test_shapes_and_axes),
        cmocka_unit_test(test_random_numbers_depend_on_seed_counter_and_example),
        cmocka_unit_test(test_what_does_not_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

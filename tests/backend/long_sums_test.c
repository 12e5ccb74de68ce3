/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of many values on XLA, through the back end: reduces, variances, sums by row number,
 * kernels' gradients and products; and argmax, which is exact. The reference interpreter adds in float64: reduces are within 1e-6 of it,
 * others, whose chains of 512 the compiler does not cut, within 5e-6, and 16 bits within a unit in
 * the last place. Skipped unless DTRAIN_PJRT_PLUGIN names a plug-in that computes;
 * tests/cli/pjrt/random.sh does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "backend/backend.h"
#include "base/random.h"
#include "op/cells.h"
#include "pass/pass.h"
#include "../support/outcome.h"

static dt_device *device;

typedef struct sums {
    dt_type x;
    uint32_t dims; /* that are reduced */
    int replicas;
    int64_t rows[3]; /* of each replica */
} sums;

static const sums cases[] = {
    /* a million, in three steps; a prime number of rows; rows that are summed each */
    {{DT_FLOAT32, 2, {DT_BATCH, 1}}, 3, 1, {1000000}},
    {{DT_FLOAT32, 1, {DT_BATCH}}, 1, 1, {999983}},
    {{DT_FLOAT32, 2, {DT_BATCH, 70000}}, 2, 1, {2}},
    /* channels of images; columns; two groups of dimensions, the outer one longer or shorter */
    {{DT_FLOAT32, 4, {DT_BATCH, 28, 28, 3}}, 7, 1, {421}},
    {{DT_FLOAT32, 2, {DT_BATCH, 65}}, 1, 1, {30011}},
    {{DT_FLOAT32, 3, {DT_BATCH, 5, 2}}, 5, 1, {70001}},
    {{DT_FLOAT32, 3, {DT_BATCH, 3, 600}}, 5, 1, {300}},
    {{DT_FLOAT32, 4, {DT_BATCH, 2, 2000, 7}}, 13, 1, {40}},
    {{DT_FLOAT32, 7, {DT_BATCH, 2, 3, 5, 2, 5, 2}}, 0x55, 1, {6000}},
    /* each replica's own rows, as many for all, or not */
    {{DT_FLOAT32, 4, {DT_BATCH, 20, 20, 4}}, 7, 3, {150, 150, 150}},
    {{DT_FLOAT32, 4, {DT_BATCH, 20, 20, 4}}, 7, 3, {151, 7, 290}},
    /* values of 16 bits, a short sum of them, too */
    {{DT_BFLOAT16, 2, {DT_BATCH, 3}}, 1, 1, {20000}},
    {{DT_FLOAT16, 2, {DT_BATCH, 3}}, 1, 1, {20000}},
    {{DT_BFLOAT16, 4, {DT_BATCH, 28, 28, 3}}, 7, 1, {421}},
    {{DT_BFLOAT16, 4, {DT_BATCH, 20, 20, 4}}, 7, 3, {151, 7, 290}},
    {{DT_BFLOAT16, 2, {DT_BATCH, 3}}, 1, 1, {400}},
    /* a short one, and none */
    {{DT_FLOAT32, 2, {DT_BATCH, 3}}, 1, 1, {512}},
    {{DT_FLOAT32, 2, {DT_BATCH, 3}}, 2, 1, {5}},
};

/* Whatever else sums over the rows of x, (B, size.., width). */
typedef struct other {
    const char *name;
    dt_value (*draw)(dt_trace *t, const struct other *c);
    dt_dtype dtype;
    int64_t rows, size, width;
    int dimensions; /* as many are of that size */
    int outputs;    /* of products; rows of a table */
    int groups, stride;
} other;

static void ok(dt_status *s, const char *name) {
    if (s) fail_msg("%s: %s", name, dt_status_text(s));
}

static void want_device(void) {
    if (device) return;
    print_message(DT_PJRT_PLUGIN_ENV " names no plug-in\n");
    skip();
}

/* sum, and variance: the sum of squares of what differs from the mean. */
static void draw_sums(dt_trace *t, const sums *c) {
    int64_t terms = 1;
    dt_value x = dt_trace_declare(t, "x", &c->x), sum = dt_reduce(x, DT_REDUCE_SUM, c->dims);
    for (int d = 0; d < c->x.rank; d++)
        if (c->dims >> d & 1) terms *= d ? c->x.dim[d] : c->rows[0];
    if (c->replicas == 1 && c->x.dtype == DT_FLOAT32) {
        int8_t kept[DT_MAX_RANK];
        int n = 0;
        for (int d = 0; d < c->x.rank; d++)
            if (!(c->dims >> d & 1)) kept[n++] = (int8_t)d;
        dt_value mean = dt_multiply(sum, dt_like(sum, 1 / (double)terms)),
                 off = dt_subtract(x, dt_broadcast_in_dim(mean, &c->x, kept));
        dt_return(t, "variance", dt_reduce(dt_multiply(off, off), DT_REDUCE_SUM, c->dims));
    }
    dt_return(t, "sum", sum);
}

static dt_type rows_of(const other *c, int64_t width) {
    dt_type t = {.dtype = c->dtype, .rank = c->dimensions + 2, .dim = {DT_BATCH}};
    for (int d = 1; d <= c->dimensions; d++) t.dim[d] = c->size;
    t.dim[t.rank - 1] = width;
    return t;
}

static dt_value draw_scatter(dt_trace *t, const other *c) {
    const dt_type x = rows_of(c, c->width), number = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH});
    dt_value rows = dt_trace_declare(t, "x", &x);
    return dt_scatter_add(rows, dt_trace_declare(t, "number", &number), c->outputs);
}

static dt_value draw_product(dt_trace *t, const other *c) {
    const dt_type x = rows_of(c, c->width), y = rows_of(c, c->outputs);
    const dt_dot_attr over_rows = {.n_contract = 1};
    dt_value a = dt_trace_declare(t, "x", &x), b = dt_trace_declare(t, "y", &y);
    return dt_dot_general(a, b, &over_rows);
}

/* Many elements are equal; those of floats that have no square root are NaN. */
static dt_value draw_argmax(dt_trace *t, const other *c) {
    const dt_type type = rows_of(c, c->width);
    dt_value x = dt_trace_declare(t, "x", &type);
    if (c->outputs) x = dt_sqrt(dt_subtract(x, dt_like(x, 0.2)));
    return dt_argmax(x, type.rank - 1);
}

/* The gradient of a kernel of 3, 3 x 3 or 3 x 3 x 3, with groups of the features. */
static dt_value draw_kernel(dt_trace *t, const other *c) {
    const int n = c->dimensions;
    const int64_t size = (c->size - 1) / c->stride + 1; /* of the convolution's result */
    dt_type x = rows_of(c, c->width), y = rows_of(c, c->outputs);
    dt_convolution_attr a = {
        .n_spatial = (int8_t)n, .feature_groups = 1, .batch_groups = c->groups};
    a.lhs_batch = a.rhs_out = (int8_t)(n + 1);
    a.out_batch = (int8_t)n;
    a.out_feature = (int8_t)(n + 1);
    for (int d = 0; d < n; d++) {
        y.dim[d + 1] = size;
        a.lhs_spatial[d] = a.rhs_spatial[d] = (int8_t)(d + 1);
        a.out_spatial[d] = (int8_t)d;
        a.window[d] = (dt_window){.stride = 1, .base_dilation = 1, .dilation = c->stride, .low = 1};
        a.window[d].high = (size - 1) * c->stride + 3 - c->size - 1;
    }
    dt_value in = dt_trace_declare(t, "x", &x), out = dt_trace_declare(t, "dy", &y);
    return dt_convolution(in, out, &a);
}

static random_graph *finish(dt_trace *t, const char *name) {
    random_graph *g = dt_alloc(sizeof *g);
    *g = (random_graph){.distributed = {true, true}, .classes = 1};
    ok(dt_trace_end(t, &g->graph), name);
    return g;
}

/* What images have most of: one value, 0 or another. Most row numbers are one, too. */
static void fill(feed *f, size_t i) {
    dt_random r = dt_random_stream(i, "sums", 0);
    for (int k = 0; k < f->replicas * f->n_args; k++) {
        const dt_view *v = &f->arg[k];
        for (int64_t n = 0; n < dt_type_elements(&v->type); n++) {
            const bool usual = dt_random_u32(&r) % 4;
            const double x = usual ? (double)(i % 2) / 10 : dt_random_uniform(&r);
            if (dt_dtype_is_float(v->type.dtype)) dt_cell_set_double(v, n, x);
            else dt_cell_set_int(v, n, usual ? 1 : dt_random_u32(&r) % 7);
        }
    }
}

/* Relative; of 16 bits a unit in the last place. */
static double tolerance(const char *name, dt_dtype d) {
    if (d == DT_FLOAT32) return strncmp(name, "reduce", strlen("reduce")) == 0 ? 1e-6 : 5e-6;
    return d == DT_BFLOAT16 ? 1.0 / 128 : 1.0 / 1024;
}

static void expect_near(const char *name, const dt_view *got, const dt_view *wanted) {
    const double within = tolerance(name, got->type.dtype);
    for (int64_t k = 0; k < dt_type_elements(&wanted->type); k++) {
        const double a = dt_cell_double(got, k), b = dt_cell_double(wanted, k);
        if (!(fabs(a - b) <= within * b))
            fail_msg("%s: element %lld is %.9g, wanted %.9g", name, (long long)k, a, b);
    }
}

/* On the device, and on the interpreter. */
static void compare(random_graph *g, const char *name, size_t i, int replicas,
                    const int64_t *rows) {
    feed f = feed_make(g, i, replicas, rows);
    dt_folded folded;
    dt_executable *x = NULL;
    dt_view result[2];
    bool flies = false;
    fill(&f, i);
    dt_interpretation oracle = oracle_run(g, &f);
    ok(dt_fold(g->graph, g->distributed, replicas, &folded), name);
    dt_view *arg = feed_folded(&f, &folded);
    const dt_env env = feed_env(&f);
    ok(dt_device_compile(device, &(dt_compile_request){.graph = folded.graph, .rows = f.total}, &x),
       name);
    ok(dt_executable_start(x, &env, arg, result, &flies), name);
    ok(dt_executable_finish(x), name);
    for (int k = 0; k < folded.graph->n_results; k++) {
        const dt_view *all = &oracle.result[k];
        const int64_t bytes = dt_type_bytes(&all->type);
        assert_int_equal(dt_type_bytes(&result[k].type), bytes * replicas);
        for (int r = 0; r < replicas; r++) {
            const dt_view own = {all->type, (char *)result[k].data + r * bytes};
            expect_near(name, &own, &oracle.result[r * folded.graph->n_results + k]);
        }
    }
    dt_executable_destroy(x);
    views_release(arg, folded.graph->n_args);
    dt_interpretation_release(&oracle);
    dt_graph_destroy(folded.graph);
    feed_release(&f);
    random_graph_destroy(g);
}

static void test_long_sums_keep_their_digits(void **state) {
    (void)state;
    want_device();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sums *c = &cases[i];
        char name[32];
        dt_trace *t = dt_trace_create("sums");
        snprintf(name, sizeof name, "reduce %zu", i);
        draw_sums(t, c);
        compare(finish(t, name), name, i, c->replicas, c->rows);
    }
}

static const other others[] = {
    {"scatter_add", draw_scatter, DT_FLOAT32, 200000, .width = 3, .outputs = 8},
    {"scatter_add of one column", draw_scatter, DT_FLOAT32, 100001, .width = 1, .outputs = 500},
    {"scatter_add in bfloat16", draw_scatter, DT_BFLOAT16, 20000, .width = 4, .outputs = 8},
    {"scatter_add in float16", draw_scatter, DT_FLOAT16, 20000, .width = 4, .outputs = 8},
    {"few numbers in bfloat16", draw_scatter, DT_BFLOAT16, 500, .width = 4, .outputs = 5000},
    {"product of a vector", draw_product, DT_FLOAT32, 100000, .width = 1, .outputs = 40},
    {"product with a vector", draw_product, DT_FLOAT32, 100000, .width = 40, .outputs = 1},
    {"product of vectors", draw_product, DT_FLOAT32, 1000000, .width = 1, .outputs = 1},
    {"product of images", draw_product, DT_FLOAT32, 50000, 3, 2, 2, .outputs = 1},
    {"product of a vector in bfloat16", draw_product, DT_BFLOAT16, 20000, .width = 1, .outputs = 9},
    /* the compiler's own blocks */
    {"product", draw_product, DT_FLOAT32, 100000, .width = 7, .outputs = 40},
    {"product in bfloat16", draw_product, DT_BFLOAT16, 20000, .width = 7, .outputs = 40},
    {"depthwise", draw_kernel, DT_FLOAT32, 40, 28, 32, 2, 32, 32, 1},
    {"depthwise, two outputs, strides", draw_kernel, DT_FLOAT32, 90, 28, 3, 2, 6, 3, 2},
    {"depthwise over time", draw_kernel, DT_FLOAT32, 50, 700, 5, 1, 5, 5, 1},
    {"depthwise in bfloat16", draw_kernel, DT_BFLOAT16, 40, 28, 4, 2, 4, 4, 1},
    {"groups", draw_kernel, DT_FLOAT32, 40, 28, 8, 2, 12, 2, 1},
    {"kernel", draw_kernel, DT_FLOAT32, 40, 28, 3, 2, 5, 1, 1},
    {"argmax", draw_argmax, DT_FLOAT32, 300, .width = 10},
    {"argmax with NaN", draw_argmax, DT_FLOAT32, 300, .width = 4, .outputs = 1},
    {"argmax of integers", draw_argmax, DT_INT32, 300, 3, .width = 7, .dimensions = 1},
    {"argmax in bfloat16", draw_argmax, DT_BFLOAT16, 300, .width = 900},
    {"kernel in float16", draw_kernel, DT_FLOAT16, 20, 14, 3, 2, 5, 1, 1},
};

static void test_other_sums_keep_their_digits(void **state) {
    (void)state;
    want_device();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const other *c = &others[i];
        dt_trace *t = dt_trace_create("sums");
        dt_return(t, "sum", c->draw(t, c));
        compare(finish(t, c->name), c->name, 2 * i + 1, 1, &c->rows);
    }
}

static int close_device(void **state) {
    (void)state;
    dt_device_close(device);
    return 0;
}

static int open_device(void **state) {
    (void)state;
    if (!getenv(DT_PJRT_PLUGIN_ENV)) return 0;
    dt_status *s = dt_device_open(&device, dt_backend_find("pjrt"), &(dt_device_options){0});
    if (s) print_message("%s\n", dt_status_text(s));
    return s != NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long_sums_keep_their_digits),
                                       cmocka_unit_test(test_other_sums_keep_their_digits)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and variances of many values on XLA, through the back end: within 1e-6 of the reference
 * interpreter, which adds in float64. Skipped unless DTRAIN_PJRT_PLUGIN names a plug-in that
 * computes; tests/cli/pjrt/random.sh does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <cmocka.h>

#include "backend/backend.h"
#include "base/random.h"
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
    /* a short one, and none */
    {{DT_FLOAT32, 2, {DT_BATCH, 3}}, 1, 1, {512}},
    {{DT_FLOAT32, 2, {DT_BATCH, 3}}, 2, 1, {5}},
};

static void ok(dt_status *s, size_t i) {
    if (s) fail_msg("case %zu: %s", i, dt_status_text(s));
}

static void want_device(void) {
    if (device) return;
    print_message(DT_PJRT_PLUGIN_ENV " names no plug-in\n");
    skip();
}

/* sum, and variance: the sum of squares of what differs from the mean. */
static random_graph *draw_sums(const sums *c, size_t i) {
    random_graph *g = dt_alloc(sizeof *g);
    dt_trace *t = dt_trace_create("sums");
    int64_t terms = 1;
    *g = (random_graph){.distributed = {true}, .seed = i};
    dt_value x = dt_trace_declare(t, "x", &c->x), sum = dt_reduce(x, DT_REDUCE_SUM, c->dims);
    for (int d = 0; d < c->x.rank; d++)
        if (c->dims >> d & 1) terms *= d ? c->x.dim[d] : c->rows[0];
    if (c->replicas == 1) {
        int8_t kept[DT_MAX_RANK];
        int n = 0;
        for (int d = 0; d < c->x.rank; d++)
            if (!(c->dims >> d & 1)) kept[n++] = (int8_t)d;
        dt_value mean = dt_multiply(sum, dt_like(sum, 1 / (double)terms)),
                 off = dt_subtract(x, dt_broadcast_in_dim(mean, &c->x, kept));
        dt_return(t, "variance", dt_reduce(dt_multiply(off, off), DT_REDUCE_SUM, c->dims));
    }
    dt_return(t, "sum", sum);
    ok(dt_trace_end(t, &g->graph), i);
    return g;
}

/* What images have most of: one value, 0 or another. */
static void fill(feed *f, size_t i) {
    dt_random r = dt_random_stream(i, "sums", 0);
    for (int k = 0; k < f->replicas; k++) {
        float *x = f->arg[k].data;
        for (int64_t n = 0; n < dt_type_elements(&f->arg[k].type); n++)
            x[n] = dt_random_u32(&r) % 4 ? (float)(i % 2) / 10 : (float)dt_random_uniform(&r);
    }
}

static void expect_near(size_t i, const dt_view *got, const float *wanted, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        const double a = (double)((const float *)got->data)[k], b = (double)wanted[k];
        if (!(fabs(a - b) <= 1e-6 * b))
            fail_msg("case %zu: element %lld is %.9g, wanted %.9g", i, (long long)k, a, b);
    }
}

static void compute(size_t i) {
    const sums *c = &cases[i];
    random_graph *g = draw_sums(c, i);
    feed f = feed_make(g, i, c->replicas, c->rows);
    dt_folded folded;
    dt_executable *x = NULL;
    dt_view result[2];
    bool flies = false;
    fill(&f, i);
    dt_interpretation oracle = oracle_run(g, &f);
    ok(dt_fold(g->graph, g->distributed, c->replicas, &folded), i);
    dt_view *arg = feed_folded(&f, &folded);
    const dt_env env = feed_env(&f);
    ok(dt_device_compile(device, &(dt_compile_request){.graph = folded.graph, .rows = f.total}, &x),
       i);
    ok(dt_executable_start(x, &env, arg, result, &flies), i);
    ok(dt_executable_finish(x), i);
    for (int k = 0; k < folded.graph->n_results; k++) {
        const dt_view *all = &oracle.result[k];
        const int64_t n = dt_type_elements(&all->type);
        assert_int_equal(dt_type_elements(&result[k].type), n * c->replicas);
        for (int r = 0; r < c->replicas; r++) {
            const dt_view own = {all->type, (float *)result[k].data + r * n};
            expect_near(i, &own, oracle.result[r * folded.graph->n_results + k].data, n);
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
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) compute(i);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long_sums_keep_their_digits)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}

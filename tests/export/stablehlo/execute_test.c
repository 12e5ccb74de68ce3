/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StableHLO against another implementation: random steps are written as text, with repeated blocks
 * as loops and without, XLA runs them on the CPU, and the numbers are those of the reference
 * interpreter. Skipped unless DTRAIN_TEST_JAX names a Python that has jax (pip install jax).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "export/stablehlo/stablehlo.h"
#include "../../support/outcome.h"

enum { ROWS = 3, REPLICAS = 2 };

static void put_view(FILE *f, const dt_view *v) {
    size_t n = (size_t)dt_type_bytes(&v->type);
    assert_true(n == 0 || fwrite(v->data, n, 1, f) == 1);
}

static FILE *create(const char *directory, const char *name, uint64_t seed, const char *suffix) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s%llu%s", directory, name, (unsigned long long)seed, suffix);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    return f;
}

/* A port of the function: what is fed or given, or variables, one behind the other where they are
 * stacked. */
static void put_port(FILE *f, const random_graph *g, const dt_hlo_port *p, const dt_view *whole,
                     const dt_view *update) {
    if (p->node >= 0) put_view(f, &whole[p->node]);
    for (int i = 0; i < p->n; i++) {
        const dt_variable *v = g->graph->state[p->state[i]].variable;
        const dt_view old = {v->type, v->host_data};
        put_view(f, update && update[p->state[i]].data ? &update[p->state[i]] : &old);
    }
}

static void put_replica(FILE *f, const random_graph *g, const dt_hlo_signature *s, const feed *in,
                        const dt_interpretation *out, int r) {
    for (int i = 0; i < s->n_in; i++) put_port(f, g, &s->in[i], &in->arg[r * in->n_args], NULL);
    for (int i = 0; i < s->n_out; i++)
        put_port(f, g, &s->out[i], &out->result[r * out->n_results], out->update);
}

static int count_of(const char *text, const char *word) {
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) n++;
    return n;
}

/* How many loops over blocks it has; `whiles` is how many of all kinds, -1: any number. */
static int write_graph(const char *directory, random_graph *g, int kind, uint64_t seed, bool loops,
                       int whiles) {
    feed f = feed_make(g, seed, REPLICAS, (int64_t[]){ROWS, ROWS});
    dt_interpretation ought = oracle_run(g, &f);
    dt_hlo_request request = {.batch = ROWS, .replicas = REPLICAS, .loops = loops};
    dt_hlo_signature s;
    dt_str text = {0};
    dt_status *bad = dt_stablehlo_write(g->graph, &request, &text, &s);
    if (bad) fail_msg("seed %llu: %s", (unsigned long long)seed, dt_status_text(bad));
    assert_true(whiles < 0 || count_of(dt_str_text(&text), "stablehlo.while") == whiles);
    if (directory) {
        char name[32];
        snprintf(name, sizeof name, "%d-%d-", kind, (int)loops);
        FILE *program = create(directory, name, seed, ".mlir"),
             *data = create(directory, name, seed, ".bin");
        fputs(dt_str_text(&text), program);
        for (int r = 0; r < REPLICAS; r++) put_replica(data, g, &s, &f, &ought, r);
        assert_int_equal(fclose(program) | fclose(data), 0);
    }
    int found = s.loops;
    dt_hlo_signature_release(&s);
    dt_str_release(&text);
    dt_interpretation_release(&ought);
    feed_release(&f);
    random_graph_destroy(g);
    return found;
}

static int write_case(const char *directory, random_kind kind, uint64_t seed, bool loops) {
    return write_graph(directory, random_graph_draw(kind, seed), (int)kind, seed, loops, -1);
}

/* Sums in steps are for XLA on the CPU, which adds one value after the other: other compilers
 * choose an order themselves. */
static void test_long_sums_have_steps_on_cpus(void **state) {
    static const struct {
        const char *platform;
        int reduces, barriers;
    } cases[] = {{"cpu", 4, 2}, {"cuda", 2, 0}, {"rocm", 2, 0}, {"tpu", 2, 0}};
    const dt_type long_one = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 1000000}),
                  short_one = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 512});
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_trace *t = dt_trace_create("sums");
        dt_graph *g = NULL;
        dt_hlo_request request = {.batch = ROWS, .replicas = 1};
        dt_str text = {0};
        dt_return(t, "long", dt_reduce(dt_trace_declare(t, "x", &long_one), DT_REDUCE_SUM, 2));
        dt_return(t, "short", dt_reduce(dt_trace_declare(t, "y", &short_one), DT_REDUCE_SUM, 2));
        assert_null(dt_trace_end(t, &g));
        dt_hlo_aim(&request, cases[i].platform, 0);
        assert_null(dt_stablehlo_write(g, &request, &text, NULL));
        assert_int_equal(count_of(dt_str_text(&text), "stablehlo.reduce\""), cases[i].reduces);
        assert_int_equal(count_of(dt_str_text(&text), "optimization_barrier"), cases[i].barriers);
        dt_str_release(&text);
        dt_graph_destroy(g);
    }
}

static dt_graph *attention_of(int64_t steps) {
    const dt_type heads = dt_type_of(DT_FLOAT32, 4, (int64_t[]){DT_BATCH, steps, 6, 2});
    const dt_attention_how how = {.scale = 0.5, .causal = true};
    dt_trace *t = dt_trace_create("attention");
    dt_graph *g = NULL;
    dt_value x[3], dx[3];
    for (int i = 0; i < 3; i++)
        x[i] = dt_trace_declare(t, (const char *[]){"query", "key", "value"}[i], &heads);
    dt_value y = dt_attention(x[0], x[1], x[2], &how);
    dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), x, 3, dx);
    dt_return(t, "y", y);
    for (int i = 0; i < 3; i++) dt_return(t, (const char *[]){"dq", "dk", "dv"}[i], dx[i]);
    assert_null(dt_trace_end(t, &g));
    return g;
}

/* Attention and its gradients with scores of 72 MiB, which are made piece by piece: the result's
 * pieces are joined, those of keys and values added. */
static void write_large_attention(const char *directory) {
    random_graph *g = dt_alloc(sizeof *g);
    for (int i = 0; i < 3; i++) g->distributed[i] = true;
    g->graph = attention_of(1024);
    write_graph(directory, g, 99, 1, true, 4);
}

/* The three gradients share the scores that they compute again, behind one barrier. */
static void test_scores_are_computed_again(void **state) {
    (void)state;
    dt_graph *g = attention_of(8);
    for (int again = 0; again <= 1; again++) {
        const dt_hlo_request request = {.batch = ROWS, .replicas = 1, .scores_again = again};
        dt_str text = {0};
        assert_null(dt_stablehlo_write(g, &request, &text, NULL));
        assert_int_equal(count_of(dt_str_text(&text), "optimization_barrier"), again);
        assert_int_equal(count_of(dt_str_text(&text), "stablehlo.exponential"), 1 + again);
        dt_str_release(&text);
    }
    dt_graph_destroy(g);
}

/* Stacks of blocks become loops, but for those that are too small; both ways of writing them are
 * written. */
static void test_blocks_are_found(void **state) {
    (void)state;
    int found = 0;
    print_message("seeds 9100 to 9159\n");
    for (uint64_t seed = 9100; seed < 9160; seed++) {
        int loops = write_case(NULL, RANDOM_BLOCKS, seed, true);
        assert_int_equal(write_case(NULL, RANDOM_BLOCKS, seed, false), 0);
        found += loops > 0;
    }
    assert_in_range(found, 45, 60);
}

/* Steps that are put together are not only moved: each is shifted along another axis, too. */
static void test_shifted_steps_stay_shifted(void **state) {
    enum { STEPS = 40 };
    const dt_type step = dt_type_of(DT_FLOAT32, 3, (int64_t[]){DT_BATCH, 1, 3});
    const dt_hlo_request request = {.batch = ROWS, .replicas = 1, .loops = true};
    dt_trace *t = dt_trace_create("shifts");
    dt_graph *g = NULL;
    dt_str text = {0};
    dt_value x = dt_trace_declare(t, "x", &step), all = {0};
    (void)state;
    for (int i = 0; i < STEPS; i++) {
        dt_pad_attr pad = {0};
        pad.dim[1].low = i;
        pad.dim[1].high = STEPS - 1 - i;
        pad.dim[2].low = -1;
        pad.dim[2].high = 1;
        x = dt_tanh(dt_add(dt_multiply(x, x), dt_logistic(x)));
        all = i == 0 ? dt_pad(x, &pad) : dt_add(all, dt_pad(x, &pad));
    }
    dt_return(t, "all", all);
    assert_null(dt_trace_end(t, &g));
    assert_null(dt_stablehlo_write(g, &request, &text, NULL));
    assert_int_not_equal(count_of(dt_str_text(&text), "stablehlo.pad"), 0);
    dt_str_release(&text);
    dt_graph_destroy(g);
}

/* StableHLO's select_and_scatter has no dilation, so the gradient of such a maximum is refused. */
static void test_dilated_maxima_are_refused(void **state) {
    const dt_type row = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 9});
    const dt_hlo_request request = {.batch = ROWS, .replicas = 1};
    (void)state;
    for (int64_t dilation = 1; dilation <= 2; dilation++)
        for (int64_t base = 1; base <= 2; base++) {
            dt_trace *t = dt_trace_create("maxima");
            dt_reduce_window_attr a = dt_windows_of_one(DT_REDUCE_MAX, 2);
            dt_graph *g = NULL;
            dt_str text = {0};
            dt_value x = dt_trace_declare(t, "x", &row), dx;
            a.size[1] = 3;
            a.window[1] = (dt_window){.stride = 1, .base_dilation = base, .dilation = dilation};
            dt_gradients_of(dt_reduce_sum(dt_reduce_window(x, &a), DT_NO_AXIS), &x, 1, &dx);
            dt_return(t, "dx", dx);
            assert_null(dt_trace_end(t, &g));
            dt_status *s = dt_stablehlo_write(g, &request, &text, NULL);
            assert_int_equal(s ? dt_status_number(s) : 0,
                             dilation * base > 1 ? DT_E_NO_STABLEHLO : 0);
            dt_status_free(s);
            dt_str_release(&text);
            dt_graph_destroy(g);
        }
}

static void test_xla_computes_the_same(void **state) {
    (void)state;
    const char *python = getenv("DTRAIN_TEST_JAX");
    char directory[] = "build/tmp/stablehlo-XXXXXX", command[1024];
    if (!python) {
        print_message("DTRAIN_TEST_JAX names no Python with jax\n");
        skip();
    }
    assert_null(dt_dir_make("build/tmp"));
    assert_non_null(mkdtemp(directory));
    for (uint64_t seed = 9000; seed < 9012; seed++)
        write_case(directory, seed % 3 ? RANDOM_FIT : RANDOM_IMAGES, seed, true);
    for (uint64_t seed = 9100; seed < 9110; seed++)
        for (int loops = 0; loops <= 1; loops++) write_case(directory, RANDOM_BLOCKS, seed, loops);
    write_large_attention(directory);
    snprintf(command, sizeof command, "%s tests/export/stablehlo/execute.py %s && rm -r %s", python,
             directory, directory);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks_are_found),
                                       cmocka_unit_test(test_shifted_steps_stay_shifted),
                                       cmocka_unit_test(test_long_sums_have_steps_on_cpus),
                                       cmocka_unit_test(test_dilated_maxima_are_refused),
                                       cmocka_unit_test(test_scores_are_computed_again),
                                       cmocka_unit_test(test_xla_computes_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random steps on XLA, through the back end, against the reference interpreter: results and
 * variables. Random numbers have its bits. Skipped unless DTRAIN_PJRT_PLUGIN names a plug-in that
 * computes; tests/cli/pjrt/random.sh does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/local_fabric.h"
#include "../support/status.h"
#include "backend/backend.h"
#include "net/fabric.h"
#include "pass/workers_split.h"
#include "../support/outcome.h"

static dt_device *device;
static dt_member *member; /* of a group of one, or NULL */

static void want_device(void) {
    if (device) return;
    print_message(DT_PJRT_PLUGIN_ENV " names no plug-in\n");
    skip();
}

/* One step: results and new values are the interpreter's; in two halves, as fit runs it. */
static void step(dt_executable *x, const random_graph *g, const feed *f, const dt_folded *folded) {
    const dt_graph *step = folded->graph;
    dt_view *arg = feed_folded(f, folded),
            *result = calloc((size_t)step->n_results + 1, sizeof *result),
            *now = calloc((size_t)step->n_states + 1, sizeof *now);
    dt_interpretation oracle = oracle_run(g, f);
    dt_env env = feed_env(f);
    bool flies = false;
    env.member = member;
    ok_for(dt_executable_start(x, &env, arg, result, &flies), g->seed);
    assert_true(flies);
    ok_for(dt_executable_finish(x), g->seed);
    for (int i = 0; i < step->n_states; i++) {
        dt_variable *v = step->state[i].variable;
        ok_for(dt_variable_fetch(v), g->seed);
        now[i] = (dt_view){v->type, v->host_data};
    }
    difference d = outcome_difference(g, f, &oracle, &(outcome){result, now, folded->result});
    if (d.size > 2e-4) { /* with the variables of before, for the oracle's own sensitivity */
        for (int i = 0; i < step->n_states; i++)
            now[i].data = memcpy(malloc((size_t)dt_type_bytes(&now[i].type) + 1), now[i].data,
                                 (size_t)dt_type_bytes(&now[i].type));
        random_graph_reset(g);
        expect_outcome(g, f, &oracle, &(outcome){result, now, folded->result}, 2e-4);
        for (int i = 0; i < step->n_states; i++) free(now[i].data);
    }
    dt_interpretation_release(&oracle);
    views_release(arg, step->n_args);
    free(result);
    free(now);
}

static void test_steps_are_the_interpreters(void **state) {
    static const random_kind kinds[] = {RANDOM_FIT, RANDOM_SOUP, RANDOM_BLOCKS, RANDOM_IMAGES};
    (void)state;
    want_device();
    print_message("seeds 9200 to 9211\n");
    for (uint64_t seed = 9200; seed < 9212; seed++) {
        random_graph *g = random_graph_draw(kinds[seed % 4], seed);
        const int replicas = 1 + (int)(seed / 4 % 3);
        feed f = feed_make(g, seed, replicas, (int64_t[]){3, seed % 2 ? 3 : 2, 3});
        dt_folded folded;
        dt_executable *x = NULL;
        ok_for(dt_fold(g->graph, g->distributed, replicas, &folded), seed);
        ok_for(dt_device_compile(device,
                                 &(dt_compile_request){.graph = folded.graph, .rows = f.total}, &x),
               seed);
        step(x, g, &f, &folded);
        dt_executable_destroy(x);
        dt_graph_destroy(folded.graph);
        feed_release(&f);
        random_graph_destroy(g);
    }
}

/* The same as a worker, of one, computes it: a program for each superstep, and sums between them by
 * the host. */
static void test_steps_of_a_worker_are_the_interpreters(void **state) {
    (void)state;
    dt_process_group *group = NULL;
    int several = 0;
    want_device();
    ok_for(dt_process_group_open(&group, &dt_fabric_local, 1), 0);
    ok_for(dt_process_group_join(group, 0, 10, &member), 0);
    print_message("seeds 9300 to 9311\n");
    for (uint64_t seed = 9300; seed < 9312; seed++) {
        random_graph *g = random_graph_draw(seed % 2 ? RANDOM_FIT : RANDOM_SOUP, seed);
        feed f = feed_make(g, seed, 1, (int64_t[]){5});
        dt_folded folded;
        dt_graph *own = NULL;
        dt_executable *x = NULL;
        dt_str text = {0};
        ok_for(dt_fold(g->graph, g->distributed, 1, &folded), seed);
        ok_for(dt_workers_split(
                   folded.graph,
                   &(dt_worker_share){.workers = 1, .shards = 1, .batch = 5, .replicas = 1}, &own),
               seed);
        ok_for(dt_device_compile(device, &(dt_compile_request){.graph = own, .rows = 5}, &x), seed);
        dt_executable_print(x, &text);
        several += strstr(dt_str_text(&text), "superstep 2 of ") != NULL;
        dt_str_release(&text);
        step(x, g, &f, &folded);
        dt_executable_destroy(x);
        dt_graph_destroy(own);
        dt_graph_destroy(folded.graph);
        feed_release(&f);
        random_graph_destroy(g);
    }
    assert_true(several > 0);
    dt_member_leave(member);
    member = NULL;
    dt_process_group_close(group);
}

/* Gradients of kernels by each replica's own rows: in groups, with strides, of a convolution
 * backwards; rows that replicas share evenly or not, and none. */
static void test_kernels_gradients_are_each_replicas(void **state) {
    static const struct {
        int groups, stride, base;
        int64_t rows[3];
    } cases[] = {
        {1, 1, 1, {3, 3, 3}}, {2, 2, 1, {3, 2, 3}}, {4, 1, 1, {1, 3, 0}}, {1, 1, 2, {2, 1, 1}}};
    (void)state;
    want_device();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const dt_type image = dt_type_of(DT_FLOAT32, 4, (int64_t[]){DT_BATCH, 6, 5, 4}),
                      kernel = dt_type_of(DT_FLOAT32, 4, (int64_t[]){3, 2, 4 / cases[i].groups, 8});
        dt_convolution_attr a = dt_convolution_channels_last(2);
        random_graph *g = dt_alloc(sizeof *g);
        dt_trace *t = dt_trace_create("kernels");
        dt_value x = dt_trace_declare(t, "x", &image), k = dt_trace_declare(t, "k", &kernel), dk;
        *g = (random_graph){.distributed = {true, false}, .seed = i};
        a.feature_groups = cases[i].groups;
        for (int d = 0; d < 2; d++)
            a.window[d] = (dt_window){.stride = cases[i].stride,
                                      .low = 1,
                                      .high = 1,
                                      .base_dilation = cases[i].base,
                                      .dilation = 1};
        dt_value y = dt_convolution(x, k, &a);
        dt_gradients_of(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), &k, 1, &dk);
        dt_return(t, "dk", dk);
        ok_for(dt_trace_end(t, &g->graph), i);
        feed f = feed_make(g, i, 3, cases[i].rows);
        dt_folded folded;
        dt_executable *made = NULL;
        bool found = false;
        ok_for(dt_fold(g->graph, g->distributed, 3, &folded), i);
        for (int n = 0; n < folded.graph->n_nodes; n++)
            found |= folded.graph->node[n].op == &dt_op_segment_convolution;
        assert_true(found);
        ok_for(dt_device_compile(
                   device, &(dt_compile_request){.graph = folded.graph, .rows = f.total}, &made),
               i);
        step(made, g, &f, &folded);
        dt_executable_destroy(made);
        dt_graph_destroy(folded.graph);
        feed_release(&f);
        random_graph_destroy(g);
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

/* Uniform numbers and those that they are made of: a dropout mask on a device is cpu's. */
static void test_random_numbers_have_the_same_bits(void **state) {
    (void)state;
    want_device();
    enum { ROWS = 64 };
    const int64_t rows = ROWS;
    for (uint64_t key = 1; key < 6; key++) {
        const dt_random_attr attr = {.type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 33}),
                                     .kind = DT_RANDOM_UNIFORM,
                                     .key = key * UINT64_C(0x9E3779B97F4A7C15)};
        const dt_type counter = dt_type_of(DT_INT64, 0, NULL);
        const dt_view arg = {counter, &(int64_t){(int64_t)(key << 31) + 5}};
        dt_trace *t = dt_trace_create("draw");
        dt_graph *g = NULL;
        dt_executable *x = NULL;
        dt_interpretation oracle;
        dt_view result;
        dt_return(t, "u", dt_random_numbers(dt_trace_declare(t, "step", &counter), &attr));
        ok_for(dt_trace_end(t, &g), key);
        ok_for(dt_interpret(g, NULL, 1, &rows, &arg, &oracle), key);
        ok_for(dt_device_compile(device, &(dt_compile_request){.graph = g, .rows = ROWS}, &x), key);
        bool flies = false;
        ok_for(
            dt_executable_start(x, &(dt_env){.batch = ROWS, .replicas = 1}, &arg, &result, &flies),
            key);
        assert_true(flies);
        ok_for(dt_executable_finish(x), key);
        assert_memory_equal(result.data, oracle.result[0].data, ROWS * 33 * sizeof(float));
        dt_executable_destroy(x);
        dt_interpretation_release(&oracle);
        dt_graph_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_are_the_interpreters),
        cmocka_unit_test(test_steps_of_a_worker_are_the_interpreters),
        cmocka_unit_test(test_kernels_gradients_are_each_replicas),
        cmocka_unit_test(test_random_numbers_have_the_same_bits)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}

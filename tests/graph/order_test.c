/* SPDX-License-Identifier: Apache-2.0 */
/* The order of nodes: by structure alone, updates behind the readers of what they overwrite, from
 * the last variable to the first. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "graph/trace.h"
#include "toys.h"

enum { N_VARIABLES = 3 };
static dt_variable variables[N_VARIABLES]; /* their types are all that is looked at */

/* Variable v of the trace: source #(100 + v). */
static dt_value toy_variable(dt_trace *t, int v) {
    const dt_type type = toy_rows(3);
    dt_value start = toy_make(t, &type, 100 + v);
    variables[v] = (dt_variable){.refs = 2, .type = type}; /* the table's and the trace's */
    DT_GROW(t->state, t->cap_states, t->n_states + 1);
    t->state[t->n_states++] = (dt_trace_state){&variables[v], start.node, start.node};
    return start;
}

static dt_graph *finish(dt_trace *t) {
    dt_graph *g = NULL;
    dt_status *s = dt_trace_end(t, &g);
    if (s) fail_msg("%s", dt_status_text(s));
    return g;
}

static void test_order_is_by_structure(void **state) {
    (void)state;
    const dt_type type = toy_rows(3);
    for (int order = 0; order < 2; order++) {
        dt_trace *t = dt_trace_create("test");
        dt_value left = {0}, right = {0};
        for (int step = 0; step < 2; step++)
            if (step == order) left = toy_add(toy_make(t, &type, 1), toy_make(t, &type, 1));
            else right = toy_add(toy_make(t, &type, 2), toy_make(t, &type, 2));
        dt_value sum = toy_add(left, right);
        int nodes[8];
        assert_int_equal(dt_trace_order(t, &sum.node, 1, nodes), 5);
        assert_int_equal(nodes[1], left.node);
        assert_int_equal(nodes[3], right.node);
        assert_int_equal(nodes[4], sum.node);
        dt_trace_destroy(t);
    }
}

static void test_updates_wait_for_readers(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value w = toy_variable(t, 0), v = toy_variable(t, 1);
    dt_value new_v = toy_add(v, v); /* made first, from v alone */
    dt_value reader = toy_add(toy_add(v, w), v);
    t->state[1].now = new_v.node;
    t->state[0].now = toy_add(reader, w).node;
    dt_graph *g = finish(t);
    assert_true(g->became[new_v.node] > g->became[reader.node]);
    assert_int_equal(g->state[1].update, g->became[new_v.node]);
    dt_graph_destroy(g);
}

static void test_last_variables_are_updated_first(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    for (int i = 0; i < N_VARIABLES; i++) toy_variable(t, i);
    for (int i = 0; i < N_VARIABLES; i++)
        t->state[i].now =
            toy_add(dt_value_of(t, t->state[i].node), dt_value_of(t, t->state[i].node)).node;
    dt_graph *g = finish(t);
    for (int i = 1; i < N_VARIABLES; i++) assert_true(g->state[i].update < g->state[i - 1].update);
    dt_graph_destroy(g);
}

static void test_who_needs_old_and_new_comes_after_the_update(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value w = toy_variable(t, 0), v = toy_variable(t, 1);
    dt_value new_w = toy_add(w, v), both = toy_add(new_w, w);
    t->state[0].now = new_w.node;
    dt_return(t, "both", both);
    dt_graph *g = finish(t);
    assert_true(g->became[both.node] > g->state[0].update);
    dt_graph_destroy(g);
}

/* Two updates, each reading the other's old value, and a reader of a new and the other's old one: a
 * wish that cannot be granted. */
static void test_updates_that_wait_for_each_other(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    dt_value w = toy_variable(t, 0), v = toy_variable(t, 1);
    dt_value new_w = toy_add(w, v), new_v = toy_add(v, w);
    t->state[0].now = new_w.node;
    t->state[1].now = new_v.node;
    dt_return(t, "a", toy_add(new_w, v));
    dt_return(t, "b", toy_add(new_v, w));
    dt_graph_destroy(finish(t)); /* which verifies the order */
}

/* Random programs: whatever waits for whatever, the verifier finds every input before its use, and
 * nothing needed is lost. */
static void test_random_programs_are_ordered(void **state) {
    (void)state;
    enum { PROGRAMS = 300, NODES = 40 };
    const uint64_t seed = 20240607;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int p = 0; p < PROGRAMS; p++) {
        dt_random r = dt_random_stream(seed, "programs", (uint64_t)p);
        dt_trace *t = dt_trace_create("random");
        for (int i = 0; i < N_VARIABLES; i++) toy_variable(t, i);
        while (dt_trace_count(t) < NODES) {
            int a = (int)dt_random_below(&r, (uint64_t)dt_trace_count(t)),
                b = (int)dt_random_below(&r, (uint64_t)dt_trace_count(t));
            toy_add(dt_value_of(t, a), dt_value_of(t, b));
        }
        for (int i = 0; i < N_VARIABLES; i++) t->state[i].now = (int)dt_random_below(&r, NODES);
        dt_value last = dt_value_of(t, NODES - 1);
        dt_return(t, "last", last);
        int updates[N_VARIABLES] = {t->state[0].now, t->state[1].now, t->state[2].now};
        dt_graph *g = finish(t);
        assert_true(g->became[last.node] >= 0);
        for (int i = 0; i < N_VARIABLES; i++) assert_true(g->became[updates[i]] >= 0);
        dt_graph_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_by_structure),
        cmocka_unit_test(test_updates_wait_for_readers),
        cmocka_unit_test(test_last_variables_are_updated_first),
        cmocka_unit_test(test_who_needs_old_and_new_comes_after_the_update),
        cmocka_unit_test(test_updates_that_wait_for_each_other),
        cmocka_unit_test(test_random_programs_are_ordered),
    };
    return cmocka_run_group_tests_name("graph/order", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: value numbering, the first error, foreign values, layers, growth. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "toys.h"

static void test_same_op_same_inputs_same_node(void **state) {
    (void)state;
    dt_type type = toy_rows(3);
    dt_trace *t = dt_trace_create("test");
    dt_value a = toy_make(t, &type, 1), b = toy_make(t, &type, 2);
    assert_int_not_equal(a.node, b.node);
    assert_int_equal(toy_make(t, &type, 1).node, a.node);
    dt_value sum = toy_add(a, b);
    assert_int_equal(toy_add(a, b).node, sum.node);
    assert_int_not_equal(toy_add(b, a).node, sum.node);
    dt_trace_path(t, "elsewhere");
    assert_int_equal(toy_add(a, b).node, sum.node);
    assert_string_equal(dt_node_of(sum)->path, "");
    assert_int_equal(dt_trace_count(t), 4);
    dt_trace_destroy(t);
}

static void test_paths_are_restored_and_copied(void **state) {
    (void)state;
    dt_type type = toy_rows(3);
    dt_trace *t = dt_trace_create("test");
    char layer[] = "dense";
    const char *before = dt_trace_path(t, layer);
    layer[0] = 'X';
    dt_value inner = toy_make(t, &type, 1);
    assert_string_equal(dt_trace_path(t, before), "dense");
    dt_value outer = toy_make(t, &type, 2);
    assert_string_equal(dt_node_of(inner)->path, "dense");
    assert_string_equal(dt_node_of(outer)->path, "");
    dt_trace_destroy(t);
}

static void test_the_first_error_is_kept(void **state) {
    (void)state;
    dt_type three = toy_rows(3), four = toy_rows(4);
    dt_trace *t = dt_trace_create("test");
    dt_value a = toy_make(t, &three, 1), b = toy_make(t, &four, 1);
    const char *before = dt_trace_path(t, "dense_1");
    dt_value bad = toy_add(a, b);
    dt_trace_path(t, before);
    assert_null(bad.trace);
    dt_value later = toy_add(bad, a); /* goes nowhere, says nothing */
    assert_null(later.trace);
    dt_trace_fail(t, dt_fail(DT_E_INTERNAL, NULL, "a second error"));
    assert_int_equal(dt_trace_count(t), 2);

    dt_graph *g = NULL;
    dt_status *s = dt_trace_end(t, &g);
    assert_null(g);
    assert_int_equal(dt_status_number(s), DT_E_MODEL_SHAPE);
    assert_string_equal(dt_status_text(s), "join wants two values of one type");
    char *text = dt_status_format(s);
    assert_non_null(strstr(text, "in layer 'dense_1'"));
    free(text);
    dt_status_free(s);
}

static void test_values_of_failed_calls_have_a_type(void **state) {
    (void)state;
    dt_value none = {0};
    dt_type type = dt_type_of_value(none), scalar = dt_scalar_type(DT_FLOAT32);
    assert_true(dt_type_equal(&type, &scalar));
    assert_null(dt_node_of(none));
    assert_null(dt_emit(NULL, &toy_join, (dt_value[]){none, none}, 2, NULL).trace);
    assert_string_equal(dt_trace_path(NULL, "dense"), "");
}

static void test_foreign_and_missing_values_are_refused(void **state) {
    (void)state;
    dt_type type = toy_rows(3);
    dt_trace *mine = dt_trace_create("mine"), *other = dt_trace_create("other");
    dt_value a = toy_make(mine, &type, 1), b = toy_make(other, &type, 1);
    assert_null(toy_add(a, b).trace);
    assert_int_equal(dt_status_number(dt_trace_error(mine)), DT_E_TRACE_VALUE);
    assert_non_null(strstr(dt_status_text(dt_trace_error(mine)), "'other'"));
    assert_null(dt_trace_error(other));
    assert_null(toy_add(b, (dt_value){0}).trace);
    assert_int_equal(dt_status_number(dt_trace_error(other)), DT_E_TRACE_VALUE);
    dt_trace_destroy(mine);
    dt_trace_destroy(other);
}

static void test_types_beyond_memory_are_refused(void **state) {
    (void)state;
    dt_type type = toy_rows(INT64_C(1) << 40);
    dt_trace *t = dt_trace_create("test");
    assert_null(toy_make(t, &type, 1).trace);
    assert_int_equal(dt_status_number(dt_trace_error(t)), DT_E_MODEL_SHAPE);
    dt_trace_destroy(t);
}

static void test_many_nodes_stay_distinct_and_in_place(void **state) {
    (void)state;
    enum { N = 5000 };
    dt_type type = toy_rows(3);
    dt_trace *t = dt_trace_create("test");
    const dt_node *first = dt_node_of(toy_make(t, &type, 0));
    for (int i = 0; i < N; i++) assert_int_equal(toy_make(t, &type, i).node, i);
    for (int i = 0; i < N; i++) assert_int_equal(toy_make(t, &type, i).node, i);
    assert_int_equal(dt_trace_count(t), N);
    assert_ptr_equal(dt_trace_node(t, 0), first);
    dt_trace_destroy(t);
}

static void test_emit_like_copies_attributes_and_path(void **state) {
    (void)state;
    dt_type type = toy_rows(3);
    dt_trace *t = dt_trace_create("from");
    dt_trace_path(t, "dense");
    dt_value a = toy_make(t, &type, 1), b = toy_make(t, &type, 2);
    dt_return(t, "sum", toy_add(a, b));
    dt_graph *g = NULL;
    assert_null(dt_trace_end(t, &g));

    dt_trace *to = dt_trace_create("to");
    dt_value map[3];
    map[0] = dt_emit_like(to, g, 0, NULL);
    map[1] = dt_emit_like(to, g, 1, NULL);
    map[2] = dt_emit_like(to, g, 2, (dt_value[]){map[1], map[0]});
    dt_graph_destroy(g);
    assert_int_equal(dt_node_of(map[2])->in[0], 1);
    assert_int_equal(dt_node_of(map[2])->in[1], 0);
    assert_string_equal(dt_node_of(map[2])->path, "dense");
    assert_int_equal(((const toy_attr *)dt_node_of(map[1])->attr)->number, 2);
    assert_string_equal(dt_trace_path(to, ""), "");
    dt_trace_destroy(to);
}

/* The numbers of a graph, as one line: "#1 #2 0+1" */
static void describe(const dt_graph *g, dt_str *out) {
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        dt_str_puts(out, i ? " " : "");
        if (n->n_in > 0) dt_str_printf(out, "%d+%d", n->in[0], n->in[1]);
        else n->op->attr.print(n->attr, out);
    }
}

static void test_the_graph_forgets_the_order_of_evaluation(void **state) {
    (void)state;
    dt_type type = toy_rows(3);
    for (int order = 0; order < 2; order++) {
        dt_trace *t = dt_trace_create("test");
        dt_value left = {0}, right = {0};
        for (int step = 0; step < 2; step++)
            if (step == order) left = toy_add(toy_make(t, &type, 1), toy_make(t, &type, 1));
            else right = toy_add(toy_make(t, &type, 2), toy_make(t, &type, 2));
        dt_return(t, "sum", toy_add(left, right));
        dt_graph *g = NULL;
        dt_str text = {0};
        assert_null(dt_trace_end(t, &g));
        describe(g, &text);
        assert_string_equal(dt_str_text(&text), "#1 0+0 #2 2+2 1+3");
        assert_int_equal(g->became[left.node], 1);
        assert_int_equal(g->became[right.node], 3);
        dt_str_release(&text);
        dt_graph_destroy(g);
    }
}

static void test_the_graph_drops_what_nothing_needs(void **state) {
    (void)state;
    dt_type type = toy_rows(3);
    dt_trace *t = dt_trace_create("test");
    dt_value unused = toy_make(t, &type, 1), used = toy_make(t, &type, 2);
    toy_add(unused, used);
    dt_return(t, "used", used);
    dt_graph *g = NULL;
    assert_null(dt_trace_end(t, &g));
    assert_int_equal(g->n_nodes, 1);
    assert_int_equal(g->n_values, 3);
    assert_int_equal(g->became[0], -1);
    assert_int_equal(g->became[1], 0);
    assert_int_equal(g->became[2], -1);
    dt_graph_destroy(g);
}

static void test_deep_chains_need_no_deep_stack(void **state) {
    (void)state;
    enum { N = 200000 };
    dt_type type = toy_rows(3);
    dt_trace *t = dt_trace_create("test");
    dt_value v = toy_make(t, &type, 1);
    for (int i = 0; i < N; i++) v = toy_add(v, v);
    dt_return(t, "end", v);
    dt_graph *g = NULL;
    assert_null(dt_trace_end(t, &g));
    assert_int_equal(g->n_nodes, N + 1);
    assert_int_equal(g->result[0].node, N);
    dt_graph_destroy(g);
}

static void test_replicas_are_one_unless_set(void **state) {
    (void)state;
    dt_trace *t = dt_trace_create("test");
    assert_int_equal(dt_trace_replicas(t), 1);
    dt_trace_set_replicas(t, 8);
    assert_int_equal(dt_trace_replicas(t), 8);
    dt_trace_destroy(t);
    dt_trace_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_op_same_inputs_same_node),
        cmocka_unit_test(test_paths_are_restored_and_copied),
        cmocka_unit_test(test_the_first_error_is_kept),
        cmocka_unit_test(test_values_of_failed_calls_have_a_type),
        cmocka_unit_test(test_foreign_and_missing_values_are_refused),
        cmocka_unit_test(test_types_beyond_memory_are_refused),
        cmocka_unit_test(test_many_nodes_stay_distinct_and_in_place),
        cmocka_unit_test(test_emit_like_copies_attributes_and_path),
        cmocka_unit_test(test_the_graph_forgets_the_order_of_evaluation),
        cmocka_unit_test(test_the_graph_drops_what_nothing_needs),
        cmocka_unit_test(test_deep_chains_need_no_deep_stack),
        cmocka_unit_test(test_replicas_are_one_unless_set),
    };
    return cmocka_run_group_tests_name("graph/trace", tests, NULL, NULL);
}

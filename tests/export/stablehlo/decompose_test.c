/* SPDX-License-Identifier: Apache-2.0 */
/* Composites in other ops: every row has a form, and over random steps the numbers stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "export/stablehlo/stablehlo.h"
#include "../../op/table.h"
#include "../../support/outcome.h"

/* The sum in a fixed tree, which `reproducible` alone makes, what a pass makes for the threads of
 * one machine (pass/tiles.c), and a function's arguments. */
static bool has_no_form(const dt_op *op) {
    return op == &dt_op_tree_sum || op == &dt_op_segment_deviations || op == &dt_op_parameter ||
           op == &dt_op_variable;
}

static void test_every_row_has_a_form(void **state) {
    (void)state;
    int n;
    const dt_op *const *ops = all_ops(&n);
    for (int i = 0; i < n; i++)
        if (!has_no_form(ops[i]) && !ops[i]->forms.stablehlo && !ops[i]->forms.decompose)
            fail_msg("%s has no form in StableHLO", ops[i]->name);
}

/* ---- samples of composites ---- */

static dt_graph *graph_of(const sample *s) {
    dt_trace *t = dt_trace_create("sample");
    dt_graph *g = NULL;
    dt_value in[DT_MAX_IN];
    for (int i = 0; i < s->op->n_in; i++) in[i] = declare(t, "x", i, &s->in[i]);
    dt_return(t, "y", dt_emit(t, s->op, in, s->op->n_in, s->op->attr.size ? &s->attr : NULL));
    check(dt_trace_end(t, &g), s->op->name);
    return g;
}

/* A format that knows no composite, or all. */
static bool none(const dt_op *op) {
    (void)op;
    return false;
}

static bool all(const dt_op *op) {
    (void)op;
    return true;
}

static void expect_decomposed(sample *s, int64_t batch) {
    dt_graph *whole, *parts = NULL;
    dt_interpretation is, ought;
    dt_view arg[DT_MAX_IN];
    if (!s->op->forms.decompose) return;
    whole = graph_of(s);
    check(dt_decompose(whole, all, &parts), s->op->name);
    assert_ptr_equal(parts->node[parts->result[0].node].op, s->op);
    dt_graph_destroy(parts);
    check(dt_decompose(whole, none, &parts), s->op->name);
    assert_ptr_not_equal(parts->node[parts->result[0].node].op, s->op);
    int n = sample_inputs(s, batch, arg);
    check(dt_interpret(whole, NULL, 1, &batch, arg, &ought), s->op->name);
    check(dt_interpret(parts, NULL, 1, &batch, arg, &is), s->op->name);
    expect_views(s->op->name, &is.result[0], &ought.result[0], 1e-5);
    views_release(arg, n);
    dt_interpretation_release(&is);
    dt_interpretation_release(&ought);
    dt_graph_destroy(whole);
    dt_graph_destroy(parts);
}

static void test_samples_stay(void **state) {
    (void)state;
    for_samples("decompose", 40, true, expect_decomposed);
}

/* ---- random steps ---- */

static void decompose_one(random_kind kind, uint64_t s) {
    random_graph *g = random_graph_draw(kind, s);
    feed f = feed_make(g, s, 2, (int64_t[]){3, 2});
    dt_interpretation before = oracle_run(g, &f), after;
    dt_graph *parts = NULL;
    check(dt_decompose(g->graph, none, &parts), "decompose");
    check(dt_interpret(parts, NULL, f.replicas, f.batch, f.arg, &after), "decomposed");
    for (int i = 0; i < before.replicas * before.n_results; i++)
        expect_views(g->graph->result[i % before.n_results].name, &after.result[i],
                     &before.result[i], 1e-3);
    dt_interpretation_release(&before);
    dt_interpretation_release(&after);
    dt_graph_destroy(parts);
    feed_release(&f);
    random_graph_destroy(g);
}

static void test_steps_stay(void **state) {
    (void)state;
    print_message("seeds 7000 to 7059\n");
    for (uint64_t s = 7000; s < 7060; s++) decompose_one(s % 2 ? RANDOM_FIT : RANDOM_IMAGES, s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_a_form),
        cmocka_unit_test(test_samples_stay),
        cmocka_unit_test(test_steps_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

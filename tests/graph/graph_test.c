/* SPDX-License-Identifier: Apache-2.0 */
/* Finished graphs, made by hand: the verifier on broken ones, uses, and the text form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../support/verify.h"
#include "toys.h"

/* image + noise is returned and joined once more; w is updated with v. Every test spoils its own
 * copy. */
typedef struct sample {
    char path[2][16];
    toy_attr attr[4];
    dt_node node[6];
    dt_variable w, v;
    dt_state state[2];
    dt_named_node arg[1], result[1];
    dt_graph graph;
} sample;

static void sample_init(sample *s) {
    const dt_type rows = toy_rows(3), weights = dt_type_of(DT_FLOAT32, 1, (int64_t[]){5});
    *s = (sample){.path = {"dense/kernel", "sgd/momentum"},
                  .attr = {{rows, 0}, {rows, 7}, {weights, 0}, {weights, 1}}};
    for (int i = 0; i < 4; i++)
        s->node[i] =
            (dt_node){.op = &toy_source, .type = s->attr[i].type, .attr = &s->attr[i], .path = ""};
    s->node[4] = (dt_node){.op = &toy_join, .type = rows, .n_in = 2, .in = {0, 1}, .path = "dense"};
    s->node[5] = (dt_node){.op = &toy_join, .type = rows, .n_in = 2, .in = {4, 4}, .path = ""};
    s->w = (dt_variable){.path = s->path[0], .type = weights, .trainable = true};
    s->v = (dt_variable){.path = s->path[1], .type = weights, .slot = true};
    s->state[0] = (dt_state){&s->w, 2, 3};
    s->state[1] = (dt_state){&s->v, 3, -1};
    s->arg[0] = (dt_named_node){"image", 0};
    s->result[0] = (dt_named_node){"sum", 4};
    s->graph = (dt_graph){.name = "step",
                          .n_nodes = 6,
                          .n_args = 1,
                          .n_states = 2,
                          .n_results = 1,
                          .node = s->node,
                          .arg = s->arg,
                          .state = s->state,
                          .result = s->result};
}

static const char golden[] = "graph step(image: f32[B,3])\n"
                             "state dense/kernel: f32[5]\n"
                             "state sgd/momentum: f32[5]\n"
                             "%0 = source image        : f32[B,3]\n"
                             "%1 = source #7           : f32[B,3]\n"
                             "%2 = source dense/kernel : f32[5]\n"
                             "%3 = source sgd/momentum : f32[5]\n"
                             "%4 = join(%0, %1)        : f32[B,3]  // dense\n"
                             "%5 = join(%4, %4)        : f32[B,3]\n"
                             "return sum = %4\n"
                             "update dense/kernel = %3\n";

static void test_graph_text(void **state) {
    (void)state;
    sample s;
    sample_init(&s);
    dt_str text = {0};
    dt_graph_print(&s.graph, &text);
    assert_string_equal(dt_str_text(&text), golden);
    dt_str_release(&text);
}

static void note_inputs(const dt_graph *g, int node, dt_str *out, void *user) {
    ++*(int *)user;
    if (g->node[node].n_in > 0) dt_str_printf(out, "  <%d>", g->node[node].n_in);
}

static void test_graph_text_with_notes(void **state) {
    (void)state;
    sample s;
    sample_init(&s);
    dt_str text = {0};
    int notes = 0;
    dt_graph_print_notes(&s.graph, note_inputs, &notes, &text);
    assert_int_equal(notes, 6);
    assert_non_null(
        strstr(dt_str_text(&text), "%4 = join(%0, %1)        : f32[B,3]  // dense  <2>\n"));
    assert_non_null(strstr(dt_str_text(&text), "%5 = join(%4, %4)        : f32[B,3]  <2>\n"));
    dt_str_release(&text);
}

static void test_numbers_are_aligned_to_the_right(void **state) {
    (void)state;
    dt_type type = toy_rows(3);
    dt_trace *t = dt_trace_create("many");
    for (int i = 0; i < 11; i++)
        dt_return(t, (char[]){(char)('a' + i), '\0'}, toy_make(t, &type, i));
    dt_graph *g = NULL;
    assert_null(dt_trace_end(t, &g));
    dt_str text = {0};
    dt_graph_print(g, &text);
    assert_non_null(
        strstr(dt_str_text(&text), "\n %9 = source #9  : f32[B,3]\n%10 = source #10 : f32[B,3]\n"));
    dt_str_release(&text);
    dt_graph_destroy(g);
}

static void test_uses_count_inputs_results_updates(void **state) {
    (void)state;
    sample s;
    sample_init(&s);
    dt_arena *arena = dt_arena_create();
    const int *uses = dt_graph_uses(&s.graph, arena);
    static const int expected[6] = {1, 1, 0, 1, 3, 0};
    for (int i = 0; i < 6; i++) assert_int_equal(uses[i], expected[i]);
    dt_arena_destroy(arena);
}

/* ---- the verifier ---- */

static void nothing(sample *s) { (void)s; }
static void reads_later(sample *s) { s->node[4].in[1] = 5; }
static void reads_itself(sample *s) { s->node[4].in[0] = 4; }
static void reads_below_zero(sample *s) { s->node[4].in[0] = -1; }
static void lacks_an_input(sample *s) { s->node[4].n_in = 1; }
static void has_another_type(sample *s) { s->node[5].type.dim[1] = 4; }
static void joins_two_types(sample *s) { s->node[5].in[1] = 2; }
static void returns_no_node(sample *s) { s->result[0].node = 6; }
static void takes_no_node(sample *s) { s->arg[0].node = -1; }
static void updates_another_type(sample *s) { s->state[0].update = 4; }
static void updates_no_node(sample *s) { s->state[0].update = 6; }
static void reads_another_type(sample *s) { s->state[1].node = 0; }

static void test_verifier_names_the_first_bad_node(void **state) {
    (void)state;
    static const struct {
        void (*spoil)(sample *s);
        const char *text; /* NULL: nothing is wrong */
    } cases[] = {
        {nothing, NULL},
        {reads_later, "node %4 (join) of graph 'step' reads %5"},
        {reads_itself, "node %4 (join) of graph 'step' reads %4"},
        {reads_below_zero, "node %4 (join) of graph 'step' reads %-1"},
        {lacks_an_input, "node %4 of graph 'step' has 1 inputs, join has 2"},
        {has_another_type,
         "node %5 (join) of graph 'step' has type f32[B,4], its inputs make it f32[B,3]"},
        {joins_two_types, "node %5 of graph 'step': join wants two values of one type"},
        {returns_no_node, "result 'sum' of graph 'step' is %6 of 6 nodes"},
        {takes_no_node, "argument 'image' of graph 'step' is %-1 of 6 nodes"},
        {updates_another_type, "node %4 of graph 'step' cannot update 'dense/kernel'"},
        {updates_no_node,
         "variable 'dense/kernel' of graph 'step' refers to a node that does not exist"},
        {reads_another_type,
         "the type of node %0 of graph 'step' differs from that of its variable 'sgd/momentum'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sample s;
        sample_init(&s);
        cases[i].spoil(&s);
        dt_status *bad = verify_types(&s.graph);
        assert_int_equal(dt_status_number(bad), cases[i].text ? DT_E_INTERNAL : 0);
        if (cases[i].text && !strstr(dt_status_text(bad), cases[i].text))
            fail_msg("'%s' lacks '%s'", dt_status_text(bad), cases[i].text);
        dt_status_free(bad);
    }
}

static void test_rule_whole_splits_nothing(void **state) {
    (void)state;
    dt_rule rule = {0};
    dt_rule_whole(&rule);
    for (int i = 0; i < DT_MAX_RANK; i++) {
        assert_int_equal(rule.out[i], -1);
        for (int k = 0; k < DT_MAX_IN; k++) assert_int_equal(rule.in[k][i], -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_text),
        cmocka_unit_test(test_graph_text_with_notes),
        cmocka_unit_test(test_numbers_are_aligned_to_the_right),
        cmocka_unit_test(test_uses_count_inputs_results_updates),
        cmocka_unit_test(test_verifier_names_the_first_bad_node),
        cmocka_unit_test(test_rule_whole_splits_nothing),
    };
    return cmocka_run_group_tests_name("graph/graph", tests, NULL, NULL);
}

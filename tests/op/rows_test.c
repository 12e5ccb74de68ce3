/* SPDX-License-Identifier: Apache-2.0 */
/* What rows say besides types: rules and costs, compared with cases written by hand, and
 * attributes as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "infer_case.h"

/* ---- rules ---- */

typedef struct rule_case {
    infer_case application;
    const char *ought; /* a letter a dimension, '.' for whole: "ab,bc->ac" */
} rule_case;

static void put_factors(dt_str *out, const int8_t *factors, int rank) {
    for (int d = 0; d < rank; d++)
        dt_str_putc(out, factors[d] < 0 ? '.' : (char)('a' + factors[d]));
}

static void expect_rule(const rule_case *c) {
    dt_type in[MOST_IN], out;
    dt_rule rule;
    dt_str text = {0};
    dt_status *s = infer(&c->application, in, &out);
    const dt_op *op = c->application.op;
    if (s) fail_msg("%s", dt_status_text(s));
    op->rule(in, &out, c->application.attr, &rule);
    for (int i = 0; i < op->n_in; i++) {
        dt_str_puts(&text, i ? "," : "");
        put_factors(&text, rule.in[i], in[i].rank);
    }
    dt_str_puts(&text, "->");
    put_factors(&text, rule.out, out.rank);
    assert_string_equal(dt_str_text(&text), c->ought);
    dt_str_release(&text);
}

static void test_rules_by_hand(void **state) {
    (void)state;
    dt_dot_attr dense = {.n_contract = 1, .lhs_contract = {1}};
    dt_dot_attr each = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    dt_reshape_attr merged = {type_of("f32[B*4,8]")}, groups = {type_of("f32[12,5]")},
                    padded = {type_of("f32[1,6,1]")};
    dt_transpose_attr turn = {{0, 2, 1}};
    dt_broadcast_attr bias = {type_of("f32[B,3]"), {1, -1}},
                      stretch = {type_of("f32[B,3]"), {0, 1, -1}};
    dt_reduce_attr middle = {DT_REDUCE_SUM, 2};
    dt_axis_attr last = {1};
    dt_attention_attr looking = {.scale = 1, .causal = 1};
    dt_norm_attr norm = {1e-3};
    dt_segment_attr sums = {.count = 4, .reduce = {DT_REDUCE_SUM, 3}},
                    products = {.count = 4, .dot = {.n_contract = 1}},
                    spread = {.count = 4, .type = type_of("f32[B,3]")};
    const rule_case cases[] = {
        {{&dt_op_add, NULL, {"f32[B,3]", "f32[B,3]"}, NULL}, "ab,ab->ab"},
        {{&dt_op_select, NULL, {"i1[B]", "f32[B]", "f32[B]"}, NULL}, "a,a,a->a"},
        {{&dt_op_dot_general, &dense, {"f32[B,4]", "f32[4,3]"}, NULL}, "ac,cb->ab"},
        {{&dt_op_dot_general, &each, {"f32[B,4]", "f32[B,4,3]"}, NULL}, "ac,acb->ab"},
        {{&dt_op_reshape, &merged, {"f32[B,4,8]"}, NULL}, "a.b->ab"},
        {{&dt_op_reshape, &groups, {"f32[2,6,5]"}, NULL}, "a.b->ab"},
        {{&dt_op_reshape, &padded, {"f32[2,3]"}, NULL}, "a.->.a."},
        {{&dt_op_transpose, &turn, {"f32[B,2,3]"}, NULL}, "acb->abc"},
        {{&dt_op_broadcast_in_dim, &bias, {"f32[3]"}, NULL}, "b->ab"},
        {{&dt_op_broadcast_in_dim, &stretch, {"f32[1,3]"}, NULL}, ".b->ab"},
        {{&dt_op_reduce, &middle, {"f32[B,2,3]"}, NULL}, "abc->ac"},
        {{&dt_op_argmax, &last, {"f32[B,10]"}, NULL}, "a.->a"},
        {{&dt_op_get_dimension_size, &last, {"f32[B,10]"}, NULL}, "..->"},
        {{&dt_op_softmax, NULL, {"f32[B,10]"}, NULL}, "a.->a."},
        {{&dt_op_softmax_cross_entropy, NULL, {"f32[B,10]", "i32[B]"}, NULL}, "a.,a->a"},
        {{&dt_op_softmax_cross_entropy, NULL, {"f32[B,10]", "f32[B,10]"}, NULL}, "a.,a.->a"},
        {{&dt_op_softmax_cross_entropy_grad, NULL, {"f32[B,10]", "i32[B]", "f32[B]"}, NULL},
         "a.,a,a->a."},
        {{&dt_op_segment_reduce, &sums, {"f32[B,2,3]"}, NULL}, ".bc->.c"},
        {{&dt_op_segment_dot_general, &products, {"f32[B,2]", "f32[B,3]"}, NULL}, ".a,.b->.ab"},
        {{&dt_op_segment_broadcast, &spread, {"f32[4,3]"}, NULL}, ".b->.b"},
        {{&dt_op_tree_sum, NULL, {"f32[4,3]"}, NULL}, ".a->a"},
        {{&dt_op_attention,
          &looking,
          {"f32[B,5,2,3]", "f32[B,6,2,3]", "f32[B,6,2,4]", "i32[B,5]"},
          NULL},
         "abc.,a.c.,a.cd,ab->abcd"},
        {{&dt_op_attention_grad,
          &looking,
          {"f32[B,5,2,3]", "f32[B,6,2,3]", "f32[B,6,2,4]", "f32[B,5,2,4]", "i32[B,5]"},
          NULL},
         "abc.,a.c.,a.cd,abcd,ab->abc."},
        {{&dt_op_layer_norm, &norm, {"f32[B,2,3]", "f32[3]", "f32[3]"}, NULL}, "ab.,.,.->ab."},
        {{&dt_op_layer_norm_grad, &norm, {"f32[B,2,3]", "f32[3]", "f32[B,2,3]"}, NULL},
         "ab.,.,ab.->ab."},
        {{&dt_op_layer_norm_scale_grad, &norm, {"f32[B,2,3]", "f32[B,2,3]"}, NULL}, "ab.,ab.->."},
        {{&dt_op_gelu, &(dt_gelu_attr){0}, {"f32[B,3]"}, NULL}, "ab->ab"},
        {{&dt_op_gather, NULL, {"f32[9,3]", "i32[B,2]"}, NULL}, ".c,ab->abc"},
        {{&dt_op_scatter_add, &(dt_rows_attr){9}, {"f32[B,2,3]", "i32[B,2]"}, NULL}, "abc,ab->.c"},
    };
    ALL(cases, expect_rule);
}

/* ---- costs, text ---- */

static dt_cost cost_of(const infer_case *c) {
    dt_type in[MOST_IN], out;
    dt_view views[MOST_IN];
    dt_cost cost = {.flops = -1, .vector = -1, .bytes = -1};
    dt_status *s = infer(c, in, &out);
    if (s) fail_msg("%s", dt_status_text(s));
    for (int i = 0; i < c->op->n_in; i++) views[i] = (dt_view){dt_type_at(&in[i], 5), NULL};
    dt_node node = {.op = c->op, .type = out, .n_in = c->op->n_in, .attr = c->attr};
    dt_call call = {.node = &node, .in = views, .out = {dt_type_at(&out, 5), NULL}};
    c->op->cost(&call, &cost);
    return cost;
}

static void test_costs(void **state) {
    (void)state;
    dt_dot_attr dense = {.n_contract = 1, .lhs_contract = {1}};
    dt_segment_attr cut = {.count = 4, .dot = {.n_contract = 1}};
    dt_reshape_attr flat = {type_of("f32[B,6]")};
    dt_cost dot =
        cost_of(&(infer_case){&dt_op_dot_general, &dense, {"f32[B,4]", "f32[4,3]"}, NULL});
    assert_true(dot.flops == 2 * 5 * 4 * 3 && dot.vector == 0 &&
                dot.bytes == 4 * (5 * 4 + 4 * 3 + 5 * 3));
    dt_cost segments =
        cost_of(&(infer_case){&dt_op_segment_dot_general, &cut, {"f32[B,2]", "f32[B,3]"}, NULL});
    assert_true(segments.flops == 2 * 5 * 2 * 3);
    dt_cost sum = cost_of(
        &(infer_case){&dt_op_reduce, &(dt_reduce_attr){DT_REDUCE_SUM, 3}, {"f32[B,3]"}, NULL});
    assert_true(sum.flops == 0 && sum.vector == 15 && sum.bytes == 64);
    dt_cost nothing = cost_of(&(infer_case){&dt_op_reshape, &flat, {"f32[B,2,3]"}, NULL});
    assert_true(nothing.flops == 0 && nothing.vector == 0 && nothing.bytes == 0);
}

static void test_attributes_as_text(void **state) {
    (void)state;
    dt_constant_attr tenth = {type_of("f32[]"), 0.1}, seven = {type_of("i32[]"), 7};
    dt_iota_attr iota = {type_of("i32[3]"), 0};
    dt_compare_attr ge = {DT_GE};
    dt_broadcast_attr bias = {type_of("f32[B,3]"), {1, -1}}, scalar = {type_of("f32[3]"), {-1}};
    dt_transpose_attr turn = {{0, 2, 1}};
    dt_sharding_attr cut = {.kind = DT_SHARDING_OTHER, .rank = 3, .parts = {1, 2, 2}};
    dt_sharding_attr one = {.kind = DT_SHARDING_MAXIMAL, .device = 1},
                     whole = {.kind = DT_SHARDING_REPLICATED};
    dt_reduce_attr max = {DT_REDUCE_MAX, 5};
    dt_dot_attr dense = {.n_contract = 1, .lhs_contract = {1}};
    dt_dot_attr each = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    dt_axis_attr axis = {1};
    dt_all_reduce_attr mean = {.op = DT_MEAN};
    dt_attention_attr looking = {.scale = 0.5, .window = 3, .causal = 1, .of = 1};
    dt_segment_attr sums = {.count = 8, .reduce = {DT_REDUCE_SUM, 1}},
                    dots = {.cut = DT_CUT_SHARDS, .count = 8, .dot = dense};
    const struct {
        const dt_op *op;
        const void *attr;
        const char *text;
    } rows[] = {
        {&dt_op_constant, &tenth, "0.1"},
        {&dt_op_constant, &seven, "7"},
        {&dt_op_iota, &iota, "axis=0"},
        {&dt_op_compare, &ge, "GE"},
        {&dt_op_broadcast_in_dim, &bias, "dims=[1]"},
        {&dt_op_broadcast_in_dim, &scalar, "dims=[]"},
        {&dt_op_transpose, &turn, "dims=[0,2,1]"},
        {&dt_op_sharding, &cut, "@Sharding {devices=[1,2,2]0,1,2,3}"},
        {&dt_op_sharding, &one, "@Sharding {maximal device=1}"},
        {&dt_op_sharding, &whole, "@Sharding {replicated}"},
        {&dt_op_reduce, &max, "max dims=[0,2]"},
        {&dt_op_dot_general, &dense, "contracting [1]x[0]"},
        {&dt_op_dot_general, &each, "batch [0]x[0] contracting [1]x[1]"},
        {&dt_op_argmax, &axis, "axis=1"},
        {&dt_op_get_dimension_size, &axis, "axis=1"},
        {&dt_op_all_reduce, &mean, "mean"},
        {&dt_op_attention, &looking, "scale=0.5 causal window=3"},
        {&dt_op_attention_grad, &looking, "key scale=0.5 causal window=3"},
        {&dt_op_layer_norm, &(dt_norm_attr){1e-3}, "epsilon=0.001"},
        {&dt_op_gelu, &(dt_gelu_attr){1}, "tanh"},
        {&dt_op_gelu_grad, &(dt_gelu_attr){0}, "erf"},
        {&dt_op_segment_reduce, &sums, "replicas 8 sum dims=[0]"},
        {&dt_op_segment_dot_general, &dots, "shards 8 contracting [1]x[0]"},
        {&dt_op_segment_broadcast, &sums, "replicas 8"},
        {&dt_op_segment_sizes, &dots, "shards 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_str text = {0};
        rows[i].op->attr.print(rows[i].attr, &text);
        assert_string_equal(dt_str_text(&text), rows[i].text);
        dt_str_release(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_by_hand),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_attributes_as_text),
    };
    return cmocka_run_group_tests_name("op rows", tests, NULL, NULL);
}

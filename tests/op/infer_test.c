/* SPDX-License-Identifier: Apache-2.0 */
/* What rows say of types: results with and without B, and constraints that messages name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "infer_case.h"

static void expect_type(const infer_case *c) {
    dt_type in[MOST_IN], out;
    dt_str text = {0};
    dt_status *s = infer(c, in, &out);
    if (s) fail_msg("%s", dt_status_text(s));
    dt_type_print(&out, &text);
    assert_string_equal(dt_str_text(&text), c->ought);
    dt_str_release(&text);
}

static void expect_error(const infer_case *c) {
    dt_type in[MOST_IN], out;
    dt_status *s = infer(c, in, &out);
    if (!s) fail_msg("%s takes what it should refuse: %s", c->op->name, c->ought);
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s (C", c->op->name);
    if (!strstr(dt_status_text(s), c->ought) ||
        strncmp(dt_status_text(s), prefix, strlen(prefix)) != 0)
        fail_msg("%s says '%s', not '%s'", c->op->name, dt_status_text(s), c->ought);
    assert_int_equal(dt_status_number(s), DT_E_MODEL_SHAPE);
    dt_status_free(s);
}

static void test_types_with_batch(void **state) {
    (void)state;
    dt_reshape_attr merged = {type_of("f32[B*4,8]")}, parted = {type_of("f32[B,4,8]")},
                    flat = {type_of("f32[B,32]")};
    dt_reshape_attr one = {type_of("f32[B*2,2]")};
    dt_transpose_attr swapped = {{0, 2, 1}};
    dt_reduce_attr rows = {DT_REDUCE_SUM, 1}, columns = {DT_REDUCE_MAX, 2};
    dt_dot_attr dense = {.n_contract = 1, .lhs_contract = {1}}, weights = {.n_contract = 1};
    dt_dot_attr each = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    dt_dot_attr behind = {.n_contract = 1, .lhs_contract = {0}, .rhs_contract = {1}};
    dt_dot_attr experts = {.in_order = 1,
                           .n_batch = 1,
                           .n_contract = 1,
                           .lhs_batch = {2},
                           .lhs_contract = {3},
                           .rhs_contract = {1}};
    dt_axis_attr first = {0}, last = {1};
    dt_broadcast_attr bias = {type_of("f32[B,3]"), {1, -1, -1, -1, -1, -1, -1, -1}},
                      up = {type_of("f32[B,3]"), {0, -1}};
    dt_segment_attr sums = {.count = 8, .reduce = {DT_REDUCE_SUM, 1}},
                    products = {.count = 8, .dot = {.n_contract = 1}},
                    spread = {.count = 8, .type = type_of("f32[B*2,3]")};
    const infer_case cases[] = {
        {&dt_op_add, NULL, {"f32[B*2,3]", "f32[B*2,3]"}, "f32[B*2,3]"},
        {&dt_op_reshape, &merged, {"f32[B,4,8]"}, "f32[B*4,8]"},
        {&dt_op_reshape, &parted, {"f32[B*4,8]"}, "f32[B,4,8]"},
        {&dt_op_reshape, &flat, {"f32[B*2,2,8]"}, "f32[B,32]"},
        {&dt_op_reshape, &one, {"f32[B*4]"}, "f32[B*2,2]"},
        {&dt_op_transpose, &swapped, {"f32[B,2,3]"}, "f32[B,3,2]"},
        {&dt_op_reduce, &rows, {"f32[B,3]"}, "f32[3]"},
        {&dt_op_reduce, &columns, {"f32[B,3]"}, "f32[B]"},
        {&dt_op_dot_general, &dense, {"f32[B,4]", "f32[4,3]"}, "f32[B,3]"},
        {&dt_op_dot_general, &weights, {"f32[B,4]", "f32[B,3]"}, "f32[4,3]"},
        {&dt_op_dot_general, &each, {"f32[B,4]", "f32[B,4,3]"}, "f32[B,3]"},
        {&dt_op_dot_general, &behind, {"f32[4]", "f32[B,4]"}, "f32[B]"},
        {&dt_op_dot_general, &experts, {"f32[B,3,2,4]", "f32[2,4,5]"}, "f32[B,3,2,5]"},
        {&dt_op_argmax, &last, {"f32[B,10]"}, "i32[B]"},
        {&dt_op_argmax, &first, {"f32[B,10]"}, "i32[10]"},
        {&dt_op_get_dimension_size, &first, {"f32[B*2,10]"}, "i32[]"},
        {&dt_op_broadcast_in_dim, &bias, {"f32[3]"}, "f32[B,3]"},
        {&dt_op_broadcast_in_dim, &up, {"f32[B]"}, "f32[B,3]"},
        {&dt_op_broadcast_in_dim, &up, {"f32[1]"}, "f32[B,3]"},
        {&dt_op_compare, &(dt_compare_attr){DT_LT}, {"f32[B]", "f32[B]"}, "i1[B]"},
        {&dt_op_softmax, NULL, {"f32[B,2,10]"}, "f32[B,2,10]"},
        {&dt_op_softmax_cross_entropy, NULL, {"f32[B,10]", "i64[B]"}, "f32[B]"},
        {&dt_op_softmax_cross_entropy, NULL, {"f64[B,10]", "f64[B,10]"}, "f64[B]"},
        {&dt_op_segment_reduce, &sums, {"f32[B*2,3]"}, "f32[8,3]"},
        {&dt_op_segment_deviations, &sums, {"f32[B*2,3]"}, "f32[8,3]"},
        {&dt_op_segment_dot_general, &products, {"f32[B,2]", "f32[B,3]"}, "f32[8,2,3]"},
        {&dt_op_segment_broadcast, &spread, {"f32[8,3]"}, "f32[B*2,3]"},
        {&dt_op_segment_sizes, &sums, {0}, "i32[8]"},
        {&dt_op_tree_sum, NULL, {"f32[8,3]"}, "f32[3]"},
        {&dt_op_gather, NULL, {"f32[100,8]", "i32[B,5]"}, "f32[B,5,8]"},
        {&dt_op_scatter_add, &(dt_rows_attr){100}, {"f32[B,5,8]", "i32[B,5]"}, "f32[100,8]"},
        {&dt_op_example_id, NULL, {0}, "i32[B]"},
        {&dt_op_random,
         &(dt_random_attr){.type = type_of("f32[B,8]")},
         {"i64[]", "i32[B]"},
         "f32[B,8]"},
    };
    ALL(cases, expect_type);
}

static void test_elementwise_constraints(void **state) {
    (void)state;
    dt_compare_attr bad_direction = {6};
    dt_convert_attr bad_dtype = {13};
    const infer_case cases[] = {
        {&dt_op_add,
         NULL,
         {"f32[B,3]", "f32[B,4]"},
         "(C1) expected two values of one type, got f32[B,3] and f32[B,4]"},
        {&dt_op_add,
         NULL,
         {"f32[B]", "f32[B*2]"},
         "(C1) expected two values of one type, got f32[B] and f32[B*2]"},
        {&dt_op_add, NULL, {"f32[3]", "i32[3]"}, "(C1)"},
        {&dt_op_subtract, NULL, {"i1[3]", "i1[3]"}, "(C2) expected numbers, got i1[3]"},
        {&dt_op_power, NULL, {"i32[3]", "i32[3]"}, "(C2) expected floats, got i32[3]"},
        {&dt_op_exponential, NULL, {"i32[3]"}, "(C1) expected floats, got i32[3]"},
        {&dt_op_negate, NULL, {"i1[]"}, "(C1) expected numbers, got i1[]"},
        {&dt_op_maximum, NULL, {"f32[]", "f32[1]"}, "(C1)"},
        {&dt_op_compare, &bad_direction, {"f32[]", "f32[]"}, "(C2) unknown direction 6"},
        {&dt_op_select,
         NULL,
         {"f32[3]", "f32[3]", "f32[3]"},
         "(C1) expected a predicate i1[3], got f32[3]"},
        {&dt_op_select, NULL, {"i1[]", "f32[3]", "f32[3]"}, "(C1)"},
        {&dt_op_select,
         NULL,
         {"i1[3]", "f32[3]", "f64[3]"},
         "(C2) expected two values of one type, got f32[3] and f64[3]"},
        {&dt_op_convert, &bad_dtype, {"f32[3]"}, "(C1) unknown dtype 13"},
    };
    ALL(cases, expect_error);
}

static void test_source_constraints(void **state) {
    (void)state;
    dt_index_attr late = {type_of("f32[3,B]"), 0}, state_type = {type_of("f32[B]"), 0};
    dt_constant_attr half = {type_of("i32[]"), 0.5}, large = {type_of("ui8[]"), 256},
                     nan = {type_of("i64[]"), NAN};
    dt_constant_attr two = {type_of("i1[]"), 2}, edge = {type_of("i64[]"), 0x1p63};
    dt_iota_attr axis = {type_of("i32[3]"), 1}, bools = {type_of("i1[3]"), 0};
    const infer_case cases[] = {
        {&dt_op_parameter,
         &late,
         {0},
         "(C1) makes f32[3,B] with the batch at dimension 1; it can only be dimension 0"},
        {&dt_op_variable, &state_type, {0}, "(C1) expected a shape without the batch, got f32[B]"},
        {&dt_op_constant, &half, {0}, "(C2) cannot hold 0.5 in int32"},
        {&dt_op_constant, &large, {0}, "(C2) cannot hold 256 in uint8"},
        {&dt_op_constant, &nan, {0}, "(C2) cannot hold nan in int64"},
        {&dt_op_constant, &two, {0}, "(C2)"},
        {&dt_op_constant, &edge, {0}, "(C2)"},
        {&dt_op_iota, &axis, {0}, "(C2) cannot count along dimension 1 of i32[3]"},
        {&dt_op_iota, &bools, {0}, "(C3) expected numbers, got i1[3]"},
    };
    ALL(cases, expect_error);
}

static void test_movement_constraints(void **state) {
    (void)state;
    dt_broadcast_attr other = {type_of("f64[B,3]"), {1}}, late = {type_of("f32[3,B]"), {0}};
    dt_broadcast_attr twice = {type_of("f32[3,3]"), {1, 1}};
    dt_broadcast_attr beyond = {type_of("f32[3]"), {1}}, wide = {type_of("f32[2,3]"), {0}},
                      rows = {type_of("f32[B,3]"), {0}};
    dt_reshape_attr count = {type_of("f32[5]")}, no_batch = {type_of("f32[32]")},
                    moved = {type_of("f32[4,B]")};
    dt_reshape_attr more_rows = {type_of("f32[B*2,4]")}, ints = {type_of("i32[4]")};
    dt_transpose_attr swap = {{1, 0}}, repeated = {{1, 1}}, negative = {{-1, 0}};
    dt_reduce_attr kind = {3, 1}, dims = {DT_REDUCE_SUM, 4}, sum = {DT_REDUCE_SUM, 1};
    dt_axis_attr two = {2};
    const infer_case cases[] = {
        {&dt_op_broadcast_in_dim, &other, {"f32[3]"}, "(C1) cannot make f64[B,3] from f32[3]"},
        {&dt_op_broadcast_in_dim,
         &late,
         {"f32[3]"},
         "(C1) makes f32[3,B] with the batch at dimension 1"},
        {&dt_op_broadcast_in_dim,
         &twice,
         {"f32[3,3]"},
         "(C2) cannot put dimension 1 of f32[3,3] at dimension 1"},
        {&dt_op_broadcast_in_dim, &beyond, {"f32[3]"}, "(C2)"},
        {&dt_op_broadcast_in_dim,
         &wide,
         {"f32[3]"},
         "(C3) cannot stretch dimension 0 of f32[3] to dimension 0 of f32[2,3]"},
        {&dt_op_broadcast_in_dim, &rows, {"f32[5]"}, "(C3)"},
        {&dt_op_reshape,
         &count,
         {"f32[4]"},
         "(C2) cannot make f32[5] from f32[4], which has a different number of elements"},
        {&dt_op_reshape, &no_batch, {"f32[B,32]"}, "(C2)"},
        {&dt_op_reshape, &more_rows, {"f32[B,4]"}, "(C2)"},
        {&dt_op_reshape, &moved, {"f32[B,4]"}, "(C1) makes f32[4,B] with the batch at dimension 1"},
        {&dt_op_reshape, &ints, {"f32[4]"}, "(C1) cannot make i32[4] from f32[4]"},
        {&dt_op_transpose,
         &swap,
         {"f32[B,3]"},
         "(C2) makes f32[3,B] with the batch at dimension 1; it can only be dimension 0"},
        {&dt_op_transpose,
         &repeated,
         {"f32[2,3]"},
         "(C1) expected a permutation of the 2 dimensions of f32[2,3], got 1 at 1"},
        {&dt_op_transpose, &negative, {"f32[2,3]"}, "(C1)"},
        {&dt_op_reduce, &sum, {"i1[3]"}, "(C1) expected numbers"},
        {&dt_op_reduce, &kind, {"f32[3]"}, "(C2) unknown kind 3"},
        {&dt_op_reduce,
         &dims,
         {"f32[3,3]"},
         "(C2) expected dimensions of f32[3,3], got the set 0x4"},
        {&dt_op_argmax, &two, {"f32[3,3]"}, "(C1) cannot look along dimension 2 of f32[3,3]"},
        {&dt_op_argmax, &(dt_axis_attr){0}, {"i1[3]"}, "(C2) expected numbers"},
        {&dt_op_get_dimension_size,
         &two,
         {"f32[3,3]"},
         "(C1) cannot measure dimension 2 of f32[3,3]"},
        {&dt_op_get_dimension_size, &(dt_axis_attr){0}, {"f32[3000000000]"}, "(C2)"},
    };
    ALL(cases, expect_error);
}

static void test_row_number_constraints(void **state) {
    (void)state;
    dt_rows_attr three = {3}, none = {0};
    dt_random_attr fixed = {.type = type_of("f32[4]")}, ints = {.type = type_of("i32[B]")};
    const infer_case cases[] = {
        {&dt_op_gather,
         NULL,
         {"f32[3,2]", "f32[2]"},
         "(C1) expected row numbers of integers, got f32[2]"},
        {&dt_op_gather,
         NULL,
         {"f32[]", "i32[2]"},
         "(C2) expected a table with a fixed number of rows, got f32[]"},
        {&dt_op_gather, NULL, {"f32[B,2]", "i32[2]"}, "(C2)"},
        {&dt_op_gather, NULL, {"f32[3,2,2,2,2]", "i32[2,2,2,2,2]"}, "(C3)"},
        {&dt_op_scatter_add, &three, {"f32[2]", "i1[2]"}, "(C1)"},
        {&dt_op_scatter_add,
         &three,
         {"f32[2]", "i32[3]"},
         "(C2) expected numbers for each of i32[3], got f32[2]"},
        {&dt_op_scatter_add, &three, {"f32[B]", "i32[B,2]"}, "(C2)"},
        {&dt_op_scatter_add, &none, {"f32[2]", "i32[2]"}, "(C3) cannot make 0 rows"},
        {&dt_op_random,
         &fixed,
         {"i32[]", "i32[4]"},
         "(C1) expected one int64 and a vector of integers, got i32[] and i32[4]"},
        {&dt_op_random, &fixed, {"i64[]", "i32[B]"}, "(C2) cannot draw f32[4] for i32[B]"},
        {&dt_op_random, &ints, {"i64[]", "i32[B]"}, "(C2)"},
    };
    ALL(cases, expect_error);
}

static void test_dot_general_constraints(void **state) {
    (void)state;
    dt_dot_attr dense = {.n_contract = 1, .lhs_contract = {1}}, outer = {0},
                twice = {.n_batch = 1, .n_contract = 1};
    dt_dot_attr beyond = {.n_contract = 1, .lhs_contract = {2}}, many = {.n_contract = 3},
                negative = {.n_batch = -1};
    dt_dot_attr behind = {.n_batch = 1,
                          .n_contract = 1,
                          .lhs_batch = {1},
                          .rhs_batch = {1},
                          .lhs_contract = {2},
                          .rhs_contract = {2}};
    dt_dot_attr summed = {
        .in_order = 1, .n_batch = 1, .n_contract = 1, .lhs_batch = {1}, .rhs_contract = {1}};
    const infer_case cases[] = {
        {&dt_op_dot_general,
         &dense,
         {"f32[2,3]", "f64[3,2]"},
         "(C1) expected numbers of one dtype, got f32[2,3] and f64[3,2]"},
        {&dt_op_dot_general, &dense, {"i1[2,3]", "i1[3,2]"}, "(C1)"},
        {&dt_op_dot_general,
         &twice,
         {"f32[2,3]", "f32[2,3]"},
         "(C2) cannot take dimension 0 of f32[2,3], or not again"},
        {&dt_op_dot_general,
         &beyond,
         {"f32[2,3]", "f32[2,3]"},
         "(C2) cannot take dimension 2 of f32[2,3]"},
        {&dt_op_dot_general,
         &many,
         {"f32[2,3]", "f32[2,3]"},
         "(C2) cannot take 3 dimensions of f32[2,3]"},
        {&dt_op_dot_general, &negative, {"f32[2,3]", "f32[2,3]"}, "(C2)"},
        {&dt_op_dot_general,
         &dense,
         {"f32[B,784]", "f32[785,10]"},
         "(C3) cannot join dimension 1 of f32[B,784] with dimension 0 of f32[785,10]"},
        {&dt_op_dot_general, &dense, {"f32[2,3]", "f32[B,3]"}, "(C3)"},
        {&dt_op_dot_general,
         &dense,
         {"f32[2,2,3,3,3]", "f32[2,3,3,3,3,3]"},
         "(C4) makes 9 dimensions; there can be at most 8"},
        {&dt_op_dot_general,
         &outer,
         {"f32[3]", "f32[B]"},
         "(C4) makes f32[3,B] with the batch at dimension 1; it can only be dimension 0"},
        {&dt_op_dot_general, &outer, {"f32[B]", "f32[B]"}, "(C4)"},
        {&dt_op_dot_general, &behind, {"f32[B,2,3]", "f32[4,2,3]"}, "(C4)"},
        {&dt_op_dot_general,
         &summed,
         {"f32[B,2,3]", "f32[2,B,4]"},
         "(C5) cannot contract dimension 0 of f32[B,2,3] in order"},
    };
    ALL(cases, expect_error);
}

static void test_composite_constraints(void **state) {
    (void)state;
    dt_all_reduce_attr sum = {.op = DT_SUM}, mean = {.op = DT_MEAN};
    dt_attention_attr looking = {.scale = 1}, no_input = {.scale = 1, .of = 3};
    dt_norm_attr norm = {1e-3};
    const infer_case cases[] = {
        {&dt_op_softmax, NULL, {"i32[B,3]"}, "(C1) expected floats"},
        {&dt_op_softmax,
         NULL,
         {"f32[B]"},
         "(C2) expected classes in the last dimension, got f32[B]"},
        {&dt_op_softmax, NULL, {"f32[]"}, "(C2)"},
        {&dt_op_softmax, NULL, {"f32[B,0]"}, "(C2)"},
        {&dt_op_softmax_cross_entropy, NULL, {"i32[B,3]", "i32[B]"}, "(C1)"},
        {&dt_op_softmax_cross_entropy, NULL, {"f32[B]", "i32[]"}, "(C2)"},
        {&dt_op_softmax_cross_entropy,
         NULL,
         {"f32[B,3]", "i32[B,3]"},
         "(C3) cannot compare logits f32[B,3] with a target i32[B,3]"},
        {&dt_op_softmax_cross_entropy, NULL, {"f32[B,3]", "f64[B,3]"}, "(C3)"},
        {&dt_op_softmax_cross_entropy, NULL, {"f32[B,3]", "f32[B]"}, "(C3)"},
        {&dt_op_softmax_cross_entropy, NULL, {"f32[B,3]", "i1[B]"}, "(C3)"},
        {&dt_op_softmax_cross_entropy_grad,
         NULL,
         {"f32[B,3]", "i32[B]", "f32[]"},
         "(C4) expected dy f32[B], got f32[]"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f32[B,6,2,3]", "f32[B,6,2,4]", "f32[B,5]"},
         "(C1) expected floats of one dtype and integers, got f32[B,5,2,3], f32[B,6,2,3], "
         "f32[B,6,2,4] and f32[B,5]"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f64[B,6,2,3]", "f32[B,6,2,4]", "i32[B,5]"},
         "(C1)"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f32[B,6,2,4]", "f32[B,6,2,4]", "i32[B,5]"},
         "(C2) cannot join queries f32[B,5,2,3], keys f32[B,6,2,4], values f32[B,6,2,4] and "
         "positions i32[B,5]"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,3,3]", "f32[B,6,2,3]", "f32[B,6,2,3]", "i32[B,5]"},
         "(C2)"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f32[B,6,4,3]", "f32[B,6,4,3]", "i32[B,5]"},
         "(C2)"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f32[B,6,1,3]", "f32[B,6,2,3]", "i32[B,5]"},
         "(C2)"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f32[B,6,0,3]", "f32[B,6,0,3]", "i32[B,5]"},
         "(C2)"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f32[6,2,3]", "f32[6,2,3]", "i32[B,5]"},
         "(C2)"},
        {&dt_op_attention,
         &looking,
         {"f32[B,5,2,3]", "f32[B,6,2,3]", "f32[B,6,2,3]", "i32[B,6]"},
         "(C2)"},
        {&dt_op_attention, &looking, {"f32[B,2,3]", "f32[B,2,3]", "f32[B,2,3]", "i32[B]"}, "(C2)"},
        {&dt_op_attention, &looking, {"f32[5,3]", "f32[5,3]", "f32[5,3]", "i32[5]"}, "(C2)"},
        {&dt_op_attention,
         &looking,
         {"f32[5,2,3]", "f32[0,2,3]", "f32[0,2,3]", "i32[5]"},
         "(C3) expected keys to look at"},
        {&dt_op_attention_grad,
         &looking,
         {"f32[5,2,3]", "f32[6,2,3]", "f32[6,2,4]", "f32[5,2,3]", "i32[5]"},
         "(C4) expected dy f32[5,2,4], got f32[5,2,3]"},
        {&dt_op_attention_grad,
         &no_input,
         {"f32[5,2,3]", "f32[6,2,3]", "f32[6,2,4]", "f32[5,2,4]", "i32[5]"},
         "(C4)"},
        {&dt_op_layer_norm, &norm, {"i32[B,3]", "i32[3]", "i32[3]"}, "(C1) expected floats"},
        {&dt_op_layer_norm,
         &norm,
         {"f32[B]", "f32[3]", "f32[3]"},
         "(C1) expected features in the last dimension, got f32[B]"},
        {&dt_op_layer_norm,
         &norm,
         {"f32[B,3]", "f32[3]", "f32[2]"},
         "(C2) expected a vector f32[3], got f32[2]"},
        {&dt_op_layer_norm_grad, &norm, {"f32[B,3]", "f32[2]", "f32[B,3]"}, "(C2)"},
        {&dt_op_layer_norm_grad,
         &norm,
         {"f32[B,3]", "f32[3]", "f32[B,2]"},
         "(C3) expected dy f32[B,3], got f32[B,2]"},
        {&dt_op_layer_norm_scale_grad,
         &norm,
         {"f32[B,3]", "f32[3]"},
         "(C2) expected dy f32[B,3], got f32[3]"},
        {&dt_op_gelu, &(dt_gelu_attr){0}, {"i32[3]"}, "(C1) expected floats"},
        {&dt_op_all_reduce,
         &sum,
         {"f32[B,3]"},
         "(C1) cannot add f32[B,3] over replicas, whose batches differ in size"},
        {&dt_op_all_reduce, &sum, {"i1[]"}, "(C2) expected numbers"},
        {&dt_op_all_reduce, &mean, {"i32[]"}, "(C2) expected floats"},
    };
    ALL(cases, expect_error);
}

static void test_segment_constraints(void **state) {
    (void)state;
    dt_segment_attr none = {.count = 0}, strange = {.cut = 3, .count = 2},
                    kept = {.count = 2, .reduce = {DT_REDUCE_SUM, 2}};
    dt_segment_attr sum = {.count = 2, .reduce = {DT_REDUCE_SUM, 5}},
                    product = {.count = 2, .dot = {.n_contract = 1}},
                    spread = {.count = 2, .type = type_of("f32[B,3]")};
    dt_segment_attr columns = {.count = 2,
                               .dot = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}}};
    dt_segment_attr most = {.count = 2, .reduce = {DT_REDUCE_MAX, 1}},
                    rows = {.count = 2, .reduce = {DT_REDUCE_SUM, 1}};
    dt_segment_attr fixed = {.count = 2, .type = type_of("f32[4,3]")};
    const infer_case cases[] = {
        {&dt_op_segment_sizes, &none, {0}, "(C1) unknown cut 0 into 0 segments"},
        {&dt_op_segment_sizes, &strange, {0}, "(C1) unknown cut 3 into 2 segments"},
        {&dt_op_segment_reduce, &none, {"f32[B,3]"}, "(C3) unknown cut"},
        {&dt_op_segment_reduce,
         &sum,
         {"f32[4,3]"},
         "(C4) expected the batch as dimension 0, got f32[4,3]"},
        {&dt_op_segment_reduce, &kept, {"f32[B,3]"}, "(C4) must reduce dimension 0 of f32[B,3]"},
        {&dt_op_segment_reduce,
         &sum,
         {"f32[B,3]"},
         "(C2) expected dimensions of f32[B,3], got the set 0x5"},
        {&dt_op_segment_deviations,
         &most,
         {"f32[B,3]"},
         "(C2) expected a sum of floats, got one of f32[B,3]"},
        {&dt_op_segment_deviations,
         &rows,
         {"i32[B,3]"},
         "(C2) expected a sum of floats, got one of i32[B,3]"},
        {&dt_op_segment_deviations,
         &kept,
         {"f32[B,3]"},
         "(C4) must reduce dimension 0 of f32[B,3]"},
        {&dt_op_segment_dot_general,
         &columns,
         {"f32[B,3]", "f32[B,3]"},
         "(C6) must contract dimension 0 of f32[B,3] and f32[B,3]"},
        {&dt_op_segment_dot_general,
         &product,
         {"f32[B,3]", "f32[4,3]"},
         "(C6) expected the batch as dimension 0, got f32[4,3]"},
        {&dt_op_segment_dot_general, &product, {"f32[B,3]", "f32[B*2,3]"}, "(C3)"},
        {&dt_op_segment_dot_general,
         &product,
         {"f32[B,1,1,1,1,1]", "f32[B,1,1,1]"},
         "(C4) makes 9 dimensions"},
        {&dt_op_segment_broadcast,
         &fixed,
         {"f32[2,3]"},
         "(C2) expected the batch as dimension 0, got f32[4,3]"},
        {&dt_op_segment_broadcast,
         &spread,
         {"f32[3,3]"},
         "(C3) expected f32[2,3] to make f32[B,3], got f32[3,3]"},
        {&dt_op_tree_sum, NULL, {"i1[3]"}, "(C1)"},
        {&dt_op_tree_sum,
         NULL,
         {"f32[]"},
         "(C2) expected a number of entries as dimension 0, got f32[]"},
        {&dt_op_tree_sum, NULL, {"f32[B,3]"}, "(C2)"},
    };
    ALL(cases, expect_error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_with_batch),
        cmocka_unit_test(test_elementwise_constraints),
        cmocka_unit_test(test_source_constraints),
        cmocka_unit_test(test_movement_constraints),
        cmocka_unit_test(test_row_number_constraints),
        cmocka_unit_test(test_dot_general_constraints),
        cmocka_unit_test(test_composite_constraints),
        cmocka_unit_test(test_segment_constraints),
    };
    return cmocka_run_group_tests_name("op infer", tests, NULL, NULL);
}

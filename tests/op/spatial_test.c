/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that go over windows, move and join: what they refuse, how they split, what they print,
 * and results known by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "types.h"

typedef struct application {
    const dt_op *op;
    const void *attr;
    const char *in[2];
    const char *ought; /* of a refusal: a part of its text; else what is looked at */
} application;

static dt_status *infer(const application *a, dt_type in[2], dt_type *out) {
    for (int i = 0; i < a->op->n_in; i++) in[i] = type_of(a->in[i]);
    dt_infer q = {.op = a->op, .in = in, .n_in = a->op->n_in, .attr = a->attr};
    dt_status *s = a->op->infer(&q);
    *out = q.out;
    return s;
}

static void expect_refusals(const application *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        dt_type in[2], out;
        dt_status *s = infer(&cases[i], in, &out);
        if (!s) fail_msg("%s took %s", cases[i].op->name, cases[i].in[0]);
        if (!strstr(dt_status_text(s), cases[i].ought))
            fail_msg("%s does not say '%s'", dt_status_text(s), cases[i].ought);
        dt_status_free(s);
    }
}

static void expect_types(const application *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        dt_type in[2], out, ought = type_of(cases[i].ought);
        dt_status *s = infer(&cases[i], in, &out);
        if (s) fail_msg("%s", dt_status_text(s));
        if (!dt_type_equal(&out, &ought)) {
            dt_str text = {0};
            dt_type_print(&out, &text);
            fail_msg("%s makes %s, not %s", cases[i].op->name, dt_str_text(&text), cases[i].ought);
        }
    }
}
#define N(cases) (sizeof(cases) / sizeof *(cases))

/* ---- convolution ---- */

static dt_convolution_attr conv2d(void) { return dt_convolution_channels_last(2); }

static void test_convolution_types(void **state) {
    (void)state;
    dt_convolution_attr plain = conv2d(), strided = conv2d(), groups = conv2d(), kernel = conv2d();
    strided.window[0] =
        (dt_window){.stride = 2, .low = 1, .high = 1, .base_dilation = 1, .dilation = 1};
    strided.window[1] = (dt_window){.stride = 1, .base_dilation = 2, .dilation = 2};
    groups.feature_groups = 2;
    /* of a kernel's gradient: f01b x i01o -> 01bf */
    kernel.lhs_batch = kernel.rhs_in = kernel.rhs_spatial[0] = 3;
    kernel.lhs_feature = kernel.rhs_in = 0;
    kernel.rhs_spatial[0] = 1;
    kernel.rhs_spatial[1] = 2;
    kernel.out_spatial[0] = 0;
    kernel.out_spatial[1] = 1;
    kernel.out_batch = 2;
    const application cases[] = {
        {&dt_op_convolution, &plain, {"f32[B,28,28,1]", "f32[3,3,1,8]"}, "f32[B,26,26,8]"},
        {&dt_op_convolution, &strided, {"f32[B*2,5,4,1]", "f32[3,3,1,8]"}, "f32[B*2,3,3,8]"},
        {&dt_op_convolution, &groups, {"f32[B,5,5,4]", "f32[3,3,2,6]"}, "f32[B,3,3,6]"},
        {&dt_op_convolution, &kernel, {"f32[B,28,28,4]", "f32[B,26,26,8]"}, "f32[3,3,4,8]"},
    };
    expect_types(cases, N(cases));
}

static void test_convolution_constraints(void **state) {
    (void)state;
    dt_convolution_attr plain = conv2d(), twice = conv2d(), groups = conv2d(), both = conv2d(),
                        still = conv2d(), huge = conv2d(), flat = conv2d();
    dt_convolution_attr of_batch = conv2d();
    twice.lhs_feature = 0;
    groups.feature_groups = 3;
    both.feature_groups = both.batch_groups = 2;
    of_batch.batch_groups = 2;
    still.window[1].stride = 0;
    huge.window[0].low = INT64_MAX;
    flat.n_spatial = 4;
    const application cases[] = {
        {&dt_op_convolution, &plain, {"i32[B,5,5,1]", "i32[3,3,1,8]"}, "(C1) expected floats"},
        {&dt_op_convolution,
         &plain,
         {"f32[B,5,5,1]", "f64[3,3,1,8]"},
         "(C1) cannot go over f32[B,5,5,1] with f64[3,3,1,8]"},
        {&dt_op_convolution, &plain, {"f32[B,5,5]", "f32[3,3,1,8]"}, "(C1)"},
        {&dt_op_convolution, &flat, {"f32[B,5,5,1]", "f32[3,3,1,8]"}, "(C1)"},
        {&dt_op_convolution,
         &twice,
         {"f32[B,5,5,1]", "f32[3,3,1,8]"},
         "(C2) expected every dimension"},
        {&dt_op_convolution,
         &plain,
         {"f32[B,5,5,2]", "f32[3,3,1,8]"},
         "(C3) cannot give the features of f32[B,5,5,2], in 1 groups, to f32[3,3,1,8]"},
        {&dt_op_convolution,
         &groups,
         {"f32[B,5,5,3]", "f32[3,3,1,8]"},
         "(C3) cannot divide f32[B,5,5,3] and f32[3,3,1,8] into 3 groups"},
        {&dt_op_convolution,
         &both,
         {"f32[4,5,5,2]", "f32[3,3,1,8]"},
         "(C3) cannot make 2 groups of features and 2 of the batch"},
        {&dt_op_convolution, &of_batch, {"f32[B,5,5,1]", "f32[3,3,1,8]"}, "(C3)"},
        {&dt_op_convolution,
         &still,
         {"f32[B,5,5,1]", "f32[3,3,1,8]"},
         "(C4) has no place for f32[3,3,1,8] on f32[B,5,5,1] in spatial dimension 1"},
        {&dt_op_convolution, &huge, {"f32[B,5,5,1]", "f32[3,3,1,8]"}, "(C4)"},
        {&dt_op_convolution, &plain, {"f32[B,2,5,1]", "f32[3,3,1,8]"}, "(C4)"},
        {&dt_op_convolution, &plain, {"f32[4,B,5,1]", "f32[3,3,1,8]"}, "(C5)"},
    };
    expect_refusals(cases, N(cases));
}

/* ---- windows, pads, slices ---- */

static void test_window_constraints(void **state) {
    (void)state;
    dt_reduce_window_attr plain = dt_windows_of_one(DT_REDUCE_MAX, 2), batch = plain, wide = plain,
                          kind = plain, sum = plain;
    plain.size[1] = 2;
    batch.size[0] = 2;
    wide.size[1] = 9;
    kind.kind = 3;
    sum.kind = DT_REDUCE_SUM;
    const application types[] = {
        {&dt_op_reduce_window, &plain, {"f32[B,5]"}, "f32[B,4]"},
        {&dt_op_select_and_scatter, &plain, {"f32[B,5]", "f32[B,4]"}, "f32[B,5]"},
    };
    const application refusals[] = {
        {&dt_op_reduce_window, &plain, {"i32[B,5]"}, "(C1) expected floats"},
        {&dt_op_reduce_window, &kind, {"f32[B,5]"}, "(C1) unknown kind 3"},
        {&dt_op_reduce_window,
         &wide,
         {"f32[B,5]"},
         "(C2) has no place for a window of 9 on dimension 1 of f32[B,5]"},
        {&dt_op_reduce_window, &plain, {"f32[B,5,5]"}, "(C2)"},
        {&dt_op_reduce_window, &batch, {"f32[B,5]"}, "(C3) cannot go over the batch of f32[B,5]"},
        {&dt_op_select_and_scatter, &sum, {"f32[B,5]", "f32[B,5]"}, "(C1) cannot select by a sum"},
        {&dt_op_select_and_scatter,
         &plain,
         {"f32[B,5]", "f32[B,5]"},
         "(C4) expected dy f32[B,4], got f32[B,5]"},
    };
    expect_types(types, N(types));
    expect_refusals(refusals, N(refusals));
}

static void test_movement_constraints(void **state) {
    (void)state;
    dt_pad_attr pad = {.dim = {[1] = {1, 2, 1}}}, batch = {.dim = {{1, 0, 0}}},
                cut = {.dim = {[1] = {-3, -3, 0}}};
    dt_pad_attr holes = {.dim = {[1] = {0, 0, -1}}},
                huge = {.dim = {[1] = {INT64_MAX, INT64_MAX, 0}}};
    dt_slice_attr part = {.dim = {{0, -1, 1}, {1, 2, 2}}},
                  beyond = {.dim = {{0, -1, 1}, {1, 3, 2}}};
    dt_slice_attr rows = {.dim = {{1, 1, 1}, {0, 5, 1}}}, still = {.dim = {{0, -1, 1}, {0, 1, 0}}};
    dt_axis_attr last = {1}, first = {0}, none = {2};
    dt_reverse_attr columns = {2}, all = {3}, more = {4};
    const application types[] = {
        {&dt_op_pad, &pad, {"f32[B,5]"}, "f32[B,12]"},
        {&dt_op_slice, &part, {"f32[B,5]"}, "f32[B,2]"},
        {&dt_op_concatenate, &last, {"i32[B,5]", "i32[B,2]"}, "i32[B,7]"},
        {&dt_op_reverse, &columns, {"i8[B,5]"}, "i8[B,5]"},
    };
    const application refusals[] = {
        {&dt_op_pad, &pad, {"i32[B,5]"}, "(C1) expected floats"},
        {&dt_op_pad, &batch, {"f32[B,5]"}, "(C2) cannot pad the batch of f32[B,5]"},
        {&dt_op_pad,
         &cut,
         {"f32[B,5]"},
         "(C3) cannot put -3 before, -3 behind and 0 between the elements of dimension 1 of "
         "f32[B,5]"},
        {&dt_op_pad, &holes, {"f32[B,5]"}, "(C3)"},
        {&dt_op_pad, &huge, {"f32[B,5]"}, "(C3)"},
        {&dt_op_slice,
         &beyond,
         {"f32[B,5]"},
         "(C1) cannot take 3 elements of dimension 1 of f32[B,5] from 1 on, 2 apart"},
        {&dt_op_slice, &still, {"f32[B,5]"}, "(C1)"},
        {&dt_op_slice, &rows, {"f32[B,5]"}, "(C2) cannot take a part of the batch of f32[B,5]"},
        {&dt_op_concatenate,
         &first,
         {"f32[B,5]", "f32[B,5]"},
         "(C1) cannot join along dimension 0 of f32[B,5]"},
        {&dt_op_concatenate, &none, {"f32[B,5]", "f32[B,5]"}, "(C1)"},
        {&dt_op_concatenate,
         &last,
         {"f32[B,5]", "f64[B,5]"},
         "(C2) cannot join f32[B,5] and f64[B,5]"},
        {&dt_op_concatenate, &last, {"f32[B,5]", "f32[5]"}, "(C2)"},
        {&dt_op_concatenate, &last, {"f32[B,5]", "f32[B*2,5]"}, "(C2)"},
        {&dt_op_reverse,
         &all,
         {"f32[B,5]"},
         "(C1) cannot reverse the set 0x3 of dimensions of f32[B,5]"},
        {&dt_op_reverse, &more, {"f32[4,5]"}, "(C1)"},
    };
    expect_types(types, N(types));
    expect_refusals(refusals, N(refusals));
}

/* ---- rules, text ---- */

static void put_factors(dt_str *out, const int8_t *factors, int rank) {
    for (int d = 0; d < rank; d++)
        dt_str_putc(out, factors[d] < 0 ? '.' : (char)('a' + factors[d]));
}

static void test_rules_by_hand(void **state) {
    (void)state;
    dt_convolution_attr plain = conv2d(), groups = conv2d();
    dt_reduce_window_attr pool = dt_windows_of_one(DT_REDUCE_MAX, 4);
    dt_pad_attr pad = {.dim = {[1] = {1, 2, 1}}};
    dt_slice_attr part = {.dim = {{0, -1, 1}, {1, 2, 2}, {0, 3, 1}}};
    groups.feature_groups = 2;
    pool.size[1] = pool.size[2] = 2;
    const application cases[] = {
        {&dt_op_convolution, &plain, {"f32[B,5,5,4]", "f32[3,3,4,6]"}, "a..c,..cb->a..b"},
        {&dt_op_convolution, &groups, {"f32[B,5,5,4]", "f32[3,3,2,6]"}, "a...,....->a..."},
        {&dt_op_reduce_window, &pool, {"f32[B,5,5,4]"}, "a..d->a..d"},
        {&dt_op_select_and_scatter, &pool, {"f32[B,5,5,4]", "f32[B,4,4,4]"}, "a..d,a..d->a..d"},
        {&dt_op_pad, &pad, {"f32[B,5,3]"}, "a.c->a.c"},
        {&dt_op_slice, &part, {"f32[B,5,3]"}, "a.c->a.c"},
        {&dt_op_concatenate, &(dt_axis_attr){1}, {"f32[B,5,3]", "f32[B,2,3]"}, "a.c,a.c->a.c"},
        {&dt_op_reverse, &(dt_reverse_attr){2}, {"f32[B,5,3]"}, "a.c->a.c"},
    };
    for (size_t i = 0; i < N(cases); i++) {
        dt_type in[2], out;
        dt_rule rule;
        dt_str text = {0};
        assert_null(infer(&cases[i], in, &out));
        cases[i].op->rule(in, &out, cases[i].attr, &rule);
        for (int k = 0; k < cases[i].op->n_in; k++) {
            dt_str_puts(&text, k ? "," : "");
            put_factors(&text, rule.in[k], in[k].rank);
        }
        dt_str_puts(&text, "->");
        put_factors(&text, rule.out, out.rank);
        assert_string_equal(dt_str_text(&text), cases[i].ought);
        dt_str_release(&text);
    }
}

static void test_attributes_as_text(void **state) {
    (void)state;
    dt_convolution_attr plain = conv2d(), strided = conv2d();
    dt_reduce_window_attr pool = dt_windows_of_one(DT_REDUCE_MAX, 4);
    dt_pad_attr pad = {.value = 0.5, .dim = {[1] = {1, -2, 1}, [2] = {0, 3, 0}}};
    dt_slice_attr part = {.dim = {{0, -1, 1}, {1, 2, 2}, {0, 3, 1}}};
    strided.window[0] =
        (dt_window){.stride = 2, .low = 1, .high = 1, .base_dilation = 1, .dilation = 1};
    strided.feature_groups = 2;
    pool.size[1] = pool.size[2] = pool.window[1].stride = pool.window[2].stride = 2;
    const struct {
        const dt_op *op;
        const void *attr;
        const char *text;
    } rows[] = {
        {&dt_op_convolution, &plain, "b01f x 01io -> b01f"},
        {&dt_op_convolution, &strided,
         "b01f x 01io -> b01f stride=[2,1] low=[1,0] high=[1,0] feature_groups=2"},
        {&dt_op_reduce_window, &pool, "max size=[1,2,2,1] stride=[1,2,2,1]"},
        {&dt_op_pad, &pad, "0.5 dims=[1=1_-2_1,2=0_3]"},
        {&dt_op_slice, &part, "[B, 1:2:2, 0:3]"},
        {&dt_op_concatenate, &(dt_axis_attr){1}, "axis=1"},
        {&dt_op_reverse, &(dt_reverse_attr){6}, "dims=[1,2]"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        dt_str text = {0};
        rows[i].op->attr.print(rows[i].attr, &text);
        assert_string_equal(dt_str_text(&text), rows[i].text);
        dt_str_release(&text);
    }
}

static void test_costs(void **state) {
    (void)state;
    dt_convolution_attr plain = conv2d();
    dt_node node = {.op = &dt_op_convolution, .attr = &plain, .n_in = 2};
    dt_view in[2] = {{type_of("f32[2,5,5,4]"), NULL}, {type_of("f32[3,3,4,6]"), NULL}};
    dt_call call = {.node = &node, .in = in, .out = {type_of("f32[2,3,3,6]"), NULL}};
    dt_cost cost;
    dt_op_convolution.cost(&call, &cost);
    assert_true(cost.flops == 2.0 * (2 * 3 * 3 * 6) * (3 * 3 * 4));
    assert_true(cost.bytes == 4.0 * (2 * 5 * 5 * 4 + 3 * 3 * 4 * 6 + 2 * 3 * 3 * 6));
}

/* ---- results ---- */

static void expect_values(const application *a, const double *x, const double *y,
                          const double *ought) {
    dt_type in[2], out;
    const double *given[2] = {x, y};
    dt_view view[2] = {0};
    assert_null(infer(a, in, &out));
    for (int i = 0; i < a->op->n_in; i++) view[i] = view_from(a->in[i], given[i]);
    dt_node node = {.op = a->op, .type = out, .n_in = a->op->n_in, .attr = a->attr};
    dt_view is = {out, malloc((size_t)dt_type_bytes(&out))};
    a->op->eval(&(dt_call){.node = &node, .in = view, .out = is});
    for (int64_t i = 0; i < dt_type_elements(&out); i++)
        if (dt_cell_double(&is, i) != ought[i])
            fail_msg("%s: element %d is %g, not %g", a->op->name, (int)i, dt_cell_double(&is, i),
                     ought[i]);
    free(is.data);
    free(view[0].data);
    free(view[1].data);
}

static void test_results_by_hand(void **state) {
    (void)state;
    dt_convolution_attr line = dt_convolution_channels_last(1);
    dt_reduce_window_attr top = dt_windows_of_one(DT_REDUCE_MAX, 1), sum;
    dt_pad_attr pad = {.value = 9, .dim = {{1, -1, 1}}};
    dt_slice_attr odd = {.dim = {{1, 2, 2}}};
    top.size[0] = 2;
    sum = top;
    sum.kind = DT_REDUCE_SUM;
    sum.window[0].low = 1;
    expect_values(&(application){&dt_op_convolution, &line, {"f64[1,4,1]", "f64[2,1,1]"}, NULL},
                  VALUES(1, 2, 3, 4), VALUES(10, 1),
                  VALUES(12, 23, 34)); /* no kernel is turned round */
    expect_values(&(application){&dt_op_reduce_window, &top, {"f64[4]"}, NULL}, VALUES(1, 5, 5, 2),
                  NULL, VALUES(5, 5, 5));
    expect_values(&(application){&dt_op_reduce_window, &sum, {"f64[4]"}, NULL}, VALUES(1, 5, 5, 2),
                  NULL, VALUES(1, 6, 10, 7));
    expect_values(&(application){&dt_op_select_and_scatter, &top, {"f64[4]", "f64[3]"}, NULL},
                  VALUES(1, 5, 5, 2), VALUES(1, 10, 100),
                  VALUES(0, 11, 100, 0)); /* the first of equals */
    expect_values(&(application){&dt_op_pad, &pad, {"f64[3]"}, NULL}, VALUES(1, 2, 3), NULL,
                  VALUES(9, 1, 9, 2, 9));
    expect_values(&(application){&dt_op_slice, &odd, {"f64[5]"}, NULL}, VALUES(0, 1, 2, 3, 4), NULL,
                  VALUES(1, 3));
    expect_values(
        &(application){&dt_op_concatenate, &(dt_axis_attr){1}, {"f64[2,1]", "f64[2,2]"}, NULL},
        VALUES(1, 2), VALUES(3, 4, 5, 6), VALUES(1, 3, 4, 2, 5, 6));
    expect_values(&(application){&dt_op_reverse, &(dt_reverse_attr){2}, {"f64[2,2]"}, NULL},
                  VALUES(1, 2, 3, 4), NULL, VALUES(2, 1, 4, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution_types),
        cmocka_unit_test(test_convolution_constraints),
        cmocka_unit_test(test_window_constraints),
        cmocka_unit_test(test_movement_constraints),
        cmocka_unit_test(test_rules_by_hand),
        cmocka_unit_test(test_attributes_as_text),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_results_by_hand),
    };
    return cmocka_run_group_tests_name("spatial ops", tests, NULL, NULL);
}

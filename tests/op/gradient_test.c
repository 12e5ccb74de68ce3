/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse mode on functions whose derivatives are known by hand, and where it stops. (Each op's own
 * rule: ops_test.c.) */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "op/op.h"

/* A trace with x: f32[B,2] and row: f32[2]. */
typedef struct setting {
    dt_trace *trace;
    dt_value x, row;
} setting;

static setting start(void) {
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 2}),
            row = dt_type_of(DT_FLOAT32, 1, (int64_t[]){2});
    setting s = {.trace = dt_trace_create("test")};
    s.x = dt_trace_declare(s.trace, "x", &rows);
    s.row = dt_trace_declare(s.trace, "row", &row);
    return s;
}

static const float xs[6] = {1, -2, 3, 4, -5, 6}; /* (3, 2) */
static const float row_values[2] = {10, 20};

/* Ends the trace with `value` as its result, runs it and compares. */
static void expect(setting *s, dt_value value, const float *expected, int n) {
    dt_graph *g = NULL;
    dt_interpretation out;
    dt_view arg[2] = {{dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 2}), (void *)xs},
                      {dt_type_of(DT_FLOAT32, 1, (int64_t[]){2}), (void *)row_values}};
    dt_return(s->trace, "value", value);
    dt_status *bad = dt_trace_end(s->trace, &g);
    if (!bad) bad = dt_interpret(g, NULL, 1, &(int64_t){3}, arg, &out);
    if (bad) fail_msg("%s", dt_status_text(bad));
    assert_int_equal(dt_type_elements(&out.result[0].type), n);
    for (int i = 0; i < n; i++)
        assert_float_equal(((const float *)out.result[0].data)[i], expected[i], 1e-6);
    dt_interpretation_release(&out);
    dt_graph_destroy(g);
}

static dt_value gradient_of(dt_value loss, dt_value x) {
    dt_value out;
    dt_gradients_of(loss, &x, 1, &out);
    return out;
}

static void test_square_by_one_node_used_twice(void **state) {
    (void)state;
    setting s = start();
    dt_value loss = dt_reduce_sum(dt_multiply(s.x, s.x), DT_NO_AXIS);
    expect(&s, gradient_of(loss, s.x), (float[]){2, -4, 6, 8, -10, 12}, 6);
}

static void test_branches_add_up(void **state) {
    (void)state;
    setting s = start();
    dt_value three = dt_like(s.x, 3), branch = dt_negate(s.x); /* x * 3 + (-x) * x */
    dt_value loss =
        dt_reduce_sum(dt_add(dt_multiply(s.x, three), dt_multiply(branch, s.x)), DT_NO_AXIS);
    expect(&s, gradient_of(loss, s.x), (float[]){1, 7, -3, -5, 13, -9}, 6);
}

static void test_broadcast_values_collect_all_rows(void **state) {
    (void)state;
    setting s = start();
    dt_value loss = dt_reduce_sum(dt_multiply(s.x, s.row), DT_NO_AXIS);
    expect(&s, gradient_of(loss, s.row), (float[]){-1, 8}, 2);
    s = start();
    loss = dt_reduce_sum(dt_add(s.x, s.row), DT_NO_AXIS);
    expect(&s, gradient_of(loss, s.row), (float[]){3, 3}, 2);
}

static void test_mean_spreads_over_the_batch_at_hand(void **state) {
    (void)state;
    setting s = start();
    dt_value loss = dt_reduce_mean(dt_multiply(s.x, s.row), DT_NO_AXIS);
    expect(&s, gradient_of(loss, s.x),
           (float[]){10 / 6.0f, 20 / 6.0f, 10 / 6.0f, 20 / 6.0f, 10 / 6.0f, 20 / 6.0f}, 6);
}

static void test_values_in_between_have_gradients_too(void **state) {
    (void)state;
    setting s = start();
    dt_value middle = dt_multiply(s.x, s.row);
    dt_value loss = dt_reduce_sum(dt_multiply(middle, middle), DT_NO_AXIS);
    dt_value x[2] = {middle, s.x}, out[2];
    dt_gradients_of(loss, x, 2, out);
    dt_value both = dt_subtract(out[1], dt_multiply(out[0], s.row)); /* d/dx = d/dmiddle * row */
    expect(&s, both, (float[6]){0}, 6);
}

static void test_the_loss_itself_has_gradient_one(void **state) {
    (void)state;
    setting s = start();
    dt_value loss = dt_reduce_sum(s.x, DT_NO_AXIS);
    expect(&s, gradient_of(loss, loss), (float[]){1}, 1);
}

static void test_matmul_gradients(void **state) {
    (void)state;
    setting s = start();
    dt_value kernel = dt_reshape(s.row, 2, (int64_t[]){2, 1});
    /* d/dkernel: column sums of x */
    dt_value loss = dt_reduce_sum(dt_matmul(s.x, kernel), DT_NO_AXIS);
    expect(&s, gradient_of(loss, s.row), (float[]){-1, 8}, 2);
}

static void test_no_dependence_no_value(void **state) {
    (void)state;
    setting s = start();
    dt_value loss = dt_reduce_sum(s.x, DT_NO_AXIS);
    dt_value later = dt_add(loss, loss); /* does not come before the loss */
    int before = dt_trace_count(s.trace);
    assert_null(gradient_of(loss, s.row).trace);
    assert_null(gradient_of(loss, later).trace);
    assert_null(gradient_of(loss, (dt_value){0}).trace);
    assert_int_equal(dt_trace_count(s.trace), before); /* and nothing was emitted for it */
    assert_null(dt_trace_error(s.trace));
    dt_trace_destroy(s.trace);
}

static void test_comparisons_and_integers_stop_gradients(void **state) {
    (void)state;
    setting s = start();
    dt_value positive = dt_compare(s.x, dt_like(s.x, 0), DT_GT);
    dt_value loss = dt_reduce_sum(dt_convert(positive, DT_FLOAT32), DT_NO_AXIS);
    assert_null(gradient_of(loss, s.x).trace);
    dt_value whole = dt_convert(dt_convert(s.x, DT_INT32), DT_FLOAT32);
    assert_null(gradient_of(dt_reduce_sum(whole, DT_NO_AXIS), s.x).trace);
    /* relu: the choice has no gradient, the chosen has */
    dt_value kept = dt_select(positive, s.x, dt_like(s.x, 0));
    expect(&s, gradient_of(dt_reduce_sum(kept, DT_NO_AXIS), s.x), (float[]){1, 0, 1, 1, 0, 1}, 6);
}

static void test_gradients_carry_the_layer_of_their_node(void **state) {
    (void)state;
    setting s = start();
    const char *before = dt_trace_path(s.trace, "dense");
    dt_value inner = dt_exponential(s.x);
    dt_trace_path(s.trace, before);
    dt_value g = gradient_of(dt_reduce_sum(inner, DT_NO_AXIS), s.x);
    assert_string_equal(dt_node_of(g)->path, "dense");
    assert_string_equal(dt_trace_path(s.trace, ""), "");
    dt_trace_destroy(s.trace);
}

/* As with GradientTape: the gradient of the sum, which value numbering makes the very same
 * nodes. */
static void test_a_loss_with_a_shape_counts_as_its_sum(void **state) {
    (void)state;
    setting s = start();
    dt_value y = dt_exponential(s.x);
    assert_int_equal(gradient_of(y, s.x).node, gradient_of(dt_reduce_sum(y, DT_NO_AXIS), s.x).node);
    assert_null(dt_trace_error(s.trace));
    dt_trace_destroy(s.trace);
}

static void test_losses_are_floats(void **state) {
    (void)state;
    setting s = start();
    assert_null(gradient_of(dt_dim_value(s.x, 0), s.x).trace);
    assert_int_equal(dt_status_number(dt_trace_error(s.trace)), DT_E_MODEL_SHAPE);
    assert_string_equal(dt_status_text(dt_trace_error(s.trace)),
                        "a gradient needs a loss of floating-point numbers, got i32[]");
    /* a failed trace: nothing happens */
    assert_null(gradient_of(dt_constant(s.trace, 1), s.x).trace);
    dt_trace_destroy(s.trace);
}

static void test_foreign_values_are_refused(void **state) {
    (void)state;
    setting s = start(), other = start();
    assert_null(gradient_of(dt_reduce_sum(s.x, DT_NO_AXIS), other.x).trace);
    assert_int_equal(dt_status_number(dt_trace_error(s.trace)), DT_E_TRACE_VALUE);
    assert_null(dt_trace_error(other.trace));
    dt_trace_destroy(s.trace);
    dt_trace_destroy(other.trace);
}

/* f + (g + h) as written left to right and right to left: one order of sums, one text. */
static void test_sums_do_not_depend_on_evaluation_order(void **state) {
    (void)state;
    dt_str text[2] = {{0}, {0}};
    for (int order = 0; order < 2; order++) {
        setting s = start();
        dt_value f[3] = {{0}};
        for (int i = 0; i < 3; i++) {
            int k = order ? 2 - i : i;
            f[k] = k == 0 ? dt_exponential(s.x) : k == 1 ? dt_tanh(s.x) : dt_logistic(s.x);
        }
        dt_value loss = dt_reduce_sum(dt_add(f[0], dt_add(f[1], f[2])), DT_NO_AXIS);
        dt_return(s.trace, "gradient", gradient_of(loss, s.x));
        dt_graph *g = NULL;
        assert_null(dt_trace_end(s.trace, &g));
        dt_graph_print(g, &text[order]);
        dt_graph_destroy(g);
    }
    assert_string_equal(dt_str_text(&text[0]), dt_str_text(&text[1]));
    dt_str_release(&text[0]);
    dt_str_release(&text[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square_by_one_node_used_twice),
        cmocka_unit_test(test_branches_add_up),
        cmocka_unit_test(test_broadcast_values_collect_all_rows),
        cmocka_unit_test(test_mean_spreads_over_the_batch_at_hand),
        cmocka_unit_test(test_values_in_between_have_gradients_too),
        cmocka_unit_test(test_the_loss_itself_has_gradient_one),
        cmocka_unit_test(test_matmul_gradients),
        cmocka_unit_test(test_no_dependence_no_value),
        cmocka_unit_test(test_comparisons_and_integers_stop_gradients),
        cmocka_unit_test(test_gradients_carry_the_layer_of_their_node),
        cmocka_unit_test(test_a_loss_with_a_shape_counts_as_its_sum),
        cmocka_unit_test(test_losses_are_floats),
        cmocka_unit_test(test_foreign_values_are_refused),
        cmocka_unit_test(test_sums_do_not_depend_on_evaluation_order),
    };
    return cmocka_run_group_tests_name("op/gradient", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The reference interpreter: batches of several sizes, replicas, collectives, updates, and inputs
 * that do not fit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "op/op.h"

enum { MAX_ROWS = 8, MAX_REPLICAS = 4 };

static dt_type rows_of(int64_t n) { return dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, n}); }

/* A trace with one argument x: f32[B,2]. */
static dt_trace *start(dt_value *x) {
    dt_type type = rows_of(2);
    dt_trace *t = dt_trace_create("test");
    *x = dt_trace_declare(t, "x", &type);
    return t;
}

static dt_graph *finish(dt_trace *t) {
    dt_graph *g = NULL;
    dt_status *s = dt_trace_end(t, &g);
    if (s) fail_msg("%s", dt_status_text(s));
    return g;
}

/* x of replica r counts on from replica to replica: 0, 1, 2, ... */
static void count_up(int replicas, const int64_t *batch, float data[MAX_REPLICAS][2 * MAX_ROWS],
                     dt_view *view) {
    dt_type type = rows_of(2);
    float next = 0;
    for (int r = 0; r < replicas; r++) {
        view[r] = (dt_view){dt_type_at(&type, batch[r]), data[r]};
        for (int64_t i = 0; i < 2 * batch[r]; i++) data[r][i] = next++;
    }
}

/* Runs g, which it destroys, on counting rows. */
static dt_interpretation run(dt_graph *g, int replicas, const int64_t *batch) {
    float data[MAX_REPLICAS][2 * MAX_ROWS];
    dt_view view[MAX_REPLICAS];
    dt_interpretation out;
    count_up(replicas, batch, data, view);
    dt_status *s = dt_interpret(g, NULL, replicas, batch, view, &out);
    if (s) fail_msg("%s", dt_status_text(s));
    dt_graph_destroy(g);
    return out;
}

static float at(dt_view v, int i) { return ((const float *)v.data)[i]; }

static void test_one_trace_serves_every_batch(void **state) {
    (void)state;
    static const int64_t batches[] = {0, 1, 3, 8};
    for (int i = 0; i < 4; i++) {
        dt_value x;
        dt_trace *t = start(&x);
        dt_return(t, "twice", dt_add(x, x));
        dt_interpretation out = run(finish(t), 1, &batches[i]);
        assert_int_equal(out.result[0].type.dim[0], batches[i]);
        for (int k = 0; k < 2 * batches[i]; k++) assert_true(at(out.result[0], k) == 2 * (float)k);
        dt_interpretation_release(&out);
    }
}

static void test_mean_divides_by_the_rows_at_hand(void **state) {
    (void)state;
    for (int64_t batch = 1; batch <= 5; batch++) {
        dt_value x;
        dt_trace *t = start(&x);
        dt_return(t, "all", dt_reduce_mean(x, DT_NO_AXIS));
        dt_return(t, "rows", dt_reduce_mean(x, 0));
        dt_return(t, "last", dt_reduce_mean(x, -1));
        dt_interpretation out = run(finish(t), 1, &batch);
        assert_true(at(out.result[0], 0) == (float)(2 * batch - 1) / 2);
        assert_true(at(out.result[1], 0) == (float)(batch - 1));
        assert_true(at(out.result[1], 1) == (float)batch);
        assert_true(at(out.result[2], (int)batch - 1) == (float)(2 * batch) - 1.5f);
        dt_interpretation_release(&out);
    }
}

static void test_matmul_and_broadcast(void **state) {
    (void)state;
    static const float weights[6] = {1, 2, 3, 4, 5, 6}, biases[3] = {10, 20, 30};
    dt_type kernel_type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 3}),
            bias_type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){3});
    dt_variable *kernel = NULL, *bias = NULL;
    assert_null(dt_variable_alloc(&kernel, "kernel", &kernel_type, true));
    assert_null(dt_variable_alloc(&bias, "bias", &bias_type, true));
    memcpy(kernel->host_data, weights, sizeof weights);
    memcpy(bias->host_data, biases, sizeof biases);
    dt_value x;
    dt_trace *t = start(&x);
    dt_return(t, "y", dt_add(dt_matmul(x, dt_read(t, kernel)), dt_read(t, bias)));
    dt_interpretation out = run(finish(t), 1, &(int64_t){2}); /* x = [[0, 1], [2, 3]] */
    static const float expected[6] = {14, 25, 36, 24, 39, 54};
    for (int i = 0; i < 6; i++) assert_true(at(out.result[0], i) == expected[i]);
    dt_interpretation_release(&out);
    dt_variable_unref(kernel);
    dt_variable_unref(bias);
}

static void test_replicas_have_batches_of_their_own(void **state) {
    (void)state;
    static const int64_t batch[3] = {4, 2, 0};
    dt_value x;
    dt_trace *t = start(&x);
    dt_return(t, "sum", dt_reduce_sum(x, DT_NO_AXIS));
    dt_return(t, "rows", dt_dim_value(x, 0));
    dt_return(t, "id", dt_replica_id(t));
    dt_interpretation out = run(finish(t), 3, batch);
    static const float sum[3] = {28, 38, 0};
    for (int r = 0; r < 3; r++) {
        assert_true(at(out.result[3 * r], 0) == sum[r]);
        assert_int_equal(*(const int32_t *)out.result[3 * r + 1].data, batch[r]);
        assert_int_equal(*(const int32_t *)out.result[3 * r + 2].data, r);
    }
    dt_interpretation_release(&out);
}

static void test_all_reduce_joins_replicas(void **state) {
    (void)state;
    static const int64_t batch[3] = {4, 2, 1};
    dt_value x;
    dt_trace *t = start(&x);
    dt_value sum = dt_reduce_sum(x, 0); /* (2): {12, 16}, {18, 20}, {12, 13} */
    dt_return(t, "sum", dt_all_reduce(DT_SUM, sum));
    dt_return(t, "mean", dt_all_reduce(DT_MEAN, sum));
    dt_return(t, "more", dt_subtract(dt_all_reduce(DT_SUM, sum), sum));
    dt_interpretation out = run(finish(t), 3, batch);
    for (int r = 0; r < 3; r++) {
        assert_true(at(out.result[3 * r], 0) == 42 && at(out.result[3 * r], 1) == 49);
        assert_true(at(out.result[3 * r + 1], 0) == 14);
    }
    assert_true(at(out.result[2], 0) == 30 && at(out.result[5], 0) == 24 &&
                at(out.result[8], 1) == 36);
    dt_interpretation_release(&out);
}

static void test_updates_come_back_and_variables_stay(void **state) {
    (void)state;
    dt_type type = dt_type_of(DT_FLOAT32, 1, (int64_t[]){2});
    dt_variable *w = NULL, *fixed = NULL;
    assert_null(dt_variable_alloc(&w, "w", &type, true));
    assert_null(dt_variable_alloc(&fixed, "fixed", &type, false));
    ((float *)w->host_data)[1] = 5;
    dt_value x;
    dt_trace *t = start(&x);
    dt_return(t, "before", dt_read(t, w));
    dt_assign(t, w, dt_add(dt_read(t, w), dt_reduce_sum(x, 0)));
    dt_return(t, "after", dt_read(t, w));
    dt_return(t, "fixed", dt_read(t, fixed));
    dt_interpretation out = run(finish(t), 1, &(int64_t){2}); /* x = [[0, 1], [2, 3]] */
    assert_int_equal(out.n_states, 2);
    assert_true(at(out.update[0], 0) == 2 && at(out.update[0], 1) == 9);
    assert_null(out.update[1].data);
    assert_true(at(out.result[0], 1) == 5 && at(out.result[1], 1) == 9 &&
                at(out.result[2], 1) == 0);
    assert_true(((const float *)w->host_data)[1] == 5);
    dt_interpretation_release(&out);
    dt_variable_unref(w);
    dt_variable_unref(fixed);
}

static void test_an_argument_may_be_a_result_twice(void **state) {
    (void)state;
    dt_value x;
    dt_trace *t = start(&x);
    dt_return(t, "x", x);
    dt_return(t, "again", x);
    dt_interpretation out = run(finish(t), 1, &(int64_t){2});
    assert_ptr_not_equal(out.result[0].data, out.result[1].data);
    assert_true(at(out.result[0], 3) == 3 && at(out.result[1], 3) == 3);
    dt_interpretation_release(&out);
}

static void test_arguments_of_another_type_are_refused(void **state) {
    (void)state;
    float data[6] = {0};
    dt_view wrong = {dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 2}), data};
    dt_value x;
    dt_trace *t = start(&x);
    dt_return(t, "x", x);
    dt_graph *g = finish(t);
    dt_interpretation out;
    dt_status *s = dt_interpret(g, NULL, 1, &(int64_t){2}, &wrong, &out);
    assert_int_equal(dt_status_number(s), DT_E_MODEL_SHAPE);
    assert_string_equal(dt_status_text(s),
                        "argument 'x' of replica 0 is f32[3,2], the graph takes f32[2,2]");
    dt_status_free(s);
    dt_graph_destroy(g);
}

static void test_values_too_large_are_named(void **state) {
    (void)state;
    dt_type wide = rows_of(INT64_C(1) << 30);
    dt_trace *t = dt_trace_create("test");
    dt_return(t, "y", dt_splat(t, &wide, 1));
    dt_graph *g = finish(t);
    dt_interpretation out;
    dt_status *s = dt_interpret(g, NULL, 1, &(int64_t){INT64_C(1) << 60}, NULL, &out);
    assert_int_equal(dt_status_number(s), DT_E_NO_MEMORY);
    assert_null(out.result);
    dt_status_free(s);
    dt_graph_destroy(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_trace_serves_every_batch),
        cmocka_unit_test(test_mean_divides_by_the_rows_at_hand),
        cmocka_unit_test(test_matmul_and_broadcast),
        cmocka_unit_test(test_replicas_have_batches_of_their_own),
        cmocka_unit_test(test_all_reduce_joins_replicas),
        cmocka_unit_test(test_updates_come_back_and_variables_stay),
        cmocka_unit_test(test_an_argument_may_be_a_result_twice),
        cmocka_unit_test(test_arguments_of_another_type_are_refused),
        cmocka_unit_test(test_values_too_large_are_named),
    };
    return cmocka_run_group_tests_name("op/interpret", tests, NULL, NULL);
}

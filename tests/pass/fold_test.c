/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fold against the interpreter: random steps, one to five replicas with uneven and empty batches.
 * Every replica must find its own results in the folded graph, and variables the same new values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "pass/pass.h"
#include "../support/outcome.h"

typedef struct tally {
    int steps, refused, incomparable;
} tally;

/* One to five replicas of 0 to 5 rows each. */
static feed draw_feed(const random_graph *g) {
    dt_random r = dt_random_stream(g->seed, "replicas", 0);
    int64_t batch[MOST_REPLICAS];
    int replicas = 1 + (int)dt_random_below(&r, 5);
    for (int i = 0; i < replicas; i++)
        batch[i] = dt_random_below(&r, 4) ? (int64_t)dt_random_below(&r, 6) : 0;
    return feed_make(g, g->seed, replicas, batch);
}

static bool same_outcome(const random_graph *g, const feed *f, const dt_folded *folded) {
    dt_view *arg = feed_folded(f, folded);
    dt_env env = feed_env(f);
    dt_interpretation oracle = oracle_run(g, f), out;
    dt_status *s = dt_interpret(folded->graph, &env, 1, &f->total, arg, &out);
    if (s) fail_msg("seed %llu: %s", (unsigned long long)g->seed, dt_status_text(s));
    bool comparable =
        expect_outcome(g, f, &oracle, &(outcome){out.result, out.update, folded->result}, 1e-4);
    dt_interpretation_release(&oracle);
    dt_interpretation_release(&out);
    views_release(arg, f->n_args);
    return comparable;
}

static void fold_one(random_kind kind, uint64_t seed, tally *t) {
    random_graph *g = random_graph_draw(kind, seed);
    feed f = draw_feed(g);
    dt_folded folded;
    dt_status *s = dt_fold(g->graph, g->distributed, f.replicas, &folded);
    t->steps++;
    if (!s) {
        t->incomparable += !same_outcome(g, &f, &folded);
        dt_graph_destroy(folded.graph);
    } else if (dt_status_number(s) != DT_E_CANNOT_FOLD) {
        fail_msg("seed %llu: %s", (unsigned long long)seed, dt_status_text(s));
    } else {
        t->refused++;
        dt_status_free(s);
    }
    feed_release(&f);
    random_graph_destroy(g);
}

static tally fold_many(random_kind kind, int n) {
    tally t = {0};
    for (int i = 0; i < n; i++) fold_one(kind, 1000 + (uint64_t)i, &t);
    print_message("%d steps from seed 1000 on: %d refused, %d not comparable\n", t.steps, t.refused,
                  t.incomparable);
    assert_true(t.incomparable * 50 <= t.steps);
    return t;
}

static void test_steps_of_fit(void **state) {
    (void)state;
    tally t = fold_many(RANDOM_FIT, 300);
    assert_int_equal(t.refused, 0);
}

static void test_random_steps(void **state) {
    (void)state;
    tally t = fold_many(RANDOM_SOUP, 400);
    assert_int_equal(t.refused, 0);
}

/* What cannot be folded is refused with its name, never folded wrongly. */
static void test_wild_steps(void **state) {
    (void)state;
    tally t = fold_many(RANDOM_WILD, 200);
    assert_in_range(t.refused, 1, t.steps - 1);
}

/* ---- single ops ---- */

typedef dt_value (*maker)(dt_trace *t, dt_value x); /* of x (B, 3), one result */

static dt_folded fold_result(maker make, int replicas, dt_graph **unfolded) {
    dt_trace *t = dt_trace_create("one");
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
    dt_value x = dt_trace_declare(t, "x", &rows);
    dt_return(t, "y", make(t, x));
    dt_folded folded;
    assert_null(dt_trace_end(t, unfolded));
    assert_null(dt_fold(*unfolded, NULL, replicas, &folded));
    return folded;
}

enum { ROWS = 4 };
static float rows_of_x[ROWS][3] = {{1, 2, 3}, {-4, 5, 6}, {7, -8, 9}, {-1, -2, -3}};

/* Two replicas of one and three rows: the folded result against both. */
static void expect_folded(maker make) {
    static const int64_t batch[2] = {1, 3};
    int32_t offsets[3] = {0, 1, 4};
    dt_graph *g = NULL;
    dt_folded folded = fold_result(make, 2, &g);
    dt_type type = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3});
    dt_view arg[2] = {{dt_type_at(&type, 1), rows_of_x[0]}, {dt_type_at(&type, 3), rows_of_x[1]}},
            all = {dt_type_at(&type, 4), rows_of_x};
    dt_env env = {.replicas = 1, .offsets = offsets, .segments = 2};
    dt_interpretation oracle, out;
    assert_null(dt_interpret(g, NULL, 2, batch, arg, &oracle));
    assert_null(dt_interpret(folded.graph, &env, 1, &(int64_t){ROWS}, &all, &out));
    feed f = {.replicas = 2, .batch = {1, 3}, .total = 4, .offsets = {0, 1, 4}};
    for (int r = 0; r < 2; r++) {
        dt_view part = folded_part(&f, &out.result[0], folded.result[0], r);
        assert_true(views_difference(&part, &oracle.result[r]) < 1e-6);
    }
    dt_interpretation_release(&oracle);
    dt_interpretation_release(&out);
    dt_graph_destroy(folded.graph);
    dt_graph_destroy(g);
}

static dt_value sum_of_maxima(dt_trace *t, dt_value x) {
    (void)t;
    return dt_all_reduce(DT_SUM, dt_reduce(x, DT_REDUCE_MAX, 3));
}

static dt_value sum_of_minima(dt_trace *t, dt_value x) {
    (void)t;
    return dt_all_reduce(DT_MEAN, dt_reduce(x, DT_REDUCE_MIN, 1));
}

static dt_value sum_over_columns(dt_trace *t, dt_value x) {
    (void)t;
    return dt_all_reduce(DT_SUM, dt_negate(dt_reduce(x, DT_REDUCE_SUM, 1)));
}

static dt_value count_of_cells(dt_trace *t, dt_value x) {
    (void)t;
    return dt_dim_value(dt_reshape(x, 1, (int64_t[]){-3}), 0);
}

static dt_value count_of_all_cells(dt_trace *t, dt_value x) {
    return dt_all_reduce(DT_SUM, count_of_cells(t, x));
}

static dt_value size_that_is_known(dt_trace *t, dt_value x) {
    return dt_emit(t, &dt_op_get_dimension_size, &x, 1, &(dt_axis_attr){1});
}

static dt_value mean_as_row(dt_trace *t, dt_value x) {
    (void)t;
    dt_value mean = dt_reshape(dt_reduce_mean(x, 0), 2, (int64_t[]){1, 3});
    return dt_subtract(x, mean); /* (B, 3) less (1, 3) */
}

static dt_value number_as_row(dt_trace *t, dt_value x) {
    dt_value id = dt_convert(dt_replica_id(t), DT_FLOAT32);
    return dt_add(x, dt_reshape(id, 2, (int64_t[]){1, 1}));
}

static dt_value mean_of_uniform(dt_trace *t, dt_value x) {
    (void)x;
    return dt_all_reduce(DT_MEAN, dt_constant(t, 0.1));
}

static dt_value whole_quotient(dt_trace *t, dt_value x) {
    (void)t;
    dt_value n = dt_dim_value(x, 0);
    /* 1/2 + 3/2 = 1 in whole numbers, 4/2 = 2 */
    return dt_all_reduce(DT_SUM, dt_divide(n, dt_like(n, 2)));
}

static dt_value sum_of_affine(dt_trace *t, dt_value x) {
    dt_value sum = dt_reduce_sum(x, DT_NO_AXIS);
    return dt_all_reduce(DT_SUM, dt_add(dt_divide(sum, dt_constant(t, 4)), dt_constant(t, 1)));
}

static dt_value sum_of_means(dt_trace *t, dt_value x) {
    (void)t;
    return dt_all_reduce(DT_SUM, dt_reduce_mean(x, 0));
}

static dt_value spread_of_means(dt_trace *t, dt_value x) {
    (void)t;
    dt_value cells = dt_reshape(x, 1, (int64_t[]){-3});
    /* (B*3) by replica */
    return dt_subtract(cells, dt_broadcast_to(dt_reduce_mean(cells, 0), &dt_node_of(cells)->type));
}

static void test_single_ops(void **state) {
    (void)state;
    static const maker makers[] = {
        sum_of_maxima,      sum_of_minima, sum_over_columns, count_of_cells,  count_of_all_cells,
        size_that_is_known, mean_as_row,   number_as_row,    mean_of_uniform, whole_quotient,
        sum_of_affine,      sum_of_means,  spread_of_means,
    };
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) expect_folded(makers[i]);
}

static const char golden_gradient[] = "graph one(x: f32[B,3])\n"
                                      "state w: f32[3,3]\n"
                                      "%0 = parameter x                             : f32[B,3]\n"
                                      "%1 = variable w                              : f32[3,3]\n"
                                      "%2 = constant 1                              : f32[]\n"
                                      "%3 = broadcast_in_dim(%2) dims=[]            : f32[B,3]\n"
                                      "%4 = dot_general(%0, %3) contracting [0]x[0] : f32[3,3]\n"
                                      "%5 = subtract(%1, %4)                        : f32[3,3]\n"
                                      "update w = %5\n";

/* The point of it all: a gradient summed over replicas is one product over all rows. */
static void test_summed_gradients_are_one_product(void **state) {
    (void)state;
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3}),
            square = dt_type_of(DT_FLOAT32, 2, (int64_t[]){3, 3});
    dt_variable *v = NULL;
    assert_null(dt_variable_alloc(&v, "w", &square, true));
    dt_trace *t = dt_trace_create("one");
    dt_value x = dt_trace_declare(t, "x", &rows), w = dt_read(t, v), g;
    dt_gradients_of(dt_reduce_sum(dt_matmul(x, w), DT_NO_AXIS), &w, 1, &g);
    dt_assign(t, v, dt_subtract(w, dt_all_reduce(DT_SUM, g)));
    dt_graph *unfolded = NULL;
    dt_folded folded;
    dt_str text = {0};
    assert_null(dt_trace_end(t, &unfolded));
    assert_null(dt_fold(unfolded, NULL, 2048, &folded));
    dt_graph_print(folded.graph, &text);
    assert_string_equal(dt_str_text(&text), golden_gradient);
    dt_str_release(&text);
    dt_graph_destroy(folded.graph);
    dt_graph_destroy(unfolded);
    dt_variable_unref(v);
}

/* A leading dimension for replicas needs room: 8 dimensions are all that a type has. */
static void test_values_of_eight_dimensions_are_refused(void **state) {
    (void)state;
    dt_type deep = dt_type_of(DT_FLOAT32, 8, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 2});
    for (int as_argument = 0; as_argument < 2; as_argument++) {
        dt_trace *t = dt_trace_create("deep");
        dt_value id = dt_convert(dt_replica_id(t), DT_FLOAT32);
        dt_value x = as_argument ? dt_trace_declare(t, "x", &deep) : dt_iota(t, &deep, 7);
        dt_return(t, "y", dt_add(x, id));
        dt_graph *g = NULL;
        dt_folded folded;
        assert_null(dt_trace_end(t, &g));
        dt_status *s = dt_fold(g, NULL, 2, &folded);
        assert_int_equal(dt_status_number(s), DT_E_CANNOT_FOLD);
        dt_status_free(s);
        dt_graph_destroy(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_ops),
        cmocka_unit_test(test_summed_gradients_are_one_product),
        cmocka_unit_test(test_values_of_eight_dimensions_are_refused),
        cmocka_unit_test(test_steps_of_fit),
        cmocka_unit_test(test_random_steps),
        cmocka_unit_test(test_wild_steps),
    };
    return cmocka_run_group_tests_name("pass/fold", tests, NULL, NULL);
}

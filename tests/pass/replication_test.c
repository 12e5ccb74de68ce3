/* SPDX-License-Identifier: Apache-2.0 */
/* Varying and uniform: the spread of single values, and the error for a variable to which replicas
 * would give different values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "pass/pass.h"

/* A trace over x (B, 3), per replica, and rate (), given as `distributed` says; variables w (3) and
 * n (). */
typedef struct setting {
    dt_trace *trace;
    dt_variable *w_variable, *n_variable;
    dt_value x, rate, w, n;
} setting;

static setting start(void) {
    dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3}),
            vector = dt_type_of(DT_FLOAT32, 1, (int64_t[]){3});
    dt_type scalar = dt_scalar_type(DT_FLOAT32);
    setting s = {.trace = dt_trace_create("test")};
    assert_null(dt_variable_alloc(&s.w_variable, "dense/kernel", &vector, true));
    assert_null(dt_variable_alloc(&s.n_variable, "count", &scalar, false));
    s.x = dt_trace_declare(s.trace, "x", &rows);
    s.rate = dt_trace_declare(s.trace, "rate", &scalar);
    s.w = dt_read(s.trace, s.w_variable);
    s.n = dt_read(s.trace, s.n_variable);
    return s;
}

static void release(setting *s, dt_graph *g) {
    dt_graph_destroy(g);
    dt_variable_unref(s->w_variable);
    dt_variable_unref(s->n_variable);
}

typedef dt_value (*maker)(setting *s);

static dt_value rows(setting *s) { return s->x; }
static dt_value rows_of_splat(setting *s) { return dt_like(s->x, 1); }
static dt_value bias_over_rows(setting *s) { return dt_add(s->x, s->w); }
static dt_value sum_of_rows(setting *s) { return dt_reduce_sum(s->x, 0); }
static dt_value gradient(setting *s) {
    dt_value g;
    dt_gradients_of(dt_reduce_sum(dt_multiply(s->x, s->w), DT_NO_AXIS), &s->w, 1, &g);
    return g;
}
static dt_value summed_gradient(setting *s) { return dt_all_reduce(DT_SUM, gradient(s)); }
static dt_value weights(setting *s) { return s->w; }
static dt_value of_weights(setting *s) { return dt_multiply(s->w, s->n); }
static dt_value rate(setting *s) { return s->rate; }
static dt_value weights_times_rate(setting *s) { return dt_multiply(s->w, s->rate); }
static dt_value constant(setting *s) { return dt_constant(s->trace, 2); }
static dt_value replica(setting *s) { return dt_replica_id(s->trace); }
static dt_value row_count(setting *s) { return dt_dim_value(s->x, 0); }
static dt_value all_rows(setting *s) { return dt_all_reduce(DT_SUM, row_count(s)); }
static dt_value column_count(setting *s) {
    return dt_emit(s->trace, &dt_op_get_dimension_size, &s->x, 1, &(dt_axis_attr){1});
}
static dt_value mean_of_own(setting *s) { return dt_reduce_mean(s->x, 0); }

static const struct {
    const char *name;
    maker make;
    dt_replication rate_shared, rate_own; /* with one rate for all, with one for each */
} spreads[] = {
    {"rows", rows, DT_ROWS, DT_ROWS},
    {"a splat with rows", rows_of_splat, DT_ROWS, DT_ROWS},
    {"weights over rows", bias_over_rows, DT_ROWS, DT_ROWS},
    {"a sum of rows", sum_of_rows, DT_STACKED, DT_STACKED},
    {"a gradient", gradient, DT_STACKED, DT_STACKED},
    {"a summed gradient", summed_gradient, DT_UNIFORM, DT_UNIFORM},
    {"weights", weights, DT_UNIFORM, DT_UNIFORM},
    {"what depends on weights", of_weights, DT_UNIFORM, DT_UNIFORM},
    {"an argument", rate, DT_UNIFORM, DT_STACKED},
    {"weights times an argument", weights_times_rate, DT_UNIFORM, DT_STACKED},
    {"a constant", constant, DT_UNIFORM, DT_UNIFORM},
    {"the replica's number", replica, DT_STACKED, DT_STACKED},
    {"the number of rows", row_count, DT_STACKED, DT_STACKED},
    {"the number of all rows", all_rows, DT_UNIFORM, DT_UNIFORM},
    {"the number of columns", column_count, DT_UNIFORM, DT_UNIFORM},
    {"a mean of own rows", mean_of_own, DT_STACKED, DT_STACKED},
};

static dt_replication spread_of(maker make, const bool *distributed) {
    setting s = start();
    dt_graph *g = NULL;
    dt_replication *spread = NULL;
    dt_return(s.trace, "y", make(&s));
    assert_null(dt_trace_end(s.trace, &g));
    dt_arena *arena = dt_arena_create();
    assert_null(dt_replication_of(g, distributed, arena, &spread));
    dt_replication y = spread[g->result[0].node];
    dt_arena_destroy(arena);
    release(&s, g);
    return y;
}

static void test_spreads(void **state) {
    (void)state;
    static const bool shared[2] = {true, false}, own[2] = {true, true};
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        if (spread_of(spreads[i].make, shared) != spreads[i].rate_shared)
            fail_msg("%s, one rate for all", spreads[i].name);
        if (spread_of(spreads[i].make, own) != spreads[i].rate_own ||
            spread_of(spreads[i].make, NULL) != spreads[i].rate_own)
            fail_msg("%s, a rate for each replica", spreads[i].name);
    }
}

/* ---- what a variable may be assigned ---- */

static void expect_update(maker make, bool refused) {
    setting s = start();
    dt_graph *g = NULL;
    dt_replication *spread = NULL;
    dt_arena *arena = dt_arena_create();
    dt_assign(s.trace, s.w_variable, dt_subtract(s.w, make(&s)));
    assert_null(dt_trace_end(s.trace, &g));
    dt_status *bad = dt_replication_of(g, NULL, arena, &spread);
    assert_int_equal(dt_status_number(bad), refused ? DT_E_VARYING_UPDATE : 0);
    if (bad) {
        dt_folded folded;
        dt_status *again = dt_fold(g, NULL, 4, &folded);
        assert_string_equal(
            dt_status_text(bad),
            "variable 'dense/kernel' is one for all replicas, but each would assign its own value: "
            "sum or average it with all_reduce first");
        assert_int_equal(dt_status_number(again), DT_E_VARYING_UPDATE);
        assert_null(folded.graph);
        dt_status_free(again);
    }
    dt_status_free(bad);
    dt_arena_destroy(arena);
    release(&s, g);
}

static void test_varying_updates_are_refused(void **state) {
    (void)state;
    expect_update(gradient, true);
    expect_update(mean_of_own, true);
    expect_update(weights_times_rate, true);
    expect_update(summed_gradient, false);
    expect_update(of_weights, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spreads),
        cmocka_unit_test(test_varying_updates_are_refused),
    };
    return cmocka_run_group_tests_name("pass/spread", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps without a folded form run replica by replica, and give what the folded way gives: shown on
 * steps that have no such form, and by running steps that have one both ways.
 */
#include "kit.h"

#include "base/clock.h"
#include "base/random.h"
#include "op/op.h"
#include "strategy/compiled.h"

/* ---- a step that cannot be folded ---- */

typedef struct counter {
    dt_variable *v;
} counter;

/* x (B, 3); the row with the largest element of each column is a replica's own affair, and argmax
 * has no form over segments. */
static void emit(dt_trace *t, dt_value x, dt_variable *v) {
    dt_value total = dt_all_reduce(DT_SUM, dt_reduce_sum(x, 0)); /* (3) */

    dt_return(t, "argmax", dt_argmax(x, 0));      /* (3), differs */
    dt_return(t, "twice", dt_add(x, x));          /* (B, 3) */
    dt_return(t, "columns", dt_reduce_sum(x, 1)); /* (B) */
    dt_return(t, "total", total);                 /* (3), uniform */
    dt_return(t, "id", dt_replica_id(t));
    dt_return(t, "constant", dt_constant(t, 4));
    dt_return(t, "before", dt_read(t, v));
    dt_assign(t, v, dt_add(dt_read(t, v), total));
}

static void step(dt_trace *t, void *user) {
    counter *c = user;
    emit(t, dt_arg(t, "x"), c->v);
}

static void test_step_has_no_folded_form(void **state) {
    (void)state;
    const dt_type rows = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, 3}),
                  three = dt_type_of(DT_FLOAT32, 1, (int64_t[]){3});
    dt_trace *t = dt_trace_create("step");
    dt_strategy *s = mirrored(2);
    dt_variable *v = NULL;
    dt_compiled *c = NULL;
    dt_graph *g = NULL;
    dt_executable *x;
    dt_str text = {0};

    OK(dt_variable_alloc(&v, "v", &three, false));
    emit(t, dt_trace_declare(t, "x", &rows), v);
    OK(dt_trace_end(t, &g));
    OK(dt_compiled_create(&c, s, g, &(dt_compile_options){0}));
    assert_null(dt_compiled_folded(c));
    OK(dt_compiled_prepare(c, 7, &x));
    assert_null(x);
    fails(dt_compiled_lower(c, "program", 7, &text), DT_E_CANNOT_FOLD, "replica by replica");
    dt_compiled_destroy(c);
    dt_variable_unref(v);
    dt_strategy_unref(s);
}

static float value_at(int row, int column) { return (float)((row * 37 + column * 11) % 23) - 8; }

static dt_values *rows_of(const int64_t *rows, int n) {
    dt_values *v = values();
    dt_tensor *t[8] = {NULL};
    int row = 0;

    for (int r = 0; r < n; r++) {
        OK(dt_tensor_create(&t[r], DT_FLOAT32, 2, (int64_t[]){rows[r], 3}, NULL));
        for (int i = 0; i < rows[r]; i++, row++)
            for (int k = 0; k < 3; k++)
                put(t[r]->data, DT_FLOAT32, i * 3 + k, (double)value_at(row, k));
    }
    give_each(v, "x", t, n);
    return v;
}

static void check_replica(const dt_values *out, int r, int first, int64_t rows, const double *total,
                          const double *before) {
    double largest[3] = {0}, twice[64 * 3], columns[64];

    for (int k = 0; k < 3; k++)
        for (int i = 1; i < rows; i++)
            if (value_at(first + i, k) > value_at(first + (int)largest[k], k)) largest[k] = i;
    for (int i = 0; i < rows; i++) {
        columns[i] = 0;
        for (int k = 0; k < 3; k++) {
            twice[i * 3 + k] = 2 * (double)value_at(first + i, k);
            columns[i] += (double)value_at(first + i, k);
        }
    }
    is_local(out, "argmax", r, SHAPE(3), largest);
    is_local(out, "twice", r, SHAPE(rows, 3), twice);
    is_local(out, "columns", r, SHAPE(rows), columns);
    is_local(out, "total", r, SHAPE(3), total);
    is_local(out, "before", r, SHAPE(3), before);
    is_local(out, "id", r, SCALAR, X(r));
}

static void test_replicas_run_one_after_the_other(void **state) {
    (void)state;
    static const struct {
        int n;
        int64_t rows[8];
    } cases[] = {
        {1, {5}}, {2, {3, 3}}, {3, {1, 9, 2}}, {4, {0, 2, 0, 5}}, {8, {1, 1, 1, 1, 1, 1, 1, 1}}};
    const dt_type three = dt_type_of(DT_FLOAT32, 1, (int64_t[]){3});

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_strategy *s = mirrored(cases[i].n);
        dt_values *args = rows_of(cases[i].rows, cases[i].n), *out = NULL;
        double total[3] = {0}, before[3] = {0};
        dt_function *f = NULL;
        counter c = {0};
        int row = 0;
        OK(dt_variable_alloc(&c.v, "v", &three, false));
        OK(dt_function_create(&f, step, &c));
        for (int r = 0; r < cases[i].n; r++)
            for (int k = 0; k < cases[i].rows[r]; k++, row++)
                for (int column = 0; column < 3; column++)
                    total[column] += (double)value_at(row, column);
        for (int round = 0; round < 3; round++) {
            OK(dt_strategy_run(s, f, args, &out));
            for (int r = 0, first = 0; r < cases[i].n; first += (int)cases[i].rows[r++])
                check_replica(out, r, first, cases[i].rows[r], total, before);
            for (int k = 0; k < 3; k++) before[k] += total[k];
        }
        is_local(out, "constant", 0, SCALAR, X(4));
        assert_int_equal(dt_values_locals(out, "constant"), 1);
        dt_values_unref(args);
        dt_values_unref(out);
        dt_function_unref(f);
        dt_variable_unref(c.v);
        dt_strategy_unref(s);
    }
}

/* A value of 8 dimensions has no room for one more. */
static void eight_dimensions(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "x", dt_add(dt_arg(t, "x"), dt_all_reduce(DT_MEAN, dt_arg(t, "n"))));
    dt_return(t, "y", dt_add(dt_arg(t, "x"), dt_arg(t, "n")));
}

static void test_too_many_dimensions_are_told(void **state) {
    (void)state;
    const int64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    dt_strategy *s = mirrored(2);
    dt_values *args = values(), *out = NULL;
    dt_tensor *n[] = {scalar(1), scalar(2)};
    dt_function *f = NULL;

    OK(dt_function_create(&f, eight_dimensions, NULL));
    give(args, "x", tensor(DT_FLOAT32, 8, ones, X(1)));
    give_each(args, "n", n, 2);
    fails(dt_strategy_run(s, f, args, &out), DT_E_CANNOT_FOLD, "8 dimensions");
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

/* ---- both ways ---- */

enum { ROWS = 11, FEATURES = 5, REPLICAS = 4 };

/* x (B, 5), y (B, 5), n () each, u (5) once: things that fold knows, mixed at random. */
static void emit_random(dt_trace *t, dt_random *r, dt_value x, dt_value y, dt_value n, dt_value u,
                        dt_variable *v) {
    dt_value pool[24] = {x, y, n, u, dt_read(t, v)};
    char name[16];
    int have = 5;

    while (have < 24) {
        dt_value a = pool[dt_random_below(r, (uint64_t)have)],
                 b = pool[dt_random_below(r, (uint64_t)have)];
        int rank = dt_type_of_value(a).rank;
        switch (dt_random_below(r, 6)) {
        case 0: pool[have++] = dt_add(a, b); break;
        case 1: pool[have++] = dt_multiply(dt_multiply(a, b), dt_constant(t, 0.25)); break;
        case 2: pool[have++] = dt_reduce_sum(a, rank == 2 ? 0 : DT_NO_AXIS); break;
        case 3: pool[have++] = dt_tanh(a); break;
        case 4:
            pool[have++] = rank < 2 ? dt_all_reduce(dt_random_below(r, 2) ? DT_SUM : DT_MEAN, a)
                                    : dt_negate(a);
            break;
        default: pool[have++] = dt_subtract(a, dt_multiply(b, dt_constant(t, 0.5))); break;
        }
    }
    for (int i = 5; i < have; i++) {
        snprintf(name, sizeof name, "%d", i);
        dt_return(t, name, pool[i]);
    }
    dt_assign(t, v, dt_add(dt_read(t, v), dt_all_reduce(DT_MEAN, dt_reduce_sum(x, 0))));
}

static void expect_same(uint64_t seed, const char *what, const dt_view *a, const dt_view *b) {
    assert_true(dt_type_equal(&a->type, &b->type));
    for (int64_t i = 0; i < dt_type_elements(&a->type); i++) {
        double x = (double)((const float *)a->data)[i], y = (double)((const float *)b->data)[i];
        if (!(fabs(x - y) <= 1e-4 * fabs(y) + 1e-4) && !(isnan(x) && isnan(y)) && x != y)
            fail_msg("seed %llu, result %s[%lld]: folded %g, one by one %g",
                     (unsigned long long)seed, what, (long long)i, x, y);
    }
}

static dt_graph *random_step(uint64_t seed, dt_variable *v) {
    const dt_type wide = dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, FEATURES}), five = v->type,
                  one = dt_scalar_type(DT_FLOAT32);
    dt_random r = dt_random_stream(seed, "steps", 0);
    dt_trace *t = dt_trace_create("step");
    dt_graph *g = NULL;
    dt_value x = dt_trace_declare(t, "x", &wide), y = dt_trace_declare(t, "y", &wide);
    dt_value n = dt_trace_declare(t, "n", &one), u = dt_trace_declare(t, "u", &five);

    emit_random(t, &r, x, y, n, u, v);
    OK(dt_trace_end(t, &g));
    return g;
}

/* Runs both ways over the same arguments; variables are put back between. True: there was a folded
 * way. */
static bool run_both_ways(uint64_t seed, const int32_t *offsets) {
    const dt_type five = dt_type_of(DT_FLOAT32, 1, (int64_t[]){FEATURES});
    dt_random r = dt_random_stream(seed, "values", 0);
    dt_strategy *s = mirrored(REPLICAS);
    dt_variable *v = NULL;
    dt_compiled *c = NULL;
    float memory[2 * ROWS * FEATURES + REPLICAS + FEATURES], *at = memory, old[FEATURES],
                                                             folded[FEATURES];
    dt_view arg[4], a[32], b[32];

    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        memory[i] = (float)(dt_random_uniform(&r) * 2 - 1);
    OK(dt_variable_alloc(&v, "v", &five, false));
    OK(dt_compiled_create(
        &c, s, random_step(seed, v),
        &(dt_compile_options){.distributed = (const bool[]){true, true, true, false}}));
    const int64_t sizes[][2] = {{ROWS, FEATURES}, {ROWS, FEATURES}, {REPLICAS, 0}, {FEATURES, 0}};
    for (int i = 0; i < 4; i++) {
        arg[i] = (dt_view){dt_type_of(DT_FLOAT32, i < 2 ? 2 : 1, sizes[i]), at};
        at += dt_type_elements(&arg[i].type);
    }
    bool both = dt_compiled_folded(c) != NULL;
    if (both) {
        memcpy(old, v->host_data, sizeof old);
        OK(dt_compiled_run(c, offsets, arg, a));
        memcpy(folded, v->host_data, sizeof folded);
        memcpy(v->host_data, old, sizeof old);
        OK(dt_unfolded_run(c, offsets, arg, b));
        for (int i = 0; i < c->step->n_results; i++)
            expect_same(seed, c->step->result[i].name, &a[i], &b[i]);
        expect_same(seed, "v", &(dt_view){five, folded}, &(dt_view){five, v->host_data});
    }
    dt_compiled_destroy(c);
    dt_variable_unref(v);
    dt_strategy_unref(s);
    return both;
}

static void test_folded_and_one_by_one_agree(void **state) {
    (void)state;
    static const int32_t cuts[][REPLICAS + 1] = {
        {0, 3, 6, 9, 11}, {0, 1, 1, 10, 11}, {0, 11, 11, 11, 11}};
    uint64_t seed = (uint64_t)dt_now_ns() % 1000000;
    int both = 0;

    print_message("seeds from %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < 60; i++) both += run_both_ways(seed + i, cuts[i % 3]);
    print_message("%d of 60 steps have a folded form\n", both);
    assert_true(both > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_has_no_folded_form),
        cmocka_unit_test(test_replicas_run_one_after_the_other),
        cmocka_unit_test(test_too_many_dimensions_are_told),
        cmocka_unit_test(test_folded_and_one_by_one_agree),
    };
    return cmocka_run_group_tests_name("unfolded", tests, NULL, NULL);
}

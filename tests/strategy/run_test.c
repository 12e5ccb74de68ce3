/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: what step functions see and what comes back, for every spread of arguments and results; when
 * functions are traced; what is refused.
 */
#include "kit.h"

#include <pthread.h>

#include "op/op.h"

typedef struct counted {
    int calls; /* of the step function */
} counted;

static dt_function *function(void (*step)(dt_trace *t, void *user), void *user) {
    dt_function *f = NULL;
    OK(dt_function_create(&f, step, user));
    return f;
}

/* ---- what comes back ---- */

/* x (B), w () given once, n () one for each replica. */
static void every_spread(dt_trace *t, void *user) {
    counted *c = user;
    dt_value x = dt_arg(t, "x"), w = dt_arg(t, "w"), n = dt_arg(t, "n");

    c->calls++;
    dt_return(t, "rows", dt_add(dt_multiply(x, w), n)); /* (B) */
    dt_return(t, "sum", dt_reduce_sum(x, 0));           /* (), differs */
    dt_return(t, "total", dt_all_reduce(DT_SUM, dt_reduce_sum(x, 0)));
    dt_return(t, "mean of n", dt_all_reduce(DT_MEAN, n));
    dt_return(t, "id", dt_replica_id(t));
    dt_return(t, "size", dt_dim_value(x, 0));
    dt_return(t, "constant", dt_constant(t, 5));
    dt_return(t, "w", w);
    dt_return(t, "n", n);
}

static dt_values *spread_arguments(const int64_t *rows, int n) {
    dt_values *v = values();
    dt_tensor **each = calloc((size_t)n, sizeof *each);

    give_rows(v, "x", rows, n);
    give(v, "w", scalar(10));
    for (int r = 0; r < n; r++) each[r] = scalar(100 * r);
    give_each(v, "n", each, n);
    free(each);
    return v;
}

static void check_spread_results(const dt_values *out, const int64_t *rows, int n) {
    double first = 0, total = 0;

    for (int r = 0; r < n; r++)
        for (int64_t i = 0; i < rows[r]; i++) total += first++;
    first = 0;
    for (int r = 0; r < n; r++) {
        double x[64], sum = 0;
        for (int64_t i = 0; i < rows[r]; i++, first++) {
            x[i] = first * 10 + 100 * r;
            sum += first;
        }
        is_local(out, "rows", r, SHAPE(rows[r]), x);
        is_local(out, "sum", r, SCALAR, &sum);
        is_local(out, "total", r, SCALAR, &total);
        is_local(out, "mean of n", r, SCALAR, X(50.0 * (n - 1)));
        is_local(out, "id", r, SCALAR, X(r));
        is_local(out, "size", r, SCALAR, X((double)rows[r]));
        is_local(out, "n", r, SCALAR, X(100 * r));
    }
    is_local(out, "constant", 0, SCALAR, X(5));
    is_local(out, "w", 0, SCALAR, X(10));
}

static void test_results_of_every_spread(void **state) {
    (void)state;
    static const struct {
        int n;
        int64_t rows[8];
    } cases[] = {{1, {5}},
                 {2, {3, 3}},
                 {3, {4, 1, 2}},
                 {3, {2, 0, 1}},
                 {4, {0, 0, 7, 0}},
                 {2, {0, 0}},
                 {8, {1, 1, 1, 1, 1, 1, 1, 1}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_strategy *s = mirrored(cases[i].n);
        counted c = {0};
        dt_function *f = function(every_spread, &c);
        dt_values *args = spread_arguments(cases[i].rows, cases[i].n), *out = NULL;
        OK(dt_strategy_run(s, f, args, &out));
        check_spread_results(out, cases[i].rows, cases[i].n);
        dt_values_unref(out);
        dt_values_unref(args);
        dt_function_unref(f);
        dt_strategy_unref(s);
    }
}

static void test_single_are_constants_and_what_was_given_once(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    counted c = {0};
    dt_function *f = function(every_spread, &c);
    dt_values *args = spread_arguments((const int64_t[]){2, 1}, 2), *out = NULL;

    OK(dt_strategy_run(s, f, args, &out));
    for (int i = 0; i < dt_values_count(out); i++) {
        const char *name = dt_values_name(out, i);
        bool single = strcmp(name, "constant") == 0 || strcmp(name, "w") == 0;
        assert_int_equal(dt_values_is_per_replica(out, name), !single);
        assert_int_equal(dt_values_locals(out, name), single ? 1 : 2);
    }
    assert_string_equal(dt_values_name(out, 0), "rows"); /* in the order of dt_return */
    assert_string_equal(dt_tensor_device(dt_values_local(out, "total", 1)),
                        dt_strategy_device(s, 1));
    dt_values_unref(out);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

static void test_one_replica_gives_its_values_themselves(void **state) {
    (void)state;
    dt_strategy *s = mirrored(1);
    counted c = {0};
    dt_function *f = function(every_spread, &c);
    dt_values *args = spread_arguments((const int64_t[]){2}, 1), *out = NULL;

    OK(dt_strategy_run(s, f, args, &out));
    for (int i = 0; i < dt_values_count(out); i++) {
        char *text = dt_values_text(out, dt_values_name(out, i));
        assert_false(dt_values_is_per_replica(out, dt_values_name(out, i)));
        assert_int_equal(strncmp(text, "<tf.Tensor", 10), 0);
        free(text);
    }
    dt_values_unref(out);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

static void test_results_outlive_the_next_run(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    counted c = {0};
    dt_function *f = function(every_spread, &c);
    dt_values *first = NULL, *second = NULL;
    dt_values *a = spread_arguments((const int64_t[]){2, 1}, 2),
              *b = spread_arguments((const int64_t[]){1, 2}, 2);

    OK(dt_strategy_run(s, f, a, &first));
    OK(dt_strategy_run(s, f, b, &second));
    dt_values_unref(a);
    dt_values_unref(b);
    dt_function_unref(f);
    dt_strategy_unref(s);
    check_spread_results(first, (const int64_t[]){2, 1}, 2);
    check_spread_results(second, (const int64_t[]){1, 2}, 2);
    dt_values_unref(first);
    dt_values_unref(second);
}

/* ---- many replicas, a pod ---- */

static void test_strategies_agree(void **state) {
    (void)state;
    enum { ROWS = 2500 };
    dt_strategy *all[] = {mirrored(1),    mirrored(2),     mirrored(7),
                          mirrored(2048), tpu("sim:v2-8"), tpu("sim:v3-8")};
    double total = 0;

    for (int i = 0; i < ROWS; i++) total += i;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        int n = dt_strategy_replicas(all[k]);
        int32_t *offsets = calloc((size_t)n + 1, sizeof *offsets);
        int64_t *rows = calloc((size_t)n, sizeof *rows);
        counted c = {0};
        dt_function *f = function(every_spread, &c);
        dt_values *out = NULL;
        /* a partial batch: with 2,048 replicas the last have one row or none */
        dt_cut_rows(ROWS, ROWS + 500, n, offsets);
        for (int r = 0; r < n; r++) rows[r] = offsets[r + 1] - offsets[r];
        dt_values *args = spread_arguments(rows, n);
        OK(dt_strategy_run(all[k], f, args, &out));
        is_local(out, "total", n - 1, SCALAR, &total);
        is_local(out, "size", n - 1, SCALAR, X((double)rows[n - 1]));
        is_local(out, "id", n - 1, SCALAR, X(n - 1));
        dt_values_unref(args);
        dt_values_unref(out);
        dt_function_unref(f);
        dt_strategy_unref(all[k]);
        free(rows);
        free(offsets);
    }
}

/* What a run gave can be handed to another thread, which frees it while this one goes on. */
static void *drop(void *results) {
    dt_values_unref(results);
    return NULL;
}

static void test_results_may_end_in_another_thread(void **state) {
    (void)state;
    dt_strategy *s = mirrored(3);
    counted c = {0};
    dt_function *f = function(every_spread, &c);
    dt_values *args = spread_arguments((const int64_t[]){2, 1, 4}, 3);

    for (int i = 0; i < 20; i++) {
        dt_values *out = NULL, *next = NULL;
        pthread_t thread;
        OK(dt_strategy_run(s, f, args, &out));
        assert_non_null(dt_values_local(out, "rows", 1));
        assert_int_equal(pthread_create(&thread, NULL, drop, out), 0);
        OK(dt_strategy_run(s, f, args, &next));
        check_spread_results(next, (const int64_t[]){2, 1, 4}, 3);
        dt_values_unref(next);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

/* ---- results as arguments ---- */

static void add_up(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "x", dt_add(dt_arg(t, "x"), dt_arg(t, "y")));
}

/* An entry that a run or a data set made, looked at or not, is an argument like any other. */
static void run_with_whole(dt_replication spread, bool look, const int64_t *shape,
                           const double *each) {
    dt_strategy *s = mirrored(2);
    dt_function *f = function(add_up, NULL);
    dt_tensor *t = tensor(DT_FLOAT32, 2, (int64_t[]){2, 3}, X(1, 2, 3, 4, 5, 6));
    dt_values *args = values(), *out = NULL;

    dt_values_set_whole(args, "x", &(dt_whole){t, spread, s, (int32_t[]){0, 0, 2}});
    dt_values_set_whole(args, "y", &(dt_whole){t, spread, s, (int32_t[]){0, 0, 2}});
    for (int r = 0; look && r < 2; r++) assert_non_null(dt_values_local(args, "x", r));
    OK(dt_strategy_run(s, f, args, &out));
    is_local(out, "x", 1, shape, each);
    dt_tensor_unref(t);
    dt_values_unref(args);
    dt_values_unref(out);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

static void test_results_are_arguments(void **state) {
    (void)state;
    for (int look = 0; look < 2; look++) {
        run_with_whole(DT_ROWS, look, SHAPE(2, 3), X(2, 4, 6, 8, 10, 12));
        run_with_whole(DT_STACKED, look, SHAPE(3), X(8, 10, 12));
        run_with_whole(DT_UNIFORM, look, SHAPE(2, 3), X(2, 4, 6, 8, 10, 12));
    }
}

/* Every result but those that no second step could take goes round three times. */
static void test_scalars_go_round(void **state) {
    (void)state;
    dt_strategy *s = mirrored(3);
    counted c = {0};
    dt_function *first = function(every_spread, &c), *f = function(add_up, NULL);
    dt_values *args = spread_arguments((const int64_t[]){4, 1, 2}, 3), *out = NULL,
              *round = values();

    OK(dt_strategy_run(s, first, args, &out));
    for (int r = 0; r < 3; r++) assert_non_null(dt_values_local(out, "total", r));
    static const char *const names[] = {"sum", "total", "w"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dt_tensor *local[3];
        double before[3];
        int n = dt_values_locals(out, names[i]);
        for (int r = 0; r < n; r++) {
            local[r] = (dt_tensor *)(uintptr_t)dt_values_local(out, names[i], r);
            before[r] = dt_tensor_item(local[r]);
        }
        if (n == 3) OK(dt_values_set_per_replica(round, "x", local, 3));
        else OK(dt_values_set(round, "x", local[0]));
        give(round, "y", scalar(1));
        for (int k = 0; k < 3; k++) {
            OK(dt_strategy_run(s, f, round, &round)); /* the arguments make room for the results */
            give(round, "y", scalar(1));
        }
        for (int r = 0; r < n; r++) is_local(round, "x", r, SCALAR, X(before[r] + 3));
    }
    dt_values_unref(round);
    dt_values_unref(out);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_function_unref(first);
    dt_strategy_unref(s);
}

/* ---- tracing ---- */

static void identity(dt_trace *t, void *user) {
    ((counted *)user)->calls++;
    dt_return(t, "x", dt_arg(t, "x"));
}

static dt_values *one_argument(const char *name, dt_dtype dtype, int rank, const int64_t *shape,
                               int n) {
    dt_values *v = values();
    dt_tensor *t[8] = {NULL};

    for (int r = 0; r < (n ? n : 1); r++) OK(dt_tensor_create(&t[r], dtype, rank, shape, NULL));
    if (n > 0) give_each(v, name, t, n);
    else give(v, name, t[0]);
    return v;
}

static void test_functions_are_traced_once_per_signature(void **state) {
    (void)state;
    static const struct {
        dt_dtype dtype;
        int rank;
        int64_t shape[2];
        int n; /* per replica; 0: given once */
        int calls;
    } runs[] = {
        /* rows only */
        {DT_FLOAT32, 2, {4, 3}, 2, 1},
        {DT_FLOAT32, 2, {4, 3}, 2, 1},
        {DT_FLOAT32, 2, {9, 3}, 2, 1},
        {DT_FLOAT32, 2, {0, 3}, 2, 1},
        {DT_FLOAT32, 2, {4, 5}, 2, 2},
        {DT_FLOAT64, 2, {4, 3}, 2, 3},
        /* given once: no dimension is special */
        {DT_FLOAT32, 2, {4, 3}, 0, 4},
        {DT_FLOAT32, 2, {9, 3}, 0, 5},
        {DT_FLOAT32, 1, {4}, 2, 6},
        {DT_FLOAT32, 0, {0}, 2, 7},
        {DT_FLOAT32, 2, {2, 3}, 2, 7},
    };
    dt_strategy *s = mirrored(2), *other = mirrored(2);
    counted c = {0};
    dt_function *f = function(identity, &c);
    dt_values *out = NULL, *args = NULL;

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        args = one_argument("x", runs[i].dtype, runs[i].rank, runs[i].shape, runs[i].n);
        OK(dt_strategy_run(s, f, args, &out));
        assert_int_equal(c.calls, runs[i].calls);
        assert_int_equal(dt_tensor_rank(dt_values_local(out, "x", 0)), runs[i].rank);
        dt_values_unref(args);
    }
    args = one_argument("x", DT_FLOAT32, 2, (int64_t[]){4, 3}, 2);
    OK(dt_strategy_run(other, f, args, &out)); /* another strategy */
    assert_int_equal(c.calls, 8);
    give(args, "unused", scalar(1)); /* another list of names */
    OK(dt_strategy_run(other, f, args, &out));
    assert_int_equal(c.calls, 9);
    dt_values_unref(args);
    dt_values_unref(out);
    dt_function_unref(f);
    dt_strategy_unref(other);
    dt_strategy_unref(s);
}

/* More sizes than executables are kept: they are made anew, the function is not. */
static void test_sizes_come_and_go(void **state) {
    (void)state;
    dt_strategy *s = mirrored(2);
    counted c = {0};
    dt_function *f = function(every_spread, &c);

    for (int round = 0; round < 2; round++)
        for (int64_t rows = 0; rows < 20; rows++) {
            const int64_t each[] = {rows, rows / 2};
            dt_values *args = spread_arguments(each, 2), *out = NULL;
            OK(dt_strategy_run(s, f, args, &out));
            check_spread_results(out, each, 2);
            dt_values_unref(args);
            dt_values_unref(out);
        }
    assert_int_equal(c.calls, 1);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

static void test_one_function_without_arguments_or_results(void **state) {
    (void)state;
    dt_strategy *s = tpu("sim:v2-8");
    counted c = {0};
    dt_function *f = function(identity, &c);
    dt_values *args = one_argument("x", DT_INT32, 0, NULL, 0), *out = NULL;

    OK(dt_strategy_run(s, f, args, NULL));
    fails(dt_strategy_run(s, f, NULL, &out), DT_E_NO_ARGUMENT,
          "no argument 'x'; the step takes no arguments");
    assert_null(out);
    dt_values_unref(args);
    dt_function_unref(f);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_of_every_spread),
        cmocka_unit_test(test_single_are_constants_and_what_was_given_once),
        cmocka_unit_test(test_one_replica_gives_its_values_themselves),
        cmocka_unit_test(test_results_outlive_the_next_run),
        cmocka_unit_test(test_strategies_agree),
        cmocka_unit_test(test_results_may_end_in_another_thread),
        cmocka_unit_test(test_results_are_arguments),
        cmocka_unit_test(test_scalars_go_round),
        cmocka_unit_test(test_functions_are_traced_once_per_signature),
        cmocka_unit_test(test_sizes_come_and_go),
        cmocka_unit_test(test_one_function_without_arguments_or_results),
    };
    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}

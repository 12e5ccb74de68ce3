/* SPDX-License-Identifier: Apache-2.0 */
/* Steps whose arguments differ between replicas in another dimension than the first: every replica
 * has shapes of its own. */
#include "kit.h"

typedef struct setting {
    dt_strategy *s;
    dt_values *args, *out;
    dt_variable *variable;
} setting;

/* x is (1, 1) on replica 0 and (2, 2) on replica 1: 0 and 0, 1, 2, 3. */
static setting begin(int64_t rows) {
    setting x = {.s = mirrored(2), .args = values()};
    dt_tensor *each[2] = {tensor(DT_FLOAT32, 2, SHAPE(rows, 1), X(0, 10)),
                          tensor(DT_FLOAT32, 2, SHAPE(2, 2), X(0, 1, 2, 3))};
    give_each(x.args, "x", each, 2);
    return x;
}

static dt_status *run(setting *x, void (*step)(dt_trace *t, void *user)) {
    dt_function *f = NULL;
    OK(dt_function_create(&f, step, x));
    dt_status *s = dt_strategy_run(x->s, f, x->args, &x->out);
    dt_function_unref(f);
    return s;
}

static void end(setting *x) {
    dt_variable_unref(x->variable);
    dt_values_unref(x->args);
    dt_values_unref(x->out);
    dt_strategy_unref(x->s);
}

static void means(dt_trace *t, void *user) {
    (void)user;
    dt_value x = dt_arg(t, "x"), mean = dt_reduce_mean(x, DT_NO_AXIS);
    dt_return(t, "x", x);
    dt_return(t, "mean", mean);
    dt_return(t, "columns", dt_dim_value(x, 1));
    dt_return(t, "sum", dt_all_reduce(DT_SUM, mean));
    dt_return(t, "id", dt_replica_id(t));
}

static void test_each_replica_has_its_shapes(void **state) {
    (void)state;
    setting x = begin(1);
    dt_tensor *total = NULL;
    OK(run(&x, means));
    is_local(x.out, "x", 0, SHAPE(1, 1), X(0));
    is_local(x.out, "x", 1, SHAPE(2, 2), X(0, 1, 2, 3));
    is_local(x.out, "mean", 0, SCALAR, X(0));
    is_local(x.out, "mean", 1, SCALAR, X(1.5));
    is_local(x.out, "columns", 0, SCALAR, X(1));
    is_local(x.out, "columns", 1, SCALAR, X(2));
    is_local(x.out, "sum", 0, SCALAR, X(1.5));
    is_local(x.out, "id", 1, SCALAR, X(1));
    OK(dt_strategy_reduce(x.s, DT_SUM, x.out, "columns", DT_NO_AXIS, &total));
    assert_true(dt_tensor_item(total) == 3);
    dt_tensor_unref(total);
    end(&x);
}

/* The second gather is of what the first made, whose size no replica knows before all were
 * traced. */
static void gathers(dt_trace *t, void *user) {
    (void)user;
    const dt_type type = dt_type_of_value(dt_arg(t, "x"));
    dt_value x = dt_reshape(dt_arg(t, "x"), 1, SHAPE(dt_type_elements(&type)));
    dt_value all = dt_all_gather(x, 0),
             twice = dt_all_gather(dt_concatenate((dt_value[]){all, x}, 2, 0), -1), dx;
    dt_gradient_values(dt_reduce_sum(dt_multiply(all, all), DT_NO_AXIS), &x, 1, &dx);
    dt_return(t, "all", all);
    dt_return(t, "twice", twice);
    dt_return(t, "dx", dx);
}

static void test_gathers(void **state) {
    (void)state;
    setting x = begin(2);
    OK(run(&x, gathers));
    for (int r = 0; r < 2; r++) {
        is_local(x.out, "all", r, SHAPE(6), X(0, 10, 0, 1, 2, 3));
        is_local(x.out, "twice", r, SHAPE(18),
                 X(0, 10, 0, 1, 2, 3, 0, 10, 0, 10, 0, 1, 2, 3, 0, 1, 2, 3));
    }
    is_local(x.out, "dx", 0, SHAPE(2), X(0, 40)); /* of the losses of both */
    is_local(x.out, "dx", 1, SHAPE(4), X(0, 4, 8, 12));
    end(&x);
}

static void joins_columns(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "all", dt_all_gather(dt_arg(t, "x"), 1));
}

static void test_gathers_along_the_dimension_that_differs(void **state) {
    (void)state;
    setting x = begin(2);
    OK(run(&x, joins_columns));
    is_local(x.out, "all", 0, SHAPE(2, 3), X(0, 0, 1, 10, 2, 3));
    is_local(x.out, "all", 1, SHAPE(2, 3), X(0, 0, 1, 10, 2, 3));
    end(&x);
}

/* A size is a constant in each trace, but not the same. */
static void keeps_columns(dt_trace *t, void *user) {
    setting *x = user;
    dt_variable_assign_add(t, x->variable, dt_convert(dt_dim_value(dt_arg(t, "x"), 1), DT_FLOAT32));
}

static void test_variables(void **state) {
    (void)state;
    static const struct {
        dt_aggregation how;
        double copy[2];
    } rows[] = {
        {DT_AGGREGATE_NONE, {11, 12}},
        {DT_AGGREGATE_SUM, {13, 13}},
        {DT_AGGREGATE_MEAN, {11.5, 11.5}},
        {DT_AGGREGATE_ONLY_FIRST_REPLICA, {11, 11}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setting x = begin(1);
        dt_tensor *ten = scalar(10), *copy = NULL;
        DT_SCOPE(x.s)
        OK(dt_variable_create(&x.variable, ten,
                              &(dt_variable_options){.aggregation = rows[i].how}));
        OK(run(&x, keeps_columns));
        for (int r = 0; r < 2; r++) {
            OK(dt_variable_local(x.variable, r, &copy));
            assert_true(dt_tensor_item(copy) == rows[i].copy[r]);
        }
        dt_tensor_unref(copy);
        dt_tensor_unref(ten);
        end(&x);
    }
}

static void adds_unlike(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "x", dt_all_reduce(DT_SUM, dt_arg(t, "x")));
}

static int64_t columns_of(dt_trace *t) { return dt_type_of_value(dt_arg(t, "x")).dim[1]; }

static void joins_unlike_rows(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "x", dt_all_gather(dt_arg(t, "x"), 0));
}

static void returns_by_shape(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, columns_of(t) == 1 ? "narrow" : "wide", dt_arg(t, "x"));
}

static void reduces_by_shape(dt_trace *t, void *user) {
    (void)user;
    dt_value mean = dt_reduce_mean(dt_arg(t, "x"), DT_NO_AXIS);
    dt_return(t, "x", columns_of(t) == 1 ? dt_all_reduce(DT_SUM, mean) : mean);
}

static void test_what_cannot_be(void **state) {
    (void)state;
    const struct {
        void (*step)(dt_trace *t, void *user);
        dt_error id;
        const char *part;
    } rows[] = {
        {adds_unlike, DT_E_REDUCE_TYPE, "differ in shape"},
        {joins_unlike_rows, DT_E_REDUCE_TYPE, "differ in shape"},
        {returns_by_shape, DT_E_ARGUMENT, "something else on replica 1"},
        {reduces_by_shape, DT_E_REDUCE_TYPE, "different calls"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setting x = begin(1);
        fails(run(&x, rows[i].step), rows[i].id, rows[i].part);
        end(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_replica_has_its_shapes),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_gathers_along_the_dimension_that_differs),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_what_cannot_be),
    };
    return cmocka_run_group_tests_name("each", tests, NULL, NULL);
}

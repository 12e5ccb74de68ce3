/* SPDX-License-Identifier: Apache-2.0 */
/* What replicas do together: sums by name, joined values, functions in cross-replica context, steps
 * for known sizes. */
#include "kit.h"

typedef struct setting {
    dt_strategy *s;
    dt_values *args, *out;
    dt_variable *variable;
    int axis, calls;
    const char *op;
} setting;

static setting begin(int replicas) {
    return (setting){.s = mirrored(replicas), .args = values(), .op = "sum"};
}

static void end(setting *x) {
    dt_values_unref(x->args);
    dt_values_unref(x->out);
    dt_variable_unref(x->variable);
    dt_strategy_unref(x->s);
}

static dt_status *run(setting *x, void (*step)(dt_trace *, void *),
                      const dt_step_options *options) {
    dt_function *f = NULL;
    OK(dt_function_create(&f, step, x));
    dt_status *bad = dt_strategy_run_with(x->s, f, x->args, options, &x->out);
    dt_function_unref(f);
    return bad;
}

/* ---- joining ---- */

static void gathers(dt_trace *t, void *user) {
    setting *x = user;
    x->calls++;
    dt_return(t, "y", dt_all_gather(dt_arg(t, "x"), x->axis));
}

/* Uneven rows: the trace is for their number, and another for the next. */
static void test_all_gather_of_uneven_rows(void **state) {
    setting x = begin(3);

    (void)state;
    give_rows(x.args, "x", SHAPE(1, 0, 2), 3);
    OK(run(&x, gathers, NULL));
    for (int r = 0; r < 3; r++) is_local(x.out, "y", r, SHAPE(3), X(0, 1, 2));
    give_rows(x.args, "x", SHAPE(2, 2, 1), 3);
    OK(run(&x, gathers, NULL));
    is_local(x.out, "y", 2, SHAPE(5), X(0, 1, 2, 3, 4));
    x.axis = 1;
    fails(run(&x, gathers, NULL), DT_E_REDUCE, "axis 1");
    end(&x);
}

static void test_all_gather_along_any_axis(void **state) {
    static const struct {
        int axis;
        int64_t shape[3];
        double want[8];
    } rows[] = {
        {0, {4, 2, -1}, {1, 2, 3, 4, 5, 6, 7, 8}},
        {1, {2, 4, -1}, {1, 2, 5, 6, 3, 4, 7, 8}},
        {-1, {2, 4, -1}, {1, 2, 5, 6, 3, 4, 7, 8}},
    };
    const dt_dtype dtypes[] = {DT_FLOAT32, DT_INT32, DT_INT64, DT_FLOAT64, DT_UINT8};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            setting x = begin(2);
            dt_tensor *t[] = {tensor(dtypes[d], 2, SHAPE(2, 2), X(1, 2, 3, 4)),
                              tensor(dtypes[d], 2, SHAPE(2, 2), X(5, 6, 7, 8))};
            x.axis = rows[i].axis;
            give_each(x.args, "x", t, 2);
            OK(run(&x, gathers, NULL));
            is_local(x.out, "y", 1, rows[i].shape, rows[i].want);
            assert_int_equal(dt_tensor_dtype(dt_values_local(x.out, "y", 0)), dtypes[d]);
            end(&x);
        }
}

/* d sum(all_gather(x)^2) / dx summed over replicas is 2 x for each of them: every replica squares
 * every part. */
static void gather_gradient(dt_trace *t, void *user) {
    dt_value x = dt_arg(t, "x"), y = dt_all_gather(x, 0), dx;
    (void)user;
    dt_gradient_values(dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS), &x, 1, &dx);
    dt_return(t, "dx", dx);
}

static void test_gradient_of_all_gather(void **state) {
    setting x = begin(2);

    (void)state;
    give_rows(x.args, "x", SHAPE(3, 1), 2);
    OK(run(&x, gather_gradient, NULL));
    is_local(x.out, "dx", 0, SHAPE(3), X(0, 4, 8));
    is_local(x.out, "dx", 1, SHAPE(1), X(12));
    end(&x);
}

/* ---- sizes ---- */

static void sums(dt_trace *t, void *user) {
    setting *x = user;
    x->calls++;
    dt_return(t, "y", dt_all_reduce_named(x->op, dt_arg(t, "x")));
}

/* A vector of each replica has rows of its own until a step wants to add them. */
static void test_vectors_are_added_when_they_are_alike(void **state) {
    setting x = begin(2);

    (void)state;
    give_rows(x.args, "x", SHAPE(2, 2), 2);
    OK(run(&x, sums, NULL));
    assert_int_equal(x.calls, 2); /* for any rows, then for two */
    is_local(x.out, "y", 1, SHAPE(2), X(0 + 2, 1 + 3));
    x.op = "MeAn";
    OK(run(&x, sums, &(dt_step_options){.fixed_batch_size = true}));
    assert_int_equal(x.calls, 3);
    is_local(x.out, "y", 0, SHAPE(2), X(1, 2));
    x.op = "max";
    fails(run(&x, sums, NULL), DT_E_REDUCE, "'MAX' is not a valid ReduceOp");
    give_rows(x.args, "x", SHAPE(2, 1), 2);
    x.op = "sum";
    fails(run(&x, sums, NULL), DT_E_MODEL_SHAPE, "differ in size");
    fails(run(&x, sums, &(dt_step_options){.fixed_batch_size = true}), DT_E_ARGUMENT,
          "same number of rows");
    end(&x);
}

/* ---- merge_call ---- */

static void mean_and_update(const dt_merge *m) {
    setting *x = m->user;

    assert_true(dt_in_cross_replica_context());
    assert_false(dt_get_replica_context(NULL));
    m->out[0] = dt_merge_reduce(DT_MEAN, m->in[0], 0);
    m->out[1] = dt_variable_assign_add(m->trace, x->variable, m->out[0]);
}

static void merges(dt_trace *t, void *user) {
    dt_value in = dt_arg(t, "x"), out[2];

    dt_merge_call(
        &(dt_merge){.trace = t, .n_in = 1, .in = &in, .n_out = 2, .out = out, .user = user},
        mean_and_update);
    assert_false(dt_in_cross_replica_context());
    dt_return(t, "mean", out[0]);
    dt_return(t, "after", out[1]);
}

static void test_merge_call_reduces_and_updates(void **state) {
    setting x = begin(2);
    dt_tensor *ten = scalar(10);

    (void)state;
    DT_SCOPE(x.s)
    OK(dt_variable_create(&x.variable, ten,
                          &(dt_variable_options){.aggregation = DT_AGGREGATE_SUM}));
    give_rows(x.args, "x", SHAPE(3, 1), 2);
    OK(run(&x, merges, NULL));
    is_local(x.out, "mean", 0, SCALAR, X(1.5)); /* 0, 1, 2 and 3 */
    assert_string_equal(dt_values_kind(x.out, "mean"), "Tensor");
    /* once: what is assigned there is all replicas' already */
    is_local(x.out, "after", 1, SCALAR, X(11.5));
    assert_int_equal(dt_values_locals(x.out, "after"), 2);
    dt_tensor_unref(ten);
    end(&x);
}

static void mean_of_columns(const dt_merge *m) {
    m->out[0] = dt_merge_reduce(DT_MEAN, m->in[0], 1);
}

static void merges_columns(dt_trace *t, void *user) {
    dt_value in = dt_arg(t, "x"), out;
    (void)user;
    dt_merge_call(&(dt_merge){.trace = t, .n_in = 1, .in = &in, .n_out = 1, .out = &out},
                  mean_of_columns);
    dt_return(t, "mean", out);
}

static void test_merge_call_along_another_axis_is_one_value(void **state) {
    setting x = begin(2);
    dt_tensor *each[2] = {tensor(DT_FLOAT32, 2, SHAPE(2, 2), X(1, 2, 3, 4)),
                          tensor(DT_FLOAT32, 2, SHAPE(2, 2), X(5, 6, 7, 8))};

    (void)state;
    give_each(x.args, "x", each, 2);
    OK(run(&x, merges_columns, NULL));
    is_local(x.out, "mean", 0, SHAPE(2), X(3.5, 5.5));
    assert_string_equal(dt_values_kind(x.out, "mean"), "Tensor");
    end(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_gather_of_uneven_rows),
        cmocka_unit_test(test_all_gather_along_any_axis),
        cmocka_unit_test(test_gradient_of_all_gather),
        cmocka_unit_test(test_vectors_are_added_when_they_are_alike),
        cmocka_unit_test(test_merge_call_reduces_and_updates),
        cmocka_unit_test(test_merge_call_along_another_axis_is_one_value),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}

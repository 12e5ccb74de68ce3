/* SPDX-License-Identifier: Apache-2.0 */
/* Variables: made in scopes and outside, read and assigned from outside and by replicas, with every
 * synchronization and aggregation. */
#include "kit.h"

typedef struct step {
    dt_variable *v;
    dt_write how;
    bool number, read_only;
    double value;
} step;

static void write_step(dt_trace *t, void *user) {
    const step *my = user;
    dt_value x = my->read_only || my->number ? (dt_value){0} : dt_arg(t, "x"), y;

    if (my->read_only) y = dt_variable_read(t, my->v);
    else if (my->number) y = dt_variable_write_number(t, my->v, my->how, my->value);
    else
        y = my->how == DT_ASSIGN       ? dt_variable_assign(t, my->v, x)
            : my->how == DT_ASSIGN_ADD ? dt_variable_assign_add(t, my->v, x)
                                       : dt_variable_assign_sub(t, my->v, x);
    dt_return(t, "y", y);
}

static dt_variable *variable(double initial, const dt_variable_options *o) {
    dt_variable *v = NULL;
    dt_tensor *t = scalar(initial);

    OK(dt_variable_create(&v, t, o));
    dt_tensor_unref(t);
    return v;
}

static double copy(dt_variable *v, int r) {
    dt_tensor *t = NULL;
    OK(dt_variable_local(v, r, &t));
    double x = dt_tensor_item(t);
    dt_tensor_unref(t);
    return x;
}

static double value(dt_variable *v) {
    dt_tensor *t = NULL;
    OK(dt_variable_value(v, &t));
    double x = dt_tensor_item(t);
    dt_tensor_unref(t);
    return x;
}

/* x[r] on replica r. */
static dt_status *run(dt_strategy *s, step *my, const double *x, dt_values **out) {
    dt_function *f = NULL;
    dt_values *args = NULL;
    dt_tensor *t[8];
    int n = dt_strategy_replicas(s);

    OK(dt_function_create(&f, write_step, my));
    OK(dt_values_create(&args));
    for (int r = 0; x && r < n; r++) t[r] = scalar(x[r]);
    if (x) give_each(args, "x", t, n);
    dt_status *bad = dt_strategy_run(s, f, args, out);
    dt_values_unref(args);
    dt_function_unref(f);
    return bad;
}

/* semantics.md, section 7: 10 at first, the replicas write 1, 2, 5. */
static void test_replicas_write(void **state) {
    static const struct row {
        dt_synchronization sync;
        dt_aggregation aggregation;
        dt_write how;
        double want[3];
    } rows[] = {
        {DT_SYNC_ON_WRITE, DT_AGGREGATE_NONE, DT_ASSIGN, {1, 2, 5}},
        {DT_SYNC_ON_WRITE, DT_AGGREGATE_NONE, DT_ASSIGN_ADD, {11, 12, 15}},
        {DT_SYNC_AUTO, DT_AGGREGATE_SUM, DT_ASSIGN, {8, 8, 8}},
        {DT_SYNC_AUTO, DT_AGGREGATE_SUM, DT_ASSIGN_ADD, {18, 18, 18}},
        {DT_SYNC_ON_WRITE,
         DT_AGGREGATE_MEAN,
         DT_ASSIGN_SUB,
         {10 - 8. / 3, 10 - 8. / 3, 10 - 8. / 3}},
        {DT_SYNC_ON_WRITE, DT_AGGREGATE_ONLY_FIRST_REPLICA, DT_ASSIGN_SUB, {9, 9, 9}},
        {DT_SYNC_ON_READ, DT_AGGREGATE_NONE, DT_ASSIGN_ADD, {11, 12, 15}},
        {DT_SYNC_ON_READ, DT_AGGREGATE_SUM, DT_ASSIGN, {1, 2, 5}},
    };
    const double x[3] = {1, 2, 5};
    dt_strategy *s = mirrored(3);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        step my = {.how = rows[i].how};
        dt_values *out = NULL;
        DT_SCOPE(s)
        my.v = variable(10, &(dt_variable_options){.synchronization = rows[i].sync,
                                                   .aggregation = rows[i].aggregation});
        OK(run(s, &my, x, &out));
        for (int r = 0; r < 3; r++) {
            assert_float_equal(copy(my.v, r), rows[i].want[r], 1e-5);
            assert_float_equal(dt_tensor_item(dt_values_local(out, "y", r)), rows[i].want[r], 1e-5);
        }
        dt_values_unref(out);
        dt_variable_unref(my.v);
    }
    dt_strategy_unref(s);
}

static void test_on_read_from_outside(void **state) {
    const double x[2] = {1, 2};
    dt_strategy *s = mirrored(2);
    dt_tensor *six = scalar(6);

    (void)state;
    for (dt_aggregation a = DT_AGGREGATE_SUM; a <= DT_AGGREGATE_ONLY_FIRST_REPLICA; a++) {
        step my = {.how = DT_ASSIGN_ADD};
        DT_SCOPE(s)
        my.v = variable(
            10, &(dt_variable_options){.synchronization = DT_SYNC_ON_READ, .aggregation = a});
        OK(run(s, &my, x, NULL));
        assert_float_equal(value(my.v),
                           a == DT_AGGREGATE_SUM    ? 23
                           : a == DT_AGGREGATE_MEAN ? 11.5
                                                    : 11,
                           0);
        OK(dt_variable_set(my.v, DT_ASSIGN, six));
        assert_float_equal(copy(my.v, 1), a == DT_AGGREGATE_SUM ? 3 : 6, 0);
        assert_float_equal(value(my.v), 6, 0);
        if (a == DT_AGGREGATE_SUM)
            fails(dt_variable_set(my.v, DT_ASSIGN_ADD, six), DT_E_VARIABLE,
                  "assign_add is only possible in a step function");
        else OK(dt_variable_set(my.v, DT_ASSIGN_ADD, six));
        dt_variable_unref(my.v);
    }
    dt_tensor_unref(six);
    dt_strategy_unref(s);
}

/* The example of the reference, in its own print. */
static void test_prints_as_documented(void **state) {
    dt_strategy *s = mirrored(2);
    dt_variable *mirror = NULL, *plain;

    (void)state;
    DT_SCOPE(s)
    mirror = variable(1, NULL);
    plain = variable(1, NULL);
    char *a = dt_variable_text(mirror), *b = dt_variable_text(plain);
    assert_string_equal(
        a, "MirroredVariable:{\n"
           "  0: <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>,\n"
           "  1: <tf.Variable 'Variable/replica_1:0' shape=() dtype=float32, numpy=1.0>\n"
           "}");
    assert_string_equal(b, "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>");
    free(a);
    free(b);
    dt_variable_unref(mirror);
    dt_variable_unref(plain);
    dt_strategy_unref(s);
}

/* 1.0 becomes 3.0 on two replicas: each adds once. The last one's assignment stays. */
static void test_plain_variable_changes_once_per_replica(void **state) {
    const double x[2] = {1, 5};
    dt_strategy *s = mirrored(2);
    step my = {.v = variable(1, NULL), .how = DT_ASSIGN_ADD, .number = true, .value = 1};

    (void)state;
    OK(run(s, &my, NULL, NULL));
    assert_float_equal(value(my.v), 3, 0);
    my.number = false;
    OK(run(s, &my, x, NULL));
    assert_float_equal(value(my.v), 9, 0);
    my.how = DT_ASSIGN;
    OK(run(s, &my, x, NULL));
    assert_float_equal(value(my.v), 5, 0);
    dt_variable_unref(my.v);
    dt_strategy_unref(s);
}

/* A function traced while the variable was one for all is traced anew when its copies part. */
static void test_copies_part_between_runs(void **state) {
    const double x[2] = {1, 2};
    dt_strategy *s = mirrored(2);
    dt_function *read = NULL;
    dt_values *out = NULL;
    step my = {.how = DT_ASSIGN_ADD}, look = {.read_only = true};

    (void)state;
    DT_SCOPE(s)
    my.v = variable(10, NULL);
    look.v = my.v;
    OK(dt_function_create(&read, write_step, &look));
    OK(dt_strategy_run(s, read, NULL, &out));
    assert_float_equal(dt_tensor_item(dt_values_local(out, "y", 1)), 10, 0);
    OK(run(s, &my, x, NULL));
    OK(dt_strategy_run(s, read, NULL, &out));
    assert_float_equal(dt_tensor_item(dt_values_local(out, "y", 0)), 11, 0);
    assert_float_equal(dt_tensor_item(dt_values_local(out, "y", 1)), 12, 0);
    dt_values_unref(out);
    dt_function_unref(read);
    dt_variable_unref(my.v);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replicas_write),
        cmocka_unit_test(test_on_read_from_outside),
        cmocka_unit_test(test_prints_as_documented),
        cmocka_unit_test(test_plain_variable_changes_once_per_replica),
        cmocka_unit_test(test_copies_part_between_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The current strategy: entered, nested, left on every way out, and what is refused. */
#include "kit.h"

#include <pthread.h>

static int setup(void **state) {
    *state = mirrored(2);
    return 0;
}

static int teardown(void **state) {
    dt_strategy_unref(*state);
    return 0;
}

static bool is_default(void) { return strcmp(dt_strategy_type(dt_get_strategy()), "default") == 0; }

/* ---- what is current ---- */

static void test_default_strategy_is_current_outside(void **state) {
    (void)state;
    const dt_strategy *d = dt_get_strategy();
    assert_string_equal(dt_strategy_type(d), "default");
    assert_int_equal(dt_strategy_replicas(d), 1);
    assert_ptr_equal(d, dt_get_strategy());
}

static void test_scope_nests_in_itself(void **state) {
    dt_strategy *s = *state;
    int visits = 0;

    DT_SCOPE(s) {
        assert_ptr_equal(dt_get_strategy(), s);
        DT_SCOPE(s) {
            assert_ptr_equal(dt_get_strategy(), s);
            visits++;
        }
        assert_ptr_equal(dt_get_strategy(), s);
        OK(dt_status_kept());
    }
    assert_int_equal(visits, 1);
    assert_true(is_default());
}

/* ---- ways out ---- */

static dt_status *leave_by_goto(dt_strategy *s) {
    dt_status *bad = NULL;

    DT_SCOPE(s) {
        DT_SCOPE(s) { DT_GO(bad, dt_fail(DT_E_INTERNAL, NULL, "on purpose")); }
        fail_msg("not left");
    }
out:
    return bad;
}

static int leave_by_return(dt_strategy *s) {
    DT_SCOPE(s)
    return 1;
    return 0;
}

static void test_every_way_out_leaves(void **state) {
    dt_strategy *s = *state;

    fails(leave_by_goto(s), DT_E_INTERNAL, "on purpose");
    assert_true(is_default());
    assert_int_equal(leave_by_return(s), 1);
    assert_true(is_default());
    DT_SCOPE(s)
    break;
    assert_true(is_default());
    for (int i = 0; i < 3; i++) {
        DT_SCOPE(s)
        continue;
        assert_true(is_default());
    }
}

/* ---- mixing ---- */

typedef struct thing {
    dt_strategy *strategy;
    dt_values *values;
    dt_function *function;
} thing;

static void no_step(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "one", dt_constant(t, 1));
}

static dt_status *make_model(thing *x) {
    dt_model *m = NULL;
    (void)x;
    dt_status *s = dt_model_create(&m, "[Input: {shape: [2]}, Dense: {units: 1}]");
    dt_model_unref(m);
    return s;
}

static dt_status *make_function(thing *x) {
    dt_function *f = NULL;
    dt_status *s = dt_function_create(&f, no_step, x);
    dt_function_unref(f);
    return s;
}

static dt_status *make_strategy(thing *x) {
    dt_strategy *made = NULL;
    (void)x;
    dt_status *s = dt_mirrored_strategy(&made, NULL, 0);
    dt_strategy_unref(made);
    return s;
}

static dt_status *run(thing *x) { return dt_strategy_run(x->strategy, x->function, NULL, NULL); }

static dt_status *reduce(thing *x) {
    dt_tensor *t = NULL;
    dt_status *s = dt_strategy_reduce(x->strategy, DT_MEAN, x->values, "x", DT_NO_AXIS, &t);
    dt_tensor_unref(t);
    return s;
}

static dt_status *make_optimizer(thing *x) {
    dt_optimizer *o = NULL;
    (void)x;
    dt_status *s = dt_optimizer_create(&o, "Adam");
    dt_optimizer_unref(o);
    return s;
}

static dt_status *make_loss(thing *x) {
    dt_loss *l = NULL;
    (void)x;
    dt_status *s = dt_loss_create(&l, "MeanSquaredError");
    dt_loss_unref(l);
    return s;
}

static dt_status *make_data(thing *x) {
    dt_dataset *d = NULL;
    (void)x;
    dt_status *s = dt_dataset_open(
        &d, "{format: synthetic, examples: 1, element: {x: {shape: [1]}}, global_batch_size: 1}");
    dt_dataset_unref(d);
    return s;
}

static dt_status *make_tensor(thing *x) {
    dt_tensor *t = NULL;
    (void)x;
    dt_status *s = dt_tensor_create(&t, DT_FLOAT32, 0, NULL, NULL);
    dt_tensor_unref(t);
    return s;
}

static dt_status *make_resolver(thing *x) {
    dt_resolver *r = NULL;
    (void)x;
    dt_status *s = dt_tpu_resolver(&r, "sim:v2-8");
    dt_resolver_unref(r);
    return s;
}

typedef dt_status *call(thing *x);
static call *const calls[] = {make_function,  make_strategy, run,       reduce,      make_model,
                              make_optimizer, make_loss,     make_data, make_tensor, make_resolver};
enum { CALLS = sizeof calls / sizeof *calls };

static void things_make(thing *x, dt_strategy *s) {
    *x = (thing){.strategy = s, .values = values()};
    give(x->values, "x", scalar(3));
    OK(dt_function_create(&x->function, no_step, x));
}

static void things_free(thing *x) {
    dt_values_unref(x->values);
    dt_function_unref(x->function);
}

/* The next call that can fail returns the error, once, and the block goes on with the strategy that
 * was current. */
static void test_error_of_entering_is_returned_by_the_next_call(void **state) {
    dt_strategy *a = *state, *b = mirrored(3);
    thing x;

    things_make(&x, a);
    for (int i = 0; i < CALLS; i++) DT_SCOPE(a) {
            DT_SCOPE(b) {
                assert_ptr_equal(dt_get_strategy(), a);
                fails(calls[i](&x), DT_E_SCOPE, "mixing different strategies");
                OK(calls[i](&x));
            }
            assert_ptr_equal(dt_get_strategy(), a);
        }
    assert_true(is_default());
    things_free(&x);
    dt_strategy_unref(b);
}

static void test_first_error_of_entering_is_kept(void **state) {
    dt_strategy *b = mirrored(3);

    DT_SCOPE((dt_strategy *)NULL) {
        DT_SCOPE(*state) {
            DT_SCOPE(b)
            assert_ptr_equal(dt_get_strategy(), *state);
        }
    }
    fails(dt_status_kept(), DT_E_SCOPE, "no strategy");
    OK(dt_status_kept());
    dt_strategy_unref(b);
}

static void test_run_and_reduce_of_another_strategy_are_refused(void **state) {
    dt_strategy *a = *state, *b = mirrored(3);
    thing x;

    things_make(&x, b);
    DT_SCOPE(a) {
        fails(run(&x), DT_E_SCOPE, "the scope of a mirrored strategy is open");
        fails(reduce(&x), DT_E_SCOPE, "mixing");
        assert_ptr_equal(dt_get_strategy(), a);
    }
    OK(run(&x));
    OK(reduce(&x));
    things_free(&x);
    dt_strategy_unref(b);
}

static void test_default_strategy_nests_outside_only(void **state) {
    dt_strategy *d = NULL;

    OK(dt_default_strategy(&d));
    DT_SCOPE(d)
    DT_SCOPE(*state)
    OK(dt_status_kept());
    DT_SCOPE(*state)
    DT_SCOPE(d)
    fails(dt_status_kept(), DT_E_SCOPE, "cannot enter the default strategy's scope");
    dt_strategy_unref(d);
}

static void test_scopes_nest_to_a_limit(void **state) {
    dt_scope open[65];

    for (int i = 0; i < 65; i++) open[i] = dt_scope_enter(*state);
    fails(dt_status_kept(), DT_E_SCOPE, "deeper than 64");
    assert_ptr_equal(dt_get_strategy(), *state);
    for (int i = 64; i >= 0; i--) dt_scope_leave(&open[i]);
    assert_true(is_default());
}

/* ---- step functions ---- */

static void step_with_a_scope(dt_trace *t, void *user) {
    dt_strategy *s = user;

    DT_SCOPE(s)
    dt_return(t, "one", dt_constant(t, 1));
}

static void step_with_a_run(dt_trace *t, void *user) {
    thing *x = user;

    fails(run(x), DT_E_SCOPE, "cannot be used in a step function");
    fails(reduce(x), DT_E_SCOPE, "cannot be used in a step function");
    dt_return(t, "one", dt_constant(t, 1));
}

static void test_step_functions_enter_no_scope(void **state) {
    dt_function *scoped = NULL, *nested = NULL;
    thing x;

    things_make(&x, *state);
    OK(dt_function_create(&scoped, step_with_a_scope, *state));
    OK(dt_function_create(&nested, step_with_a_run, &x));
    fails(dt_strategy_run(*state, scoped, NULL, NULL), DT_E_SCOPE,
          "cannot be used in a step function");
    OK(dt_strategy_run(*state, nested, NULL, NULL));
    OK(run(&x)); /* and afterwards they can be entered again */
    dt_function_unref(scoped);
    dt_function_unref(nested);
    things_free(&x);
}

/* ---- threads ---- */

/* Leaves an error and a default strategy behind, which go with the thread. */
static void *look_around(void *user) {
    *(bool *)user = is_default();
    DT_SCOPE((dt_strategy *)NULL)
    break;
    return NULL;
}

static void test_other_threads_start_in_the_default_strategy(void **state) {
    pthread_t thread;
    bool there = false;

    DT_SCOPE(*state) {
        assert_int_equal(pthread_create(&thread, NULL, look_around, &there), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_true(there);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_strategy_is_current_outside),
        cmocka_unit_test_setup_teardown(test_scope_nests_in_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_way_out_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_error_of_entering_is_returned_by_the_next_call, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_first_error_of_entering_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_run_and_reduce_of_another_strategy_are_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_default_strategy_nests_outside_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scopes_nest_to_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_step_functions_enter_no_scope, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_threads_start_in_the_default_strategy, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}

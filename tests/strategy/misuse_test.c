/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong use of the API of strategies, values, variables and step functions: answered by an error
 * that says what is wrong, never by a crash. */
#include "kit.h"

/* ---- NULL for everything ---- */

static dt_strategy *none;
static dt_values *no_values;
static dt_tensor *no_tensor;
static dt_variable *no_variable;
static dt_function *no_function;

static void empty_step(dt_trace *t, void *user) { (void)t, (void)user; }

static dt_status *no_value(const dt_value_context *c, dt_values *out, void *user) {
    (void)c, (void)out, (void)user;
    return NULL;
}

/* Calls with one thing missing, each on its own. */
static dt_status *calls(int i, dt_strategy *s, dt_values *v, dt_tensor *t, dt_variable *x) {
    dt_reduce_op op;
    const char *const name[] = {NULL};
    dt_tensor *out = NULL;
    dt_values *all = NULL;

    switch (i) {
    case 0: return dt_tensor_create(NULL, DT_FLOAT32, 0, NULL, NULL);
    case 1: return dt_tensor_create(&out, DT_FLOAT32, 2, NULL, NULL);
    case 2: return dt_values_create(NULL);
    case 3: return dt_values_set(NULL, "x", t);
    case 4: return dt_values_set(v, NULL, t);
    case 5: return dt_values_set(v, "x", NULL);
    case 6: return dt_values_set_per_replica(v, "x", NULL, 2);
    case 7: return dt_values_set_per_replica(v, "x", &no_tensor, 1);
    case 8: return dt_values_set_variable(v, "x", NULL);
    case 9: return dt_mirrored_strategy(NULL, NULL, 0);
    case 10: return dt_mirrored_strategy(&none, name, 1);
    case 11: return dt_one_device_strategy(NULL, "CPU:0");
    case 12: return dt_default_strategy(NULL);
    case 13: return dt_reduce_op_named(NULL, &op);
    case 14: return dt_reduce_op_named("SUM", NULL);
    case 15: return dt_strategy_reduce(NULL, DT_SUM, v, "x", 0, &out);
    case 16: return dt_strategy_reduce(s, DT_SUM, NULL, "x", 0, &out);
    case 17: return dt_strategy_reduce(s, DT_SUM, v, NULL, 0, &out);
    case 18: return dt_strategy_reduce(s, DT_SUM, v, "x", 0, NULL);
    case 19: return dt_strategy_reduce(s, (dt_reduce_op)7, v, "x", 0, &out);
    case 20: return dt_strategy_reduce_axes(s, DT_SUM, v, "x", &(dt_axes){9, {0}}, &out);
    case 21: return dt_strategy_gather(NULL, v, "x", 0, &out);
    case 22: return dt_strategy_gather(s, v, "y", 0, &out);
    case 23: return dt_strategy_values_from_function(NULL, no_value, NULL, &all);
    case 24: return dt_strategy_values_from_function(s, NULL, NULL, &all);
    case 25: return dt_strategy_values_from_function(s, no_value, NULL, NULL);
    case 26: return dt_variable_create(NULL, t, NULL);
    case 27: return dt_variable_create(&no_variable, NULL, NULL);
    case 28:
        return dt_variable_create(&no_variable, t,
                                  &(dt_variable_options){.synchronization = (dt_synchronization)9});
    case 29:
        return dt_variable_create(&no_variable, t,
                                  &(dt_variable_options){.aggregation = (dt_aggregation)9});
    case 30:
        return dt_variable_create(
            &no_variable, NULL,
            &(dt_variable_options){.dtype = DT_FLOAT32, .initializer = "no_such"});
    case 31: return dt_variable_value(NULL, &out);
    case 32: return dt_variable_value(x, NULL);
    case 33: return dt_variable_local(x, 9, &out);
    case 34: return dt_variable_local(x, -1, &out);
    case 35: return dt_variable_set(NULL, DT_ASSIGN, t);
    case 36: return dt_variable_set(x, DT_ASSIGN, NULL);
    case 37: return dt_variable_set(x, (dt_write)9, t);
    case 38: return dt_variable_set_from(x, DT_ASSIGN, v, "y");
    case 39: return dt_variable_set_from(x, DT_ASSIGN, NULL, "x");
    case 40: return dt_variable_scatter(x, DT_SCATTER_ADD, NULL, t);
    case 41: return dt_variable_scatter(x, (dt_scatter)9, t, t);
    case 42: return dt_variables_create(NULL, &x, 1);
    case 43: return dt_function_create(NULL, empty_step, NULL);
    case 44: return dt_function_create(&no_function, NULL, NULL);
    case 45: return dt_strategy_run(NULL, no_function, NULL, NULL);
    case 46: return dt_strategy_run(s, NULL, NULL, NULL);
    case 47: return dt_values_set_per_replica(v, "x", &t, -1);
    case 48: return dt_values_set_per_replica(v, "x", &t, 0);
    case 49: return dt_multi_worker_mirrored_strategy(NULL, NULL);
    case 50: return dt_tpu_resolver(NULL, "sim:v3-8");
    case 51: return dt_tpu_strategy(NULL, NULL, NULL);
    case 52: return dt_experimental_tpu_strategy(NULL, NULL, NULL);
    case 53:
        return dt_variable_create(&no_variable, NULL,
                                  &(dt_variable_options){.dtype = DT_FLOAT32,
                                                         .rank = 1,
                                                         .shape = (int64_t[]){3},
                                                         .initializer = "orthogonal"});
    }
    return NULL;
}

static void test_every_call_says_what_is_missing(void **state) {
    dt_strategy *s = mirrored(2);
    dt_values *v = values();
    dt_tensor *t = count_from(1, 2);
    dt_variable *x = NULL;

    (void)state;
    give(v, "x", count_from(0, 3));
    OK(dt_variable_create(&x, t, NULL));
    for (int i = 0; i <= 53; i++) {
        dt_status *bad = calls(i, s, v, t, x);
        if (!bad) fail_msg("call %d is not refused", i);
        assert_true(strlen(dt_status_text(bad)) > 10);
        dt_status_free(bad);
    }
    assert_null(none);
    assert_null(no_variable);
    assert_null(no_function);
    dt_variable_unref(x);
    dt_tensor_unref(t);
    dt_values_unref(v);
    dt_strategy_unref(s);
}

/* Calls without a place for what they make or find. */
static dt_status *placeless(int i, dt_strategy *s, dt_dataset *d, dt_topology *t,
                            dt_device_assignment *a) {
    static const int at[4] = {0};
    static const int64_t core[4] = {0}, shape[3] = {1, 1, 4};
    int n;

    switch (i) {
    case 0: return dt_dataset_range(NULL, 0, 4, 1);
    case 1: return dt_dataset_zip(NULL, (const dt_dataset *[]){d}, 1);
    case 2: return dt_dataset_take(NULL, d, 1);
    case 3: return dt_dataset_static_batch_size(d, NULL);
    case 4: return dt_strategy_distribute_dataset(s, d, NULL, NULL);
    case 5: return dt_dataset_iterate(NULL, d);
    case 6: return dt_strategy_logical_device(s, 0, 0, NULL);
    case 7: return dt_topology_task_ordinal(t, at, NULL);
    case 8: return dt_topology_tpu_ordinal(t, at, NULL);
    case 9: return dt_topology_tpu_device(t, at, NULL, NULL);
    case 10: return dt_device_assignment_coordinates(a, 0, 0, NULL);
    case 11: return dt_device_assignment_host_device(a, 0, 0, NULL, NULL);
    case 12: return dt_device_assignment_lookup_replicas(a, 0, 0, NULL, &n);
    case 13: return dt_device_assignment_lookup_replicas(a, 0, 0, &n, NULL);
    case 14: return dt_device_assignment_create(NULL, t, core, shape, 3);
    case 15: return dt_device_assignment_build(NULL, t, NULL);
    case 16: return dt_topology_create(NULL, NULL);
    }
    return NULL;
}

static void test_results_want_a_place(void **state) {
    dt_strategy *s = mirrored(2);
    dt_dataset *d = NULL;
    dt_topology *t = NULL;
    dt_device_assignment *a = NULL;
    dt_dist_dataset *spread = NULL;
    dt_iterator *it = NULL;
    const int64_t mesh[4] = {1, 1, 1, 1}, coordinates[4] = {0}, shape[3] = {1, 1, 4};

    (void)state;
    OK(dt_dataset_range(&d, 0, 4, 1));
    OK(dt_dataset_batch(&d, d, 2, true));
    OK(dt_topology_create(&t, &(dt_topology_options){.mesh_shape = mesh,
                                                     .mesh_rank = 4,
                                                     .device_coordinates = coordinates,
                                                     .coordinates_shape = shape,
                                                     .coordinates_rank = 3}));
    OK(dt_device_assignment_build(&a, t, NULL));
    for (int i = 0; i <= 16; i++)
        fails(placeless(i, s, d, t, a), DT_E_MISUSE, " got no place for ");
    OK(dt_strategy_distribute_dataset(s, d, NULL, &spread));
    fails(dt_iterator_create(NULL, spread), DT_E_MISUSE,
          "dt_iterator_create got no place for the iterator");
    OK(dt_iterator_create(&it, spread));
    fails(dt_iterator_next(it, NULL), DT_E_MISUSE, "dt_iterator_next got no place for the batch");
    dt_iterator_unref(it);
    dt_dist_dataset_unref(spread);
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

static void test_questions_about_nothing_have_answers(void **state) {
    (void)state;
    assert_int_equal(dt_values_count(NULL), 0);
    assert_null(dt_values_name(NULL, 0));
    assert_null(dt_values_kind(NULL, "x"));
    assert_int_equal(dt_values_locals(NULL, "x"), 0);
    assert_false(dt_values_is_per_replica(NULL, NULL));
    assert_null(dt_values_local(NULL, "x", 0));
    assert_int_equal(dt_tensor_rank(NULL), 0);
    assert_int_equal(dt_tensor_dim(NULL, 0), -1);
    assert_int_equal(dt_tensor_elements(NULL), 0);
    assert_null(dt_tensor_data(NULL));
    assert_true(isnan(dt_tensor_item(NULL)));
    assert_non_null(dt_tensor_device(NULL));
    assert_null(dt_strategy_type(NULL));
    assert_int_equal(dt_strategy_replicas(NULL), 0);
    assert_null(dt_strategy_device(NULL, 0));
    assert_string_equal(dt_variable_kind(NULL), "Variable");
    assert_null(dt_variable_name(NULL, 0));
    assert_null(dt_variable_text(NULL));
    assert_int_equal(dt_variables_count(NULL), 0);
    assert_null(dt_variables_at(NULL, 0));
    assert_null(dt_nearest(NULL, NULL, 0));
    assert_true(dt_is_unseen(0) && dt_is_unseen(0x202e) && dt_is_unseen(UINT32_MAX) &&
                !dt_is_unseen(0x41));
    assert_null(dt_nearest("a", &(const char *){NULL}, 1));
    assert_false(dt_sharding_of((dt_value){0}, NULL));
    assert_null(dt_input_context_text(NULL, NULL, 0));
    dt_topology_mesh_shape(NULL, NULL);
    dt_scope_leave(NULL);
    dt_tensor_unref(no_tensor);
    dt_values_unref(no_values);
    dt_variable_unref(no_variable);
    dt_variables_unref(NULL);
    dt_function_unref(no_function);
    dt_strategy_unref(none);
}

/* ---- in step functions ---- */

typedef struct kept {
    dt_trace *trace;
    dt_value value;
    int mode;
    dt_variable *variable;
} kept;

static void merge_again(const dt_merge *m) {
    dt_merge_call(&(dt_merge){.trace = m->trace}, merge_again);
}

static void reduces_in_merge(const dt_merge *m) { m->out[0] = dt_all_reduce(DT_SUM, m->in[0]); }

static void misuses(dt_trace *t, void *user) {
    kept *k = user;
    dt_value x = dt_constant(t, 1), y;

    switch (k->mode) {
    case 0: k->trace = t, k->value = x; break;  /* kept for later */
    case 1: dt_return(t, "x", k->value); break; /* of a trace that has ended */
    case 2: dt_return(t, "x", dt_add(k->value, x)); break;
    case 3: dt_return(t, NULL, x); break;
    case 4: dt_arg(t, NULL); break;
    case 5: dt_arg_at(t, 3); break;
    case 6: dt_return(t, "x", dt_variable_read(t, NULL)); break;
    case 7: dt_variable_assign(t, k->variable, (dt_value){0}); break;
    case 8: dt_return(t, "x", dt_all_reduce((dt_reduce_op)9, x)); break;
    case 9: dt_return(t, "x", dt_all_reduce_named("MAX", x)); break;
    case 10: dt_return(t, "x", dt_all_gather(x, 0)); break;              /* a scalar */
    case 11: dt_merge_call(&(dt_merge){.trace = t}, merge_again); break; /* within one */
    case 12: dt_merge_call(&(dt_merge){.trace = t}, NULL); break;
    case 13:
        dt_merge_call(&(dt_merge){.trace = t, .n_in = 1, .in = &x, .n_out = 1, .out = &y},
                      reduces_in_merge);
        break;
    case 14: dt_return(t, "x", dt_merge_reduce(DT_SUM, x, DT_NO_AXIS)); break; /* outside of one */
    case 15:
        dt_merge_call(&(dt_merge){.trace = k->trace == t ? NULL : k->trace}, reduces_in_merge);
        break; /* ended; its place may be taken */
    case 16: dt_merge_call(NULL, reduces_in_merge); break;
    case 17: dt_variable_write_number(t, k->variable, (dt_write)9, 1); break;
    case 18: dt_trace_fail(t, dt_status_create(17, "the step does not like it")); break;
    case 19:
        dt_trace_fail(t, dt_variable_set(k->variable, DT_ASSIGN, NULL));
        break; /* for outside */
    case 20: dt_trace_fail(t, dt_set_strategy(NULL)); break;
    case 21:
        dt_merge_call(&(dt_merge){.trace = t, .n_in = -1, .n_out = -1}, reduces_in_merge);
        break;
    case 22: dt_return(t, "x", dt_scalar(t, (dt_dtype)-1, 1)); break;
    case 23: dt_return(t, "x", dt_scalar(t, (dt_dtype)99, 1)); break;
    default: break;
    }
}

static void test_steps_fail_with_their_error(void **state) {
    dt_strategy *s = mirrored(2);
    dt_tensor *one = scalar(1);
    kept k = {.mode = 0};
    dt_values *out = NULL;

    (void)state;
    DT_SCOPE(s)
    OK(dt_variable_create(&k.variable, one, NULL));
    for (k.mode = 0; k.mode <= 24; k.mode++) {
        dt_function *f = NULL;
        OK(dt_function_create(&f, misuses, &k));
        dt_status *bad = dt_strategy_run(s, f, NULL, &out);
        bool fine = k.mode == 0 || k.mode == 24;
        if (fine != !bad)
            fail_msg("step %d: %s", k.mode, bad ? dt_status_text(bad) : "not refused");
        dt_status_free(bad);
        dt_function_unref(f);
    }
    dt_tensor_unref(one);
    dt_variable_unref(k.variable);
    dt_values_unref(out);
    dt_strategy_unref(s);
}

/* Outside of steps: the next call that can fail says so. */
static void test_traces_that_have_ended_are_found_out(void **state) {
    dt_strategy *s = mirrored(2);
    kept k = {.mode = 0};
    dt_function *f = NULL;
    dt_values *v = NULL;

    (void)state;
    OK(dt_function_create(&f, misuses, &k));
    OK(dt_strategy_run(s, f, NULL, NULL));
    assert_null(dt_add(k.value, k.value).trace);
    fails(dt_values_create(&v), DT_E_TRACE_VALUE, "after it was recorded");
    assert_null(dt_arg(k.trace, "x").trace);
    fails(dt_values_create(&v), DT_E_TRACE_VALUE, "after it was recorded");
    dt_return(k.trace, "x", k.value);
    fails(dt_values_create(&v), DT_E_TRACE_VALUE, "after it was recorded");
    dt_function_unref(f);
    dt_strategy_unref(s);
}

/* What a step function makes and lets go of lives as long as what was recorded. */
static void lets_go(dt_trace *t, void *user) {
    dt_variable *v = NULL;

    dt_trace_fail(t, dt_variable_create(&v, user, NULL));
    dt_return(t, "x", dt_variable_assign_add(t, v, dt_constant(t, 1)));
    dt_variable_unref(v);
}

static void test_variables_that_a_step_lets_go_of_stay(void **state) {
    dt_strategy *s = mirrored(2);
    dt_tensor *one = scalar(1);
    dt_function *f = NULL;
    dt_values *out = NULL;

    (void)state;
    OK(dt_function_create(&f, lets_go, one));
    for (int run = 1; run <= 2; run++) {
        OK(dt_strategy_run(s, f, NULL, &out));
        assert_true(dt_tensor_item(dt_values_local(out, "x", 1)) == 1 + run);
    }
    dt_values_unref(out);
    dt_function_unref(f);
    dt_tensor_unref(one);
    dt_strategy_unref(s);
}

/* ---- another strategy's things ---- */

static void reads(dt_trace *t, void *user) { dt_return(t, "x", dt_variable_read(t, user)); }

static void test_things_of_another_strategy_are_refused(void **state) {
    dt_strategy *two = mirrored(2), *three = mirrored(3);
    dt_values *v = values();
    dt_tensor *t[2] = {scalar(1), scalar(2)}, *out = NULL;
    dt_variable *x = NULL;
    dt_function *f = NULL;

    (void)state;
    DT_SCOPE(two)
    OK(dt_variable_create(&x, t[0], NULL));
    OK(dt_function_create(&f, reads, x));
    fails(dt_strategy_run(three, f, NULL, NULL), DT_E_SCOPE, "mixing different strategies");
    give_each(v, "x", t, 2);
    fails(dt_strategy_run(three, f, v, NULL), DT_E_ARGUMENT, "2 replicas, but the strategy has 3");
    fails(dt_strategy_reduce(three, DT_SUM, v, "x", DT_NO_AXIS, &out), DT_E_REDUCE,
          "2 replicas, but the strategy has 3");
    fails(dt_strategy_gather(three, v, "x", 0, &out), DT_E_REDUCE,
          "2 replicas, but the strategy has 3");
    DT_SCOPE(three) {
        fails(dt_variable_value(x, &out), DT_E_SCOPE, "mixing different strategies");
        fails(dt_strategy_reduce(two, DT_SUM, v, "x", DT_NO_AXIS, &out), DT_E_SCOPE,
              "mixing different strategies");
        fails(dt_set_strategy(two), DT_E_SCOPE, "inside a scope");
    }
    OK(dt_variable_value(x, &out)); /* and all is as before */
    dt_tensor_unref(out);
    dt_variable_unref(x);
    dt_function_unref(f);
    dt_values_unref(v);
    dt_strategy_unref(two);
    dt_strategy_unref(three);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_says_what_is_missing),
        cmocka_unit_test(test_results_want_a_place),
        cmocka_unit_test(test_questions_about_nothing_have_answers),
        cmocka_unit_test(test_steps_fail_with_their_error),
        cmocka_unit_test(test_traces_that_have_ended_are_found_out),
        cmocka_unit_test(test_variables_that_a_step_lets_go_of_stay),
        cmocka_unit_test(test_things_of_another_strategy_are_refused),
    };
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines through the public API: functions of the caller's, distribution over replicas and
 * workers, and wrong use. */
#include "kit.h"

static dt_dataset *batches(int64_t n, int64_t size) {
    dt_dataset *d = NULL;

    OK(dt_dataset_range(&d, 0, n, 1));
    OK(dt_dataset_batch(&d, d, size, false));
    return d;
}

/* ---- functions of the caller's ---- */

static dt_status *twice(const dt_values *element, void *user, dt_values *result) {
    const dt_tensor *x = dt_values_local(element, "value", 0);
    dt_tensor *y = NULL;
    int64_t v = *(const int64_t *)dt_tensor_data(x) * *(const int *)user;

    dt_status *s = dt_tensor_create(&y, DT_INT64, 0, NULL, &v);
    if (!s) s = dt_values_set(result, "value", y);
    dt_tensor_unref(y);
    return s;
}

static dt_status *is_even(const dt_values *element, void *user, bool *keep) {
    (void)user;
    *keep = *(const int64_t *)dt_tensor_data(dt_values_local(element, "value", 0)) % 2 == 0;
    return NULL;
}

static dt_status *refuse(const dt_values *element, void *user, bool *keep) {
    (void)element, (void)user, (void)keep;
    return dt_status_create(98, "not this one");
}

static dt_status *nothing(const dt_values *element, void *user, dt_values *result) {
    (void)element, (void)user, (void)result;
    return NULL;
}

static dt_status *up_to(const dt_values *element, void *user, dt_dataset **result) {
    (void)user;
    return dt_dataset_range(
        result, 0, *(const int64_t *)dt_tensor_data(dt_values_local(element, "value", 0)), 1);
}

static void gives(dt_dataset *d, const int64_t *want, int n) {
    dt_iterator *it = NULL;
    dt_values *v = NULL;

    OK(dt_dataset_iterate(&it, d));
    for (int i = 0; i < n; i++) {
        OK(dt_iterator_next(it, &v));
        assert_non_null(v);
        assert_int_equal(*(const int64_t *)dt_tensor_data(dt_values_local(v, "value", 0)), want[i]);
    }
    OK(dt_iterator_next(it, &v));
    assert_null(v);
    OK(dt_iterator_next(it, &v)); /* and so on */
    assert_null(v);
    dt_iterator_unref(it);
}

static void test_functions_look_at_each_element(void **state) {
    dt_dataset *d = NULL;
    dt_iterator *it = NULL;
    dt_values *v = NULL;
    int three = 3;
    const dt_spec spec = {.name = "value", .dtype = DT_INT64};
    (void)state;

    OK(dt_dataset_range(&d, 0, 5, 1));
    OK(dt_dataset_map(&d, d, &(dt_map_options){.fn = twice, .user = &three}));
    OK(dt_dataset_filter(&d, d, is_even, NULL));
    gives(d, (const int64_t[]){0, 6, 12}, 3);
    OK(dt_dataset_skip(&d, d, 1));
    gives(d, (const int64_t[]){6, 12}, 2);
    OK(dt_dataset_range(&d, 1, 4, 1));
    OK(dt_dataset_interleave(&d, d,
                             &(dt_interleave_options){.fn = up_to, .spec = &spec, .n_spec = 1}));
    gives(d, (const int64_t[]){0, 0, 1, 0, 1, 2}, 6);
    OK(dt_dataset_filter(&d, d, refuse, NULL));
    OK(dt_dataset_iterate(&it, d));
    fails(dt_iterator_next(it, &v), (dt_error)98, "not this one");
    OK(dt_dataset_range(&d, 0, 5, 1));
    OK(dt_dataset_map(&d, d, &(dt_map_options){.fn = nothing}));
    OK(dt_dataset_iterate(&it, d));
    fails(dt_iterator_next(it, &v), DT_E_PIPELINE, "0 components");
    dt_iterator_unref(it);
    dt_dataset_unref(d);
}

static void test_tensors_become_elements(void **state) {
    dt_values *v = values(), *element = NULL;
    dt_dataset *d = NULL;
    dt_iterator *it = NULL;
    dt_spec spec;
    (void)state;

    give(v, "a", tensor(DT_FLOAT32, 2, (const int64_t[]){2, 2}, (const double[]){1, 2, 3, 4}));
    give(v, "b", tensor(DT_INT32, 1, (const int64_t[]){2}, (const double[]){5, 6}));
    OK(dt_dataset_from_tensor_slices(&d, v));
    assert_int_equal(dt_dataset_cardinality(d), 2);
    assert_true(dt_dataset_element_spec(d, 0, &spec) && spec.rank == 1 && spec.shape[0] == 2);
    OK(dt_dataset_iterate(&it, d));
    OK(dt_iterator_next(it, &element));
    is_local(element, "a", 0, (const int64_t[]){2, -1}, (const double[]){1, 2});
    OK(dt_dataset_from_tensors(&d, v));
    assert_int_equal(dt_dataset_cardinality(d), 1);
    give(v, "b", scalar(1));
    fails(dt_dataset_from_tensor_slices(&d, v), DT_E_NOT_BATCHED, "scalar");
    give(v, "b", count_from(0, 3));
    fails(dt_dataset_from_tensor_slices(&d, v), DT_E_ELEMENT_SHAPE, "2 and 3 rows");
    fails(dt_dataset_from_tensors(&d, NULL), DT_E_PIPELINE, "at least one component");
    dt_iterator_unref(it);
    dt_values_unref(element);
    dt_values_unref(v);
    dt_dataset_unref(d);
}

/* ---- distribution ---- */

static void rows_are(dt_iterator *it, const int64_t *rows, int replicas) {
    dt_values *v = NULL;

    OK(dt_iterator_next(it, &v));
    if (!rows) {
        assert_null(v);
        return;
    }
    assert_int_equal(dt_values_locals(v, "value"), replicas);
    for (int r = 0; r < replicas; r++)
        assert_int_equal(dt_tensor_dim(dt_values_local(v, "value", r), 0), rows[r]);
    dt_values_unref(v);
}

/* The documented example: 6 rows of a batch of 8 on 2 replicas are 4 and 2; as the original divides
 * them, 3 and 3. */
static void test_a_partial_batch_is_cut_as_documented(void **state) {
    dt_dataset *d = batches(6, 8);
    dt_strategy *s = mirrored(2);
    dt_dist_dataset *dist = NULL;
    dt_iterator *it = NULL;
    (void)state;

    OK(dt_strategy_distribute_dataset(s, d, NULL, &dist));
    OK(dt_iterator_create(&it, dist));
    rows_are(it, (const int64_t[]){4, 2}, 2);
    rows_are(it, NULL, 2);
    rows_are(it, NULL, 2);
    assert_string_equal(dt_dist_dataset_sharding(dist),
                        "data: not all of the data set comes from files");
    OK(dt_strategy_distribute_dataset(s, d, &(dt_input_options){.rebatch = DT_REBATCH_EVEN},
                                      &dist));
    OK(dt_iterator_create(&it, dist));
    rows_are(it, (const int64_t[]){3, 3}, 2);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(dist);
    dt_strategy_unref(s);
    dt_dataset_unref(d);
}

static void test_virtual_workers_divide_the_replicas(void **state) {
    dt_dataset *d = batches(8, 4);
    dt_strategy *s = mirrored(4);
    dt_dist_dataset *dist = NULL;
    dt_iterator *it = NULL;
    dt_values *v = NULL;
    (void)state;

    OK(dt_strategy_distribute_dataset(
        s, d, &(dt_input_options){.workers = 2, .auto_shard_policy = DT_AUTO_SHARD_OFF}, &dist));
    OK(dt_iterator_create(&it, dist));
    OK(dt_iterator_next(it, &v)); /* both workers read everything */
    for (int r = 0; r < 4; r++)
        assert_int_equal(*(const int64_t *)dt_tensor_data(dt_values_local(v, "value", r)), r % 2);
    fails(dt_strategy_distribute_dataset(s, d, &(dt_input_options){.workers = 3}, &dist),
          DT_E_INPUT_WORKERS, "4 replicas cannot be divided");
    dt_values_unref(v);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(dist);
    dt_strategy_unref(s);
    dt_dataset_unref(d);
}

typedef struct seen {
    int calls, ids;
} seen;

static dt_status *make(const dt_input_context *c, void *user, dt_dataset **out) {
    seen *s = user;
    int64_t size;

    s->calls++;
    s->ids += c->input_pipeline_id;
    dt_status *bad = dt_input_context_per_replica_batch_size(c, 12, &size);
    if (!bad) bad = dt_dataset_range(out, 0, 12, 1);
    if (!bad) bad = dt_dataset_batch(out, *out, size, true);
    return bad;
}

static dt_status *make_none(const dt_input_context *c, void *user, dt_dataset **out) {
    (void)c, (void)user, (void)out;
    return NULL;
}

static void test_functions_make_one_data_set_per_pipeline(void **state) {
    dt_strategy *s = mirrored(4), *three = mirrored(3);
    dt_dist_dataset *dist = NULL;
    dt_spec spec;
    seen n = {0};
    (void)state;

    OK(dt_strategy_distribute_datasets_from_function(s, make, &n, &(dt_input_options){.workers = 2},
                                                     &dist));
    assert_int_equal(n.calls, 2);
    assert_true(dt_dist_dataset_element_spec(dist, 0, &spec) && spec.shape[0] == 3);
    OK(dt_strategy_distribute_datasets_from_function(
        s, make, &n, &(dt_input_options){.replication_mode = DT_PER_REPLICA}, &dist));
    assert_int_equal(n.calls, 6);
    assert_int_equal(n.ids, 1 + 6);
    fails(dt_strategy_distribute_datasets_from_function(s, make_none, NULL, NULL, &dist),
          DT_E_PIPELINE, "returned no data set");
    fails(dt_strategy_distribute_datasets_from_function(s, NULL, NULL, NULL, &dist), DT_E_PIPELINE,
          "no function");
    fails(dt_input_context_per_replica_batch_size(&(dt_input_context){1, 0, 2}, 13, &(int64_t){0}),
          DT_E_GLOBAL_BATCH, "13 is not divisible");
    dt_dist_dataset_unref(dist);
    dt_strategy_unref(s);
    dt_strategy_unref(three);
}

/* The i-th element of pipeline p is 100 p + i. */
static dt_status *count_hundreds(const dt_input_context *c, void *user, dt_dataset **out) {
    (void)user;
    assert_int_equal(c->num_replicas_in_sync, 5);
    return dt_dataset_range(out, 100 * c->input_pipeline_id, 100 * c->input_pipeline_id + 4, 1);
}

/* Two hosts of four cores, five replicas of one: each host feeds its own, four and one. */
static void test_hosts_may_have_different_numbers_of_replicas(void **state) {
    (void)state;
    static const int64_t mesh[4] = {2, 2, 1, 2}, shape[3] = {2, 4, 4},
                         at[32] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1,
                                   0, 1, 0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1};
    static const int64_t first[5] = {0, 1, 2, 3, 100};
    dt_topology *t = NULL;
    dt_device_assignment *a = NULL;
    dt_strategy *s = NULL;
    dt_dist_dataset *dist = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL;
    dt_dataset *d = batches(20, 5);

    OK(dt_topology_create(&t, &(dt_topology_options){mesh, 4, at, shape, 3}));
    OK(dt_device_assignment_build(
        &a, t,
        &(dt_device_assignment_options){.num_replicas = 5, .device_order_mode = DT_ORDER_MESH}));
    OK(dt_tpu_strategy(&s, NULL, &(dt_tpu_options){.device_assignment = a}));
    assert_int_equal(dt_strategy_input_workers(s), 2);
    OK(dt_strategy_distribute_datasets_from_function(s, count_hundreds, NULL, NULL, &dist));
    OK(dt_iterator_create(&it, dist));
    OK(dt_iterator_next(it, &batch));
    int replicas_of[2] = {0};
    for (int r = 0; r < 5; r++) replicas_of[dt_strategy_input_worker(s, r)]++;
    assert_int_equal(replicas_of[0], 4);
    for (int r = 0; r < 5; r++)
        assert_int_equal(*(const int64_t *)dt_tensor_data(dt_values_local(batch, "value", r)),
                         first[r]);
    OK(dt_iterator_next(it, &batch)); /* full steps only: there is no second one */
    assert_null(batch);
    fails(dt_strategy_distribute_dataset(s, d, NULL, &dist), DT_E_INPUT_WORKERS,
          "5 replicas cannot be divided evenly among 2 workers");
    fails(dt_strategy_distribute_datasets_from_function(s, count_hundreds, NULL,
                                                        &(dt_input_options){.workers = 3}, &dist),
          DT_E_INPUT_WORKERS, "5 replicas cannot be divided evenly among 3 workers");
    dt_dataset_unref(d);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(dist);
    dt_strategy_unref(s);
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
}

/* ---- into steps ---- */

static void sum_rows(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "sum", dt_all_reduce(DT_SUM, dt_reduce_sum(dt_arg(t, "x"), DT_NO_AXIS)));
}

static void test_batches_of_a_pipeline_feed_a_step(void **state) {
    dt_values *v = values(), *batch = NULL, *result = NULL;
    dt_strategy *s = mirrored(3);
    dt_dataset *d = NULL;
    dt_dist_dataset *dist = NULL;
    dt_iterator *it = NULL;
    dt_function *f = NULL;
    (void)state;

    give(v, "x", count_from(0, 10));
    OK(dt_dataset_from_tensor_slices(&d, v));
    OK(dt_dataset_batch(&d, d, 4, false));
    OK(dt_strategy_distribute_dataset(s, d, NULL, &dist));
    OK(dt_iterator_create(&it, dist));
    OK(dt_function_create(&f, sum_rows, NULL));
    double total = 0;
    for (;;) {
        OK(dt_iterator_next(it, &batch));
        if (!batch) break;
        OK(dt_strategy_run(s, f, batch, &result));
        total += dt_tensor_item(dt_values_local(result, "sum", 0));
    }
    assert_true(total == 45);
    dt_function_unref(f);
    dt_values_unref(result);
    dt_values_unref(v);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(dist);
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

static dt_iterator *within;
static void ask_within(dt_trace *t, void *user) {
    dt_values *v = NULL;
    *(dt_status **)user = dt_iterator_next(within, &v);
    dt_return(t, "x", dt_constant(t, 0));
}

static void test_wrong_use_is_answered(void **state) {
    dt_strategy *s = mirrored(2);
    dt_dataset *d = batches(4, 2), *scalars = NULL, *job = NULL;
    dt_dist_dataset *dist = NULL;
    dt_iterator *it = NULL;
    dt_values *v = NULL;
    dt_function *f = NULL;
    dt_status *inside = NULL;
    (void)state;

    OK(dt_dataset_range(&scalars, 0, 4, 1));
    fails(dt_strategy_distribute_dataset(s, scalars, NULL, &dist), DT_E_NOT_BATCHED,
          "call dt_dataset_batch first");
    fails(dt_strategy_distribute_dataset(s, NULL, NULL, &dist), DT_E_PIPELINE, "no data set");
    fails(dt_strategy_distribute_dataset(NULL, d, NULL, &dist), DT_E_PIPELINE, "no strategy");
    fails(dt_strategy_distribute_dataset(
              s, d, &(dt_input_options){.replication_mode = DT_PER_REPLICA}, &dist),
          DT_E_INPUT_MODE, "only");
    fails(dt_strategy_distribute_dataset(s, d, &(dt_input_options){.auto_shard_policy = 9}, &dist),
          DT_E_SHARD, "9 is not an auto-shard policy");
    fails(dt_iterator_create(&it, NULL), DT_E_PIPELINE, "no distributed data set");
    fails(dt_dataset_iterate(&it, NULL), DT_E_PIPELINE, "no data set");
    fails(dt_iterator_next(NULL, &v), DT_E_PIPELINE, "no iterator");
    OK(dt_strategy_distribute_dataset(s, d, NULL, &dist));
    OK(dt_iterator_create(&it, dist));
    within = it;
    OK(dt_function_create(&f, ask_within, &inside));
    OK(dt_strategy_run(s, f, NULL, NULL));
    fails(inside, DT_E_NEXT_IN_REPLICA, "cannot be called in a step function");
    OK(dt_dataset_open(&job, "{format: synthetic, examples: 8, element: {x: {shape: [2]}, y: "
                             "{num_classes: 2}}, global_batch_size: 4}"));
    fails(dt_dataset_batch(&scalars, job, 2, false), DT_E_PIPELINE, "read from a job file");
    fails(dt_dataset_iterate(&it, job), DT_E_PIPELINE, "must be distributed before it is iterated");
    dt_function_unref(f);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(dist);
    dt_dataset_unref(job);
    dt_dataset_unref(scalars);
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

static void test_a_collected_pipeline_is_a_data_set_of_examples(void **state) {
    dt_dataset *d = batches(10, 4), *endless = NULL;
    (void)state;

    OK(dt_dataset_repeat(&endless, d, -1));
    fails(dt_dataset_collect(&endless, endless, "{global_batch_size: 4}"), DT_E_PIPELINE,
          "endless");
    OK(dt_dataset_collect(&d, d, "{global_batch_size: 3}"));
    assert_int_equal(dt_dataset_examples(d), 10);
    assert_int_equal(dt_dataset_batch_size(d), 3);
    dt_dataset_unref(endless);
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_look_at_each_element),
        cmocka_unit_test(test_tensors_become_elements),
        cmocka_unit_test(test_a_partial_batch_is_cut_as_documented),
        cmocka_unit_test(test_virtual_workers_divide_the_replicas),
        cmocka_unit_test(test_functions_make_one_data_set_per_pipeline),
        cmocka_unit_test(test_hosts_may_have_different_numbers_of_replicas),
        cmocka_unit_test(test_batches_of_a_pipeline_feed_a_step),
        cmocka_unit_test(test_wrong_use_is_answered),
        cmocka_unit_test(test_a_collected_pipeline_is_a_data_set_of_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

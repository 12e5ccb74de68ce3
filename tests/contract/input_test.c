/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets of one's own function on several workers and hosts, InputOptions, prefetch, and
 * element_spec as the signature of a step. Elements are numbers, so each test can say which replica
 * got which.
 */
#include "../strategy/kit.h"

static dt_strategy *workers(int n, int devices) {
    dt_strategy *s = NULL;
    OK(dt_multi_worker_mirrored_strategy(
        &s, &(dt_multi_worker_options){.workers = n, .devices_per_worker = devices}));
    dt_strategy_set_engine(s, 2, DT_KERNELS_AUTO);
    return s;
}

/* ---- distribute_datasets_from_function ---- */

typedef struct calls {
    int n, pipelines, replicas;
    bool seen[64];
} calls;

/* Pipeline i of n: 1000 i + 0, 1, 2, ..., two an element; sharding and batching are its own. */
static dt_status *own_numbers(const dt_input_context *c, void *user, dt_dataset **out) {
    calls *my = user;
    dt_status *s = NULL;

    my->n++;
    my->pipelines = c->num_input_pipelines;
    my->replicas = c->num_replicas_in_sync;
    my->seen[c->input_pipeline_id] = true;
    DT_GO(s,
          dt_dataset_range(out, 1000 * c->input_pipeline_id, 1000 * c->input_pipeline_id + 100, 1));
    DT_GO(s, dt_dataset_batch(out, *out, 2, true));
out:
    return s;
}

/* Called once a worker, each of whose replicas dequeues the next element of its pipeline. Data are
 * numbered worker by worker, as in the original. */
static void expect_own_pipelines(dt_strategy *s) {
    dt_dist_dataset *d = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL;
    calls my = {0};
    int pipelines = dt_strategy_input_workers(s), replicas = dt_strategy_replicas(s);

    OK(dt_strategy_distribute_datasets_from_function(s, own_numbers, &my, NULL, &d));
    assert_int_equal(my.n, pipelines);
    assert_int_equal(my.pipelines, pipelines);
    assert_int_equal(my.replicas, replicas);
    OK(dt_iterator_create(&it, d));
    for (int step = 0; step < 3; step++) {
        int on[64] = {0};
        for (int r = 0; r < replicas; r++) on[dt_strategy_input_worker(s, r)]++;
        OK(dt_iterator_next(it, &batch));
        for (int w = 0, r = 0; w < pipelines; w++) {
            assert_true(my.seen[w]);
            for (int i = 0; i < on[w]; i++, r++) {
                double first = 1000 * w + 2 * (step * on[w] + i);
                is_local(batch, "value", r, SHAPE(2), X(first, first + 1));
            }
        }
    }
    dt_values_unref(batch);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(d);
}

/* Five replicas of a core each, on the hosts in whose cores they lie. */
static dt_strategy *five_on_two_hosts(void) {
    const int64_t core_assignment[5][1][4] = {
        {{0, 0, 0, 0}}, {{0, 0, 0, 1}}, {{2, 0, 0, 0}}, {{1, 0, 0, 0}}, {{2, 0, 0, 1}}};
    const dt_topology *t = NULL;
    dt_device_assignment *a = NULL;
    dt_resolver *r = NULL;
    dt_strategy *s = NULL;

    OK(dt_tpu_resolver(&r, "sim:v3-32"));
    OK(dt_tpu_initialize(r, &t));
    OK(dt_device_assignment_create(&a, t, &core_assignment[0][0][0], (int64_t[]){5, 1, 4}, 3));
    OK(dt_tpu_strategy(&s, r, &(dt_tpu_options){.device_assignment = a}));
    assert_int_equal(dt_strategy_input_workers(s), 2);
    dt_strategy_set_engine(s, 2, DT_KERNELS_AUTO);
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
    return s;
}

static void test_each_worker_has_a_pipeline_of_its_own(void **state) {
    dt_strategy *all[] = {mirrored(3),      workers(2, 2),    workers(3, 1),      tpu("sim:v3-8"),
                          tpu("sim:v3-32"), tpu("sim:v4-32"), five_on_two_hosts()};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        expect_own_pipelines(all[i]);
        dt_strategy_unref(all[i]);
    }
}

/* Shards by pipeline: together the workers read everything once. */
static dt_status *own_shard(const dt_input_context *c, void *user, dt_dataset **out) {
    dt_status *s = NULL;
    int64_t size = 0;

    (void)user;
    DT_GO(s, dt_input_context_per_replica_batch_size(c, 8, &size));
    DT_GO(s, dt_dataset_range(out, 0, 16, 1));
    DT_GO(s, dt_dataset_shard(out, *out, c->num_input_pipelines, c->input_pipeline_id));
    DT_GO(s, dt_dataset_batch(out, *out, size, false));
out:
    return s;
}

static void test_functions_shard_and_batch_for_themselves(void **state) {
    static const double want[2][4][2] = {{{0, 2}, {4, 6}, {1, 3}, {5, 7}},
                                         {{8, 10}, {12, 14}, {9, 11}, {13, 15}}};
    dt_strategy *s = workers(2, 2);
    dt_dist_dataset *d = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL;

    (void)state;
    OK(dt_strategy_distribute_datasets_from_function(s, own_shard, NULL, NULL, &d));
    OK(dt_iterator_create(&it, d));
    for (int step = 0; step < 2; step++) {
        OK(dt_iterator_next(it, &batch));
        for (int r = 0; r < 4; r++) is_local(batch, "value", r, SHAPE(2), want[step][r]);
    }
    OK(dt_iterator_next(it, &batch));
    assert_null(batch);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(d);
    dt_strategy_unref(s);
}

/* ---- InputOptions ---- */

static dt_dataset *batches(int64_t n, int64_t size) {
    dt_dataset *d = NULL;
    OK(dt_dataset_range(&d, 0, n, 1));
    OK(dt_dataset_batch(&d, d, size, false));
    return d;
}

/* The first step's rows of each replica, [from, to) as consecutive numbers. */
static void expect_step(dt_strategy *s, dt_dataset *data, const dt_input_options *o, int step,
                        const int64_t (*want)[2]) {
    dt_dist_dataset *d = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL;

    OK(dt_strategy_distribute_dataset(s, data, o, &d));
    OK(dt_iterator_create(&it, d));
    for (int i = 0; i <= step; i++) OK(dt_iterator_next(it, &batch));
    for (int r = 0; r < dt_strategy_replicas(s); r++) {
        double x[16];
        for (int64_t i = want[r][0]; i < want[r][1]; i++) x[i - want[r][0]] = (double)i;
        is_local(batch, "value", r, SHAPE(want[r][1] - want[r][0]), x);
    }
    dt_values_unref(batch);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(d);
}

/* The last 6 of 14 rows, in batches of 8 on 2 replicas: 4 and 2 as documented, 3 and 3 as the
 * original divides them. */
static void test_input_options_choose_how_batches_are_cut(void **state) {
    dt_strategy *s = mirrored(2);
    dt_dataset *d = batches(14, 8);

    (void)state;
    expect_step(s, d, NULL, 0, (const int64_t[][2]){{0, 4}, {4, 8}});
    expect_step(s, d, NULL, 1, (const int64_t[][2]){{8, 12}, {12, 14}});
    expect_step(s, d, &(dt_input_options){.rebatch = DT_REBATCH_EVEN}, 1,
                (const int64_t[][2]){{8, 11}, {11, 14}});
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

/* OFF: each worker reads all of it. DATA: each keeps its part of every batch. */
static void test_input_options_choose_the_policy(void **state) {
    dt_strategy *s = workers(2, 1);
    dt_dataset *d = batches(8, 4);

    (void)state;
    expect_step(s, d, &(dt_input_options){.auto_shard_policy = DT_AUTO_SHARD_DATA}, 0,
                (const int64_t[][2]){{0, 2}, {2, 4}});
    expect_step(s, d, &(dt_input_options){.auto_shard_policy = DT_AUTO_SHARD_DATA}, 1,
                (const int64_t[][2]){{4, 6}, {6, 8}});
    expect_step(s, d, &(dt_input_options){.auto_shard_policy = DT_AUTO_SHARD_OFF}, 0,
                (const int64_t[][2]){{0, 2}, {0, 2}});
    dt_dataset_unref(d);
    dt_strategy_unref(s);
}

/* One pipeline a replica, where the strategy allows it; not with TPUs, and never for a data set
 * that is cut. */
static void test_input_options_replicate_per_replica(void **state) {
    const dt_input_options each = {.replication_mode = DT_PER_REPLICA};
    dt_strategy *s = mirrored(3), *slice = tpu("sim:v3-8");
    dt_dist_dataset *d = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL;
    dt_dataset *data = batches(8, 4);
    calls my = {0};

    (void)state;
    OK(dt_strategy_distribute_datasets_from_function(s, own_numbers, &my, &each, &d));
    assert_int_equal(my.n, 3);
    assert_int_equal(my.pipelines, 3);
    OK(dt_iterator_create(&it, d));
    OK(dt_iterator_next(it, &batch));
    for (int r = 0; r < 3; r++) is_local(batch, "value", r, SHAPE(2), X(1000 * r, 1000 * r + 1));
    dt_status *bad =
        dt_strategy_distribute_datasets_from_function(slice, own_numbers, &my, &each, &d);
    assert_string_equal(dt_status_kind(bad), "NotImplementedError");
    dt_status_free(bad);
    bad = dt_strategy_distribute_dataset(slice, data, &each, &d);
    assert_string_equal(dt_status_kind(bad), "NotImplementedError");
    dt_status_free(bad);
    dt_values_unref(batch);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(slice);
    dt_strategy_unref(s);
}

/* ---- prefetch ---- */

static dt_status *count_reads(const dt_values *element, void *user, bool *keep) {
    (void)element;
    ++*(int *)user;
    *keep = true;
    return NULL;
}

/* A prefetch of one's own, or none: the same elements in the same order, and nothing is read that
 * is never asked for before a step is. */
static void test_prefetch_changes_no_element(void **state) {
    dt_strategy *s = mirrored(2);
    int reads[3] = {0};

    (void)state;
    for (int buffer = 0; buffer < 3; buffer++) {
        dt_dataset *d = NULL;
        OK(dt_dataset_range(&d, 0, 12, 1));
        OK(dt_dataset_filter(&d, d, count_reads, &reads[buffer]));
        OK(dt_dataset_batch(&d, d, 4, false));
        if (buffer) OK(dt_dataset_prefetch(&d, d, buffer == 1 ? 2 : -1));
        assert_int_equal(reads[buffer], 0);
        expect_step(s, d, NULL, 0, (const int64_t[][2]){{0, 2}, {2, 4}});
        assert_in_range(reads[buffer], 4, 12);
        expect_step(s, d, NULL, 2, (const int64_t[][2]){{8, 10}, {10, 12}});
        dt_dataset_unref(d);
    }
    dt_strategy_unref(s);
}

/* ---- element_spec as a signature ---- */

typedef struct signature {
    dt_spec spec;
    int traces;
} signature;

static void step_of_spec(dt_trace *t, void *user) {
    signature *my = user;
    dt_value x = dt_arg(t, "value");

    my->traces++;
    /* -1 both: the rows are known when the step runs */
    assert_int_equal(dt_dim(x, 0), my->spec.shape[0]);
    for (int d = 1; d < my->spec.rank; d++) assert_int_equal(dt_dim(x, d), my->spec.shape[d]);
    dt_return(t, "sum", dt_reduce_sum(x, DT_NO_AXIS));
}

static dt_dataset *rows_of_two(int64_t batch) {
    dt_values *v = values();
    dt_dataset *d = NULL;
    double x[10];

    for (int i = 0; i < 10; i++) x[i] = i;
    give(v, "value", tensor(DT_FLOAT32, 2, (int64_t[]){5, 2}, x));
    OK(dt_dataset_from_tensor_slices(&d, v));
    OK(dt_dataset_batch(&d, d, batch, false));
    dt_values_unref(v);
    return d;
}

/* What the spec says is what the step gets: one recording serves full batches, the partial one and
 * a replica without rows. */
static void test_element_spec_is_the_signature(void **state) {
    static const double sums[3][2] = {{1, 5}, {9, 13}, {17, 0}};
    dt_strategy *s = mirrored(2);
    dt_dataset *data = rows_of_two(2);
    dt_dist_dataset *d = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL, *out = NULL;
    dt_function *f = NULL;
    signature my = {0};
    int steps = 0;

    (void)state;
    OK(dt_strategy_distribute_dataset(s, data, NULL, &d));
    assert_int_equal(dt_dist_dataset_components(d), 1);
    assert_true(dt_dist_dataset_element_spec(d, 0, &my.spec));
    assert_false(dt_dist_dataset_element_spec(d, 1, &my.spec));
    assert_true(dt_dist_dataset_element_spec(d, 0, &my.spec));
    assert_int_equal(my.spec.dtype, DT_FLOAT32);
    assert_int_equal(my.spec.rank, 2);
    assert_int_equal(my.spec.shape[0], -1);
    assert_int_equal(my.spec.shape[1], 2);
    OK(dt_function_create(&f, step_of_spec, &my));
    OK(dt_iterator_create(&it, d));
    for (;; steps++) {
        OK(dt_iterator_next(it, &batch));
        if (!batch) break;
        OK(dt_strategy_run(s, f, batch, &out));
        for (int r = 0; r < 2; r++) is_local(out, "sum", r, SCALAR, &sums[steps][r]);
    }
    assert_int_equal(steps, 3);
    assert_int_equal(my.traces, 1);
    dt_values_unref(out);
    dt_function_unref(f);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(d);
    dt_dataset_unref(data);
    dt_strategy_unref(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_worker_has_a_pipeline_of_its_own),
        cmocka_unit_test(test_functions_shard_and_batch_for_themselves),
        cmocka_unit_test(test_input_options_choose_how_batches_are_cut),
        cmocka_unit_test(test_input_options_choose_the_policy),
        cmocka_unit_test(test_input_options_replicate_per_replica),
        cmocka_unit_test(test_prefetch_changes_no_element),
        cmocka_unit_test(test_element_spec_is_the_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* TPUClusterResolver in all its forms, connect and initialize, and the strategies made over what
 * they give: the current form and the older one. */
#include "../strategy/kit.h"

static void step_of_ids(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "id", dt_replica_id(t));
}

/* The sum of all replicas' ids: n (n - 1) / 2. */
static double sum_of_ids(dt_strategy *s) {
    dt_function *f = NULL;
    dt_values *v = NULL;
    dt_tensor *t = NULL;

    OK(dt_function_create(&f, step_of_ids, NULL));
    OK(dt_strategy_run(s, f, NULL, &v));
    OK(dt_strategy_reduce(s, DT_SUM, v, "id", DT_NO_AXIS, &t));
    double sum = dt_tensor_item(t);
    dt_tensor_unref(t);
    dt_values_unref(v);
    dt_function_unref(f);
    return sum;
}

static void is_mesh(const dt_topology *t, int x, int y, int z, int cores) {
    int shape[4];
    dt_topology_mesh_shape(t, shape);
    assert_int_equal(shape[0], x);
    assert_int_equal(shape[1], y);
    assert_int_equal(shape[2], z);
    assert_int_equal(shape[3], cores);
}

/* resolver; connect; initialize, which gives the topology; strategy; a step. */
static void test_every_form_makes_a_strategy(void **state) {
    static const struct form {
        const char *tpu, *job;
        int tasks, per_task, mesh[4];
    } forms[] = {
        {"", "worker", 1, 8, {2, 2, 1, 2}},          {"local", "localhost", 1, 8, {2, 2, 1, 2}},
        {"sim:v2-8", "worker", 1, 8, {2, 2, 1, 2}},  {"v3-8", "worker", 1, 8, {2, 2, 1, 2}},
        {"sim:v3-32", "worker", 4, 8, {4, 4, 1, 2}}, {"sim:v4-32", "worker", 4, 4, {2, 2, 4, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *f = &forms[i];
        const dt_topology *t = NULL;
        dt_resolver *r = NULL;
        dt_strategy *s = NULL;
        char device[96];
        int n = f->tasks * f->per_task;

        OK(dt_tpu_resolver(&r, f->tpu));
        OK(dt_tpu_connect(r));
        OK(dt_tpu_initialize(r, &t));
        is_mesh(t, f->mesh[0], f->mesh[1], f->mesh[2], f->mesh[3]);
        assert_int_equal(dt_topology_tasks(t), f->tasks);
        assert_int_equal(dt_topology_tpus_per_task(t), f->per_task);
        assert_string_equal(dt_resolver_task_type(r), f->job);
        assert_int_equal(dt_resolver_task_id(r), 0);
        assert_int_equal(dt_resolver_tasks(r), f->tasks);
        assert_int_equal(dt_resolver_accelerators(r), f->per_task);
        OK(dt_tpu_strategy(&s, r, NULL));
        assert_ptr_equal(dt_strategy_cluster_resolver(s), r);
        assert_int_equal(dt_strategy_replicas(s), n);
        snprintf(device, sizeof device, "/job:%s/replica:0/task:%d/device:TPU:%d", f->job,
                 f->tasks - 1, f->per_task - 1);
        assert_string_equal(dt_strategy_device(s, n - 1), device);
        assert_float_equal(sum_of_ids(s), n * (n - 1) / 2, 0);
        OK(dt_tpu_shutdown(r));
        dt_strategy_unref(s);
        dt_resolver_unref(r);
    }
}

/* tpu_cluster_resolver=None: a local TPU, and a resolver that can be asked for all the same. */
static void test_no_resolver_is_a_local_one(void **state) {
    dt_strategy *s = NULL;

    (void)state;
    OK(dt_tpu_strategy(&s, NULL, NULL));
    const dt_resolver *r = dt_strategy_cluster_resolver(s);
    assert_non_null(r);
    assert_string_equal(dt_resolver_task_type(r), "localhost");
    assert_string_equal(dt_strategy_device(s, 0), "/job:localhost/replica:0/task:0/device:TPU:0");
    assert_float_equal(sum_of_ids(s), 28, 0);
    dt_strategy_unref(s);
}

static void test_systems_that_are_not_there(void **state) {
    dt_resolver *r = NULL;
    const dt_topology *t = NULL;

    (void)state;
    fails(dt_tpu_resolver(&r, "sim:v99-8"), DT_E_UNKNOWN_SLICE, "v99-8");
    fails(dt_tpu_resolver(&r, "grpc://10.0.0.2:8470"), DT_E_UNKNOWN_SLICE, "grpc://10.0.0.2:8470");
    assert_null(r);
    fails(dt_tpu_initialize(NULL, &t), DT_E_TOPOLOGY, "no resolver");
    assert_null(t);
}

/* Devices may be told: the topology that initialize lends is that one. */
static void test_topology_of_ones_own(void **state) {
    const int64_t mesh[4] = {2, 1, 1, 1}, at[8] = {0, 0, 0, 0, 1, 0, 0, 0}, shape[3] = {2, 1, 4};
    const dt_topology *lent = NULL;
    dt_topology *t = NULL;
    dt_resolver *r = NULL;
    dt_strategy *s = NULL;

    (void)state;
    OK(dt_topology_create(&t, &(dt_topology_options){mesh, 4, at, shape, 3}));
    OK(dt_tpu_resolver_of_topology(&r, "tpu_worker", t));
    dt_topology_unref(t);
    OK(dt_tpu_connect(r));
    OK(dt_tpu_initialize(r, &lent));
    is_mesh(lent, 2, 1, 1, 1);
    OK(dt_tpu_strategy(&s, r, NULL));
    assert_int_equal(dt_strategy_num_hosts(s), 2);
    assert_string_equal(dt_strategy_device(s, 1), "/job:tpu_worker/replica:0/task:1/device:TPU:0");
    assert_float_equal(sum_of_ids(s), 1, 0);
    dt_strategy_unref(s);
    dt_resolver_unref(r);
}

/* The documents' snippet of the older form initializes nothing, and gives the assignment's two
 * logical devices. */
static void test_the_older_form_computes_as_the_new_one(void **state) {
    const int64_t block[4] = {1, 1, 1, 2};
    const dt_topology *t = NULL;
    dt_device_assignment *a = NULL;
    dt_resolver *r = NULL;
    dt_strategy *s = NULL;

    (void)state;
    OK(dt_tpu_resolver(&r, ""));
    OK(dt_experimental_tpu_strategy(&s, r, NULL));
    assert_int_equal(dt_strategy_replicas(s), 8);
    assert_false(dt_strategy_spmd(s));
    assert_float_equal(sum_of_ids(s), 28, 0);
    OK(dt_tpu_initialize(r, &t));
    OK(dt_device_assignment_build(&a, t,
                                  &(dt_device_assignment_options){.computation_shape = block,
                                                                  .shape_rank = 4,
                                                                  .num_replicas = 4}));
    OK(dt_experimental_tpu_strategy(&s, r, a));
    assert_ptr_equal(dt_strategy_cluster_resolver(s), r);
    assert_int_equal(dt_strategy_replicas(s), 4);
    assert_int_equal(dt_strategy_logical_devices(s), 2);
    assert_float_equal(sum_of_ids(s), 6, 0);
    dt_strategy_unref(s);
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_makes_a_strategy),
        cmocka_unit_test(test_no_resolver_is_a_local_one),
        cmocka_unit_test(test_systems_that_are_not_there),
        cmocka_unit_test(test_topology_of_ones_own),
        cmocka_unit_test(test_the_older_form_computes_as_the_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

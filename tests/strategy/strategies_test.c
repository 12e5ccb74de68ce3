/* SPDX-License-Identifier: Apache-2.0 */
/* Strategies as handles: replicas, names of devices, what is refused. */
#include "kit.h"

#include "base/thread.h"

static void expect_devices(const dt_strategy *s, const char *type, const char *prefix,
                           const int *index, int n) {
    assert_string_equal(dt_strategy_type(s), type);
    assert_int_equal(dt_strategy_replicas(s), n);
    for (int r = 0; r < n; r++) {
        char name[96];
        snprintf(name, sizeof name, "%s%d", prefix, index ? index[r] : r);
        assert_string_equal(dt_strategy_device(s, r), name);
    }
    assert_null(dt_strategy_device(s, n));
    assert_null(dt_strategy_device(s, -1));
}
#define CPU "/job:localhost/replica:0/task:0/device:CPU:"
#define TPU "/job:worker/replica:0/task:0/device:TPU:"

/* ---- on CPUs ---- */

static void test_named_devices_get_their_full_names(void **state) {
    (void)state;
    const char *const names[] = {"CPU:1", "/device:cpu:0",
                                 "/job:localhost/replica:0/task:0/device:CPU:7"};
    dt_strategy *s = NULL;

    OK(dt_mirrored_strategy(&s, names, 3));
    expect_devices(s, "mirrored", CPU, (const int[]){1, 0, 7}, 3);
    OK(dt_one_device_strategy(&s, "cpu:5")); /* replaces it */
    expect_devices(s, "one_device", CPU, (const int[]){5}, 1);
    dt_strategy_unref(s);
}

static void test_no_names_are_one_device_per_core(void **state) {
    (void)state;
    const char *const none[] = {NULL};
    dt_strategy *s = NULL;

    OK(dt_mirrored_strategy(&s, NULL, 0));
    expect_devices(s, "mirrored", CPU, NULL, dt_cores());
    OK(dt_mirrored_strategy(&s, none, 0));
    expect_devices(s, "mirrored", CPU, NULL, dt_cores());
    dt_strategy_unref(s);
}

static void test_any_number_of_replicas(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 8, 2048};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        dt_strategy *s = mirrored(counts[i]);
        expect_devices(s, "mirrored", CPU, NULL, counts[i]);
        dt_strategy_unref(s);
    }
}

static void test_devices_that_are_not_here_are_refused(void **state) {
    (void)state;
    const char *const gpu[] = {"CPU:0", "GPU:1"}, *const tpu[] = {"TPU:0"},
                      *const far[] = {"/job:worker/task:1/device:CPU:0"};
    dt_strategy *s = NULL;

    fails(dt_mirrored_strategy(&s, gpu, 2), DT_E_NO_DEVICE, "GPU:1");
    fails(dt_mirrored_strategy(&s, tpu, 1), DT_E_NO_DEVICE, "TPU:0");
    fails(dt_mirrored_strategy(&s, far, 1), DT_E_NO_DEVICE, "/job:worker/task:1");
    fails(dt_one_device_strategy(&s, "GPU:3"), DT_E_NO_DEVICE, "GPU:3");
    fails(dt_multi_worker_mirrored_strategy(
              &s, &(dt_multi_worker_options){.workers = 2, .devices = gpu, .n_devices = 2}),
          DT_E_NO_DEVICE, "GPU:1");
    assert_null(s);
}

static void count(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "x", dt_constant(t, 1));
}

/* A loop outside of any scope would run in every process, too. */
static dt_status *run_by_default(void) {
    dt_function *f = NULL;
    OK(dt_function_create(&f, count, NULL));
    dt_status *s = dt_strategy_run(dt_get_strategy(), f, NULL, NULL);
    dt_function_unref(f);
    return s;
}

/* What launchers set, and whether it says that there are others. */
static void test_one_of_several_processes_is_refused(void **state) {
    (void)state;
    static const struct row {
        const char *name, *value, *with;
        int refused; /* the error's number; 0: taken */
    } rows[] = {
        {"OMPI_COMM_WORLD_SIZE", "2", "OMPI_COMM_WORLD_RANK", DT_E_NOT_YET},
        {"OMPI_COMM_WORLD_SIZE", "1", NULL, 0},
        {"PMI_SIZE", "4", "PMI_RANK", DT_E_NOT_YET},
        {"SLURM_STEP_NUM_TASKS", "3", "SLURM_PROCID", DT_E_NOT_YET},
        {"SLURM_NTASKS", "3", NULL, 0}, /* sbatch's, in the one script that it starts */
        {"WORLD_SIZE", "2", NULL, DT_E_LAUNCH},
        {"WORLD_SIZE", "2", "RANK", DT_E_NOT_YET},
        {"WORLD_SIZE", "1", "RANK", 0},
        {"TF_CONFIG", "", NULL, 0},
        {"TF_CONFIG", "{}", NULL, 0},
        {"TF_CONFIG", "{\"cluster\": {\"worker\": [\"a:1\"]}}", NULL, 0},
        {"TF_CONFIG",
         "{\"cluster\": {\"worker\": [\"a:1\", \"b:2\"]}, \"task\": {\"type\": \"worker\", "
         "\"index\": 0}}",
         NULL, DT_E_NOT_YET},
        {"TF_CONFIG",
         "{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": {\"0\": \"b:2\"}}, \"task\": {\"type\": "
         "\"chief\", \"index\": 0}}",
         NULL, DT_E_NOT_YET},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_strategy *s[6] = {NULL};
        setenv(rows[i].name, rows[i].value, 1);
        if (rows[i].with) setenv(rows[i].with, "0", 1);
        dt_status *made[] = {dt_mirrored_strategy(&s[0], NULL, 0),
                             dt_one_device_strategy(&s[1], "CPU:0"),
                             dt_default_strategy(&s[2]),
                             dt_tpu_strategy(&s[3], NULL, NULL),
                             dt_experimental_tpu_strategy(&s[4], NULL, NULL),
                             run_by_default()};
        unsetenv(rows[i].name);
        if (rows[i].with) unsetenv(rows[i].with);
        for (int k = 0; k < 6; k++) {
            if (rows[i].refused) {
                if (rows[i].refused == DT_E_NOT_YET)
                    assert_string_equal(dt_status_kind(made[k]), "NotImplementedError");
                fails(made[k], rows[i].refused, rows[i].name);
            } else {
                OK(made[k]);
            }
            dt_strategy_unref(s[k]);
        }
    }
}

static void test_the_default_strategy_has_no_device(void **state) {
    (void)state;
    const char *name = NULL;
    dt_strategy *s = NULL;

    OK(dt_default_strategy(&s));
    assert_int_equal(dt_strategy_replicas(s), 1);
    assert_null(dt_strategy_device(s, 0));
    assert_null(dt_strategy_device(dt_get_strategy(), 0));
    dt_status *bad = dt_strategy_logical_device(s, 0, 0, &name);
    assert_string_equal(dt_status_kind(bad), "RuntimeError");
    fails(bad, DT_E_NO_WORKER_DEVICES, "default strategy has no devices");
    assert_null(name);
    dt_strategy_unref(s);
}

static void test_bad_devices_are_refused(void **state) {
    (void)state;
    extern const dt_strategy_row dt_strategy_mirrored;
    const char *const twice[] = {"CPU:0", "CPU:1", "cpu:0"}, *const none[] = {NULL},
                      *const wrong[] = {"CPU"};
    dt_strategy *s = NULL;

    fails(dt_mirrored_strategy(&s, twice, 3), DT_E_DEVICE_TWICE, "'cpu:0' is listed twice");
    fails(dt_mirrored_strategy(&s, none, 1), DT_E_DEVICE_NAME, "empty device name");
    fails(dt_mirrored_strategy(&s, wrong, 1), DT_E_DEVICE_NAME, "CPU");
    fails(dt_mirrored_strategy(&s, twice, -1), DT_E_RANGE, "at least 0, got -1");
    fails(dt_one_device_strategy(&s, NULL), DT_E_DEVICE_NAME, "");
    fails(dt_strategy_open(&s, &(dt_strategy_spec){.row = &dt_strategy_mirrored,
                                                   .replicas = DT_MAX_REPLICAS + 1}),
          DT_E_RANGE, "at most 65536, got 65537");
    assert_null(s);
}

/* ---- on virtual workers ---- */

static void test_workers_are_numbered_one_after_the_other(void **state) {
    (void)state;
    const char *const names[] = {"CPU:3", "CPU:1"};
    dt_strategy *s = NULL;

    OK(dt_multi_worker_mirrored_strategy(
        &s, &(dt_multi_worker_options){.workers = 3, .devices_per_worker = 2}));
    assert_int_equal(dt_strategy_replicas(s), 6);
    assert_int_equal(dt_strategy_input_workers(s), 3);
    assert_string_equal(dt_strategy_device(s, 3), "/job:worker/replica:0/task:1/device:CPU:1");
    assert_string_equal(dt_strategy_input_host(s, 2), "/job:worker/replica:0/task:2/device:CPU:0");
    for (int r = 0; r < 6; r++) assert_int_equal(dt_strategy_input_worker(s, r), r / 2);
    assert_int_equal(dt_strategy_input_worker(s, 6), -1);
    assert_null(dt_strategy_input_host(s, 3));
    OK(dt_multi_worker_mirrored_strategy(
        &s, &(dt_multi_worker_options){.workers = 2, .devices = names, .n_devices = 2}));
    assert_string_equal(dt_strategy_device(s, 2), "/job:worker/replica:0/task:1/device:CPU:3");
    const dt_resolver *r = dt_strategy_cluster_resolver(s);
    assert_string_equal(dt_resolver_task_type(r), "worker");
    assert_int_equal(dt_resolver_task_id(r), 0);
    assert_int_equal(dt_resolver_tasks(r), 2);
    OK(dt_multi_worker_mirrored_strategy(&s, NULL));
    assert_int_equal(dt_strategy_replicas(s), 1);
    dt_strategy_unref(s);
}

static void test_bad_workers_are_refused(void **state) {
    (void)state;
    const char *const twice[] = {"CPU:0", "CPU:0"};
    dt_strategy *s = NULL;

    fails(dt_multi_worker_mirrored_strategy(&s, &(dt_multi_worker_options){.workers = -1}),
          DT_E_RANGE, "at least 0, got -1");
    fails(dt_multi_worker_mirrored_strategy(
              &s, &(dt_multi_worker_options){.workers = 1 << 30, .devices_per_worker = 1 << 30}),
          DT_E_RANGE, "1073741824 workers with 1073741824 replicas");
    fails(dt_multi_worker_mirrored_strategy(
              &s, &(dt_multi_worker_options){.devices = twice, .n_devices = 2}),
          DT_E_DEVICE_TWICE, "CPU:0");
    fails(
        dt_multi_worker_mirrored_strategy(
            &s,
            &(dt_multi_worker_options){.devices = twice, .n_devices = 2, .devices_per_worker = 3}),
        DT_E_REPLICAS, "2 devices are named, but devices_per_worker is 3");
    assert_null(s);
}

/* ---- on slices ---- */

/* In the order of the devices of the slice, TPU:0 to TPU:7, as recorded for v3-8. */
static void test_slices_have_a_replica_on_each_core(void **state) {
    (void)state;
    static const char *const slices[] = {"sim:v2-8", "sim:v3-8", "v3-8"};

    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        dt_strategy *s = tpu(slices[i]);
        expect_devices(s, "tpu", TPU, NULL, 8);
        dt_strategy_unref(s);
    }
}

static void test_resolver_may_be_left_out(void **state) {
    (void)state;
    dt_strategy *s = NULL;

    OK(dt_tpu_strategy(&s, NULL, NULL));
    assert_true(dt_strategy_replicas(s) >= 1);
    assert_string_equal(dt_strategy_type(s), "tpu");
    dt_strategy_unref(s);
}

static void test_strategy_keeps_its_resolver(void **state) {
    (void)state;
    const dt_topology *topology = NULL;
    dt_resolver *r = NULL;
    dt_strategy *s = NULL;
    int mesh[4];

    OK(dt_tpu_resolver(&r, "sim:v2-8"));
    OK(dt_tpu_initialize(r, &topology));
    dt_topology_mesh_shape(topology, mesh);
    assert_memory_equal(mesh, ((int[]){2, 2, 1, 2}), sizeof mesh);
    OK(dt_tpu_strategy(&s, r, &(dt_tpu_options){.spmd = true}));
    assert_true(s->spmd);
    dt_resolver_unref(r);
    dt_device *device = NULL;
    OK(dt_strategy_device_of(s, &device)); /* over the resolver's topology */
    assert_true(dt_device_is_priced(device));
    dt_strategy_unref(s);
}

static void test_unknown_slice_is_refused(void **state) {
    (void)state;
    dt_resolver *r = NULL;
    dt_status *s = dt_tpu_resolver(&r, "sim:v3-9");

    assert_non_null(s);
    assert_non_null(strstr(dt_status_text(s), "v3-9"));
    dt_status_free(s);
    assert_null(r);
}

/* ---- engines ---- */

static void test_engine_is_opened_once_as_told(void **state) {
    (void)state;
    dt_strategy *s = mirrored(4);
    dt_device *first = NULL, *second = NULL;

    dt_strategy_set_engine(s, 3, DT_KERNELS_OPENBLAS);
    OK(dt_strategy_device_of(s, &first));
    assert_int_equal(dt_device_facts_of(first).threads, 3);
    assert_non_null(strstr(dt_device_facts_of(first).kernels, "openblas"));
    dt_strategy_set_engine(s, 1, DT_KERNELS_OPENBLAS); /* too late */
    OK(dt_strategy_device_of(s, &second));
    assert_ptr_equal(first, second);
    assert_int_equal(dt_device_facts_of(second).threads, 3);
    dt_strategy_unref(s);
}

/* ---- cutting rows ---- */

static void test_rows_are_cut_by_the_rule_of_the_reference(void **state) {
    (void)state;
    static const struct {
        int64_t rows, batch;
        int n;
        int32_t offsets[6];
    } cases[] = {
        {8, 8, 2, {0, 4, 8}},          {6, 8, 2, {0, 4, 6}},
        {3, 8, 2, {0, 3, 3}},          {7, 7, 3, {0, 3, 5, 7}},
        {1, 7, 3, {0, 1, 1, 1}},       {4, 7, 3, {0, 3, 4, 4}},
        {3, 3, 5, {0, 1, 2, 3, 3, 3}}, {2, 3, 5, {0, 1, 2, 2, 2, 2}},
        {0, 8, 2, {0, 0, 0}},          {5, 5, 1, {0, 5}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t offsets[6];
        dt_cut_rows(cases[i].rows, cases[i].batch, cases[i].n, offsets);
        assert_memory_equal(offsets, cases[i].offsets, sizeof *offsets * (size_t)(cases[i].n + 1));
    }
}

/* Sizes of a whole batch, as recorded for one worker. */
static void test_recorded_sizes_of_batches(void **state) {
    (void)state;
    json_t *root, *c, *cases = golden_cases("distribute_dataset.json", &root);
    int done = 0;
    size_t i;

    json_array_foreach(cases, i, c) {
        const json_t *in = json_object_get(c, "in");
        if (strcmp(text_of(c, "op"), "batch_sizes_for_worker") != 0 ||
            json_integer_value(json_object_get(in, "num_workers")) != 1)
            continue;
        const json_t *sizes =
            json_array_get(json_object_get(json_object_get(c, "out"), "batch_sizes_by_worker"), 0);
        int64_t batch = json_integer_value(json_object_get(in, "global_batch_size"));
        int n = (int)json_array_size(sizes);
        int32_t *offsets = calloc((size_t)n + 1, sizeof *offsets);
        dt_cut_rows(batch, batch, n, offsets);
        for (int r = 0; r < n; r++)
            assert_int_equal(offsets[r + 1] - offsets[r],
                             json_integer_value(json_array_get(sizes, (size_t)r)));
        free(offsets);
        done++;
    }
    json_decref(root);
    print_message("%d cases\n", done);
    assert_true(done > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named_devices_get_their_full_names),
        cmocka_unit_test(test_no_names_are_one_device_per_core),
        cmocka_unit_test(test_any_number_of_replicas),
        cmocka_unit_test(test_devices_that_are_not_here_are_refused),
        cmocka_unit_test(test_one_of_several_processes_is_refused),
        cmocka_unit_test(test_the_default_strategy_has_no_device),
        cmocka_unit_test(test_bad_devices_are_refused),
        cmocka_unit_test(test_workers_are_numbered_one_after_the_other),
        cmocka_unit_test(test_bad_workers_are_refused),
        cmocka_unit_test(test_slices_have_a_replica_on_each_core),
        cmocka_unit_test(test_resolver_may_be_left_out),
        cmocka_unit_test(test_strategy_keeps_its_resolver),
        cmocka_unit_test(test_unknown_slice_is_refused),
        cmocka_unit_test(test_engine_is_opened_once_as_told),
        cmocka_unit_test(test_rows_are_cut_by_the_rule_of_the_reference),
        cmocka_unit_test(test_recorded_sizes_of_batches),
    };
    return cmocka_run_group_tests_name("strategies", tests, NULL, NULL);
}

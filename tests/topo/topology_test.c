/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies: against TensorFlow's, and those of slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "golden.h"

static void check_lookups(const dt_topology *t, const json_t *lookups) {
    for (size_t i = 0; i < json_array_size(lookups); i++) {
        const json_t *one = json_array_get(lookups, i);
        int n = 0;
        int64_t *v = golden_ints(json_object_get(one, "coordinates"), &n, NULL);
        const dt_coords at = {(int)v[0], (int)v[1], (int)v[2], (int)v[3]};
        assert_true(dt_topology_has(t, at));
        assert_int_equal(dt_topology_task(t, at), json_integer_value(json_object_get(one, "task")));
        assert_int_equal(dt_topology_device(t, at),
                         json_integer_value(json_object_get(one, "device")));
        free(v);
    }
}

static void check_topology(const dt_topology *t, const json_t *want) {
    int n = 0;
    int64_t *missing = golden_ints(json_object_get(want, "missing_devices"), &n, NULL);
    assert_int_equal(t->missing, n / 4);
    for (int i = 0; i < n / 4; i++) {
        const int at[4] = {(int)missing[4 * i], (int)missing[4 * i + 1], (int)missing[4 * i + 2],
                           (int)missing[4 * i + 3]};
        int told[4];
        assert_false(dt_topology_has(t, (dt_coords){at[0], at[1], at[2], at[3]}));
        assert_true(dt_topology_missing_device(t, i, told));
        assert_memory_equal(told, at, sizeof at);
    }
    assert_int_equal(t->tasks, json_integer_value(json_object_get(want, "num_tasks")));
    assert_int_equal(t->devices, json_integer_value(json_object_get(want, "num_tpus_per_task")));
    check_lookups(t, json_object_get(want, "lookup"));
    free(missing);
}

static void test_topologies_are_tensorflows(void **state) {
    (void)state;
    json_t *root, *cases = golden_cases("topology.json", &root);
    int good = 0, bad = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *error = json_object_get(one, "error");
        dt_topology *t = NULL;
        if (strcmp(golden_text(one, "op"), "topology") != 0)
            continue; /* the serialized form is not read */
        dt_status *s = golden_topology(json_object_get(one, "in"), &t);
        if (error) {
            golden_check_error(s, error, golden_text(one, "id"));
            bad++;
        } else {
            assert_null(s);
            check_topology(t, json_object_get(one, "out"));
            good++;
        }
        dt_topology_unref(t);
    }
    assert_true(good >= 7 && bad >= 3);
    json_decref(root);
}

/* A slice's own topology is the recorded one of its name. */
static void test_slices_have_the_recorded_coordinates(void **state) {
    (void)state;
    json_t *root, *cases = golden_cases("topology.json", &root);
    int found = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *in = json_object_get(json_array_get(cases, i), "in");
        const char *name = golden_text(in, "name");
        dt_topology *want = NULL;
        if (!name || (strcmp(name, "v2-8") != 0 && strcmp(name, "v3-32") != 0)) continue;
        assert_null(golden_topology(in, &want));
        dt_topology *got = golden_slice(name);
        assert_memory_equal(got->mesh, want->mesh, sizeof got->mesh);
        assert_int_equal(got->tasks, want->tasks);
        assert_int_equal(got->devices, want->devices);
        assert_memory_equal(got->coordinates, want->coordinates,
                            (size_t)(got->tasks * got->devices) * sizeof *got->coordinates);
        dt_topology_unref(got);
        dt_topology_unref(want);
        found++;
    }
    assert_int_equal(found, 2);
    json_decref(root);
}

static void test_ids_count_the_whole_slice(void **state) {
    (void)state;
    const dt_slice large = {"v3-32", dt_chip_find("v3"), {4, 4, 1}, {false}, false};
    dt_topology *t = dt_topology_of_slice(&large);
    static const int first_host[8] = {0, 1, 2, 3, 8, 9, 10, 11};
    for (int i = 0; i < 8; i++)
        assert_int_equal(dt_topology_id(t, t->coordinates[i]), first_host[i]);
    assert_int_equal(dt_topology_cores(t), 32);
    int shape[4];
    dt_topology_mesh_shape(t, shape);
    assert_memory_equal(shape, ((int[4]){4, 4, 1, 2}), sizeof shape);
    dt_topology_unref(t);
    dt_topology_unref(NULL);
}

static void test_hops_go_the_short_way(void **state) {
    (void)state;
    const dt_slice open = {"open", dt_chip_find("v3"), {8, 4, 1}, {false, false, false}, false};
    const dt_slice ring = {"ring", dt_chip_find("v3"), {8, 4, 1}, {true, false, false}, false};
    dt_topology *o = dt_topology_of_slice(&open), *r = dt_topology_of_slice(&ring);
    static const struct {
        dt_coords a, b;
        int open, ring;
    } rows[] = {
        {{0, 0, 0, 0}, {0, 0, 0, 1}, 0, 0},
        {{0, 0, 0, 0}, {7, 0, 0, 0}, 7, 1},
        {{1, 1, 0, 1}, {5, 3, 0, 0}, 6, 6},
        {{6, 0, 0, 0}, {1, 3, 0, 0}, 8, 6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(dt_topology_hops(o, rows[i].a, rows[i].b), rows[i].open);
        assert_int_equal(dt_topology_hops(r, rows[i].b, rows[i].a), rows[i].ring);
    }
    dt_topology_unref(o);
    dt_topology_unref(r);
}

static void test_malformed_topologies_are_refused(void **state) {
    (void)state;
    static const struct {
        int64_t mesh[4];
        int rank, tasks, devices;
        int64_t at[4];
        int number;
        const char *text;
    } rows[] = {
        {{2, 2, 1, 2}, 3, 1, 1, {0}, 47, "mesh_shape must be 4 positive numbers, got [2,2,1]"},
        {{2, -1, 1, 2}, 4, 1, 1, {0}, 47, "mesh_shape must be 4 positive numbers, got [2,-1,1,2]"},
        {{INT64_MAX, INT64_MAX, 1, 2},
         4,
         1,
         1,
         {0},
         47,
         "mesh_shape is too large, got [9223372036854775807,9223372036854775807,1,2]"},
        {{4096, 4096, 1, 2}, 4, 1, 1, {0}, 47, "mesh_shape is too large, got [4096,4096,1,2]"},
        {{2, 2, 1, 2},
         4,
         -1,
         1,
         {0},
         47,
         "a topology can have 0 to 16777216 devices, got -1 tasks with 1 each"},
        {{2, 2, 1, 2},
         4,
         1 << 30,
         1 << 30,
         {0},
         47,
         "a topology can have 0 to 16777216 devices, got 1073741824 tasks with 1073741824 each"},
        {{2, 2, 1, 2},
         4,
         1,
         1,
         {0, 0, 1, 0},
         48,
         "device 0 of task 0: z 1 is outside the mesh, where axis 2 has size 1"},
        {{2, 2, 1, 2},
         4,
         1,
         1,
         {-1, 0, 0, 0},
         48,
         "device 0 of task 0: x -1 is outside the mesh, where axis 0 has size 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_topology *t = NULL;
        dt_status *s = dt_topology_create(
            &t, &(dt_topology_options){.mesh_shape = rows[i].mesh,
                                       .mesh_rank = rows[i].rank,
                                       .device_coordinates = rows[i].at,
                                       .coordinates_shape =
                                           (int64_t[]){rows[i].tasks, rows[i].devices, 4},
                                       .coordinates_rank = 3});
        assert_int_equal(dt_status_number(s), rows[i].number);
        assert_string_equal(dt_status_text(s), rows[i].text);
        assert_null(t);
        dt_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topologies_are_tensorflows),
        cmocka_unit_test(test_slices_have_the_recorded_coordinates),
        cmocka_unit_test(test_ids_count_the_whole_slice),
        cmocka_unit_test(test_hops_go_the_short_way),
        cmocka_unit_test(test_malformed_topologies_are_refused),
    };
    return cmocka_run_group_tests_name("topo/topology", tests, NULL, NULL);
}

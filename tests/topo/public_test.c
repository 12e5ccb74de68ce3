/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies and assignments as a program of a user's has them: bytes there and back, whatever the
 * bytes are, and every wrong use an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "topo/topo.h"

static dt_topology *slice(const char *name) {
    dt_slice s;
    assert_null(dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, &s));
    return dt_topology_of_slice(&s);
}

static void fails(dt_status *s, const char *kind, const char *part) {
    assert_non_null(s);
    assert_string_equal(dt_status_kind(s), kind);
    if (!strstr(dt_status_text(s), part)) fail_msg("'%s' lacks '%s'", dt_status_text(s), part);
    dt_status_free(s);
}

/* ---- bytes ---- */

static void test_bytes_there_and_back(void **state) {
    (void)state;
    static const char *const names[] = {
        "v2-8",  "v3-8",  "v4-8",    "v4-16",     "v2-32",
        "v3-32", "v5e-8", "v5e-256", "tpu7x-128", "v4:4x4x8_twisted"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dt_topology *t = slice(names[i]), *u = NULL;
        size_t size, again;
        const void *bytes = dt_topology_serialized(t, &size);
        assert_null(dt_topology_parse(&u, bytes, size));
        assert_memory_equal(dt_topology_serialized(u, &again), bytes, size);
        assert_int_equal(again, size);
        assert_memory_equal(u->coordinates, t->coordinates,
                            sizeof *t->coordinates * (size_t)(t->tasks * t->devices));
        dt_topology_unref(t);
        dt_topology_unref(u);
    }
}

#define BYTES(text) (text), sizeof(text) - 1

static void test_other_spellings_of_the_same_message(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } rows[] = {
        {BYTES("\x0a\x04\x02\x01\x01\x01\x10\x02\x18\x01\x22\x08\0\0\0\0\x01\0\0\0")},
        /* one by one */
        {BYTES("\x08\x02\x08\x01\x08\x01\x08\x01\x10\x02\x18\x01\x22\x08\0\0\0\0\x01\0\0\0")},
        /* in two parts */
        {BYTES("\x0a\x02\x02\x01\x0a\x02\x01\x01\x10\x02\x18\x01\x22\x08\0\0\0\0\x01\0\0\0")},
        /* the last counts */
        {BYTES("\x10\x07\x0a\x04\x02\x01\x01\x01\x10\x02\x18\x01\x22\x08\0\0\0\0\x01\0\0\0")},
        /* unknown fields */
        {BYTES("\x0a\x04\x02\x01\x01\x01\x10\x02\x18\x01\x22\x08\0\0\0\0\x01\0\0\0\x2a\x03xyz\x30"
               "\x05")},
        /* a group */
        {BYTES(
            "\x33\x10\x09\x34\x0a\x04\x02\x01\x01\x01\x10\x02\x18\x01\x22\x08\0\0\0\0\x01\0\0\0")},
        /* known, but not as numbers */
        {BYTES("\x15....\x19........"
               "\x0a\x04\x02\x01\x01\x01\x10\x02\x18\x01\x22\x08\0\0\0\0\x01\0\0\0")},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_topology *t = NULL;
        int shape[4], at[4];
        assert_null(dt_topology_parse(&t, rows[i].bytes, rows[i].size));
        dt_topology_mesh_shape(t, shape);
        assert_memory_equal(shape, ((int[]){2, 1, 1, 1}), sizeof shape);
        assert_int_equal(dt_topology_tasks(t), 2);
        assert_int_equal(dt_topology_tpus_per_task(t), 1);
        assert_true(dt_topology_device_coordinates(t, 1, 0, at));
        assert_memory_equal(at, ((int[]){1, 0, 0, 0}), sizeof at);
        dt_topology_unref(t);
    }
}

static void test_bytes_that_are_no_topology(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *kind, *part;
    } rows[] = {
        {BYTES(""), "ValueError", "mesh_shape must be 4 positive numbers, got []"},
        {BYTES("\x0a"), "DecodeError", "the field at byte 0 of 1"},
        {BYTES("\x0a\x05\x02\x02"), "DecodeError", "the field at byte 0 of 4"},
        {BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "DecodeError", "byte 0"},
        {BYTES("\x08\x01\x0f"), "DecodeError", "byte 2 of 3"},
        {BYTES("\0"), "DecodeError", "byte 0"},
        {BYTES("\x34"), "DecodeError", "byte 0"}, /* a group's end */
        {BYTES("\x0a\x04\x02\x01\x01\x01\x10\x02\x18\x01"), "ValueError",
         "2 tasks x 1 devices x 4 numbers for the mesh [2,1,1,1], got 0"},
        {BYTES("\x0a\x04\x02\x01\x01\x01\x10\xff\xff\xff\xff\x0f"), "ValueError",
         "num_tasks must be at least 0, got -1"},
        {BYTES("\x0a\x04\x02\x01\x01\x01\x18\xff\xff\xff\xff\x0f"), "ValueError",
         "num_tpu_devices_per_task must be at least 0, got -1"},
        {BYTES("\x0a\x04\x02\x01\x01\x01\x10\xff\xff\xff\xff\x07\x18\xff\xff\xff\xff\x07"),
         "ValueError", "2147483647 tasks"},
        {BYTES("\x0a\x14\xff\xff\xff\xff\x07\xff\xff\xff\xff\x07\xff\xff\xff\xff\x07\xff\xff\xff"
               "\xff\x07"),
         "ValueError", "too large"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_topology *t = NULL;
        fails(dt_topology_parse(&t, rows[i].bytes, rows[i].size), rows[i].kind, rows[i].part);
        assert_null(t);
    }
    dt_topology *t = NULL;
    fails(dt_topology_parse(&t, NULL, 7), "DecodeError", "got NULL");
    fails(dt_topology_parse(&t, NULL, 0), "ValueError", "mesh_shape");
    fails(dt_topology_parse(&t, "x", (size_t)-7), "DecodeError", "no object has");
}

/* Every byte string is a topology or an error; what is a topology can be asked everything. */
static bool try_bytes(const unsigned char *bytes, size_t size) {
    dt_topology *t = NULL, *u = NULL;
    unsigned char *copy = malloc(size + 1); /* its end is where the sanitizer looks */
    int at[4];
    memcpy(copy, bytes, size);
    dt_status *s = dt_topology_parse(&t, copy, size);
    free(copy);
    bool ok = !s;
    dt_status_free(s);
    if (ok) {
        size_t again;
        const void *same = dt_topology_serialized(t, &again);
        assert_null(dt_topology_parse(&u, same, again));
        dt_topology_missing_device(t, t->missing - 1, at);
    }
    dt_topology_unref(t);
    dt_topology_unref(u);
    return ok;
}

static void test_any_bytes_are_answered(void **state) {
    (void)state;
    const uint64_t seed = 20261121;
    dt_random r = dt_random_stream(seed, "topology bytes", 0);
    dt_topology *t = slice("v3-8");
    size_t size;
    const unsigned char *bytes = dt_topology_serialized(t, &size);
    unsigned char *x = malloc(size);
    int fine = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (size_t n = 0; n < size; n++)
        /* cut off: between two fields it may be a topology without devices */
        fine += try_bytes(bytes, n);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        memcpy(x, bytes, size);
        x[bit / 8] ^= (unsigned char)(1u << bit % 8);
        fine += try_bytes(x, size);
    }
    for (int round = 0; round < 5000; round++) {
        memcpy(x, bytes, size);
        for (int k = 0; k < 4; k++)
            x[dt_random_below(&r, size)] = (unsigned char)dt_random_below(&r, 256);
        fine += try_bytes(x, dt_random_below(&r, size + 1));
    }
    assert_true(fine > 0);
    free(x);
    dt_topology_unref(t);
}

/* ---- wrong use ---- */

static void test_topologies_used_wrongly(void **state) {
    (void)state;
    const int64_t mesh[4] = {2, 2, 1, 2}, at[8] = {0}, shape[4] = {1, 2, 4, 1};
    dt_topology *t = NULL;
    int out, c[4] = {7, 7, 7, 7};
    char *name = NULL;
    fails(dt_topology_create(&t, NULL), "ValueError", "mesh_shape");
    fails(dt_topology_create(&t, &(dt_topology_options){.mesh_rank = 4}), "ValueError",
          "mesh_shape");
    fails(dt_topology_create(&t, &(dt_topology_options){mesh, 4, NULL, shape, 3}), "ValueError",
          "device_coordinates");
    fails(dt_topology_create(&t, &(dt_topology_options){mesh, 4, at, NULL, 3}), "ValueError",
          "device_coordinates");
    fails(dt_topology_create(&t, &(dt_topology_options){mesh, 4, at, shape, 4}), "ValueError",
          "got 4: [1,2,4,1]");
    fails(dt_topology_create(&t, &(dt_topology_options){mesh, 4, at, (int64_t[]){1, 2, 3}, 3}),
          "ValueError", "got 3: [1,2,3]");
    fails(dt_topology_create(
              &t, &(dt_topology_options){mesh, 4, at, (int64_t[]){INT64_MAX, INT64_MAX, 4}, 3}),
          "ValueError", "0 to 16777216");
    fails(dt_topology_task_ordinal(NULL, c, &out), "ValueError", "no topology");
    t = slice("v3-8");
    fails(dt_topology_task_ordinal(t, c, &out), "IndexError",
          "coordinates [7,7,7,7] are outside the mesh, where axis 0 has size 2");
    fails(dt_topology_tpu_ordinal(t, NULL, &out), "IndexError", "no coordinates");
    fails(dt_topology_tpu_device(t, (int[]){0, 0, 0, -1}, "worker", &name), "IndexError",
          "axis 3 has size 2");
    assert_false(dt_topology_device_coordinates(t, 0, 8, c));
    assert_false(dt_topology_device_coordinates(NULL, 0, 0, c));
    assert_false(dt_topology_missing_device(t, 0, c));
    assert_int_equal(dt_topology_tasks(NULL) + dt_topology_tpus_per_task(NULL), 0);
    dt_topology_mesh_shape(NULL, c);
    assert_memory_equal(c, ((int[4]){0}), sizeof c);
    dt_topology_unref(t);
    dt_topology_unref(NULL);
}

static void test_assignments_used_wrongly(void **state) {
    (void)state;
    const int64_t core[8] = {0}, big[4] = {INT64_MAX, 1, 1, 1};
    dt_topology *t = slice("v3-8");
    dt_device_assignment *a = NULL;
    int out[8], n;
    char *name = NULL;
    fails(dt_device_assignment_build(&a, NULL, NULL), "ValueError", "no topology");
    fails(dt_device_assignment_create(&a, NULL, core, (int64_t[]){1, 2, 4}, 3), "ValueError",
          "no topology");
    fails(dt_device_assignment_create(&a, t, NULL, NULL, 3), "ValueError",
          "core_assignment must be given");
    fails(dt_device_assignment_create(&a, t, core, (int64_t[]){1, 2, 3}, 3), "ValueError",
          "got shape [1,2,3]");
    fails(dt_device_assignment_create(&a, t, core, (int64_t[]){2, 4}, 2), "ValueError",
          "3 dimensions");
    fails(dt_device_assignment_create(&a, t, core, (int64_t[]){INT64_MAX, 1 << 20, 4}, 3),
          "ValueError", "0 to 16777216");
    fails(dt_device_assignment_build(&a, t,
                                     &(dt_device_assignment_options){.computation_shape = big,
                                                                     .shape_rank = 4,
                                                                     .num_replicas = 1}),
          "ValueError", "does not fit");
    fails(dt_device_assignment_build(&a, t,
                                     &(dt_device_assignment_options){.num_replicas = INT64_MAX}),
          "ValueError", "only 8");
    fails(dt_device_assignment_coordinates(NULL, 0, 0, out), "ValueError", "no device assignment");
    fails(dt_device_assignment_lookup_replicas(NULL, 0, 0, out, &n), "ValueError",
          "no device assignment");
    assert_null(dt_device_assignment_build(&a, t, NULL));
    dt_topology_unref(t); /* the assignment keeps it */
    assert_int_equal(dt_device_assignment_replicas(a), 1);
    assert_int_equal(dt_device_assignment_logical_devices(a), 1);
    assert_int_equal(dt_topology_tpus_per_task(dt_device_assignment_topology(a)), 8);
    fails(dt_device_assignment_coordinates(a, 1, 0, out), "IndexError",
          "no replica 1: the assignment has 1");
    fails(dt_device_assignment_tpu_device(a, 0, 1, NULL, &name), "IndexError",
          "no logical device 1: a replica has 1");
    fails(dt_device_assignment_lookup_replicas(a, 4, 0, out, &n), "ValueError",
          "no replica has its logical device 0 in task 4");
    assert_null(dt_device_assignment_host_device(a, 0, 0, NULL, &name));
    assert_string_equal(name, "/task:0/device:CPU:0");
    free(name);
    dt_device_assignment_unref(a);
    dt_device_assignment_unref(NULL);
    assert_int_equal(
        dt_device_assignment_replicas(NULL) + dt_device_assignment_logical_devices(NULL), 0);
}

static void test_empty_assignments(void **state) {
    (void)state;
    dt_topology *t = slice("v2-8");
    dt_device_assignment *a = NULL;
    assert_null(
        dt_device_assignment_build(&a, t, &(dt_device_assignment_options){.num_replicas = 0}));
    assert_int_equal(dt_device_assignment_replicas(a), 0);
    assert_null(dt_device_assignment_create(&a, t, (int64_t[4]){0}, (int64_t[]){0, 5, 4}, 3));
    assert_int_equal(dt_device_assignment_replicas(a), 0);
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_there_and_back),
        cmocka_unit_test(test_other_spellings_of_the_same_message),
        cmocka_unit_test(test_bytes_that_are_no_topology),
        cmocka_unit_test(test_any_bytes_are_answered),
        cmocka_unit_test(test_topologies_used_wrongly),
        cmocka_unit_test(test_assignments_used_wrongly),
        cmocka_unit_test(test_empty_assignments),
    };
    return cmocka_run_group_tests_name("topo/public", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Device assignments: TensorFlow's coordinates for the recorded cases, and what must hold for
 * all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "golden.h"

static dt_device_order order_of(const char *name) {
    return strcmp(name, "RING") == 0   ? DT_ORDER_RING
           : strcmp(name, "MESH") == 0 ? DT_ORDER_MESH
                                       : DT_ORDER_AUTO;
}

static dt_status *build(const json_t *in, const dt_topology *t, dt_assignment **out) {
    const json_t *shape = json_object_get(in, "computation_shape"),
                 *stride = json_object_get(in, "computation_stride");
    static const int64_t none[1];
    dt_device_assignment_options spec = {
        .num_replicas = json_integer_value(json_object_get(in, "num_replicas")),
        .device_order_mode = order_of(golden_text(in, "device_order_mode"))};
    int64_t *a = golden_ints(shape, &spec.shape_rank, NULL),
            *b = golden_ints(stride, &spec.stride_rank, NULL);
    spec.computation_shape = json_is_array(shape) ? a ? a : none : NULL;
    spec.computation_stride = json_is_array(stride) ? b ? b : none : NULL;
    dt_status *s = dt_device_assignment_build(out, t, &spec);
    free(a);
    free(b);
    return s;
}

static void check_coordinates(const dt_assignment *a, const json_t *out, const char *id) {
    int n = 0;
    int64_t *want = golden_ints(json_object_get(out, "core_assignment"), &n, NULL);
    assert_int_equal(a->replicas, json_integer_value(json_object_get(out, "num_replicas")));
    assert_int_equal(a->logical, json_integer_value(json_object_get(out, "num_cores_per_replica")));
    assert_int_equal(4 * a->replicas * a->logical, n);
    for (int i = 0; i < n; i++)
        if (a->core[i / 4][i % 4] != want[i])
            fail_msg("%s: replica %d, logical device %d: axis %d is %d, not %lld", id,
                     i / 4 / a->logical, i / 4 % a->logical, i % 4, a->core[i / 4][i % 4],
                     (long long)want[i]);
    free(want);
}

static void check_ordinals(const dt_assignment *a, const dt_topology *t, const json_t *out) {
    int n = 0;
    int64_t *ordinal = golden_ints(json_object_get(out, "tpu_ordinal"), &n, NULL);
    for (int i = 0; i < n; i++) assert_int_equal(dt_topology_device(t, a->core[i]), ordinal[i]);
    free(ordinal);
}

/* Replicas found for a task and a logical core; none is an error in TensorFlow, an empty list
 * here. */
static void check_lookup(const dt_assignment *a, const dt_topology *t, int task, int logical,
                         const json_t *replicas) {
    int n = 0, *got = calloc((size_t)a->replicas + 1, sizeof *got);
    int64_t *want = golden_ints(replicas, &n, NULL);
    assert_int_equal(dt_assignment_lookup(a, t, task, logical, got), n);
    for (int k = 0; k < n; k++) assert_int_equal(got[k], want[k]);
    free(got);
    free(want);
}

static int integer(const json_t *j, const char *key) {
    return (int)json_integer_value(json_object_get(j, key));
}

static void check_lookups(const dt_assignment *a, const dt_topology *t, const json_t *out) {
    const json_t *lookups = json_object_get(out, "lookup_replicas");
    for (size_t i = 0; i < json_array_size(lookups); i++) {
        const json_t *one = json_array_get(lookups, i);
        check_lookup(a, t, integer(one, "task"), integer(one, "logical_core"),
                     json_object_get(one, "replicas"));
    }
}

static dt_status *construct(const json_t *in, const dt_topology *t, dt_assignment **out) {
    const json_t *cores = json_object_get(in, "core_assignment");
    int n = 0;
    int64_t *core = golden_ints(cores, &n, NULL), replicas = (int64_t)json_array_size(cores);
    dt_status *s =
        dt_device_assignment_create(out, t, core, (int64_t[]){replicas, n / 4 / replicas, 4}, 3);
    free(core);
    return s;
}

/* A list of another depth than [replica][logical][4], or a topology that is none: our types do not
 * let them be written. */
static bool has_no_form(const json_t *in) {
    const json_t *cores = json_object_get(in, "core_assignment");
    return !json_is_object(json_object_get(in, "topology")) ||
           json_is_integer(json_array_get(json_array_get(cores, 0), 0));
}

static void check_case(const json_t *one) {
    const json_t *in = json_object_get(one, "in"), *error = json_object_get(one, "error"),
                 *out = json_object_get(one, "out");
    const char *id = golden_text(one, "id");
    dt_topology *t = NULL;
    dt_assignment *a = NULL;
    assert_null(golden_topology(json_object_get(in, "topology"), &t));
    dt_status *s = json_object_get(in, "core_assignment") ? construct(in, t, &a) : build(in, t, &a);
    if (strcmp(golden_text(one, "op"), "lookup_replicas") == 0) {
        assert_null(s);
        check_lookup(a, t, integer(in, "task_id"), integer(in, "logical_core"),
                     json_object_get(out, "replicas"));
    } else if (error) {
        golden_check_error(s, error, id);
        assert_null(a);
    } else {
        assert_null(s);
        check_coordinates(a, out, id);
        check_ordinals(a, t, out);
        check_lookups(a, t, out);
    }
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
}

static void test_assignments_are_tensorflows(void **state) {
    (void)state;
    json_t *root, *cases = golden_cases("device_assignment.json", &root);
    int checked = 0;
    for (size_t i = 0; i < json_array_size(cases); i++)
        if (!has_no_form(json_object_get(json_array_get(cases, i), "in"))) {
            check_case(json_array_get(cases, i));
            checked++;
        }
    assert_true(checked >= 50);
    json_decref(root);
}

/* ---- what holds for all ---- */

static dt_topology *grid(int x, int y, int z) {
    dt_slice s = {"grid", dt_chip_find("v3"), {x, y, z}, {false}, false};
    dt_topology *t = dt_topology_of_slice(&s);
    t->slice = NULL; /* s goes */
    return t;
}

static void check_no_core_twice(const dt_topology *t, const dt_assignment *a) {
    char *seen = calloc((size_t)dt_topology_cores(t), 1);
    for (int i = 0; i < a->replicas * a->logical; i++) {
        assert_true(dt_topology_has(t, a->core[i]));
        assert_false(seen[dt_topology_id(t, a->core[i])]++);
    }
    free(seen);
}

static void test_no_core_is_given_twice(void **state) {
    (void)state;
    const uint64_t seed = 20260731;
    dt_random r = dt_random_stream(seed, "assignment", 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    int built = 0;
    for (int round = 0; round < 3000; round++) {
        dt_topology *t =
            grid(2 * (1 + (int)dt_random_below(&r, 3)), 2 * (1 + (int)dt_random_below(&r, 3)),
                 1 + (int)dt_random_below(&r, 4));
        int64_t shape[4], stride[4];
        for (int k = 0; k < 4; k++) {
            shape[k] = 1 + (int64_t)dt_random_below(&r, 3);
            stride[k] = 1 + (int64_t)dt_random_below(&r, 2) * (int64_t)dt_random_below(&r, 2);
        }
        dt_assignment *a = NULL;
        dt_status *s = dt_device_assignment_build(
            &a, t,
            &(dt_device_assignment_options){shape, 4, stride, 4, (int64_t)dt_random_below(&r, 20),
                                            (dt_device_order)dt_random_below(&r, 3)});
        if (!s) {
            check_no_core_twice(t, a);
            built++;
        }
        dt_status_free(s);
        dt_device_assignment_unref(a);
        dt_topology_unref(t);
    }
    assert_true(built > 300);
}

/* With even sizes every hop of a full ring is one link, the closing one too. */
static void test_rings_are_rings(void **state) {
    (void)state;
    static const int sizes[][3] = {{2, 2, 1}, {4, 2, 1}, {4, 4, 1}, {8, 4, 1},
                                   {2, 2, 2}, {4, 4, 4}, {2, 4, 6}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dt_topology *t = grid(sizes[i][0], sizes[i][1], sizes[i][2]);
        int chips = sizes[i][0] * sizes[i][1] * sizes[i][2];
        dt_assignment *a = NULL;
        const int64_t shape[4] = {1, 1, 1, 2};
        assert_null(dt_device_assignment_build(
            &a, t,
            &(dt_device_assignment_options){
                .computation_shape = shape, .shape_rank = 4, .num_replicas = chips}));
        for (int r = 0; r < chips; r++)
            assert_int_equal(dt_topology_hops(t, dt_assignment_at(a, r, 0),
                                              dt_assignment_at(a, (r + 1) % chips, 0)),
                             1);
        dt_device_assignment_unref(a);
        dt_topology_unref(t);
    }
}

static void test_one_replica_per_core_in_task_order(void **state) {
    (void)state;
    dt_topology *t = golden_slice("v2-8");
    dt_assignment *a = dt_assignment_each_core(t);
    assert_int_equal(a->replicas, 8);
    assert_int_equal(a->logical, 1);
    for (int r = 0; r < 8; r++)
        assert_int_equal(dt_topology_device(t, dt_assignment_at(a, r, 0)), r);
    int order[8];
    assert_int_equal(dt_assignment_lookup(a, t, 0, 1, (int[8]){0}), 0); /* no logical device 1 */
    static const int round_the_chips[8] = {0, 1, 2, 3, 6, 7, 4, 5};
    dt_assignment_ring(a, t, order);
    assert_memory_equal(order, round_the_chips, sizeof order);
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
    dt_device_assignment_unref(NULL);
}

/* An order for gradients is a permutation, and never longer than counting up. */
static void test_gradient_rings_are_permutations(void **state) {
    (void)state;
    for (int64_t replicas = 0; replicas <= 16; replicas++) {
        dt_topology *t = grid(4, 4, 1);
        dt_assignment *a = NULL;
        const int64_t shape[4] = {1, 1, 1, 2};
        assert_null(dt_device_assignment_build(
            &a, t,
            &(dt_device_assignment_options){.computation_shape = shape,
                                            .shape_rank = 4,
                                            .num_replicas = replicas,
                                            .device_order_mode = DT_ORDER_MESH}));
        int order[16], seen[16] = {0}, plain = 0, ring = 0;
        dt_assignment_ring(a, t, order);
        for (int i = 0; i < a->replicas; i++) {
            int next = (i + 1) % a->replicas;
            seen[order[i]]++;
            plain += dt_topology_hops(t, dt_assignment_at(a, i, 0), dt_assignment_at(a, next, 0));
            ring += dt_topology_hops(t, dt_assignment_at(a, order[i], 0),
                                     dt_assignment_at(a, order[next], 0));
        }
        for (int i = 0; i < a->replicas; i++) assert_int_equal(seen[i], 1);
        assert_true(ring <= plain);
        dt_device_assignment_unref(a);
        dt_topology_unref(t);
    }
}

static void test_errors_say_what_would_fit(void **state) {
    (void)state;
    dt_topology *t = golden_slice("v3-8");
    static const struct {
        int64_t shape[4], stride[4], replicas;
        int number;
        const char *text, *suggestion, *whole;
    } rows[] = {
        {{1, 2, 2, 2},
         {1, 1, 1, 1},
         1,
         42,
         "computation_shape [1,2,2,2] does not fit v3-8, mesh [2,2,1,2]",
         "z is 2, the slice has 1",
         "= 8 logical devices that fit: [2,2,1,2]"},
        {{1, 1, 1, 3},
         {1, 1, 1, 1},
         1,
         42,
         "computation_shape [1,1,1,3] does not fit v3-8, mesh [2,2,1,2]",
         "core is 3, the slice has 2",
         NULL},
        {{2, 1, 1, 1},
         {2, 1, 1, 1},
         1,
         42,
         "computation_shape [2,1,1,1] with computation_stride [2,1,1,1], a footprint of [4,1,1,1], "
         "does not fit v3-8, mesh [2,2,1,2]",
         "x is 4, the slice has 2",
         "= 2 logical devices that fit: [1,1,1,2]"},
        {{INT64_MAX, INT64_MAX, 1, 1},
         {4, 1, 1, 1},
         1,
         42,
         "computation_shape [9223372036854775807,9223372036854775807,1,1] with computation_stride "
         "[4,1,1,1] does not fit v3-8, mesh [2,2,1,2]",
         NULL,
         NULL},
        {{1, 1, 1, 2},
         {1, 1, 1, 1},
         5,
         43,
         "requested 5 replicas but only 4 with computation_shape [1,1,1,2] and computation_stride "
         "[1,1,1,1] fit v3-8, mesh [2,2,1,2]",
         NULL,
         NULL},
        {{1, 1, 1, 1},
         {1, 1, 1, 1},
         INT64_MAX,
         43,
         "requested 9223372036854775807 replicas but only 8 with computation_shape [1,1,1,1] and "
         "computation_stride [1,1,1,1] fit v3-8, mesh "
         "[2,2,1,2]",
         NULL,
         NULL},
        {{1, 1, 1, 1}, {1, 1, 1, 1}, -1, 43, "num_replicas must be at least 0, got -1", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_assignment *a = NULL;
        dt_status *s = dt_device_assignment_build(
            &a, t,
            &(dt_device_assignment_options){rows[i].shape, 4, rows[i].stride, 4, rows[i].replicas,
                                            DT_ORDER_AUTO});
        assert_int_equal(dt_status_number(s), rows[i].number);
        assert_int_equal(dt_status_code(s), 78);
        assert_string_equal(dt_status_text(s), rows[i].text);
        if (rows[i].suggestion) assert_string_equal(dt_status_suggestion(s), rows[i].suggestion);
        char *whole = dt_status_format(s);
        if (rows[i].whole) assert_non_null(strstr(whole, rows[i].whole));
        free(whole);
        dt_status_free(s);
        assert_null(a);
    }
    dt_topology_unref(t);
}

/* Builds what a hint says: a block on the same slice, and the same block on another one. Gives how
 * many hints there were. */
static int follow(const char *text, const char *slice, const dt_device_assignment_options *asked) {
    const char *block = strstr(text, "logical devices that fit: ["),
               *take = strstr(text, "use tpu: sim:");
    dt_device_assignment_options options = *asked;
    dt_assignment *a = NULL;
    dt_topology *t = NULL;
    long long side[4];
    char name[64];
    int devices = 0;
    if (block) {
        t = golden_slice(slice);
        assert_int_equal(sscanf(block, "logical devices that fit: [%lld,%lld,%lld,%lld]", &side[0],
                                &side[1], &side[2], &side[3]),
                         4);
        options.computation_shape = (int64_t[]){side[0], side[1], side[2], side[3]};
        assert_null(dt_device_assignment_build(&a, t, &options));
        dt_topology_unref(t);
    }
    if (take) {
        int n = sscanf(take, "use tpu: sim:%63[^ ,] with cores_per_chip: %d", name, &devices);
        dt_slice other;
        assert_null(dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, &other));
        t = dt_topology_of_cores(&other, n == 2 ? devices : other.chip->devices);
        assert_null(dt_device_assignment_build(&a, t, asked));
        dt_topology_unref(t);
    }
    dt_device_assignment_unref(a);
    return (block != NULL) + (take != NULL);
}

static void test_hints_can_be_followed(void **state) {
    (void)state;
    static const char *const slices[] = {"v3-8", "v4-8", "v5litepod-16"};
    static const int64_t shapes[][4] = {{3, 2, 2, 1}, {1, 2, 2, 2}, {4, 1, 1, 1}, {1, 1, 1, 2}};
    static const int64_t strides[][4] = {{1, 1, 1, 1}, {2, 1, 1, 1}}, replicas[] = {1, 5, 256};
    int followed = 0;
    for (size_t i = 0; i < 3 * 4 * 2 * 3; i++) {
        const dt_device_assignment_options asked = {
            shapes[i / 3 % 4], 4, strides[i / 12 % 2], 4, replicas[i / 24], DT_ORDER_AUTO};
        dt_topology *t = golden_slice(slices[i % 3]);
        dt_assignment *a = NULL;
        dt_status *s = dt_device_assignment_build(&a, t, &asked);
        char *text = s ? dt_status_format(s) : NULL;
        followed += text ? follow(text, slices[i % 3], &asked) : 0;
        free(text);
        dt_status_free(s);
        dt_device_assignment_unref(a);
        dt_topology_unref(t);
    }
    assert_true(followed > 30);
}

static void test_cores_that_are_not_there_are_refused(void **state) {
    (void)state;
    dt_topology *t = golden_slice("v2-8");
    dt_assignment *a = NULL;
    const int64_t core[] = {0, 0, 0, 0, 0, 0, 1, 0};
    dt_status *s = dt_device_assignment_create(&a, t, core, (int64_t[]){2, 1, 4}, 3);
    assert_string_equal(dt_status_text(s),
                        "replica 1, logical device 0: no core at [0,0,1,0] in v2-8");
    dt_status_free(s);
    dt_topology_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assignments_are_tensorflows),
        cmocka_unit_test(test_no_core_is_given_twice),
        cmocka_unit_test(test_rings_are_rings),
        cmocka_unit_test(test_one_replica_per_core_in_task_order),
        cmocka_unit_test(test_gradient_rings_are_permutations),
        cmocka_unit_test(test_errors_say_what_would_fit),
        cmocka_unit_test(test_hints_can_be_followed),
        cmocka_unit_test(test_cores_that_are_not_there_are_refused),
    };
    return cmocka_run_group_tests_name("topo/assignment", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Every slice of every generation: names, hosts, numbers, and who is linked to whom; distances
 * against a search of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../support/hosts.h"
#include "base/random.h"
#include "golden.h"

enum { LARGEST = 1024 }; /* chips of slices that are walked chip by chip */

static int chips_of(const dt_topology *t) { return t->mesh[0] * t->mesh[1] * t->mesh[2]; }

static void place_of(const dt_topology *t, int chip, dt_coords at) {
    memcpy(at,
           (dt_coords){chip % t->mesh[0], chip / t->mesh[0] % t->mesh[1],
                       chip / t->mesh[0] / t->mesh[1], 0},
           sizeof(dt_coords));
}

/* ---- names ---- */

/* How many there are: as libtpu 0.0.42.1 lists them. */
static void test_as_many_slices_as_the_compiler_knows(void **state) {
    (void)state;
    static const struct {
        const char *generation;
        int slices, twisted;
    } rows[] = {
        {"v2", 6, 0},    {"v3", 10, 0}, {"v4", 807, 5},     {"v5e", 8, 0},
        {"v5p", 423, 7}, {"v6e", 8, 0}, {"tpu7x", 446, 12},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int n, twisted = 0;
        dt_slice *all = dt_slices_of(dt_chip_find(rows[i].generation), &n);
        for (int k = 0; k < n; k++) twisted += all[k].twisted;
        assert_int_equal(n, rows[i].slices);
        assert_int_equal(twisted, rows[i].twisted);
        free(all);
    }
}

static void check_name(const dt_slice *s) {
    dt_slice found;
    char spelled[96];
    assert_null(dt_slice_find(s->name, DT_E_UNKNOWN_SLICE, NULL, &found));
    assert_string_equal(found.name, s->name);
    assert_memory_equal(found.chips, s->chips, sizeof s->chips);
    assert_memory_equal(found.wrap, s->wrap, sizeof s->wrap);
    snprintf(spelled, sizeof spelled, "SIM:%s:%dX%dX%d%s", s->chip->generation, s->chips[0],
             s->chips[1], s->chips[2], s->twisted ? "_Twisted" : "_unTwisted");
    assert_null(dt_slice_find(spelled, DT_E_UNKNOWN_SLICE, NULL, &found));
    assert_string_equal(found.name, s->name);
    assert_true(found.twisted == s->twisted);
}

/* Hosts are whole; from the second on they have 4 chips. */
static void check_hosts(const dt_slice *s) {
    const int chips = dt_slice_chips(s), hosts = hosts_of(s);
    assert_int_equal(chips % hosts, 0);
    assert_true(hosts == 1 ? chips <= (s->chip->lone_host[0] ? 8 : 4) : chips / hosts == 4);
}

static void for_all_slices(int largest, void (*check)(const dt_slice *s)) {
    int chips, n;
    const dt_chip *const *chip = dt_chips(&chips);
    for (int i = 0; i < chips; i++) {
        dt_slice *all = dt_slices_of(chip[i], &n);
        for (int k = 0; k < n; k++)
            if (dt_slice_chips(&all[k]) <= largest) check(&all[k]);
        free(all);
    }
}

static void test_names_lead_back(void **state) {
    (void)state;
    for_all_slices(INT32_MAX, check_name);
}

static void test_hosts_are_whole(void **state) {
    (void)state;
    for_all_slices(INT32_MAX, check_hosts);
}

/* ---- facts ---- */

static void test_wraps_and_shapes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int chips[3], wrap[3], hosts, diameter, links;
    } rows[] = {
        {"v2-128", {8, 8, 1}, {0, 0, 0}, 16, 14, 112},
        {"v2-256", {8, 16, 1}, {0, 1, 0}, 32, 15, 240},
        {"v2-512", {16, 16, 1}, {1, 1, 0}, 64, 16, 512},
        {"v3-16", {4, 2, 1}, {0, 0, 0}, 2, 4, 10},
        {"v3-512", {16, 16, 1}, {0, 0, 0}, 64, 30, 480},
        {"v3-1024", {16, 32, 1}, {0, 1, 0}, 128, 31, 992},
        {"v3-2048", {32, 32, 1}, {1, 1, 0}, 256, 32, 2048},
        {"v5e-4", {2, 2, 1}, {0, 0, 0}, 1, 2, 4},
        {"v5e-8", {2, 4, 1}, {0, 0, 0}, 1, 4, 10},
        {"v5e-16", {4, 4, 1}, {0, 0, 0}, 4, 6, 24},
        {"v5e-128", {8, 16, 1}, {0, 1, 0}, 32, 15, 240},
        {"v6e-256", {16, 16, 1}, {1, 1, 0}, 64, 16, 512},
        {"v4-4", {1, 2, 1}, {0, 0, 0}, 1, 1, 1},
        {"v4-64", {2, 4, 4}, {0, 0, 0}, 8, 7, 64},
        {"v4-128", {4, 4, 4}, {1, 1, 1}, 16, 6, 192},
        {"v4-256", {4, 4, 8}, {1, 1, 1}, 32, 8, 384},
        {"v4-512", {4, 8, 8}, {1, 1, 1}, 64, 10, 768},
        {"v4-1024", {8, 8, 8}, {1, 1, 1}, 128, 12, 1536},
        {"v4:4x4x8_twisted", {4, 4, 8}, {1, 1, 1}, 32, 6, 384},
        {"v4:4x8x8_twisted", {4, 8, 8}, {1, 1, 1}, 64, 6, 768},
        {"v5p-6144", {12, 16, 16}, {1, 1, 1}, 768, 22, 9216},
        {"v5p-12288", {16, 16, 24}, {1, 1, 1}, 1536, 28, 18432},
        {"tpu7x-8", {2, 2, 1}, {0, 0, 0}, 1, 2, 4},
        {"tpu7x-18432", {16, 24, 24}, {1, 1, 1}, 2304, 32, 27648},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_topology *t = golden_slice(rows[i].name);
        for (int axis = 0; axis < 3; axis++) {
            assert_int_equal(t->mesh[axis], rows[i].chips[axis]);
            assert_int_equal(t->slice->wrap[axis], rows[i].wrap[axis]);
        }
        assert_int_equal(t->tasks, rows[i].hosts);
        assert_int_equal(dt_topology_diameter(t), rows[i].diameter);
        assert_int_equal(dt_topology_links(t), rows[i].links);
        dt_topology_unref(t);
    }
}

static void test_devices_are_the_compilers(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int cores;
        dt_coords at;
        int id, task;
    } rows[] = {
#include "devices.h"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_slice s;
        assert_null(dt_slice_find(rows[i].name, DT_E_UNKNOWN_SLICE, NULL, &s));
        dt_topology *t = dt_topology_of_cores(&s, rows[i].cores ? rows[i].cores : s.chip->devices);
        if (!dt_topology_has(t, rows[i].at) || dt_topology_id(t, rows[i].at) != rows[i].id ||
            dt_topology_task(t, rows[i].at) != rows[i].task)
            fail_msg("row %zu: device %d of %s is elsewhere", i, rows[i].id, rows[i].name);
        dt_topology_unref(t);
    }
}

/* ---- numbers ---- */

static void check_numbers(const dt_slice *s) {
    dt_topology *t = dt_topology_of_slice(s);
    const int n = t->tasks * t->devices;
    char *seen = calloc((size_t)n, 1);
    assert_int_equal(n, dt_topology_cores(t));
    for (int i = 0; i < n; i++) {
        const int *at = t->coordinates[i], id = dt_topology_id(t, at);
        assert_int_equal(id, at[3] + t->mesh[3] *
                                         (at[0] + s->chips[0] * (at[1] + s->chips[1] * at[2])));
        assert_false(seen[id]++);
        assert_int_equal(dt_topology_task(t, at), i / t->devices);
        if (i % t->devices) assert_true(id > dt_topology_id(t, t->coordinates[i - 1]));
    }
    free(seen);
    dt_topology_unref(t);
}

static void test_ids_count_every_device_once(void **state) {
    (void)state;
    for_all_slices(LARGEST, check_numbers);
}

/* ---- links ---- */

static void check_neighbours(const dt_slice *s) {
    dt_topology *t = dt_topology_of_slice(s);
    int ends = 0;
    for (int chip = 0; chip < chips_of(t); chip++)
        for (int way = 0; way < 6; way++) {
            int to = dt_topology_neighbour(t, chip, way / 2, way % 2);
            ends += to >= 0;
            if (to >= 0 &&
                (to == chip || dt_topology_neighbour(t, to, way / 2, !(way % 2)) != chip))
                fail_msg("%s: chip %d, axis %d: there is no way back", s->name, chip, way / 2);
        }
    assert_int_equal(ends, 2 * dt_topology_links(t));
    dt_topology_unref(t);
}

static void test_links_lead_both_ways(void **state) {
    (void)state;
    for_all_slices(LARGEST, check_neighbours);
}

/* Links from a chip to all, step by step. */
static void search(const dt_topology *t, int from, int *far) {
    int *queue = calloc((size_t)chips_of(t), sizeof *queue), n = 1;
    for (int i = 0; i < chips_of(t); i++) far[i] = -1;
    far[queue[0] = from] = 0;
    for (int i = 0; i < n; i++)
        for (int way = 0; way < 6; way++) {
            int to = dt_topology_neighbour(t, queue[i], way / 2, way % 2);
            if (to >= 0 && far[to] < 0) {
                far[to] = far[queue[i]] + 1;
                queue[n++] = to;
            }
        }
    free(queue);
}

static void check_route(const dt_topology *t, const dt_coords a, const dt_coords b, int hops) {
    dt_link *links = calloc((size_t)(t->mesh[0] + t->mesh[1] + t->mesh[2]), sizeof *links);
    const int n = dt_topology_route(t, a, b, links);
    int at = a[0] + t->mesh[0] * (a[1] + t->mesh[1] * a[2]);
    assert_int_equal(n, hops);
    for (int i = 0; i < n; i++) {
        assert_int_equal(links[i].from, at);
        at = dt_topology_neighbour(t, at, links[i].axis, links[i].up);
        assert_int_equal(links[i].to, at);
    }
    assert_int_equal(at, b[0] + t->mesh[0] * (b[1] + t->mesh[1] * b[2]));
    free(links);
}

static dt_random draws;

/* From one random chip to a few others. */
static void check_distances(const dt_slice *s) {
    dt_topology *t = dt_topology_of_slice(s);
    const int chips = chips_of(t), from = (int)dt_random_below(&draws, (uint64_t)chips);
    int *far = calloc((size_t)chips, sizeof *far);
    dt_coords a, b;
    place_of(t, from, a);
    search(t, from, far);
    for (int i = 0; i < 12; i++) {
        int to = (int)dt_random_below(&draws, (uint64_t)chips);
        place_of(t, to, b);
        if (dt_topology_hops(t, a, b) != far[to] || dt_topology_hops(t, b, a) != far[to])
            fail_msg("%s: %d links from chip %d to %d, not %d", s->name, far[to], from, to,
                     dt_topology_hops(t, a, b));
        check_route(t, a, b, far[to]);
        check_route(t, b, a, far[to]);
    }
    free(far);
    dt_topology_unref(t);
}

static void test_hops_are_shortest(void **state) {
    (void)state;
    const uint64_t seed = 20260802;
    print_message("seed %llu\n", (unsigned long long)seed);
    draws = dt_random_stream(seed, "wiring", 0);
    for_all_slices(LARGEST, check_distances);
}

/* A twist makes all axes alike: every ring has the length of the long side (libtpu's all-reduce on
 * 4x4x8_twisted has rings of 8 on each). */
static void test_twisted_rings_are_of_one_length(void **state) {
    (void)state;
    static const char *const names[] = {"v4:4x4x8_twisted", "v4:4x8x8_twisted",
                                        "v5p:12x24x24_twisted", "tpu7x:16x16x32_twisted"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dt_topology *t = golden_slice(names[i]);
        for (int axis = 0; axis < 3; axis++) {
            int at = 5, n = 0;
            do {
                at = dt_topology_neighbour(t, at, axis, true);
                n++;
            } while (at != 5);
            assert_int_equal(n, t->mesh[2]);
        }
        dt_topology_unref(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_slices_as_the_compiler_knows),
        cmocka_unit_test(test_names_lead_back),
        cmocka_unit_test(test_hosts_are_whole),
        cmocka_unit_test(test_wraps_and_shapes),
        cmocka_unit_test(test_devices_are_the_compilers),
        cmocka_unit_test(test_ids_count_every_device_once),
        cmocka_unit_test(test_links_lead_both_ways),
        cmocka_unit_test(test_hops_are_shortest),
        cmocka_unit_test(test_twisted_rings_are_of_one_length),
    };
    return cmocka_run_group_tests_name("topo/wiring", tests, NULL, NULL);
}

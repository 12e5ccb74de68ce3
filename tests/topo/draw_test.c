/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of slices: whole drawings, and the same facts as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "golden.h"

typedef struct scene {
    const char *name;  /* what it shows, for failures */
    const char *slice; /* in the table, or NULL: chips */
    int chips[3];
    bool wrap;        /* along x */
    int64_t shape[4]; /* all 0: no replicas, unless each_core */
    int64_t replicas;
    bool each_core, utf8;
    const char *why;
    const char *drawing;
} scene;

/* The pieces of a scene, and its picture. */
typedef struct stage {
    dt_slice slice;
    dt_topology *topology;
    dt_assignment *assignment;
    dt_topology_picture picture;
} stage;

static void set_up(stage *st, const scene *sc) {
    *st = (stage){.slice = {"test",
                            dt_chip_find("v3"),
                            {sc->chips[0], sc->chips[1], sc->chips[2]},
                            {sc->wrap, false, false},
                            false}};
    if (sc->slice) assert_null(dt_slice_find(sc->slice, DT_E_UNKNOWN_SLICE, NULL, &st->slice));
    st->topology = dt_topology_of_slice(&st->slice);
    if (sc->each_core) st->assignment = dt_assignment_each_core(st->topology);
    else if (sc->shape[0])
        assert_null(dt_device_assignment_build(
            &st->assignment, st->topology,
            &(dt_device_assignment_options){
                .computation_shape = sc->shape, .shape_rank = 4, .num_replicas = sc->replicas}));
    st->picture = (dt_topology_picture){.topology = st->topology,
                                        .assignment = st->assignment,
                                        .why = sc->why,
                                        .simulated = true,
                                        .utf8 = sc->utf8};
}

static void tear_down(stage *st) {
    dt_device_assignment_unref(st->assignment);
    dt_topology_unref(st->topology);
}

static const scene scenes[] = {
    {.name = "cores of v2-8",
     .slice = "v2-8",
     .drawing = "v2-8   4 chips (2x2)   8 cores   8 GiB HBM per core   1 host   mesh [x 2, y 2, z "
                "1, core 2]\n"
                "\n"
                "          x=0          x=1\n"
                " y=0   [ 0 | 1 ] -- [ 2 | 3 ]      N = device TPU:N\n"
                "           |            |\n"
                " y=1   [ 4 | 5 ] -- [ 6 | 7 ]\n"
                "\n"
                "4 links, 62 GB/s each way.\n"},
    {.name = "a replica on each core of v3-8",
     .slice = "v3-8",
     .each_core = true,
     .utf8 = true,
     .why = "simulated: because",
     .drawing =
         "v3-8   4 chips (2x2)   8 cores   16 GiB HBM per core   1 host   mesh [x 2, y 2, z 1, "
         "core 2]\n"
         "simulated: because\n"
         "\n"
         "           x=0            x=1\n"
         " y=0   [ r0 | r1 ] ── [ r2 | r3 ]      rN = replica N\n"
         "            │              │           computation_shape [1,1,1,1]   num_replicas 8\n"
         " y=1   [ r4 | r5 ] ── [ r6 | r7 ]      all 8 cores used\n"
         "\n"
         "Gradients: ring r0-r1-r2-r3-r6-r7-r4-r5, every hop is one link or stays in a chip (4 of "
         "4 links, 82 GB/s each way).\n"},
    {.name = "replicas of two logical devices",
     .slice = "v3-8",
     .shape = {1, 1, 1, 2},
     .replicas = 4,
     .drawing = "v3-8   4 chips (2x2)   8 cores   16 GiB HBM per core   1 host   mesh [x 2, y 2, z "
                "1, core 2]\n"
                "\n"
                "              x=0                  x=1\n"
                " y=0   [ r0.L0 | r0.L1 ] -- [ r1.L0 | r1.L1 ]      rN = replica N   LM = logical "
                "device M\n"
                "               |                    |              computation_shape [1,1,1,2]   "
                "num_replicas 4\n"
                " y=1   [ r3.L0 | r3.L1 ] -- [ r2.L0 | r2.L1 ]      all 8 cores used\n"
                "\n"
                "L0<->L1 share a chip (no link crossed). Gradients: ring r0-r1-r2-r3, every hop is "
                "one link (4 of 4 links, 82 GB/s each way).\n"},
    {.name = "idle cores",
     .slice = "v2-8",
     .shape = {2, 1, 1, 1},
     .replicas = 1,
     .drawing = "v2-8   4 chips (2x2)   8 cores   8 GiB HBM per core   1 host   mesh [x 2, y 2, z "
                "1, core 2]\n"
                "\n"
                "              x=0                  x=1\n"
                " y=0   [ r0.L0 | -     ] -- [ r0.L1 | -     ]      rN = replica N   LM = logical "
                "device M\n"
                "               |                    |              computation_shape [2,1,1,1]   "
                "num_replicas 1\n"
                " y=1   [ -     | -     ] -- [ -     | -     ]      2 of 8 cores used, - is idle\n"
                "\n"
                "L0..L1 span 2 chips; neighbours are at most 1 link apart. Gradients: one replica, "
                "so nothing to sum.\n"},
    {.name = "one chip, a legend longer than the plane",
     .chips = {1, 1, 1},
     .each_core = true,
     .drawing = "test   1 chip (1x1)   2 cores   16 GiB HBM per core   1 host   mesh [x 1, y 1, z "
                "1, core 2]\n"
                "\n"
                "           x=0\n"
                " y=0   [ r0 | r1 ]      rN = replica N\n"
                "                        computation_shape [1,1,1,1]   num_replicas 2\n"
                "                        all 2 cores used\n"
                "\n"
                "Gradients: ring r0-r1, all in one chip (0 of 0 links, 82 GB/s each way).\n"},
    {.name = "several hosts, layers, a wrapped axis",
     .chips = {4, 2, 2},
     .wrap = true,
     .shape = {2, 2, 1, 2},
     .replicas = 4,
     .drawing = "test   16 chips (4x2x2)   32 cores   16 GiB HBM per core   4 hosts   mesh [x 4, y "
                "2, z 2, core 2]\n"
                "\n"
                "       z=0\n"
                "       x=0           1             2             3\n"
                " y=0  ~r0.L0|r0.L1===r0.L2|r0.L3---r1.L0|r1.L1===r1.L2|r1.L3~\n"
                "       ||            ||            ||            ||\n"
                " y=1  ~r0.L6|r0.L7===r0.L4|r0.L5---r1.L6|r1.L7===r1.L4|r1.L5~\n"
                "\n"
                "       z=1\n"
                "       x=0           1             2             3\n"
                " y=0  ~r3.L0|r3.L1===r3.L2|r3.L3---r2.L0|r2.L1===r2.L2|r2.L3~\n"
                "       ||            ||            ||            ||\n"
                " y=1  ~r3.L6|r3.L7===r3.L4|r3.L5---r2.L6|r2.L7===r2.L4|r2.L5~\n"
                "\n"
                "rN = replica N   LM = logical device M\n"
                "computation_shape [2,2,1,2]   num_replicas 4\n"
                "all 32 cores used\n"
                "= || inside a host of 2x2 chips   - | between hosts\n"
                "each chip is also linked to the same position in the next z plane\n"
                "~ : link to the opposite edge: x wraps around\n"
                "\n"
                "L0..L7 span 4 chips; neighbours are at most 1 link apart. Gradients: ring "
                "r0-r1-r2-r3, hops of up to 2 links (20 of 32 links, 82 GB/s each "
                "way).\n"},
    {.name = "a folded torus",
     .slice = "v3-2048",
     .utf8 = true,
     .drawing = "v3-2048   1024 chips (32x32)   2048 cores   16 GiB HBM per core   256 hosts   "
                "mesh [x 32, y 32, z 1, core 2]\n"
                "\n"
                "       x=0         1           2           3             31\n"
                "       ┊           ┊           ┊           ┊             ┊\n"
                " y=0  ┄0|1═════════2|3─────────4|5═════════6|7       ··· 62|63┄┄┄┄┄\n"
                "       ║           ║           ║           ║             ║\n"
                " y=1  ┄64|65═══════66|67───────68|69═══════70|71     ··· 126|127┄┄┄\n"
                "       │           │           │           │             │\n"
                " y=2  ┄128|129═════130|131─────132|133═════134|135   ··· 190|191┄┄┄\n"
                "       ║           ║           ║           ║             ║\n"
                " y=3  ┄192|193═════194|195─────196|197═════198|199   ··· 254|255┄┄┄\n"
                "       ⋮           ⋮           ⋮           ⋮             ⋮\n"
                " y=31 ┄1984|1985═══1986|1987───1988|1989═══1990|1991 ··· 2046|2047┄\n"
                "       ┊           ┊           ┊           ┊             ┊\n"
                "\n"
                "N = id of a core\n"
                "═ ║ inside a host of 2x2 chips   ─ │ between hosts\n"
                "┄ ┊ link to the opposite edge: x and y wrap around\n"
                "\n"
                "2048 links, 82 GB/s each way.\n"},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static void test_drawings(void **state) {
    (void)state;
    for (size_t i = 0; i < SCENES; i++) {
        stage st;
        dt_str out = {0};
        set_up(&st, &scenes[i]);
        dt_topology_draw(&st.picture, &out);
        if (strcmp(dt_str_text(&out), scenes[i].drawing) != 0)
            fail_msg("%s:\n%s\ninstead of\n%s", scenes[i].name, dt_str_text(&out),
                     scenes[i].drawing);
        dt_str_release(&out);
        tear_down(&st);
    }
}

/* Whatever the slice, on whatever page: no line is wider, and there are not too many. */
static void test_drawings_fit_their_page(void **state) {
    (void)state;
    static const char *const names[] = {"v2-8",      "v3-32",       "v3-2048",
                                        "v4-8",      "v4-128",      "v4:4x4x8_twisted",
                                        "v4:16x4x4", "v4:4x4x256",  "v5e-256",
                                        "v5p-6144",  "v5p-12288",   "v6e-8",
                                        "tpu7x-128", "tpu7x-18432", "tpu7x:4x8x64_twisted"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int columns = 60; columns <= 240; columns += 20) {
            dt_str out = {0};
            dt_topology *t = golden_slice(names[i]);
            int lines = 0;
            dt_topology_draw(&(dt_topology_picture){.topology = t,
                                                    .utf8 = columns % 40 == 0,
                                                    .columns = columns},
                             &out);
            for (const char *line = dt_str_text(&out), *end; *line; line = end + 1, lines++) {
                end = strchr(line, '\n');
                if (dt_utf8_count(line, (size_t)(end - line)) > (size_t)columns)
                    fail_msg("%s on %d columns: %.*s", names[i], columns, (int)(end - line), line);
            }
            assert_true(lines <= 62);
            dt_topology_unref(t);
            dt_str_release(&out);
        }
}

static void test_svg_shows_every_core_once(void **state) {
    (void)state;
    static const char *const names[] = {"v2-8", "v3-32", "v4:4x8x8_twisted", "v5e-256",
                                        "tpu7x-128"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        dt_str out = {0};
        dt_topology *t = golden_slice(names[i]);
        int cores = 0, open = 0;
        dt_topology_svg(&(dt_topology_picture){.topology = t}, &out);
        for (const char *at = dt_str_text(&out); (at = strchr(at, '<')); at++) {
            cores += strncmp(at, "<rect class=\"core\"", 18) == 0;
            open += at[1] == '/' ? -1 : 1;
        }
        for (const char *at = dt_str_text(&out); (at = strstr(at, "/>")); at++) open--;
        assert_int_equal(cores, dt_topology_cores(t));
        assert_int_equal(open, 0);
        dt_topology_unref(t);
        dt_str_release(&out);
    }
}

static void test_json_of_a_slice(void **state) {
    (void)state;
    stage st;
    dt_str out = {0};
    set_up(&st, &scenes[2]);
    dt_topology_json(&st.picture, &out);
    assert_ptr_equal(strchr(dt_str_text(&out), '\n'), dt_str_text(&out) + out.size - 1);
    json_t *j = json_loads(dt_str_text(&out), 0, NULL);
    assert_non_null(j);
    static const char *const integers[] = {"chips", "hosts", "cores_per_chip"};
    static const int values[] = {4, 1, 2};
    for (int i = 0; i < 3; i++)
        assert_int_equal(json_integer_value(json_object_get(j, integers[i])), values[i]);
    assert_string_equal(golden_text(j, "type"), "v3-8");
    assert_string_equal(golden_text(j, "generation"), "v3");
    assert_true(json_is_true(json_object_get(j, "simulated")));
    assert_true(json_is_false(json_object_get(j, "twisted")));
    json_t *want = json_loads("{\"mesh_shape\": [2,2,1,2], \"wrap\": [false,false,false], "
                              "\"replicas\": [[0,1],[2,3],[6,7],[4,5]]}",
                              0, NULL);
    static const char *const lists[] = {"mesh_shape", "wrap", "replicas"};
    for (int i = 0; i < 3; i++)
        assert_true(json_equal(json_object_get(j, lists[i]), json_object_get(want, lists[i])));
    json_t *device = json_array_get(json_object_get(j, "devices"), 6),
           *sixth = json_loads("{\"id\":6,\"task\":0,\"coords\":[1,1,0,0]}", 0, NULL);
    assert_true(json_equal(device, sixth));
    assert_int_equal(json_array_size(json_object_get(j, "devices")), 8);
    json_decref(sixth);
    json_decref(want);
    json_decref(j);
    dt_str_release(&out);
    tear_down(&st);
}

static void test_json_without_a_job_has_no_replicas(void **state) {
    (void)state;
    stage st;
    dt_str out = {0};
    set_up(&st, &scenes[0]);
    dt_topology_json(&st.picture, &out);
    json_t *j = json_loads(dt_str_text(&out), 0, NULL);
    assert_non_null(j);
    assert_null(json_object_get(j, "replicas"));
    json_decref(j);
    dt_str_release(&out);
    tear_down(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawings),
        cmocka_unit_test(test_drawings_fit_their_page),
        cmocka_unit_test(test_svg_shows_every_core_once),
        cmocka_unit_test(test_json_of_a_slice),
        cmocka_unit_test(test_json_without_a_job_has_no_replicas),
    };
    return cmocka_run_group_tests_name("topo/draw", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The price of collectives where groups stand: the formulas of rings, lines, tori, and published
 * worked problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <time.h>

#include "coll/exchange.h"
#include "scene.h"

static void assert_near(double got, double want, double part) {
    if (fabs(got - want) > part * fabs(want)) fail_msg("%.12g instead of %.12g", got, want);
}

/* ---- clusters ---- */

/* One group of all devices. */
static dt_exchange_price cluster_price(int hosts, int devices, dt_collective c, double bytes) {
    dt_topology *t = dt_topology_of_cluster(&(dt_cluster_facts){.hosts = hosts,
                                                                .devices = devices,
                                                                .flops = 1e12,
                                                                .memory = 1 << 30,
                                                                .memory_Bps = 1e11,
                                                                .inside_Bps = 100e9,
                                                                .between_Bps = 10e9,
                                                                .latency_s = 1e-3});
    dt_exchange_price p;
    dt_exchange_price_of(&(dt_collective_request){.topology = t,
                                                  .collective = c,
                                                  .groups = 1,
                                                  .ranks = hosts * devices,
                                                  .place = t->coordinates[0],
                                                  .bytes = bytes},
                         &p);
    dt_topology_unref(t);
    return p;
}

/* Worked by hand, for 1 GB, 100 GB/s inside, 10 GB/s between and 1 ms for a message: inside + bytes
 * between + messages. */
static void test_clusters_cost_what_was_worked_by_hand(void **state) {
    (void)state;
    static const struct {
        int hosts, devices;
        dt_collective collective;
        double seconds;
    } rows[] = {
        {1, 8, DT_ALL_REDUCE, 0.0175},          /* 2 * 7/8 of 10 ms */
        {2, 1, DT_ALL_REDUCE, 0.1 + 0.002},     /* 2 * 1/2 of 100 ms, two messages */
        {3, 1, DT_ALL_REDUCE, 0.4 / 3 + 0.004}, /* 2 * 2/3; log2(3), rounded up, there and back */
        {4, 1, DT_ALL_REDUCE, 0.15 + 0.004},    /* 2 * 3/4, 2 * log2(4) messages */
        {4, 8, DT_ALL_REDUCE, 0.0175 + 0.15 + 0.004},
        {8, 8, DT_ALL_REDUCE, 0.0175 + 0.175 + 0.006},
        {4, 8, DT_ALL_GATHER, 0.00875 + 0.075 + 0.002},
        {4, 8, DT_REDUCE_SCATTER, 0.00875 + 0.075 + 0.002},
        /* 1/16 and 1/2 of it, of which 7/8 and 1/2 leave */
        {2, 8, DT_ALL_TO_ALL, 0.000546875 + 0.025 + 0.001},
        {2, 1, DT_COLLECTIVE_PERMUTE, 0.1 + 0.001},
        {1, 2, DT_COLLECTIVE_PERMUTE, 0.01},
        {5, 1, DT_COLLECTIVE_BROADCAST, 0.1 + 0.003},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_near(cluster_price(rows[i].hosts, rows[i].devices, rows[i].collective, 1e9).seconds,
                    rows[i].seconds, 1e-12);
}

/* Groups of one device on each host share the way out of a host. */
static void test_groups_share_a_host(void **state) {
    (void)state;
    dt_topology *t = dt_topology_of_cluster(&(dt_cluster_facts){.hosts = 2,
                                                                .devices = 4,
                                                                .flops = 1e12,
                                                                .memory = 1 << 30,
                                                                .memory_Bps = 1e11,
                                                                .inside_Bps = 100e9,
                                                                .between_Bps = 10e9});
    int place[4][2][4];
    dt_exchange_price p;
    for (int g = 0; g < 4; g++)
        for (int host = 0; host < 2; host++)
            memcpy(place[g][host], (int[]){0, host, 0, g}, sizeof place[g][host]);
    dt_exchange_price_of(&(dt_collective_request){.topology = t,
                                                  .collective = DT_ALL_REDUCE,
                                                  .groups = 4,
                                                  .ranks = 2,
                                                  .place = &place[0][0][0],
                                                  .bytes = 1e9},
                         &p);
    assert_near(p.seconds, 4 * 0.1, 1e-12);
    dt_topology_unref(t);
}

/* ---- formulas ---- */

/* V: bytes of the full array; n axes of a torus, each with N chips. */
static void test_tori_cost_what_the_formulas_say(void **state) {
    (void)state;
    static const int tori[][3] = {{4, 1, 1}, {8, 1, 1},   {16, 1, 1}, {4, 4, 1},
                                  {8, 8, 1}, {16, 16, 1}, {4, 4, 4},  {8, 8, 8}};
    const dt_chip *chip = dt_chip_find("v5p");
    const double W = 2 * chip->link_Bps, h = chip->hop_s;
    for (size_t i = 0; i < sizeof tori / sizeof *tori; i++) {
        const int *t = tori[i], N = t[0], all = t[0] * t[1] * t[2],
                  n = (t[0] > 1) + (t[1] > 1) + (t[2] > 1);
        scene s;
        scene_set(
            &s, &(scene_spec){
                    "v5p", {t[0], t[1], t[2]}, {true, true, true}, {t[0], t[1], t[2], 1}, BLOCKS});
        const double V = 1e10;
        assert_near(scene_price(&s, DT_ALL_GATHER, V).ideal_s, V * (all - 1) / all / W / n, 1e-6);
        assert_near(scene_price(&s, DT_REDUCE_SCATTER, V).ideal_s, V * (all - 1) / all / W / n,
                    1e-6);
        assert_near(scene_price(&s, DT_ALL_REDUCE, V).ideal_s, 2 * V * (all - 1) / all / W / n,
                    1e-6);
        assert_near(scene_price(&s, DT_ALL_GATHER, 1).ideal_s, h * n * (N / 2), 1e-9);
        assert_near(scene_price(&s, DT_ALL_REDUCE, 1).ideal_s, 2 * h * n * (N / 2), 1e-9);
        assert_near(scene_price(&s, DT_ALL_TO_ALL, V).ideal_s,
                    V * N / all / (4 * W) + h * n * (N / 2), 1e-9);
        assert_near(scene_price(&s, DT_ALL_GATHER, V).textbook_s, V / W / n, 1e-9);
        scene_drop(&s);
    }
}

static void test_lines_cost_what_the_formulas_say(void **state) {
    (void)state;
    const dt_chip *chip = dt_chip_find("v5e");
    const double w = chip->link_Bps, h = chip->hop_s;
    for (int N = 2; N <= 16; N++) {
        scene s;
        scene_set(&s, &(scene_spec){"v5e", {N, 1, 1}, {false}, {N, 1, 1, 1}, BLOCKS});
        for (double V = 100; V < 1e11; V *= 1000) {
            assert_near(scene_price(&s, DT_ALL_GATHER, V).ideal_s, (N - 1) * fmax(h, V / N / w),
                        1e-9);
            assert_near(scene_price(&s, DT_ALL_TO_ALL, V).ideal_s,
                        (N - 1) * h + V * (N / 2) * ((N + 1) / 2) / N / N / w, 1e-9);
            assert_near(scene_price(&s, DT_COLLECTIVE_PERMUTE, V).ideal_s, h + V / w, 1e-9);
        }
        scene_drop(&s);
    }
}

/* Blocks of a ring are lines that are not in each other's way; groups with stride share every
 * link. */
static void test_groups_share_links(void **state) {
    (void)state;
    const dt_chip *chip = dt_chip_find("v5e");
    const double V = 1e9, w = chip->link_Bps;
    scene blocks, strided;
    scene_set(&blocks, &(scene_spec){"v5e", {16, 1, 1}, {true}, {4, 1, 1, 1}, BLOCKS});
    scene_set(&strided, &(scene_spec){"v5e", {16, 1, 1}, {true}, {4, 1, 1, 1}, APART});
    assert_int_equal(blocks.x.groups, 4);
    dt_exchange_price a = scene_price(&blocks, DT_ALL_GATHER, V),
                      b = scene_price(&strided, DT_ALL_GATHER, V);
    assert_string_equal(a.schedule, "line");
    assert_near(a.ideal_s, V * 3 / 4 / w, 1e-9);
    assert_string_equal(b.schedule, "ring");
    assert_near(b.ideal_s, 4 * V * 3 / 4 / (2 * w), 1e-9);
    assert_near(b.busiest_link, 4 * V * 3 / 4 / 2, 1e-9);
    scene_drop(&blocks);
    scene_drop(&strided);
}

/* Corner to corner on 4 x 4: six hops, two ways. */
static void test_transfers_take_all_disjoint_ways(void **state) {
    (void)state;
    const int place[8] = {0, 0, 0, 0, 3, 3, 0, 0};
    const dt_slice mesh = {"mesh", dt_chip_find("v5e"), {4, 4, 1}, {false, false, false}, false};
    dt_topology *t = dt_topology_of_slice(&mesh);
    dt_exchange_price p;
    dt_exchange_price_of(
        &(dt_collective_request){t, DT_COLLECTIVE_PERMUTE, 1, 2, place, 8 * 128 * 8192 * 2}, &p);
    assert_near(p.ideal_s, 6e-6 + 8 * 128 * 8192 * 2 / 90e9, 1e-9);
    dt_topology_unref(t);
}

/* ---- the worked problems of "How to Scale Your Model" that speak of collectives ---- */

static void test_worked_problems(void **state) {
    (void)state;
    scene s;
    /* sharding, pop quiz 2: an axis of 4 on v5e does not wrap: three hops of 8 MiB */
    scene_set(&s, &(scene_spec){"v5e", {8, 4, 1}, {false}, {1, 4, 1, 1}, BLOCKS});
    assert_near(scene_price(&s, DT_ALL_GATHER, 4 * 8388608.0).ideal_s, 0.0005592405333, 0.01);
    scene_drop(&s);
    /* question 3: AllGather of bf16[128] over an axis of v4 4x4x4: two hops */
    scene_set(&s, &(scene_spec){"v4", {4, 4, 4}, {true, true, true}, {4, 1, 1, 1}, BLOCKS});
    assert_near(scene_price(&s, DT_ALL_GATHER, 256).ideal_s, 2e-6, 0.01);
    scene_drop(&s);
    /* applied inference: v5e 4x8, batch 64: what an axis of both ways brings in of 64 x 8192
     * bf16 */
    scene_set(&s, &(scene_spec){"v5e", {4, 8, 1}, {false}, {1, 8, 1, 1}, BLOCKS});
    assert_near(scene_price(&s, DT_ALL_GATHER, 2 * 64 * 8192).textbook_s, 1.1650844e-05, 0.01);
    scene_drop(&s);
}

/* ---- hardware ---- */

static void test_what_was_measured(void **state) {
    (void)state;
    scene s;
    /* the book's profile of v5e, an axis of 4 without wraparound: 33.5 MB in 680 us, 131 kB in 8
     * us */
    scene_set(&s, &(scene_spec){"v5e", {8, 4, 1}, {false}, {1, 4, 1, 1}, BLOCKS});
    assert_near(scene_price(&s, DT_ALL_GATHER, 2.0 * 2048 * 8192).seconds, 680e-6, 0.02);
    assert_near(scene_price(&s, DT_ALL_GATHER, 2.0 * 256 * 256).seconds, 8e-6, 0.02);
    scene_drop(&s);
    /* its profile of v2: a reduce-scatter between two neighbours, 1.1 ms by its formula, V / 120
     * GB/s */
    scene_set(&s, &(scene_spec){"v2", {2, 2, 1}, {false}, {2, 1, 1, 1}, BLOCKS});
    s.x.groups = 1;
    assert_near(scene_price(&s, DT_REDUCE_SCATTER, 1.118e-3 * 120e9).seconds, 1.13e-3, 0.02);
    scene_drop(&s);
    /* psum of bf16[17408, 17408] on v6e-256, "achieved" 235.76 GB/s = 2 V (N - 1) / N / seconds */
    scene_set(&s, &(scene_spec){"v6e", {16, 16, 1}, {true, true}, {16, 16, 1, 1}, BLOCKS});
    const double V = 2.0 * 17408 * 17408, seconds = scene_price(&s, DT_ALL_REDUCE, V).seconds;
    assert_near(2 * V * 255 / 256 / seconds, 235.76e9, 0.02);
    scene_drop(&s);
}

/* "TPU v4" of ISCA 2023 (from memory): all-to-all on twisted tori was measured 1.63 (4x4x8) and
 * 1.31 (4x8x8) times as fast; links alone would allow somewhat more. */
static void test_twisted_tori_exchange_faster(void **state) {
    (void)state;
    static const struct {
        int chips[3];
        double faster;
    } rows[] = {{{4, 4, 8}, 1.63}, {{4, 8, 8}, 1.31}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int *c = rows[i].chips;
        scene plain, twisted;
        scene_set(&plain,
                  &(scene_spec){
                      "v4", {c[0], c[1], c[2]}, {true, true, true}, {c[0], c[1], c[2], 1}, BLOCKS});
        scene_set(
            &twisted,
            &(scene_spec){
                "v4", {c[0], c[1], c[2]}, {true, true, true}, {c[0], c[1], c[2], 1}, TWISTED});
        assert_near(scene_price(&plain, DT_ALL_TO_ALL, 1e10).ideal_s /
                        scene_price(&twisted, DT_ALL_TO_ALL, 1e10).ideal_s,
                    rows[i].faster, 0.08);
        assert_string_equal(scene_price(&twisted, DT_ALL_REDUCE, 1e9).schedule,
                            "twisted torus 6 colours 3 phases");
        /* its rings are closed, so sums of large buffers are not slower either */
        assert_true(scene_price(&twisted, DT_REDUCE_SCATTER, 1e10).seconds <
                    scene_price(&plain, DT_REDUCE_SCATTER, 1e10).seconds);
        scene_drop(&plain);
        scene_drop(&twisted);
    }
}

/* What the compiler of real TPUs was seen to pick for large buffers. */
static void test_schedules_are_named_as_the_compiler_does(void **state) {
    (void)state;
    static const struct {
        scene_spec on;
        double bytes;
        const char *schedule;
    } rows[] = {
        /* both ways: 4 where each way counts */
        {{"v5e", {4, 4, 1}, {false}, {4, 4, 1, 1}, BLOCKS}, 1 << 26, "mesh 2 colours 2 phases"},
        {{"v4", {4, 4, 4}, {true, true, true}, {4, 4, 4, 1}, BLOCKS},
         1 << 26,
         "torus 6 colours 3 phases"},
        {{"v4", {4, 4, 4}, {true, true, true}, {4, 4, 4, 1}, BLOCKS},
         1 << 12,
         "pincer 3 colours 3 phases"},
        {{"v5e", {16, 16, 1}, {true, true}, {16, 1, 1, 1}, BLOCKS}, 1 << 26, "ring"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scene s;
        scene_set(&s, &rows[i].on);
        assert_string_equal(scene_price(&s, DT_ALL_REDUCE, rows[i].bytes).schedule,
                            rows[i].schedule);
        scene_drop(&s);
    }
}

/* ---- between slices ---- */

static void test_slices_exchange_what_a_chip_is_left_with(void **state) {
    (void)state;
    double seconds;
    assert_true(dt_dcn_price(dt_chip_find("v5p"), 4, DT_ALL_REDUCE, 1e9, &seconds));
    assert_near(seconds, 2 * 0.75 * 1e9 / 6.25e9, 0.001);
    assert_true(dt_dcn_price(dt_chip_find("v5p"), 1, DT_ALL_REDUCE, 1e9, &seconds));
    assert_true(seconds == 0);
    assert_false(dt_dcn_price(dt_chip_find("v2"), 2, DT_ALL_REDUCE, 1e9, &seconds));
}

/* 6,144 chips are priced at once, not written out. */
static void test_large_slices_are_priced_quickly(void **state) {
    (void)state;
    scene s;
    struct timespec from, to;
    scene_set(&s, &(scene_spec){"v5p", {16, 16, 24}, {true, true, true}, {16, 16, 24, 1}, BLOCKS});
    for (int c = 0; c < DT_COLLECTIVES; c++) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        const dt_exchange_price p = scene_price(&s, c, 1e10);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        const double ms =
            (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
        print_message("%-22s %-28s %8.3f ms, priced in %.2f ms\n", dt_collective_name(c),
                      p.schedule, p.seconds * 1e3, ms);
        assert_true(ms < 500); /* some 5; sanitizers are slow */
    }
    scene_drop(&s);
}

/* Groups that are no grid: every second chip, in lines that are shifted against each other. */
static void test_large_groups_without_a_grid(void **state) {
    (void)state;
    scene s;
    scene_set(&s, &(scene_spec){"v5p", {16, 16, 8}, {true, true, true}, {16, 16, 8, 1}, BLOCKS});
    int n = 0;
    for (int i = 0; i < 2048; i++)
        if ((s.place[4 * i] + s.place[4 * i + 1]) % 2 == 0)
            memmove(&s.place[4 * n++], &s.place[4 * i], 4 * sizeof *s.place);
    s.x.ranks = n;
    for (int c = 0; c < DT_COLLECTIVES; c++) {
        const dt_exchange_price p = scene_price(&s, c, 1e10);
        assert_true(p.seconds > 0 && p.ideal_s <= p.seconds && p.busiest_link > 0);
    }
    assert_string_equal(scene_price(&s, DT_ALL_GATHER, 1e10).schedule,
                        "ring through places both ways");
    /* 8 bytes need log2(n) messages, each at most 8 + 8 + 4 hops, not n */
    const double rounds = ceil(log2(n)), hop = s.topology->slice->chip->hop_s;
    assert_true(scene_price(&s, DT_ALL_GATHER, 8).ideal_s <= rounds * 20 * hop);
    assert_true(scene_price(&s, DT_ALL_REDUCE, 8).ideal_s <= 2 * rounds * 20 * hop);
    assert_string_equal(scene_price(&s, DT_REDUCE_SCATTER, 8).schedule, "doubling");
    /* in a row of 16 links 8 chips send 4 links far on average, half each way: a link carries what
     * one chip sends; and 20 hops */
    assert_near(scene_price(&s, DT_ALL_TO_ALL, 1e10).ideal_s, 1e10 / n / 90e9 + 20e-6, 0.05);
    scene_drop(&s);
}

static void test_nothing_costs_nothing(void **state) {
    (void)state;
    scene s;
    scene_set(&s, &(scene_spec){"v4", {4, 4, 4}, {true, true, true}, {1, 1, 1, 1}, BLOCKS});
    for (int c = 0; c < DT_COLLECTIVES; c++) {
        const dt_exchange_price p = scene_price(&s, c, 1e9);
        assert_true(p.seconds == 0 && p.ideal_s == 0 && p.busiest_link == 0 && !p.schedule[0]);
    }
    scene_drop(&s);
    scene_set(&s, &(scene_spec){"v4", {4, 4, 4}, {true, true, true}, {4, 4, 4, 1}, BLOCKS});
    for (int c = 0; c < DT_COLLECTIVES; c++) assert_true(scene_price(&s, c, 0).seconds == 0);
    scene_drop(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters_cost_what_was_worked_by_hand),
        cmocka_unit_test(test_groups_share_a_host),
        cmocka_unit_test(test_tori_cost_what_the_formulas_say),
        cmocka_unit_test(test_lines_cost_what_the_formulas_say),
        cmocka_unit_test(test_groups_share_links),
        cmocka_unit_test(test_transfers_take_all_disjoint_ways),
        cmocka_unit_test(test_worked_problems),
        cmocka_unit_test(test_what_was_measured),
        cmocka_unit_test(test_twisted_tori_exchange_faster),
        cmocka_unit_test(test_schedules_are_named_as_the_compiler_does),
        cmocka_unit_test(test_slices_exchange_what_a_chip_is_left_with),
        cmocka_unit_test(test_large_slices_are_priced_quickly),
        cmocka_unit_test(test_large_groups_without_a_grid),
        cmocka_unit_test(test_nothing_costs_nothing),
    };
    return cmocka_run_group_tests_name("coll/exchange", tests, NULL, NULL);
}

/* The price of collectives where groups stand: the formulas of rings, lines, tori, and published worked problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "scene.h"

static void assert_near(double got, double want, double part)
{
    if (fabs(got - want) > part * fabs(want))
        fail_msg("%.12g instead of %.12g", got, want);
}

/* ---- formulas ---- */

/* V: bytes of the full array; n axes of a torus, each with N chips. */
static void test_tori_cost_what_the_formulas_say(void **state)
{
    (void)state;
    static const int tori[][3] = {{4, 1, 1}, {8, 1, 1}, {16, 1, 1}, {4, 4, 1}, {8, 8, 1}, {16, 16, 1}, {4, 4, 4}, {8, 8, 8}};
    const dt_chip *chip = dt_chip_find("v5p");
    const double W = 2 * chip->link_Bps, h = chip->hop_s;
    for (size_t i = 0; i < sizeof tori / sizeof *tori; i++) {
        const int *t = tori[i], N = t[0], all = t[0] * t[1] * t[2], n = (t[0] > 1) + (t[1] > 1) + (t[2] > 1);
        scene s;
        scene_set(&s, &(scene_spec){"v5p", {t[0], t[1], t[2]}, {true, true, true}, {t[0], t[1], t[2], 1}, false});
        const double V = 1e10;
        assert_near(scene_price(&s, DT_ALL_GATHER, V).ideal_s, V * (all - 1) / all / W / n, 1e-6);
        assert_near(scene_price(&s, DT_REDUCE_SCATTER, V).ideal_s, V * (all - 1) / all / W / n, 1e-6);
        assert_near(scene_price(&s, DT_ALL_REDUCE, V).ideal_s, 2 * V * (all - 1) / all / W / n, 1e-6);
        assert_near(scene_price(&s, DT_ALL_GATHER, 1).ideal_s, h * n * (N / 2), 1e-9);
        assert_near(scene_price(&s, DT_ALL_REDUCE, 1).ideal_s, 2 * h * n * (N / 2), 1e-9);
        assert_near(scene_price(&s, DT_ALL_TO_ALL, V).ideal_s, V * N / all / (4 * W) + h * n * (N / 2), 1e-9);
        assert_near(scene_price(&s, DT_ALL_GATHER, V).textbook_s, V / W / n, 1e-9);
        scene_drop(&s);
    }
}

static void test_lines_cost_what_the_formulas_say(void **state)
{
    (void)state;
    const dt_chip *chip = dt_chip_find("v5e");
    const double w = chip->link_Bps, h = chip->hop_s;
    for (int N = 2; N <= 16; N++) {
        scene s;
        scene_set(&s, &(scene_spec){"v5e", {N, 1, 1}, {false}, {N, 1, 1, 1}, false});
        for (double V = 100; V < 1e11; V *= 1000) {
            assert_near(scene_price(&s, DT_ALL_GATHER, V).ideal_s, (N - 1) * fmax(h, V / N / w), 1e-9);
            assert_near(scene_price(&s, DT_ALL_TO_ALL, V).ideal_s, (N - 1) * h + V * (N / 2) * ((N + 1) / 2) / N / N / w, 1e-9);
            assert_near(scene_price(&s, DT_COLLECTIVE_PERMUTE, V).ideal_s, h + V / w, 1e-9);
        }
        scene_drop(&s);
    }
}

/* Blocks of a ring are lines that are not in each other's way; groups with stride share every link. */
static void test_groups_share_links(void **state)
{
    (void)state;
    const dt_chip *chip = dt_chip_find("v5e");
    const double V = 1e9, w = chip->link_Bps;
    scene blocks, strided;
    scene_set(&blocks, &(scene_spec){"v5e", {16, 1, 1}, {true}, {4, 1, 1, 1}, false});
    scene_set(&strided, &(scene_spec){"v5e", {16, 1, 1}, {true}, {4, 1, 1, 1}, true});
    assert_int_equal(blocks.x.groups, 4);
    dt_exchange_price a = scene_price(&blocks, DT_ALL_GATHER, V), b = scene_price(&strided, DT_ALL_GATHER, V);
    assert_string_equal(a.schedule, "line");
    assert_near(a.ideal_s, V * 3 / 4 / w, 1e-9);
    assert_string_equal(b.schedule, "ring");
    assert_near(b.ideal_s, 4 * V * 3 / 4 / (2 * w), 1e-9);
    assert_near(b.busiest_link, 4 * V * 3 / 4 / 2, 1e-9);
    scene_drop(&blocks);
    scene_drop(&strided);
}

/* Corner to corner on 4 x 4: six hops, two ways. */
static void test_transfers_take_all_disjoint_ways(void **state)
{
    (void)state;
    const int place[8] = {0, 0, 0, 0, 3, 3, 0, 0};
    const dt_slice mesh = {"mesh", dt_chip_find("v5e"), {4, 4, 1}, {false, false, false}, false};
    dt_topology *t = dt_topology_of_slice(&mesh);
    dt_exchange_price p;
    dt_exchange_price_of(&(dt_exchange){t, DT_COLLECTIVE_PERMUTE, 1, 2, place, 8 * 128 * 8192 * 2}, &p);
    assert_near(p.ideal_s, 6e-6 + 8 * 128 * 8192 * 2 / 90e9, 1e-9);
    dt_topology_unref(t);
}

/* ---- the worked problems of "How to Scale Your Model" that speak of collectives ---- */

static void test_worked_problems(void **state)
{
    (void)state;
    scene s;
    /* sharding, pop quiz 2: an axis of 4 on v5e does not wrap: three hops of 8 MiB */
    scene_set(&s, &(scene_spec){"v5e", {8, 4, 1}, {false}, {1, 4, 1, 1}, false});
    assert_near(scene_price(&s, DT_ALL_GATHER, 4 * 8388608.0).ideal_s, 0.0005592405333, 0.01);
    scene_drop(&s);
    /* question 3: AllGather of bf16[128] over an axis of v4 4x4x4: two hops */
    scene_set(&s, &(scene_spec){"v4", {4, 4, 4}, {true, true, true}, {4, 1, 1, 1}, false});
    assert_near(scene_price(&s, DT_ALL_GATHER, 256).ideal_s, 2e-6, 0.01);
    scene_drop(&s);
    /* applied inference: v5e 4x8, batch 64: what an axis of both ways brings in of 64 x 8192 bf16 */
    scene_set(&s, &(scene_spec){"v5e", {4, 8, 1}, {false}, {1, 8, 1, 1}, false});
    assert_near(scene_price(&s, DT_ALL_GATHER, 2 * 64 * 8192).textbook_s, 1.1650844e-05, 0.01);
    scene_drop(&s);
}

static void test_nothing_costs_nothing(void **state)
{
    (void)state;
    scene s;
    scene_set(&s, &(scene_spec){"v4", {4, 4, 4}, {true, true, true}, {1, 1, 1, 1}, false});
    for (int c = 0; c < DT_COLLECTIVES; c++) {
        const dt_exchange_price p = scene_price(&s, c, 1e9);
        assert_true(p.seconds == 0 && p.ideal_s == 0 && p.busiest_link == 0 && !p.schedule[0]);
    }
    scene_drop(&s);
    scene_set(&s, &(scene_spec){"v4", {4, 4, 4}, {true, true, true}, {4, 4, 4, 1}, false});
    for (int c = 0; c < DT_COLLECTIVES; c++)
        assert_true(scene_price(&s, c, 0).seconds == 0);
    scene_drop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tori_cost_what_the_formulas_say),
        cmocka_unit_test(test_lines_cost_what_the_formulas_say),
        cmocka_unit_test(test_groups_share_links),
        cmocka_unit_test(test_transfers_take_all_disjoint_ways),
        cmocka_unit_test(test_worked_problems),
        cmocka_unit_test(test_nothing_costs_nothing),
    };
    return cmocka_run_group_tests_name("coll/exchange", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Torus schedules in their two forms, on every small mesh: written out they sum, gather and
 * exchange right on buffers, and cost on links what the description costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "../support/schedules.h"
#include "scene.h"
#include "base/random.h"

static const scene_spec scenes[] = {
    /* lines and rings */
    {"v5e", {2, 1, 1}, {0}, {2, 1, 1, 1}, BLOCKS},
    {"v5e", {5, 1, 1}, {0}, {5, 1, 1, 1}, BLOCKS},
    {"v5e", {5, 1, 1}, {1}, {5, 1, 1, 1}, BLOCKS},
    {"v5e", {1, 8, 1}, {0, 1}, {1, 8, 1, 1}, BLOCKS},
    {"v5e", {3, 1, 1}, {1}, {3, 1, 1, 1}, BLOCKS},
    /* parts of rings: blocks, and ranks apart */
    {"v5e", {16, 1, 1}, {1}, {4, 1, 1, 1}, BLOCKS},
    {"v5e", {16, 1, 1}, {1}, {4, 1, 1, 1}, APART},
    {"v5e", {8, 1, 1}, {1}, {2, 1, 1, 1}, APART},
    {"v5e", {12, 1, 1}, {0}, {3, 1, 1, 1}, APART},
    {"v5e", {8, 4, 1}, {1, 1}, {4, 2, 1, 1}, APART},
    {"v5e", {8, 4, 1}, {0}, {4, 4, 1, 1}, BLOCKS},
    /* meshes and tori of two axes */
    {"v5e", {2, 2, 1}, {0}, {2, 2, 1, 1}, BLOCKS},
    {"v5e", {4, 4, 1}, {0}, {4, 4, 1, 1}, BLOCKS},
    {"v5e", {4, 4, 1}, {1, 1}, {4, 4, 1, 1}, BLOCKS},
    {"v5e", {3, 5, 1}, {0}, {3, 5, 1, 1}, BLOCKS},
    {"v5e", {3, 5, 1}, {1, 1}, {3, 5, 1, 1}, BLOCKS},
    {"v5e", {4, 8, 1}, {0, 1}, {4, 8, 1, 1}, BLOCKS},
    {"v5e", {8, 4, 1}, {1, 1}, {8, 4, 1, 1}, BLOCKS},
    /* three axes */
    {"v4", {2, 2, 2}, {0}, {2, 2, 2, 1}, BLOCKS},
    {"v4", {2, 2, 4}, {0}, {2, 2, 4, 1}, BLOCKS},
    {"v4", {4, 4, 4}, {1, 1, 1}, {4, 4, 4, 1}, BLOCKS},
    {"v4", {4, 4, 8}, {1, 1, 1}, {4, 4, 8, 1}, BLOCKS},
    {"v4", {3, 4, 5}, {1, 1, 1}, {3, 4, 5, 1}, BLOCKS},
    {"v4", {4, 4, 4}, {1, 1, 1}, {4, 2, 1, 1}, BLOCKS},
    {"v4", {4, 4, 4}, {1, 1, 1}, {1, 2, 4, 1}, APART},
    /* twisted, all of it and parts */
    {"v4", {4, 4, 8}, {1, 1, 1}, {4, 4, 8, 1}, TWISTED},
    {"v4", {3, 6, 6}, {1, 1, 1}, {3, 6, 6, 1}, TWISTED},
    {"v4", {3, 3, 6}, {1, 1, 1}, {3, 3, 6, 1}, TWISTED},
    {"tpu7x", {3, 3, 6}, {1, 1, 1}, {3, 3, 6, 2}, TWISTED},
    {"v4", {3, 6, 12}, {1, 1, 1}, {3, 6, 12, 1}, TWISTED},
    {"v4", {4, 4, 8}, {1, 1, 1}, {1, 1, 8, 1}, TWISTED},
    {"v4", {4, 4, 8}, {1, 1, 1}, {4, 1, 1, 1}, TWISTED},
    /* cores */
    {"v3", {1, 1, 1}, {0}, {1, 1, 1, 2}, BLOCKS},
    {"v3", {2, 2, 1}, {0}, {2, 2, 1, 2}, BLOCKS},
    {"v3", {2, 2, 1}, {0}, {2, 2, 1, 1}, BLOCKS},
    {"v3", {4, 4, 1}, {1, 1}, {4, 4, 1, 2}, BLOCKS},
    {"v3", {4, 4, 1}, {1, 1}, {4, 1, 1, 2}, BLOCKS},
    {"tpu7x", {4, 4, 4}, {1, 1, 1}, {4, 4, 1, 2}, BLOCKS},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

static const char *name_of(const scene_spec *s) {
    static char text[160];
    snprintf(text, sizeof text, "%s %dx%dx%d, groups of %dx%dx%dx%d%s", s->generation, s->chips[0],
             s->chips[1], s->chips[2], s->group[0], s->group[1], s->group[2], s->group[3],
             s->how == APART     ? " apart"
             : s->how == TWISTED ? ", twisted"
                                 : "");
    return text;
}

/* ---- buffers ---- */

/* Plays the moves on integers: a buffer of n for each rank. */
static void play(const dt_schedule *s, int64_t *now, int64_t n) {
    const size_t bytes = (size_t)s->ranks * (size_t)n * sizeof *now;
    int64_t *then = dt_alloc(bytes + 1);
    for (int i = 0; i < s->moves; i++) {
        const dt_schedule_move *m = &s->move[i];
        if (i == 0 || m->round != m[-1].round) memcpy(then, now, bytes);
        for (int64_t k = dt_chunk_begin(s, n, m->first);
             k < dt_chunk_begin(s, n, m->first + m->chunks); k++)
            now[m->to * n + k] = then[m->from * n + k] + (m->add ? now[m->to * n + k] : 0);
    }
    free(then);
}

/* What rank r must hold of an element of chunk c, whose buffers were `was`; -1: whatever. */
static int64_t wanted(const dt_schedule *s, const int64_t *was, int64_t n, int r, int c,
                      int64_t sum) {
    switch (s->collective) {
    case DT_ALL_GATHER: return was[s->owner[c] * n];
    case DT_REDUCE_SCATTER: return s->owner[c] == r ? sum : -1;
    case DT_ALL_REDUCE: return sum;
    case DT_ALL_TO_ALL: return c % s->ranks == r ? was[s->owner[c] * n] : -1;
    case DT_COLLECTIVE_PERMUTE: return was[(r ? r - 1 : 0) * n];
    default: return was[0];
    }
}

static void check_element(const dt_schedule *s, const int64_t *was, const int64_t *now, int64_t n,
                          int c) {
    int64_t sum = 0;
    for (int r = 0; r < s->ranks; r++) sum += was[r * n];
    for (int r = 0; r < s->ranks; r++) {
        const int64_t want = wanted(s, was, n, r, c, sum);
        if (want >= 0 && now[r * n] != want)
            fail_msg("%s by %s: rank %d has %lld of chunk %d instead of %lld",
                     dt_collective_name(s->collective), s->name, r, (long long)now[r * n], c,
                     (long long)want);
    }
}

static void check_buffers(const dt_schedule *s, int64_t n, const char *where) {
    const uint64_t seed = 20261122;
    dt_random random = dt_random_stream(seed, where, (uint64_t)n);
    int64_t *was = dt_alloc((size_t)(s->ranks * n + 1) * sizeof *was),
            *now = dt_alloc((size_t)(s->ranks * n + 1) * sizeof *now);
    for (int64_t i = 0; i < s->ranks * n; i++)
        now[i] = was[i] = (int64_t)dt_random_below(&random, 1000000);
    play(s, now, n);
    for (int c = 0; c < s->chunks; c++)
        for (int64_t k = dt_chunk_begin(s, n, c); k < dt_chunk_begin(s, n, c + 1); k++)
            check_element(s, &was[k], &now[k], n, c);
    free(was);
    free(now);
}

/* ---- prices ---- */

static void assert_close(double got, double want, const dt_schedule *s, const char *what,
                         const char *where) {
    if (fabs(got - want) > 1e-9 * fabs(want))
        fail_msg("%s of %s by %s on %s: %.12g instead of %.12g", what,
                 dt_collective_name(s->collective), s->name, where, got, want);
}

static void check_price(const dt_wire_price *a, const dt_schedule *s, double bytes,
                        const dt_wires *wires, const char *where) {
    const dt_wire_price b = dt_schedule_cost(s, bytes, wires);
    assert_close(a->seconds, b.seconds, s, "seconds", where);
    assert_close(a->latency_s, b.latency_s, s, "latency", where);
    assert_close(a->busiest_link, b.busiest_link, s, "busiest link", where);
    for (int axis = 0; axis < 3; axis++)
        for (int up = 0; up < 2; up++)
            assert_close(a->way[axis][up], b.way[axis][up], s, "traffic", where);
}

static const double sizes[] = {1, 3e4, 1e6, 7e9};

static void check_torus(const scene *s, const dt_torus *way, dt_collective c, const dt_wires *wires,
                        const char *where) {
    dt_schedule *schedule = dt_torus_schedule(way, c, s->place);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const dt_wire_price price = dt_torus_cost(way, c, sizes[i], wires);
        check_price(&price, schedule, sizes[i], wires, where);
    }
    check_buffers(schedule, schedule->chunks + 7, where);
    check_buffers(schedule, 3, where);
    dt_schedule_destroy(schedule);
}

static void test_both_forms_of_a_torus_schedule_agree(void **state) {
    (void)state;
    int ways_seen = 0;
    for (int i = 0; i < SCENES; i++) {
        scene s;
        dt_grid grid;
        dt_torus way[DT_TORUS_WAYS];
        scene_set(&s, &scenes[i]);
        if (!dt_grid_find(s.topology, s.x.groups, s.x.ranks, s.place, &grid))
            fail_msg("%s is no grid", name_of(&scenes[i]));
        dt_wires wires = dt_wires_of(s.topology, s.place);
        wires.groups = s.x.groups;
        int n = dt_torus_ways(s.topology, &grid, way);
        assert_true(n > 0);
        for (int k = 0; k < n; k++)
            for (int c = DT_ALL_GATHER; c <= DT_ALL_REDUCE; c++)
                check_torus(&s, &way[k], (dt_collective)c, &wires, name_of(&scenes[i]));
        ways_seen += n;
        scene_drop(&s);
    }
    assert_true(ways_seen > 2 * SCENES);
}

static void test_both_forms_of_direct_exchanges_agree(void **state) {
    (void)state;
    for (int i = 0; i < SCENES; i++) {
        scene s;
        dt_grid grid;
        scene_set(&s, &scenes[i]);
        assert_true(dt_grid_find(s.topology, s.x.groups, s.x.ranks, s.place, &grid));
        dt_wires wires = dt_wires_of(s.topology, s.place);
        wires.groups = s.x.groups;
        for (int c = DT_ALL_TO_ALL; c <= DT_COLLECTIVE_PERMUTE; c++) {
            dt_schedule *schedule = dt_direct_schedule((dt_collective)c, s.x.ranks);
            s.x.collective = (dt_collective)c;
            s.x.bytes = 1e7;
            const dt_wire_price places = dt_direct_cost(&s.x, &wires),
                                by_grid = dt_grid_all_to_all_cost(&grid, 1e7, &wires);
            if (scenes[i].how != TWISTED)
                check_price(c == DT_ALL_TO_ALL ? &by_grid : &places, schedule, 1e7, &wires,
                            name_of(&scenes[i]));
            check_price(&places, schedule, 1e7, &wires, name_of(&scenes[i]));
            check_buffers(schedule, c == DT_ALL_TO_ALL ? schedule->chunks : 5, name_of(&scenes[i]));
            dt_schedule_destroy(schedule);
        }
        scene_drop(&s);
    }
}

static void test_broadcasts_reach_all_and_cost_what_their_moves_cost(void **state) {
    (void)state;
    for (int i = 0; i < SCENES; i++)
        for (int gridded = 0; gridded < 2; gridded++) {
            scene s;
            dt_grid grid;
            scene_set(&s, &scenes[i]);
            assert_true(dt_grid_find(s.topology, s.x.groups, s.x.ranks, s.place, &grid));
            dt_wires wires = dt_wires_of(s.topology, s.place);
            wires.groups = s.x.groups;
            s.x.collective = DT_COLLECTIVE_BROADCAST;
            for (int k = 1; k < 5; k += 3) {
                int pieces = 0;
                s.x.bytes = k * 1.01e5;
                const dt_wire_price price =
                    dt_spread_cost(&s.x, gridded ? &grid : NULL, &wires, &pieces);
                dt_schedule *schedule = dt_tree_schedule(&s.x, gridded ? &grid : NULL, pieces);
                check_buffers(schedule, 11, name_of(&scenes[i]));
                const dt_wire_price moves = dt_schedule_cost(schedule, s.x.bytes, &wires);
                assert_close(price.busiest_link, moves.busiest_link, schedule, "busiest link",
                             name_of(&scenes[i]));
                /* while the tree fills links carry less than at its busiest */
                assert_true(price.seconds >= moves.seconds * (1 - 1e-9));
                dt_schedule_destroy(schedule);
            }
            scene_drop(&s);
        }
}

/* Places anywhere: a ring through them costs what its moves cost, with and without a grid below. */
static void test_rings_through_any_places(void **state) {
    (void)state;
    const uint64_t seed = 20261122;
    dt_random random = dt_random_stream(seed, "places", 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int trial = 0; trial < 60; trial++) {
        scene s;
        const scene_spec *spec = &scenes[dt_random_below(&random, SCENES)];
        const char *name = name_of(spec);
        scene_set(&s, spec);
        const int all = s.x.groups * s.x.ranks;
        for (int i = all - 1; i > 0; i--) {
            int other = (int)dt_random_below(&random, (uint64_t)i + 1), keep[4];
            memcpy(keep, &s.place[4 * i], sizeof keep);
            memcpy(&s.place[4 * i], &s.place[4 * other], sizeof keep);
            memcpy(&s.place[4 * other], keep, sizeof keep);
        }
        dt_wires wires = dt_wires_of(s.topology, s.place);
        wires.groups = s.x.groups;
        for (int both = 0; both < 2; both++)
            for (int c = DT_ALL_GATHER; c <= DT_ALL_REDUCE; c++) {
                dt_schedule *schedule = dt_schedule_create(&(dt_schedule_spec){
                    (dt_collective)c, both ? "two_way_ring" : "ring", s.x.ranks, NULL});
                s.x.collective = (dt_collective)c;
                s.x.bytes = 1e8;
                const dt_wire_price price = dt_ring_cost(&s.x, both, &wires);
                const dt_wire_price moves = dt_schedule_cost(schedule, 1e8, &wires);
                /* of an even number the last round's halves come over different links */
                if (!both || s.x.ranks % 2) check_price(&price, schedule, 1e8, &wires, name);
                assert_true(price.seconds >= moves.seconds * (1 - 1e-9));
                dt_schedule_destroy(schedule);
            }
        scene_drop(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_forms_of_a_torus_schedule_agree),
        cmocka_unit_test(test_both_forms_of_direct_exchanges_agree),
        cmocka_unit_test(test_broadcasts_reach_all_and_cost_what_their_moves_cost),
        cmocka_unit_test(test_rings_through_any_places),
    };
    return cmocka_run_group_tests_name("coll/torus", tests, NULL, NULL);
}

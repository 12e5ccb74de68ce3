/* SPDX-License-Identifier: Apache-2.0 */
/* All lanes or lane 0 alone: the choice, from times that are made up here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/random.h"
#include "exec/lane_choice.h"

/* What runs take: of all lanes, of lane 0 alone; each off by noise times a normal number, and every
 * `rare`-th one longer by `hiccup`. Pauses after runs take as long as `pause` says. */
typedef struct machine {
    int64_t all, alone, hiccup, pause_of_all, pause_alone;
    double noise;
    int rare;
} machine;

typedef struct outcome {
    int alone, changes; /* runs of lane 0 alone, and how often the choice changed */
} outcome;

static int64_t time_of(const machine *m, bool alone, int run, dt_random *r) {
    double ns = (double)(alone ? m->alone : m->all) * (1 + m->noise * dt_random_normal(r));
    return (int64_t)(ns < 0 ? 0 : ns) + (m->rare && run % m->rare == 0 ? m->hiccup : 0);
}

static outcome go(dt_lane_choice *c, const machine *m, int runs, uint64_t seed) {
    dt_random r = dt_random_stream(seed, "times", 0);
    outcome o = {0};
    int64_t now = c->ended_ns;
    for (int i = 1; i <= runs; i++) {
        const bool chosen = c->alone, alone = dt_lane_choice_is_alone(c);
        const int64_t begin = now;
        o.alone += alone;
        now += time_of(m, alone, i, &r);
        dt_lane_choice_ran(c, begin, now);
        now += alone ? m->pause_alone : m->pause_of_all;
        o.changes += c->alone != chosen;
    }
    return o;
}

static void test_begins_with_all_lanes(void **state) {
    (void)state;
    dt_lane_choice c = {0};
    assert_int_equal(go(&c, &(machine){.all = 100000, .alone = 10000}, 32, 1).alone, 0);
    assert_true(go(&c, &(machine){.all = 100000, .alone = 10000}, 200, 1).alone > 0); /* a trial */
}

/* Trials cost little where they do not pay. */
static void test_all_lanes_stay_where_they_are_faster(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dt_lane_choice c = {0};
        const machine m = {.all = 100000, .alone = 140000, .noise = 0.2};
        outcome o = go(&c, &m, 10000, seed);
        assert_int_equal(o.changes, 0);
        assert_true(o.alone < 300);
        assert_true(go(&c, &m, 100000, seed).alone < 1000);
    }
}

static void test_lane_0_is_left_alone_where_that_is_faster(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dt_lane_choice c = {0};
        const machine m = {.all = 100000, .alone = 85000, .noise = 0.2};
        go(&c, &m, 10000, seed);
        assert_true(c.alone);
        assert_true(go(&c, &m, 100000, seed).alone > 97000);
    }
}

static void test_a_large_difference_is_seen_at_once(void **state) {
    (void)state;
    dt_lane_choice c = {0};
    outcome o = go(&c, &(machine){.all = 100000, .alone = 50000}, 450, 1);
    assert_true(c.alone);
    assert_int_equal(o.changes, 1);
}

/* Runs of all lanes are shorter, but batches come later after them. */
static void test_pauses_between_runs_count(void **state) {
    (void)state;
    const machine m = {
        .all = 55000, .alone = 68000, .pause_of_all = 76000, .pause_alone = 41000, .noise = 0.2};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dt_lane_choice c = {0};
        go(&c, &m, 10000, seed);
        assert_true(c.alone);
    }
}

/* A caller that does other things for long between runs does not hide their difference. */
static void test_long_pauses_do_not_decide(void **state) {
    (void)state;
    const machine m = {.all = 100000,
                       .alone = 80000,
                       .pause_of_all = 20000000,
                       .pause_alone = 30000000,
                       .noise = 0.1};
    dt_lane_choice c = {0};
    go(&c, &m, 2000, 1);
    assert_true(c.alone);
}

/* A neighbour that burns a core comes, and goes. */
static void test_follows_neighbours(void **state) {
    (void)state;
    const machine quiet = {.all = 100000, .alone = 150000, .noise = 0.1},
                  beside = {.all = 300000, .alone = 160000, .noise = 0.5};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dt_lane_choice c = {0};
        for (int i = 0; i < 3; i++) {
            go(&c, &quiet, 20000, seed);
            assert_false(c.alone);
            go(&c, &beside, 20000, seed);
            assert_true(c.alone);
        }
    }
}

/* Now and then a run takes 200 times as long, whoever makes it. */
static void test_rare_hiccups_do_not_decide(void **state) {
    (void)state;
    for (int rare = 300; rare < 1000; rare += 77) {
        dt_lane_choice c = {0};
        outcome o =
            go(&c,
               &(machine){
                   .all = 100000, .alone = 130000, .noise = 0.05, .rare = rare, .hiccup = 20000000},
               100000, 1);
        assert_int_equal(o.changes, 0);
    }
}

/* Where there is no difference, what is chosen does not matter, and neither may it change all the
 * time. */
static void test_equal_times_change_little(void **state) {
    (void)state;
    int changes = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dt_lane_choice c = {0};
        changes +=
            go(&c, &(machine){.all = 100000, .alone = 100000, .noise = 0.2}, 100000, seed).changes;
    }
    assert_true(changes < 20);
}

static void test_long_runs_are_never_tried(void **state) {
    (void)state;
    dt_lane_choice c = {0};
    assert_int_equal(go(&c, &(machine){.all = 6000000, .alone = 1000000}, 5000, 1).alone, 0);
    c = (dt_lane_choice){.alone = true}; /* they were short before */
    go(&c, &(machine){.all = 6000000, .alone = 7000000}, 32, 1);
    assert_false(c.alone);
}

/* A trial of runs of milliseconds ends after few of them. */
static void test_trials_of_long_runs_cost_little(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dt_lane_choice c = {0};
        const machine m = {.all = 4800000, .alone = 9600000, .noise = 0.02};
        outcome o = go(&c, &m, 1000, seed);
        assert_int_equal(o.changes, 0);
        assert_in_range(o.alone, 1, 12);
    }
}

/* A process that is stopped during a trial tries again later. */
static void test_a_stop_is_not_the_cost_of_a_trial(void **state) {
    (void)state;
    dt_lane_choice c = {0};
    const machine m = {.all = 100000, .alone = 50000};
    while (c.phase != DT_LANES_OTHER || c.runs < 8) go(&c, &m, 1, 1);
    go(&c, &(machine){.all = 1000000000000, .alone = 1000000000000}, 1, 1);
    assert_false(c.alone);
    go(&c, &m, 600000, 1);
    assert_true(c.alone);
}

static void test_times_of_zero(void **state) {
    (void)state;
    dt_lane_choice c = {0};
    assert_int_equal(go(&c, &(machine){0}, 10000, 1).changes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins_with_all_lanes),
        cmocka_unit_test(test_all_lanes_stay_where_they_are_faster),
        cmocka_unit_test(test_lane_0_is_left_alone_where_that_is_faster),
        cmocka_unit_test(test_a_large_difference_is_seen_at_once),
        cmocka_unit_test(test_pauses_between_runs_count),
        cmocka_unit_test(test_long_pauses_do_not_decide),
        cmocka_unit_test(test_follows_neighbours),
        cmocka_unit_test(test_rare_hiccups_do_not_decide),
        cmocka_unit_test(test_equal_times_change_little),
        cmocka_unit_test(test_long_runs_are_never_tried),
        cmocka_unit_test(test_trials_of_long_runs_cost_little),
        cmocka_unit_test(test_a_stop_is_not_the_cost_of_a_trial),
        cmocka_unit_test(test_times_of_zero),
    };
    return cmocka_run_group_tests_name("exec/lane_choice", tests, NULL, NULL);
}

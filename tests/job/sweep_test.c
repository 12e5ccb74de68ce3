/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a sweep's trials: properties of random spaces, whose seeds are printed, and numbers that no machine may change. */
#define HERE "build/tmp/job-sweep"
#include "base/random.h"
#include "job/sweep.h"
#include "kit.h"

enum { SPACES = 300, TRIALS = 40 };

typedef struct space {
    dt_arena *arena;
    dt_sweep_space of;
    const char *text[3];
    int n;
} space;

static double number(const char *text) {
    double x;
    assert_true(dt_parse_double(text, &x));
    return x;
}

/* An override with a list, or a range of one of four kinds. */
static const char *draw_override(dt_arena *arena, dt_random *r, int i) {
    const double low = dt_random_uniform(r) * 10, high = low + 1e-6 + dt_random_uniform(r) * 1000;
    const long long from = (long long)dt_random_below(r, 100) + 1,
                    to = from + 1 + (long long)dt_random_below(r, 1000000);
    switch (dt_random_below(r, 5)) {
    case 0: return dt_arena_printf(arena, "let.k%d=a,[1, 2],'x,y',%d", i, i);
    case 1: return dt_arena_printf(arena, "let.k%d=%.17g..%.17g", i, low, high);
    case 2: return dt_arena_printf(arena, "let.k%d=log:%.17g..%.17g", i, low + 1e-9, high);
    case 3: return dt_arena_printf(arena, "let.k%d=%lld..%lld", i, from, to);
    default: return dt_arena_printf(arena, "let.k%d=log:%lld..%lld", i, from, to);
    }
}

static space draw_space(uint64_t seed) {
    dt_random r = dt_random_stream(seed, "sweep test", 0);
    space s = {.arena = dt_arena_create(), .n = 1 + (int)dt_random_below(&r, 3)};
    for (int i = 0; i < s.n; i++) s.text[i] = draw_override(s.arena, &r, i);
    assert_null(dt_space_read(s.arena, s.text, s.n, &s.of));
    assert_int_equal(s.of.n, s.n);
    return s;
}

static void check_value(const dt_sweep_range *r, const char *value) {
    bool listed = false;
    if (r->kind == DT_SWEPT_LIST) {
        for (int i = 0; i < r->n; i++) listed |= strcmp(r->value[i], value) == 0;
        assert_true(listed);
        return;
    }
    int64_t whole;
    assert_true(number(value) >= r->least && number(value) <= r->most);
    if (r->kind == DT_SWEPT_INT || r->kind == DT_SWEPT_LOG_INT)
        assert_true(dt_parse_int64(value, &whole));
}

static void test_values_are_of_their_ranges(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < SPACES; seed++) {
        space s = draw_space(seed);
        print_message("seed %llu: %s\n", (unsigned long long)seed, s.text[0]);
        for (int64_t i = 0; i < TRIALS && i < s.of.grid + TRIALS * !s.of.is_grid; i++)
            for (int k = 0; k < s.n; k++)
                check_value(&s.of.range[k], dt_space_random(s.arena, &s.of, seed, i, k));
        dt_arena_destroy(s.arena);
    }
}

/* Of ranges a value depends on the seed, its key and the trial, not on the other keys. */
static void test_values_are_independent(void **state) {
    (void)state;
    const char *const both[] = {"a=log:1e-4..1e-1", "b=16..64"}, *const one[] = {"b=16..64"};
    dt_arena *arena = dt_arena_create();
    dt_sweep_space two, alone;
    assert_null(dt_space_read(arena, both, 2, &two));
    assert_null(dt_space_read(arena, one, 1, &alone));
    for (int64_t i = 0; i < 100; i++)
        assert_string_equal(dt_space_random(arena, &two, 7, i, 1),
                            dt_space_random(arena, &alone, 7, i, 0));
    dt_arena_destroy(arena);
}

/* All combinations, each once, in both ways. */
static void test_lists_are_a_grid(void **state) {
    (void)state;
    const char *const text[] = {"a=1,2,3", "b=x,y", "seed=4", "c=5,6,7,8"};
    dt_arena *arena = dt_arena_create();
    dt_sweep_space s;
    assert_null(dt_space_read(arena, text, 4, &s));
    assert_int_equal(s.grid, 24);
    for (int random = 0; random < 2; random++) {
        bool seen[24] = {false};
        for (int64_t i = 0; i < 24; i++) {
            int at = 0;
            for (int k = 0; k < s.n; k++) {
                const char *value =
                    random ? dt_space_random(arena, &s, 5, i, k) : dt_space_grid(arena, &s, i, k);
                int which = 0;
                while (strcmp(s.range[k].value[which], value) != 0) which++;
                at = at * s.range[k].n + which;
            }
            assert_false(seen[at]);
            seen[at] = true;
            assert_true(random || at == i);
        }
    }
    dt_arena_destroy(arena);
}

/* Both ends of integers occur, and as often as the others; half of a range by logarithm lies below
 * its geometric mean. */
static void test_values_are_spread(void **state) {
    (void)state;
    enum { MANY = 3000 };
    const char *const text[] = {"a=1..3", "b=log:1e-4..1", "c=log:1..1000"};
    dt_arena *arena = dt_arena_create();
    dt_sweep_space s;
    int of[4] = {0}, below = 0, below_int = 0;
    assert_null(dt_space_read(arena, text, 3, &s));
    for (int64_t i = 0; i < MANY; i++) {
        of[(int)number(dt_space_random(arena, &s, 11, i, 0))]++;
        below += number(dt_space_random(arena, &s, 11, i, 1)) < 1e-2;
        below_int += number(dt_space_random(arena, &s, 11, i, 2)) < 32;
    }
    for (int i = 1; i <= 3; i++) assert_in_range(of[i], 900, 1100);
    assert_in_range(below, 1400, 1600);
    assert_in_range(below_int, 1400, 1600);
    dt_arena_destroy(arena);
}

/* What the documentation promises for every machine. */
static void test_values_never_change(void **state) {
    (void)state;
    const char *const text[] = {"rate=log:1e-4..1e-1", "drop=0.1..0.5", "width=16..256",
                                "depth=log:1..64"};
    static const char *const known[2][4] = {{"0.00491529", "0.192597", "187", "14"},
                                            {"0.035424", "0.129457", "117", "24"}};
    dt_arena *arena = dt_arena_create();
    dt_sweep_space s;
    assert_null(dt_space_read(arena, text, 4, &s));
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++)
            assert_string_equal(dt_space_random(arena, &s, 42, i, k), known[i][k]);
    dt_arena_destroy(arena);
}

/* Texts that only look like lists and ranges are one value. */
static void test_single_values(void **state) {
    (void)state;
    const char *const text[] = {"dataset.train=../data/a.csv",
                                "x=[1,2,3]",
                                "y={a: 1, b: 2}",
                                "name='a,b'",
                                "z=1.5",
                                "w=a..b",
                                "seed="};
    dt_arena *arena = dt_arena_create();
    dt_sweep_space s;
    assert_null(dt_space_read(arena, text, sizeof text / sizeof *text, &s));
    assert_int_equal(s.n, 0);
    dt_arena_destroy(arena);
}

/* A value that would replace those of the trials is refused: of the same key, or of a mapping that
 * it is in. Before them it is no fault, and neither is a key that only begins alike. */
static void test_replaced_values(void **state) {
    (void)state;
    static const char *const text[][2] = {{"let.width=1,2", "let.width=3"},
                                          {"let.width=1,2", "let={width: 3}"},
                                          {"let.width=1..9", "let={width: 3},{width: 4}"},
                                          {"let.width=3", "let.width=1,2"},
                                          {"let.width=1,2", "let.wid=3"}};
    for (int i = 0; i < 5; i++) {
        dt_arena *arena = dt_arena_create();
        dt_sweep_space s;
        dt_status *bad = dt_space_read(arena, text[i], 2, &s);
        assert_int_equal(dt_status_code(bad), i < 3 ? 78 : 0);
        if (bad) assert_non_null(strstr(dt_status_text(bad), "would replace"));
        dt_status_free(bad);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_of_their_ranges),
        cmocka_unit_test(test_values_are_independent),
        cmocka_unit_test(test_lists_are_a_grid),
        cmocka_unit_test(test_values_are_spread),
        cmocka_unit_test(test_values_never_change),
        cmocka_unit_test(test_single_values),
        cmocka_unit_test(test_replaced_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

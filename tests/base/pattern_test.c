/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions over names: what is found and replaced, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/pattern.h"

static void test_a_match_is_replaced(void **state) {
    (void)state;
    static const struct {
        const char *expression, *by, *text, *want;
    } rows[] = {
        {"^encoder\\.(.*)", "enc/\\1", "encoder.fc1.weight", "enc/fc1.weight"},
        {"^encoder\\.(.*)", "enc/\\1", "my.encoder.fc1", "my.encoder.fc1"},
        {"layers\\.([0-9]+)\\.(.*)", "block_\\1.\\2", "m.layers.12.w", "m.block_12.w"},
        {"a|(b)", "<\\0\\1>", "xa", "x<a>"},
        {"a*", "\\\\", "b", "\\\\b"},
        {"^module\\.", "", "module.w", "w"},
        {"a", "\\9", "cat", "ct"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_pattern *p;
        assert_null(dt_pattern_create(&p, rows[i].expression));
        assert_string_equal(dt_pattern_replace(p, arena, rows[i].text, rows[i].by), rows[i].want);
        dt_pattern_destroy(p);
        dt_arena_destroy(arena);
    }
}

static void test_costly_and_broken_expressions_are_refused(void **state) {
    (void)state;
    char longest[258];
    memset(longest, 'a', sizeof longest - 1);
    longest[257] = '\0';
    const char *const rows[] = {"a(",   "a)b(", "[a",         "(a)\\1", "(a{99}){99}",
                                "a{2}", "*\\9", "[[:none:]]", longest};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_pattern *p;
        dt_status *bad = dt_pattern_create(&p, rows[i]);
        if (!bad) fail_msg("'%s' is accepted", rows[i]);
        assert_null(p);
        dt_status_free(bad);
    }
    dt_pattern *p;
    assert_null(dt_pattern_create(&p, longest + 1)); /* 256 characters */
    dt_pattern_destroy(p);
}

static void test_long_names_are_not_searched(void **state) {
    (void)state;
    char name[1026];
    dt_pattern *p;
    memset(name, 'a', sizeof name - 1);
    name[1025] = '\0';
    assert_null(dt_pattern_create(&p, "(a|a)*b"));
    assert_false(dt_pattern_finds(p, name + 1));
    dt_pattern_destroy(p);
    assert_null(dt_pattern_create(&p, "a"));
    assert_false(dt_pattern_finds(p, name));
    assert_true(dt_pattern_finds(p, name + 1));
    dt_pattern_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_match_is_replaced),
        cmocka_unit_test(test_costly_and_broken_expressions_are_refused),
        cmocka_unit_test(test_long_names_are_not_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

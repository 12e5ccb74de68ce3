/* SPDX-License-Identifier: Apache-2.0 */
/* Single scalars: what each reader takes, and how limits read in messages. */
#include "sample_job.h"

#include "conf/conf_impl.h"

static const dt_tree *parse(dt_arena *arena, const char *text) {
    dt_source *source = dt_arena_new(arena, dt_source);
    *source = source_of(dt_arena_printf(arena, "[%s]", text));
    dt_tree *tree;
    assert_null(dt_tree_parse(arena, source, &tree));
    return tree->item[0];
}

static void test_integers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"+7", 7},
        {"-12", -12},
        {"1e3", 1000},
        {"1.5e3", 1500},
        {"-2E+2", -200},
        {"120e-1", 12},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"9007199254740993", 9007199254740993},
    };
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n = 99;
        assert_null(dt_tree_int(parse(arena, cases[i].text), "n", 0, 0, &n));
        assert_int_equal(n, cases[i].value);
    }
    dt_arena_destroy(arena);
}

static void test_reals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},  {"1e-4", 1e-4},     {"1", 1},      {".5", .5},
                 {"5.", 5}, {"-2.5E+3", -2500}, {"1e-999", 0}, {"0.1", 0.1}};
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x = 99;
        assert_null(dt_tree_real(parse(arena, cases[i].text), "x", &x));
        assert_true(x == cases[i].value);
    }
    dt_arena_destroy(arena);
}

static void test_any_scalar_is_a_text(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"a b", "a b"},   {"'1'", "1"}, {"1.50", "1.50"},
                                           {"010", "010"},   {"no", "no"}, {"''", ""},
                                           {"\"\\t\"", "\t"}};
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text;
        assert_null(dt_tree_text(parse(arena, cases[i][0]), "s", &text));
        assert_string_equal(text, cases[i][1]);
    }
    dt_arena_destroy(arena);
}

static void test_booleans(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    bool b = false;
    assert_null(dt_tree_bool(parse(arena, "true"), "b", &b));
    assert_true(b);
    assert_null(dt_tree_bool(parse(arena, "false"), "b", &b));
    assert_false(b);
    dt_arena_destroy(arena);
}

static void test_limits_in_words(void **state) {
    (void)state;
    static const struct {
        dt_limits limits;
        const char *value, *text; /* NULL: allowed */
    } cases[] = {
        {{0}, "-1e300", NULL},
        {{.min = 1}, "0.5", "x must be at least 1, got 0.5"},
        {{.min = 1}, "1", NULL},
        {{.min = 0.25, .above_min = true}, "0.25", "x must be greater than 0.25, got 0.25"},
        {{.above_min = true}, "0", "x must be greater than 0, got 0"},
        {{.above_min = true}, "1e300", NULL},
        {{.max = INFINITY}, "-0.1", "x must be at least 0, got -0.1"},
        {{.max = INFINITY}, "0", NULL},
        {{.max = 1}, "1.5", "x must be in [0, 1], got 1.5"},
        {{.max = 1, .below_max = true}, "1", "x must be in [0, 1), got 1"},
        {{.min = -1, .max = 1, .above_min = true}, "-1", "x must be in (-1, 1], got -1"},
        {{.min = 1e-7, .max = 1e20}, "0", "x must be in [1e-07, 1e+20], got 0"},
    };
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double x;
        dt_status *s = dt_tree_real_in(parse(arena, cases[i].value), "x", &cases[i].limits, &x);
        if (!s != !cases[i].text || (s && strcmp(dt_status_text(s), cases[i].text) != 0))
            fail_msg("expected '%s', got '%s'", cases[i].text ? cases[i].text : "-",
                     dt_status_text(s));
        dt_status_free(s);
    }
    dt_arena_destroy(arena);
}

/* Limits of a text are those of its length, in characters. */
static void test_lengths(void **state) {
    (void)state;
    static const struct {
        dt_limits limits;
        const char *value, *text;
    } cases[] = {
        {{.min = 1}, "''", "s must not be empty"},
        {{.min = 3}, "\xc3\xa4\xc3\xb6", "s must have at least 3 characters, got 2"},
        {{.max = 2}, "abc", "s must have at most 2 characters, got 3"},
        {{.min = 1, .max = 2}, "\xc3\xa4\xc3\xb6", NULL},
    };
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text;
        dt_status *s = dt_tree_text_in(parse(arena, cases[i].value), "s", &cases[i].limits, &text);
        if (!s != !cases[i].text || (s && strcmp(dt_status_text(s), cases[i].text) != 0))
            fail_msg("expected '%s', got '%s'", cases[i].text ? cases[i].text : "-",
                     dt_status_text(s));
        dt_status_free(s);
    }
    dt_arena_destroy(arena);
}

static void test_absent_values(void **state) {
    (void)state;
    int64_t n;
    double x;
    bool b;
    const char *text;
    static const char *const texts[] = {
        "v: expected an integer, got null", "v: expected a number, got null",
        "v: expected true or false, got null", "v: expected a string, got null",
        "v: expected a list, got null"};
    dt_status *faults[] = {dt_tree_int(NULL, "v", 0, 0, &n), dt_tree_real(NULL, "v", &x),
                           dt_tree_bool(NULL, "v", &b), dt_tree_text(NULL, "v", &text),
                           dt_tree_expect(NULL, DT_TREE_LIST, "v")};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_string_equal(dt_status_text(faults[i]), texts[i]);
        dt_status_free(faults[i]);
    }
}

/* What the user wrote comes back short, and without a character that a terminal would obey. */
static void test_said_values(void **state) {
    (void)state;
    char longer[200] = {0};
    memset(longer, '\1', sizeof longer - 1);
    dt_quoted quoted = dt_quote_text(longer);
    assert_int_equal(strlen(quoted.text), 1 + 80 * 4 + 3 + 1 + strlen(" (199 characters)"));
    assert_non_null(strstr(quoted.text, "\\x01...' (199 characters)"));
    assert_string_equal(dt_quote_text("it's \xc3\xa4").text, "'it's \xc3\xa4'");
    for (int i = 0; i < 49; i++) memcpy(longer + 4 * i, "\xf0\x9f\x98\x80", 4);
    longer[196] = '\0';
    assert_string_equal(dt_quote_text(longer).text + 1 + 196, "'");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_reals),
        cmocka_unit_test(test_any_scalar_is_a_text),
        cmocka_unit_test(test_booleans),
        cmocka_unit_test(test_limits_in_words),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_absent_values),
        cmocka_unit_test(test_said_values),
    };
    return cmocka_run_group_tests_name("conf/scalar", tests, NULL, NULL);
}

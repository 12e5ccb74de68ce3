/* SPDX-License-Identifier: Apache-2.0 */
/* What columns of tables are said to hold: kinds, counts and ranges over what is there, steps. */
#define HERE "build/tmp/data-describe"
#include "files.h"

#include <math.h>

#include "base/arena.h"
#include "data/describe.h"

typedef struct column_case {
    const char *values; /* of column c, separated by blanks; . is an empty field */
    dt_column_kind kind;
    int missing, distinct;
    double min, mean, max;
    const char *entry, *steps;
} column_case;

#define NUMBER "{column: c, dtype: float32}"

static const column_case cases[] = {
    {"1 . 3", DT_COLUMN_NUMBER, 1, 2, 1, 2, 3, NUMBER, "[{impute: median}, normalize]"},
    {"5 NA ? -1 null 5.0", DT_COLUMN_NUMBER, 3, 2, -1, 3, 5, NUMBER,
     "[{impute: median}, normalize]"},
    {"1 1.0 1e0 2", DT_COLUMN_NUMBER, 0, 2, 1, 1.25, 2, NUMBER, "[normalize]"},
    {"b a b", DT_COLUMN_CATEGORY, 0, 2, NAN, NAN, NAN, "{column: c, vocabulary: [a, b]}",
     "[{one_hot: 2}]"},
    {"yes . No", DT_COLUMN_CATEGORY, 1, 2, NAN, NAN, NAN,
     "{column: c, vocabulary: [\"No\", \"yes\"]}", "[{impute: most_frequent}, {one_hot: 2}]"},
    {"1 x 2", DT_COLUMN_CATEGORY, 0, 3, NAN, NAN, NAN, "{column: c, vocabulary: [\"1\", \"2\", x]}",
     "[{one_hot: 3}]"},
    {". NA .", DT_COLUMN_EMPTY, 3, 0, NAN, NAN, NAN, NULL, NULL},
    {"7 7 7", DT_COLUMN_CONSTANT, 0, 1, 7, 7, 7, NULL, NULL},
    {"7 . 7", DT_COLUMN_NUMBER, 1, 1, 7, 7, 7, NUMBER, "[{impute: median}, normalize]"},
};

static void write_table(const char *values) {
    dt_str s = {0};
    dt_str_puts(&s, "k,c\n0,");
    for (const char *p = values; *p; p++)
        if (*p == ' ') dt_str_puts(&s, "\n0,");
        else if (*p != '.' || (p > values && p[-1] != ' ')) dt_str_putc(&s, *p);
    dt_str_putc(&s, '\n');
    write_file("x.csv", dt_str_text(&s), s.size);
    dt_str_release(&s);
}

static void assert_real(double got, double wanted) {
    if (isnan(wanted)) assert_true(isnan(got));
    else assert_float_equal(got, wanted, 1e-12);
}

static void check(const column_case *k, const dt_column_facts *c) {
    assert_string_equal(c->name, "c");
    assert_int_equal(c->kind, k->kind);
    assert_int_equal(c->missing, k->missing);
    assert_int_equal(c->distinct, k->distinct);
    assert_real(c->min, k->min);
    assert_real(c->mean, k->mean);
    assert_real(c->max, k->max);
    assert_int_equal(c->why == NULL, k->entry != NULL);
    if (k->entry) assert_string_equal(c->entry, k->entry);
    if (k->steps) assert_string_equal(c->steps, k->steps);
}

static void test_columns(void **state) {
    (void)state;
    const char *file = HERE "/x.csv";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        dt_guess g = {.files = &file, .n = 1, .wants_table = true, .table.wanted = 1};
        dt_table_facts facts;
        write_table(cases[i].values);
        assert_null(dt_guess_files(&g));
        dt_table_describe(arena, &g, &facts);
        assert_int_equal(facts.n, 2);
        check(&cases[i], &facts.column[1]);
        assert_int_equal(facts.column[1].count + facts.column[1].missing, facts.records);
        dt_guess_release(&g);
        dt_arena_destroy(arena);
    }
}

typedef struct notation_case {
    const char *text;
    char decimal, thousands;
    dt_column_kind kind; /* of column c */
    double max;
} notation_case;

/* Semicolons alone do not make commas decimal points; a number with a point says that they are not.
 * 1.234 is a number either way. Where the comma is the delimiter, 2,5 in quotes is a text. */
static void test_notations(void **state) {
    (void)state;
    static const notation_case notations[] = {
        {"a;c\n1;2,5\n2;-3,25\n3;7\n", ',', 0, DT_COLUMN_NUMBER, 7},
        {"a;c\n1;1.234,5\n2;12\n3;3,5\n", ',', '.', DT_COLUMN_NUMBER, 1234.5},
        {"a;c\n1,5;1.234\n2;12\n3;3\n", ',', '.', DT_COLUMN_NUMBER, 1234},
        {"a;c\n1;1.234\n2;12\n3;3\n", 0, 0, DT_COLUMN_NUMBER, 12},
        {"a;c\n1;2.5\n2;3.25\n3;1,2\n", 0, 0, DT_COLUMN_CATEGORY, NAN},
        {"a;c\n1;2.5\n2;3.25\n3;7\n", 0, 0, DT_COLUMN_NUMBER, 7},
        {"a\tc\n1\t2,5\n2\t\n3\t4,5\n", ',', 0, DT_COLUMN_NUMBER, 4.5},
        {"a,c\n1,1\u00a0234\n2,12 345.5\n3,\n", 0, ' ', DT_COLUMN_NUMBER, 12345.5},
        {"a;c\n1;1 234,5 \u20ac\n2;7\n3;\n", ',', ' ', DT_COLUMN_NUMBER, 1234.5},
        {"a,c\n1,\"$85,000\"\n2,-$3\n3,\n", 0, ',', DT_COLUMN_NUMBER, 85000},
        {"a,c\n1,12 %\n2,0.5\n3,7%\n", 0, 0, DT_COLUMN_CATEGORY, NAN},
        {"a,c\n1,5kg\n2,6kg\n3,5kg\n", 0, 0, DT_COLUMN_CATEGORY, NAN},
        {"a,c\n1,\"2,5\"\n2,\"3,5\"\n3,\"2,5\"\n", 0, 0, DT_COLUMN_CATEGORY, NAN},
    };
    const char *file = HERE "/x.csv";
    for (size_t i = 0; i < sizeof notations / sizeof *notations; i++) {
        dt_arena *arena = dt_arena_create();
        dt_guess g = {.files = &file, .n = 1, .wants_table = true, .table.wanted = 1};
        dt_table_facts facts;
        write_file("x.csv", notations[i].text, strlen(notations[i].text));
        assert_null(dt_guess_files(&g));
        dt_table_describe(arena, &g, &facts);
        assert_int_equal(g.table.decimal, notations[i].decimal);
        assert_int_equal(g.table.thousands, notations[i].thousands);
        assert_int_equal(facts.column[1].kind, notations[i].kind);
        assert_real(facts.column[1].max, notations[i].max);
        dt_guess_release(&g);
        dt_arena_destroy(arena);
    }
}

/* 70,000 different numbers: more than are counted. 250 words are a category, 251 are texts. */
static void test_limits(void **state) {
    (void)state;
    const char *file = HERE "/x.csv";
    dt_arena *arena = dt_arena_create();
    dt_str s = {0};
    dt_guess g = {.files = &file, .n = 1, .wants_table = true};
    dt_table_facts facts;
    dt_str_puts(&s, "n,few,many\n");
    for (int i = 0; i < 70000; i++)
        dt_str_printf(&s, "%d,w%d,w%d\n", i * 3 % 70000, i % 250, i % 251);
    write_file("x.csv", dt_str_text(&s), s.size);
    assert_null(dt_guess_files(&g));
    dt_table_describe(arena, &g, &facts);
    assert_true(facts.column[0].many);
    assert_int_equal(facts.column[0].distinct, 65536);
    assert_int_equal(facts.column[0].max_int, 69999);
    assert_int_equal(facts.column[1].kind, DT_COLUMN_CATEGORY);
    assert_int_equal(facts.column[1].words.n, 250);
    assert_int_equal(facts.column[1].times[0], 280);
    assert_int_equal(facts.column[2].kind, DT_COLUMN_TEXT);
    assert_int_equal(facts.column[2].distinct, 251);
    dt_guess_release(&g);
    dt_str_release(&s);
    dt_arena_destroy(arena);
}

int main(void) {

    const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns),
                                       cmocka_unit_test(test_notations),
                                       cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

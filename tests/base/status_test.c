/* SPDX-License-Identifier: Apache-2.0 */
/* Status objects and their print: golden texts for each form, and the rules about what may reach a
 * terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"

static dt_source source_of(const char *text) {
    return (dt_source){.name = "job.yaml", .text = text, .size = strlen(text)};
}

/* Compares the print of s and frees it. */
static void assert_prints(dt_status *s, const char *expected) {
    char *text = dt_status_format(s);
    assert_string_equal(text, expected);
    free(text);
    dt_status_free(s);
}

static void test_error_with_place_prints_line_caret_suggestion_and_notes(void **state) {
    (void)state;
    dt_source source = source_of("model:\n  layers:\n    - Dense: {units: 0}\n");
    dt_location at = {.source = &source, .line = 3, .col = 21, .width = 1};
    dt_status *s = dt_fail(DT_E_RANGE, &at, "units must be at least %d, got %d", 1, 0);
    s = dt_suggest(s, "try %d", 10);
    s = dt_note(s, "in layer '%s'", "logits");
    s = dt_note(s, "in the model");
    assert_prints(s, "job.yaml:3:21: error: units must be at least 1, got 0 [DT017]\n"
                     "    3 |     - Dense: {units: 0}\n"
                     "      |                     ^ try 10\n"
                     "    in layer 'logits'\n"
                     "    in the model\n");
}

static void test_error_forms(void **state) {
    (void)state;
    dt_source source = source_of("one\r\n\ttwo: x\ngr\xc3\xb6\xc3\x9f"
                                 "er: 1\n\nlast");
    const struct {
        dt_location at;
        const char *suggestion, *expected;
    } cases[] = {
        {{0}, NULL, "dtrain: error: bad [DT017]\n"},
        {{0}, "do right", "dtrain: error: bad [DT017]\n    do right\n"},
        {{.source = &source, .line = 0, .col = 0, .width = 0},
         NULL,
         "job.yaml: error: bad [DT017]\n"},
        {{.source = &source, .line = 0, .col = 7, .width = 0},
         "do right",
         "job.yaml: error: bad [DT017]\n    do right\n"},
        {{.source = &source, .line = 1, .col = 1, .width = 3},
         NULL,
         "job.yaml:1:1: error: bad [DT017]\n    1 | one\n      | ^^^\n"},
        {{.source = &source, .line = 1, .col = 0, .width = 9},
         "do",
         "job.yaml:1: error: bad [DT017]\n    1 | one\n    do\n"},
        {{.source = &source, .line = 2, .col = 7, .width = 1},
         NULL,
         "job.yaml:2:7: error: bad [DT017]\n    2 | \ttwo: x\n      | \t     ^\n"},
        {{.source = &source, .line = 3, .col = 3, .width = 1},
         "o",
         "job.yaml:3:3: error: bad [DT017]\n    3 | gr\xc3\xb6\xc3\x9f"
         "er: 1\n      |   ^ o\n"},
        {{.source = &source, .line = 3, .col = 9, .width = 99},
         NULL,
         "job.yaml:3:9: error: bad [DT017]\n    3 | gr\xc3\xb6\xc3\x9f"
         "er: 1\n      |         ^\n"},
        {{.source = &source, .line = 4, .col = 1, .width = 1},
         NULL,
         "job.yaml:4:1: error: bad [DT017]\n    4 | \n      | ^\n"},
        {{.source = &source, .line = 5, .col = 5, .width = 1},
         NULL,
         "job.yaml:5:5: error: bad [DT017]\n    5 | last\n      |     ^\n"},
        {{.source = &source, .line = 6, .col = 1, .width = 1},
         "do",
         "job.yaml:6:1: error: bad [DT017]\n    do\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_status *s = dt_fail(DT_E_RANGE, &cases[i].at, "bad");
        if (cases[i].suggestion) s = dt_suggest(s, "%s", cases[i].suggestion);
        assert_prints(s, cases[i].expected);
    }
}

static void test_long_lines_are_cut_around_the_place(void **state) {
    (void)state;
    char line[1001];
    for (int i = 0; i < 1000; i++) line[i] = (char)('a' + i % 26);
    line[1000] = '\0';
    dt_source source = source_of(line);
    for (int col = 1; col <= 1000; col += 37) {
        dt_location at = {.source = &source, .line = 1, .col = col, .width = 5};
        dt_status *s = dt_fail(DT_E_RANGE, &at, "bad");
        char *text = dt_status_format(s);
        const char *shown = strstr(text, " | ") + 3, *below = strchr(shown, '\n') + 1,
                   *caret = strchr(below, '^');
        assert_true(below - shown <= 100 + 6 + 1);
        /* 8: the "      | " before the blanks */
        assert_int_equal(shown[caret - below - 8], line[col - 1]);
        assert_int_equal(strspn(caret, "^"), col + 4 <= 1000 ? 5 : 1001 - col);
        free(text);
        dt_status_free(s);
    }
}

/* The line of the source holds raw escapes: they are shown, take four columns, and the caret still
 * stands below the place. */
static void test_escapes_in_source_keep_the_caret_in_place(void **state) {
    (void)state;
    dt_source source = source_of("a: \x1b[2Jb");
    dt_location at = {.source = &source, .line = 1, .col = 8, .width = 1},
                on_it = {.source = &source, .line = 1, .col = 4, .width = 2};
    assert_prints(dt_fail(DT_E_RANGE, &at, "bad"), "job.yaml:1:8: error: bad [DT017]\n"
                                                   "    1 | a: \\x1b[2Jb\n"
                                                   "      |           ^\n");
    assert_prints(dt_fail(DT_E_RANGE, &on_it, "bad"), "job.yaml:1:4: error: bad [DT017]\n"
                                                      "    1 | a: \\x1b[2Jb\n"
                                                      "      |    ^^^^^\n");
}

static bool is_clean(const char *text) {
    for (size_t n = strlen(text), length; n; text += length, n -= length) {
        uint32_t code;
        length = dt_utf8_next(text, n, &code);
        if (length == 0 || (code < 0x20 && code != '\n') || (code >= 0x7f && code < 0xa0))
            return false;
    }
    return true;
}

static void test_nothing_raw_reaches_the_print(void **state) {
    (void)state;
    char every[256];
    for (int i = 0; i < 255; i++) every[i] = (char)(i + 1);
    every[255] = '\0';
    dt_source source = {.name = every, .text = every, .size = 255};
    dt_location at = {.source = &source, .line = 1, .col = 3, .width = 2};
    dt_status *s =
        dt_note(dt_suggest(dt_fail(DT_E_RANGE, &at, "%s", every), "%s", every), "%s", every);
    char *text = dt_status_format(s);
    for (char *tab = text; (tab = strchr(tab, '\t'));)
        *tab = ' '; /* tabs of the source line are kept */
    assert_true(is_clean(text));
    /* asked by itself, the name is as it was given */
    assert_string_equal(dt_status_file(s), every);
    assert_non_null(strstr(text, "\\x1b"));
    free(text);
    dt_status_free(s);
}

static void test_long_texts_are_cut(void **state) {
    (void)state;
    size_t n = 900 * 1024;
    char *value = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        value[i] = i % 2 ? '\xb6' : '\xc3'; /* two bytes a character: the cut must not divide one */
    value[n] = '\0';
    dt_status *s = dt_fail(DT_E_RANGE, NULL, "x%s", value);
    const char *text = dt_status_text(s);
    assert_in_range(strlen(text), 4090, 4096);
    assert_string_equal(text + strlen(text) - 3, "...");
    assert_true(is_clean(text));
    dt_status_free(s);
    free(value);
}

static void test_accessors(void **state) {
    (void)state;
    dt_source source = source_of("a: b");
    dt_location at = {.source = &source, .line = 1, .col = 4, .width = 1};
    dt_status *s = dt_suggest(dt_fail(DT_E_NO_INPUT, &at, "x.idx: missing"), "look");
    assert_int_equal(dt_status_code(s), 66);
    assert_int_equal(dt_status_number(s), 110);
    assert_string_equal(dt_status_kind(s), "NotFoundError");
    assert_string_equal(dt_status_text(s), "x.idx: missing");
    assert_string_equal(dt_status_file(s), "job.yaml");
    assert_int_equal(dt_status_line(s), 1);
    assert_int_equal(dt_status_column(s), 4);
    assert_string_equal(dt_status_suggestion(s), "look");
    assert_null(dt_status_next(s));
    assert_int_equal(dt_status_count(s), 1);
    dt_status_free(s);
}

static void test_null_is_success_everywhere(void **state) {
    (void)state;
    assert_int_equal(dt_status_code(NULL), 0);
    assert_int_equal(dt_status_count(NULL), 0);
    assert_null(dt_status_next(NULL));
    assert_null(dt_note(NULL, "x"));
    assert_null(dt_suggest(NULL, "x"));
    assert_null(dt_at(NULL, NULL));
    assert_int_equal(dt_report(NULL), 0);
    dt_status_free(NULL);
    assert_prints(NULL, "");
    dt_status *list = NULL;
    dt_status_append(&list, NULL);
    assert_null(list);
}

static void test_place_is_given_to_those_without(void **state) {
    (void)state;
    dt_source source = source_of("a: b"), other = {.name = "other", .text = "c", .size = 1};
    dt_location first = {.source = &source, .line = 1, .col = 4, .width = 1},
                second = {.source = &other, .line = 1, .col = 1, .width = 1};
    dt_status *s = dt_at(dt_at(dt_fail(DT_E_RANGE, NULL, "bad"), &first), &second);
    assert_prints(s, "job.yaml:1:4: error: bad [DT017]\n    1 | a: b\n      |    ^\n");
}

static dt_status *numbered(int first, int n) {
    dt_status *list = NULL;
    for (int i = 0; i < n; i++)
        dt_status_append(&list, dt_fail(DT_E_RANGE, NULL, "bad %d", first + i));
    return list;
}

static void test_lists_keep_their_order_and_end_with_a_count(void **state) {
    (void)state;
    dt_status *list = numbered(1, 2);
    dt_status_append(&list, dt_fail(DT_E_UNKNOWN_KEY, NULL, "bad 3"));
    assert_prints(
        list,
        "dtrain: error: bad 1 [DT017]\ndtrain: error: bad 2 [DT017]\ndtrain: error: bad 3 [DT001]\n"
        "3 errors. For details, run 'dtrain explain DT017'.\n");
}

static void test_the_same_error_is_told_once(void **state) {
    (void)state;
    dt_status *list = numbered(1, 2);
    dt_status_append(&list, numbered(2, 2));
    dt_status_append(&list, dt_fail(DT_E_UNKNOWN_KEY, NULL, "bad 3"));
    assert_prints(
        list,
        "dtrain: error: bad 1 [DT017]\ndtrain: error: bad 2 [DT017]\ndtrain: error: bad 3 [DT017]\n"
        "dtrain: error: bad 3 [DT001]\n4 errors. For details, run 'dtrain explain DT017'.\n");
}

static void test_long_lists_are_counted_not_kept(void **state) {
    (void)state;
    dt_status *list = numbered(1, 15), *more = numbered(16, 25); /* 20 of them kept */
    dt_status_append(&list, more);
    assert_int_equal(dt_status_count(list), 40);
    assert_int_equal(dt_status_dropped(list), 40 - DT_MAX_ERRORS);
    int kept = 0;
    for (const dt_status *s = list; s; s = dt_status_next(s)) {
        char expected[32];
        snprintf(expected, sizeof expected, "bad %d", ++kept);
        assert_string_equal(dt_status_text(s), expected);
    }
    assert_int_equal(kept, DT_MAX_ERRORS);
    char *text = dt_status_format(list);
    assert_non_null(strstr(text, "bad 20 [DT017]\nand 20 more\n40 errors. "));
    free(text);
    dt_status_free(list);
}

static void test_errno_selects_the_row(void **state) {
    (void)state;
    const struct {
        int number;
        dt_error otherwise, expected;
        int code;
    } cases[] = {
        {ENOENT, DT_E_IO, DT_E_NO_INPUT, 66},
        {ENOENT, DT_E_CANT_CREATE, DT_E_CANT_CREATE, 73},
        {ENOTDIR, DT_E_IO, DT_E_NO_INPUT, 66},
        {EACCES, DT_E_IO, DT_E_PERMISSION, 77},
        {EPERM, DT_E_CANT_CREATE, DT_E_PERMISSION, 77},
        {EROFS, DT_E_IO, DT_E_CANT_CREATE, 73},
        {ENOSPC, DT_E_CANT_CREATE, DT_E_IO, 74},
        {EIO, DT_E_CANT_CREATE, DT_E_IO, 74},
        {EDQUOT, DT_E_CANT_CREATE, DT_E_IO, 74},
        {EFBIG, DT_E_CANT_CREATE, DT_E_IO, 74},
        {ENOMEM, DT_E_IO, DT_E_NO_MEMORY, 71},
        {EMFILE, DT_E_IO, DT_E_NO_MEMORY, 71},
        {ELOOP, DT_E_NOT_REGULAR, DT_E_NOT_REGULAR, 66},
        {EBADF, DT_E_IO, DT_E_IO, 74},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        errno = cases[i].number;
        dt_status *s = dt_fail_errno(cases[i].otherwise, "a/b");
        assert_int_equal(dt_status_number(s), cases[i].expected);
        assert_int_equal(dt_status_code(s), cases[i].code);
        dt_status_free(s);
    }
    errno = ENOSPC;
    assert_prints(dt_fail_errno(DT_E_IO, "a/b"),
                  "dtrain: error: a/b: no space left on device [DT114]\n");
}

static void test_catalogue_is_sorted(void **state) {
    (void)state;
    static const int numbers[] = {
#define DT_ERROR(id, number, exit_code, kind) number,
#include "base/errors.h"
#undef DT_ERROR
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const dt_error_row *row = dt_error_find(numbers[i]);
        assert_true(numbers[i] > (i ? numbers[i - 1] : 0) && numbers[i] < 200);
        assert_int_equal(row->number, numbers[i]);
        assert_in_range(row->exit_code, 64, 80);
        assert_true(isupper((unsigned char)row->kind[0]));
    }
    assert_null(dt_error_find(0));
}

/* Each row has a section in docs/errors.md, and no other number has one. */
static void test_exactly_the_rows_are_explained(void **state) {
    (void)state;
    for (int number = -1; number < 10000; number++) {
        const char *text = dt_explain(number), *detail = text ? strstr(text, "\n\n") : NULL;
        char head[16];
        if (!dt_error_find(number)) {
            assert_null(text);
            continue;
        }
        assert_non_null(detail);
        snprintf(head, sizeof head, "DT%03d  ", number);
        assert_memory_equal(text, head, strlen(head));
        assert_true(strlen(detail) > 40); /* a repeated title explains nothing */
        assert_true(is_clean(text) && detail[2] > ' ');
        assert_true(text[strlen(text) - 1] == '\n' && text[strlen(text) - 2] > ' ');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_with_place_prints_line_caret_suggestion_and_notes),
        cmocka_unit_test(test_error_forms),
        cmocka_unit_test(test_long_lines_are_cut_around_the_place),
        cmocka_unit_test(test_escapes_in_source_keep_the_caret_in_place),
        cmocka_unit_test(test_nothing_raw_reaches_the_print),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_accessors),
        cmocka_unit_test(test_null_is_success_everywhere),
        cmocka_unit_test(test_place_is_given_to_those_without),
        cmocka_unit_test(test_lists_keep_their_order_and_end_with_a_count),
        cmocka_unit_test(test_the_same_error_is_told_once),
        cmocka_unit_test(test_long_lists_are_counted_not_kept),
        cmocka_unit_test(test_errno_selects_the_row),
        cmocka_unit_test(test_catalogue_is_sorted),
        cmocka_unit_test(test_exactly_the_rows_are_explained),
    };
    return cmocka_run_group_tests_name("base/status", tests, NULL, NULL);
}

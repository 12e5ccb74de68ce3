/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, UTF-8, and suggestions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static void test_string_grows_and_stays_terminated(void **state) {
    (void)state;
    dt_str s = {0};
    assert_string_equal(dt_str_text(&s), "");
    for (int i = 0; i < 1000; i++) {
        dt_str_printf(&s, "%d,", i);
        assert_int_equal(strlen(s.data), s.size);
    }
    assert_memory_equal(s.data, "0,1,2,", 6);
    dt_str_clear(&s);
    assert_string_equal(dt_str_text(&s), "");
    dt_str_puts(&s, "ab");
    dt_str_putc(&s, 'c');
    dt_str_add(&s, "\0d", 2);
    dt_str_add(&s, NULL, 0);
    assert_int_equal(s.size, 5);
    assert_memory_equal(s.data, "abc\0d", 6);
    char *taken = dt_str_take(&s);
    assert_null(s.data);
    assert_string_equal(taken, "abc");
    free(taken);
    taken = dt_str_take(&s);
    assert_string_equal(taken, "");
    free(taken);
    dt_str_release(&s);
}

static void test_pad_counts_characters(void **state) {
    (void)state;
    dt_str s = {0};
    dt_str_puts(&s, "| gr\xc3\xb6\xc3\x9f");
    dt_str_pad(&s, 2, 6);
    dt_str_pad(&s, 2, 3); /* is longer already */
    dt_str_puts(&s, "|");
    assert_string_equal(s.data, "| gr\xc3\xb6\xc3\x9f  |");
    dt_str_release(&s);
}

static void test_utf8(void **state) {
    (void)state;
    const struct {
        const char *text;
        size_t length;
        uint32_t code;
    } cases[] = {
        {"a", 1, 'a'},
        {"\xc3\xb6", 2, 0xf6},
        {"\xe2\x82\xac", 3, 0x20ac},
        {"\xf0\x9f\x98\x80", 4, 0x1f600},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
        {"\xf4\x90\x80\x80", 0, 0}, /* beyond the last code */
        {"\xc0\xaf", 0, 0},         /* too long a form of '/' */
        {"\xe0\x80\xaf", 0, 0},
        {"\xf0\x80\x80\xaf", 0, 0},
        {"\xed\xa0\x80", 0, 0}, /* a surrogate */
        {"\xb6", 0, 0},
        {"\xc3", 0, 0},
        {"\xc3q", 0, 0},
        {"\xe2\x82", 0, 0},
        {"\xff", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t code = 0;
        assert_int_equal(dt_utf8_next(cases[i].text, strlen(cases[i].text), &code),
                         cases[i].length);
        assert_int_equal(code, cases[i].code);
    }
    assert_int_equal(dt_utf8_count("gr\xc3\xb6\xff!", 6), 5);
}

static void test_every_code_comes_back(void **state) {
    (void)state;
    dt_str s = {0};
    for (uint32_t code = 0; code < 0x110000; code++) {
        uint32_t back = 0;
        if (code >= 0xd800 && code < 0xe000) continue;
        dt_str_clear(&s);
        dt_str_utf8(&s, code);
        assert_int_equal(dt_utf8_next(s.data, s.size, &back), s.size);
        assert_int_equal(back, code);
    }
    dt_str_release(&s);
}

static void test_escaped(void **state) {
    (void)state;
    const struct {
        const char *text;
        size_t limit;
        const char *expected;
    } cases[] = {
        {"plain", 80, "plain"},
        {"plain", 5, "plain"},
        {"plain", 4, "plai..."},
        {"plain", 0, "..."},
        {"", 0, ""},
        {"\x1b[2J\n\t\x7f", 80, "\\x1b[2J\\x0a\\x09\\x7f"},
        {"gr\xc3\xb6\xc3\x9f"
         "er",
         4, "gr\xc3\xb6\xc3\x9f..."},
        {"\xc2\x9b"
         "2J",
         80, "\\u009b2J"}, /* C1: some terminals take it for ESC [ */
        {"\x9b"
         "2J\xff",
         80, "\\x9b2J\\xff"},
        /* another direction, another line */
        {"a\xe2\x80\xae"
         "b\xe2\x80\xa8"
         "c\xe2\x81\xa6",
         80, "a\\u202eb\\u2028c\\u2066"},
        {"\xd8\x9c\xc2\xad\xef\xbb\xbf", 80, "\\u061c\\u00ad\\ufeff"},
        /* spaces that are not ' ' */
        {"a\xc2\xa0"
         "b\xe2\x80\x83"
         "c\xe3\x80\x80\xe2\x80\xaf",
         80, "a\\u00a0b\\u2003c\\u3000\\u202f"},
        {"\xe1\x9a\x80\xe2\xa0\x80\xe3\x85\xa4\xef\xb8\x8f", 80, "\\u1680\\u2800\\u3164\\ufe0f"},
        {"\xf3\xa0\x81\x81", 80, "\\U000e0041"}, /* a tag: invisible text */
        /* an ellipsis, a cat */
        {"\xe2\x80\xa6 \xf0\x9f\x90\x88", 80, "\xe2\x80\xa6 \xf0\x9f\x90\x88"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_str s = {0};
        dt_str_escaped(&s, cases[i].text, strlen(cases[i].text), cases[i].limit);
        assert_string_equal(dt_str_text(&s), cases[i].expected);
        dt_str_release(&s);
    }
}

static void test_nearest(void **state) {
    (void)state;
    static const char longest[] =
        "a-name-beyond-all-limits-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const char *const names[] = {"layers", "epochs", "learning_rate",
                                        "ReLU",   "steps",  longest};
    static const char *const metrics[] = {"f1_score", "auc",         "top_k_accuracy", "L1",
                                          "F1Score",  "conv_0/bias", "conv_1/bias"};
    static const struct {
        const char *name, *expected;
    } short_forms[] = {
        {"f1", "f1_score"}, {"top_k", "top_k_accuracy"}, {"topk", "top_k_accuracy"},
        {"roc_auc", "auc"}, {"f1score", "F1Score"},      {"conv", NULL},
        {"f", NULL},        {"conv_0", "conv_0/bias"},
    };
    for (size_t i = 0; i < sizeof short_forms / sizeof *short_forms; i++) {
        const char *found =
            dt_nearest(short_forms[i].name, metrics, sizeof metrics / sizeof *metrics);
        if (short_forms[i].expected) assert_string_equal(found, short_forms[i].expected);
        else assert_null(found);
    }
    const struct {
        const char *name, *expected;
    } cases[] = {
        {"layesr", "layers"},
        {"Layers", "layers"},
        {"layer", "layers"},
        {"epoch", "epochs"},
        {"relu", "ReLU"},
        {"rleu", "ReLU"},
        {"laerning_raet", "learning_rate"},
        {"stpes", "steps"},
        {"momentum", NULL},
        {"x", NULL},
        {"", NULL},
        {"leaning-rate", "learning_rate"},
        {"num-steps", "steps"},
        {"total_epochs", "epochs"},
        {"players", "layers"},
        {"alyers", "layers"},
        {"myers", NULL}, /* two changes, one of them of the first letter */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = dt_nearest(cases[i].name, names, sizeof names / sizeof *names);
        if (cases[i].expected) assert_string_equal(found, cases[i].expected);
        else assert_null(found);
    }
    /* longer than the table, even as its own neighbour */
    assert_null(dt_nearest(longest, names, 6));
    assert_null(dt_nearest("layers", names, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_string_grows_and_stays_terminated),
        cmocka_unit_test(test_pad_counts_characters),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_every_code_comes_back),
        cmocka_unit_test(test_escaped),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}

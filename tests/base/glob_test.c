/* SPDX-License-Identifier: Apache-2.0 */
/* Globs with groups, against what they stand for and what they match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/glob.h"
#include "base/str.h"

enum { MOST = 8 };

static void test_groups_are_written_out(void **state) {
    (void)state;
    static const struct {
        const char *glob;
        int n;
        const char *all;
    } rows[] = {
        {"dense/kernel", 1, "dense/kernel"},
        {"*/{query,key,value}/kernel", 3, "*/query/kernel */key/kernel */value/kernel"},
        {"{a,b}{1,2}", 4, "a1 a2 b1 b2"},
        {"x/{a,b{1,2}}/y", 3, "x/a/y x/b1/y x/b2/y"},
        {"{a,}b", 2, "ab b"},
        {"{a}", 1, "a"},
        {"{}", 1, ""},
        {"", 1, ""},
        {"a}b,c", 1, "a}b,c"},
        {"{a,b", DT_GLOB_OPEN, NULL},
        {"a{b,{c,d}", DT_GLOB_OPEN, NULL},
        {"{a,b}{a,b}{a,b}", MOST, "aaa aab aba abb baa bab bba bbb"},
        {"{a,b}{a,b}{a,b,c}", DT_GLOB_MANY, NULL},
        {"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,"
         "b}{a,b}{a,b}{a,b}",
         DT_GLOB_MANY, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        const char *const *pattern;
        dt_str all = {0};
        assert_int_equal(dt_glob_expand(arena, rows[i].glob, MOST, &pattern), rows[i].n);
        for (int k = 0; k < rows[i].n; k++) dt_str_printf(&all, "%s%s", k ? " " : "", pattern[k]);
        if (rows[i].all) assert_string_equal(dt_str_text(&all), rows[i].all);
        dt_str_release(&all);
        dt_arena_destroy(arena);
    }
}

static void test_paths_are_matched(void **state) {
    (void)state;
    static const struct {
        const char *glob, *text;
        bool matches;
    } rows[] = {
        {"*/self_attention/{query,key,value}/kernel", "decoder_0/self_attention/key/kernel", true},
        {"*/self_attention/{query,key,value}/kernel", "decoder_0/self_attention/key/bias", false},
        {"*/self_attention/{query,key,value}/kernel", "self_attention/key/kernel", false},
        {"*", "decoder_0/self_attention/key/kernel", true},
        {"*", "", true},
        {"decoder_?/*", "decoder_1/norm/gamma", true},
        {"decoder_?/*", "decoder_10/norm/gamma", false},
        {"decoder_[0-3]/*", "decoder_4/norm/gamma", false},
        {"decoder_[0-3]/*", "decoder_3/norm/gamma", true},
        {"dense", "dense/kernel", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        const char *const *pattern;
        int n = dt_glob_expand(arena, rows[i].glob, MOST, &pattern);
        assert_int_equal(dt_glob_matches(pattern, n, rows[i].text), rows[i].matches);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_are_written_out),
        cmocka_unit_test(test_paths_are_matched),
    };
    return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}

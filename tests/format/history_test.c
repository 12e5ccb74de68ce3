/* SPDX-License-Identifier: Apache-2.0 */
/* history.jsonl: after a resume it holds the lines up to there, whole, and is appended to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kit.h"

#define DIR_ "build/tmp/format-history"
#define PATH DIR_ "/history.jsonl"
#define LINE(n) "{\"epoch\": 1, \"step\": " #n ", \"loss\": 0.5}\n"

static int set_up(void **state) {
    (void)state;
    fresh(DIR_);
    return 0;
}

static char here[] = DIR_;
static const dt_run_dir run = {.path = here, .lock.fd = -1};

static dt_status *open_history(dt_writer *w, int64_t step) {
    return dt_history_open(w, &run, &(dt_history_from){.step = step, .generation = 3});
}

static void assert_after(const char *before, int64_t step, const char *after) {
    dt_writer w;
    dt_str text = {0};
    write_file(PATH, before, strlen(before));
    assert_ok(open_history(&w, step));
    assert_ok(dt_writer_put(&w, "+\n", 2));
    assert_ok(dt_writer_close(&w));
    assert_ok(dt_file_read(PATH, 1 << 20, &text));
    assert_true(text.size >= 2 && strcmp(text.data + text.size - 2, "+\n") == 0);
    text.data[text.size - 2] = '\0';
    assert_string_equal(text.data, after);
    dt_str_release(&text);
    assert_false(is_there(PATH ".tmp"));
}

static void test_lines_past_the_step_go(void **state) {
    (void)state;
    assert_after("", 100, "");
    assert_after(LINE(10) LINE(20), 100, LINE(10) LINE(20));
    assert_after(LINE(10) LINE(20), 20, LINE(10) LINE(20));
    assert_after(LINE(10) LINE(20) LINE(30), 20, LINE(10) LINE(20));
    assert_after(LINE(10) LINE(20), 5, "");
    assert_after(LINE(10) LINE(20), -1, "");
}

static void test_torn_lines_go(void **state) {
    (void)state;
    assert_after(LINE(10) "{\"epoch\": 2, \"st", 100, LINE(10));
    /* whole, but its end may be missing */
    assert_after(LINE(10) "{\"epoch\": 2, \"step\": 20}", 100, LINE(10));
    assert_after(LINE(10) "\n" LINE(20), 100, LINE(10) LINE(20));
    assert_after(LINE(10) "{\"epoch\": 2, {\"epoch\": 2, \"step\": 20}\n" LINE(20), 100,
                 LINE(10) LINE(20));
    assert_after("[1]\n{\"step\": \"1\"}\n" LINE(10), 100, LINE(10));
}

static void test_a_new_file_is_made(void **state) {
    (void)state;
    dt_writer w;
    assert_ok(open_history(&w, -1));
    assert_ok(dt_writer_close(&w));
    assert_true(is_there(PATH));
}

static void test_a_file_with_nothing_to_drop_is_not_replaced(void **state) {
    (void)state;
    struct stat before, after;
    write_file(PATH, LINE(10), strlen(LINE(10)));
    assert_int_equal(stat(PATH, &before), 0);
    assert_after(LINE(10), 10, LINE(10));
    assert_int_equal(stat(PATH, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void test_links_and_others_are_refused(void **state) {
    (void)state;
    dt_writer w;
    write_file(DIR_ "/secret", LINE(10), strlen(LINE(10)));
    assert_int_equal(symlink("secret", PATH), 0);
    dt_status *s = open_history(&w, -1);
    assert_int_equal(dt_status_code(s), 73);
    assert_fails(s, DT_E_CANT_CREATE, PATH ": exists and is not a regular file");
    dt_writer_abandon(&w);
    dt_str text = {0};
    assert_ok(dt_file_read(DIR_ "/secret", 100, &text));
    assert_string_equal(text.data, LINE(10));
    dt_str_release(&text);
}

static void expect_lines(const char *path, const char *lines) {
    dt_str text = {0};
    assert_ok(dt_file_read(path, 1 << 20, &text));
    assert_string_equal(dt_str_text(&text), lines);
    dt_str_release(&text);
}

/* Of a run of generation 3 that was killed when it had a checkpoint and not yet its name. */
#define LEFT DIR_ "/history.3.jsonl"

/* A run of generation 4 begins beside that of generation 3 and gets as far as `adopts`; then either
 * is gone on from. */
static void begin_aside(int64_t step, bool adopts) {
    dt_writer w;
    fresh(DIR_);
    write_file(PATH, LINE(10) LINE(20), strlen(LINE(10) LINE(20)));
    if (adopts) write_file(LEFT, "", 0);
    assert_ok(dt_history_open(&w, &run,
                              &(dt_history_from){.step = step, .generation = 4, .aside = true}));
    assert_ok(dt_writer_put(&w, LINE(15), strlen(LINE(15))));
    expect_lines(PATH, LINE(10) LINE(20));
    if (adopts) assert_ok(dt_history_adopt(&w, &run, 4));
    assert_false(is_there(LEFT));
    assert_ok(dt_writer_close(&w));
}

static void go_on(int64_t step, int64_t generation) {
    dt_writer w;
    assert_ok(
        dt_history_open(&w, &run, &(dt_history_from){.step = step, .generation = generation}));
    assert_ok(dt_writer_close(&w));
    assert_false(is_there(DIR_ "/history.4.jsonl"));
}

static void test_lines_beside_are_adopted_or_go(void **state) {
    (void)state;
    static const struct {
        int64_t step;
        const char *lines;
    } rows[] = {{-1, LINE(15)}, {10, LINE(10) LINE(15)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_aside(rows[i].step, true);
        expect_lines(PATH, rows[i].lines);
        /* killed after its first checkpoint, which is of generation 4 */
        begin_aside(rows[i].step, false);
        go_on(20, 4);
        expect_lines(PATH, rows[i].lines);
        begin_aside(rows[i].step, false); /* killed before */
        go_on(20, 3);
        expect_lines(PATH, LINE(10) LINE(20));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines_past_the_step_go, set_up),
        cmocka_unit_test_setup(test_torn_lines_go, set_up),
        cmocka_unit_test_setup(test_a_new_file_is_made, set_up),
        cmocka_unit_test_setup(test_a_file_with_nothing_to_drop_is_not_replaced, set_up),
        cmocka_unit_test_setup(test_lines_beside_are_adopted_or_go, set_up),
        cmocka_unit_test_setup(test_links_and_others_are_refused, set_up),
    };
    return cmocka_run_group_tests_name("format/history", tests, NULL, NULL);
}

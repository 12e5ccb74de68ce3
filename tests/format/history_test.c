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

static dt_history_kept kept;

static dt_status *open_history(dt_writer *w, int64_t step) {
    return dt_history_open(w, &run, &(dt_history_from){.step = step, .generation = 3}, &kept);
}

static void assert_after(const char *before, int64_t step, const char *after) {
    dt_writer w;
    dt_str text = {0};
    write_file(PATH, before, strlen(before));
    assert_ok(open_history(&w, step));
    assert_ok(dt_writer_put(&w, "+\n", 2));
    assert_ok(dt_writer_close(&w));
    free(kept.damage);
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
    assert_ok(dt_history_open(
        &w, &run, &(dt_history_from){.step = step, .generation = 4, .aside = true}, &kept));
    assert_ok(dt_writer_put(&w, LINE(15), strlen(LINE(15))));
    expect_lines(PATH, LINE(10) LINE(20));
    if (adopts) assert_ok(dt_history_adopt(&w, &run, 4));
    assert_false(is_there(LEFT));
    assert_ok(dt_writer_close(&w));
}

static void go_on(int64_t step, int64_t generation) {
    dt_writer w;
    assert_ok(dt_history_open(&w, &run, &(dt_history_from){.step = step, .generation = generation},
                              &kept));
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

/* ---- checks of lines ---- */

enum { LINES = 5 };

/* Five lines, the first `old` of them without checks. */
static void write_lines(dt_str *out, int old) {
    dt_history_lines lines = {0};
    for (int i = 0; i < LINES; i++) {
        dt_str line = {0};
        dt_str_printf(&line, "{\"epoch\": %d, \"step\": %d, \"loss\": 0.%d}\n", i + 1, 10 * (i + 1),
                      9 - i);
        if (i < old) dt_history_take(&lines, line.data, line.size - 1, true);
        else dt_history_seal(&lines, &line);
        dt_str_add(out, line.data, line.size);
        dt_str_release(&line);
    }
}

/* The number of the first line that is reported as damaged, 0: none. */
static int64_t first_damaged(const char *text, size_t n) {
    dt_writer w;
    write_file(PATH, text, n);
    assert_ok(open_history(&w, 10 * LINES));
    assert_ok(dt_writer_close(&w));
    int64_t line = 0;
    if (kept.damage) assert_int_equal(strncmp(kept.damage, PATH ":", strlen(PATH ":")), 0);
    if (kept.damage) line = strtoll(kept.damage + strlen(PATH ":"), NULL, 10);
    free(kept.damage);
    return line;
}

static int64_t line_of(const char *text, size_t at) {
    int64_t line = 1;
    for (size_t i = 0; i < at; i++) line += text[i] == '\n';
    return line;
}

static void test_whole_lines_fit(void **state) {
    (void)state;
    for (int old = 0; old <= LINES; old++) {
        dt_str text = {0};
        write_lines(&text, old);
        assert_int_equal(first_damaged(text.data, text.size), 0);
        /* torn, as by a kill */
        assert_int_equal(first_damaged(text.data, text.size - 3), 0);
        dt_str_release(&text);
    }
}

/* Each byte but that of the last newline, which could be a kill's. */
static void test_every_changed_byte_is_found(void **state) {
    (void)state;
    static const char flips[] = {1, 2, 16, 64};
    for (int old = 0; old < LINES; old++) {
        dt_str text = {0};
        write_lines(&text, old);
        for (size_t i = 0; i + 1 < text.size; i++) {
            const char byte = text.data[i], flip = flips[i % sizeof flips];
            if (line_of(text.data, i) < old)
                continue; /* only the last of the old ones is covered */
            const int64_t line = line_of(text.data, i);
            text.data[i] = (char)(byte ^ flip);
            const int64_t found = first_damaged(text.data, text.size);
            if (found != line && found != line + 1)
                fail_msg("byte %zu of line %lld, %d old: line %lld", i, (long long)line, old,
                         (long long)found);
            text.data[i] = byte;
        }
        dt_str_release(&text);
    }
}

static void test_lines_that_go_or_come_are_found(void **state) {
    (void)state;
    dt_str text = {0};
    write_lines(&text, 0);
    const char *second = strchr(text.data, '\n') + 1, *third = strchr(second, '\n') + 1,
               *fourth = strchr(third, '\n') + 1;
    const struct {
        const char *part[4][2]; /* from, to */
        int64_t line;
    } rows[] = {
        {{{second, text.data + text.size}}, 1},                       /* without the first */
        {{{text.data, second}, {third, text.data + text.size}}, 2},   /* without the second */
        {{{text.data, third}, {second, text.data + text.size}}, 3},   /* twice the second */
        {{{text.data, second}, {third, fourth}, {second, third}}, 2}, /* the other way round */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_str other = {0};
        for (int k = 0; k < 4 && rows[i].part[k][0]; k++)
            dt_str_add(&other, rows[i].part[k][0],
                       (size_t)(rows[i].part[k][1] - rows[i].part[k][0]));
        assert_int_equal(first_damaged(other.data, other.size), rows[i].line);
        dt_str_release(&other);
    }
    dt_str_release(&text);
}

/* The lines after an older step go, and new ones fit those that stay. */
static void test_lines_written_after_a_resume_fit(void **state) {
    (void)state;
    dt_str text = {0}, line = {0};
    dt_writer w;
    write_lines(&text, 1);
    write_file(PATH, text.data, text.size);
    assert_ok(open_history(&w, 30));
    assert_null(kept.damage);
    assert_int_equal(kept.epoch, 3);
    dt_str_puts(&line, LINE(35));
    dt_history_seal(&kept.lines, &line);
    assert_ok(dt_writer_put(&w, line.data, line.size));
    assert_ok(dt_writer_close(&w));
    dt_str_release(&text);
    assert_ok(dt_file_read(PATH, 1 << 20, &text));
    assert_non_null(strstr(text.data, "\"step\": 35"));
    assert_int_equal(first_damaged(text.data, text.size), 0);
    dt_str_release(&text);
    dt_str_release(&line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines_past_the_step_go, set_up),
        cmocka_unit_test_setup(test_torn_lines_go, set_up),
        cmocka_unit_test_setup(test_a_new_file_is_made, set_up),
        cmocka_unit_test_setup(test_a_file_with_nothing_to_drop_is_not_replaced, set_up),
        cmocka_unit_test_setup(test_lines_beside_are_adopted_or_go, set_up),
        cmocka_unit_test_setup(test_links_and_others_are_refused, set_up),
        cmocka_unit_test_setup(test_whole_lines_fit, set_up),
        cmocka_unit_test_setup(test_every_changed_byte_is_found, set_up),
        cmocka_unit_test_setup(test_lines_that_go_or_come_are_found, set_up),
        cmocka_unit_test_setup(test_lines_written_after_a_resume_fit, set_up),
    };
    return cmocka_run_group_tests_name("format/history", tests, NULL, NULL);
}

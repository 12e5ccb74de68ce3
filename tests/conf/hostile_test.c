/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts made to exhaust time or memory. Each is read as a job, tables and all, and must be answered
 * within 2 seconds; the process never grows by 256 MiB. A job as users write it takes less than a
 * millisecond.
 */
#include "sample_job.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/sanitizer.h"
#include "conf/conf_impl.h"

enum { SANITIZED = DT_ASAN || DT_TSAN };

typedef struct hostile {
    const char *id;
    const char *head, *each, *tail; /* `each` is written `times` times, its %d being the count */
    int times;
    const char *text; /* part of the answer */
} hostile;

static const hostile cases[] = {
    {"Y14", "", "[", "", 200000, "job.yaml:1:65: error: nesting deeper than 64 levels"},
    {"Y14, lines", "", "[\n", "", 200000, "job.yaml:65:1: error: nesting deeper than 64 levels"},
    {"Y14, braces", "", "{a: ", "", 200000, "nesting deeper than 64 levels"},
    {"Y14, closed", "a: [", "[],", "]", 300000, "more than 10000 nodes"},
    {"Y15, dashes", "", "- ", "", 400000, "nesting deeper than 64 levels"},
    {"Y15, explicit keys", "", "? ", "", 400000, "nesting deeper than 64 levels"},
    {"flow pairs", "", "[? ", "", 300000, "nesting deeper than 64 levels"},
    {"Y22", "strategy: {type: ", "a", "}\n", 921600,
     "unknown strategy "
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...' "
     "(921600 characters)"},
    {"K27", "output: {dir: ", "d", "}\n", 5000, "dir must have at most 4095 characters, got 5000"},
    {"Y25", "", "unknown%d: 1\n", "", 20000, "job.yaml:10000:14: error: more than 10000 nodes"},
    /* and 6 required ones missing */
    {"many unknown keys", "", "unknown%d: 1\n", "", 9990, "and 9976 more"},
    {"unknown keys in one line", "{",
     "\"a key that takes some room on its line, so that the line is as long as a text may be, "
     "%d\": 1, ",
     "}", 9990, "more\n"},
    {"one key", "", "a: 1\n", "", 9990, "more\n"},
    {"layers without names", "model: {layers: [", "x,", "]}", 9990, "unknown layer 'x'"},
    {"aliases", "a: &a 1\nb: [", "*a,", "]", 9000, "unknown key 'a'"},
    {"anchors", "b: [", "&a%d 1,", "*none]", 9000, "alias '*none' has no anchor"},
    {"aliases without anchors", "b: [", "*a%d,", "]", 9000, "more\n"},
    {"merged keys", "a: &a {", "k%d: 1, ", "}\nb: {<<: [*a]}\n", 4900, "unknown key 'a'"},
    {"merged mappings", "a: &a {k: 1}\nb: {<<: [", "*a, ", "]}\n", 4900, "unknown key 'a'"},
    {"tags", "b: [", "!t%d 1,", "]", 9000, "more\n"},
    {"directives", "", "%%TAG !%d! b\n", "", 60000, "%TAG directives are not supported"},
    {"directives behind", "a: 1\n...\n", "%%TAG !%d! b\n", "", 60000,
     "more than one YAML document"},
    {"documents", "", "---\n", "", 200000, "more than one YAML document"},
    {"blank lines", "", "\n", "a: 1\nb: 2\n", 1000000,
     "job.yaml:1000001:1: error: unknown key 'a'"},
    {"blanks", "", " ", "a", 1000000, "expected a mapping, got 'a'"},
    {"comment", "#", "#", "", 1000000, "the job is empty"},
    {"words", "name: ", "x ", "\n", 500000, "is missing"},
    {"folded lines", "name: ", "x\n ", "\n", 300000, "is missing"},
    {"escapes", "name: \"", "\\x41", "\"\n", 250000, "is missing"},
    {"block scalar", "name: |\n", " x\n", "", 300000, "is missing"},
    {"quotes", "a: \"", "x ", "", 400000, "quoted string opened at line 1 is never closed"},
    {"brackets to be matched", "a: [1 ", "'[' ", "", 200000,
     "'[' opened at line 1 is never closed"},
    {"long key", "? ", "k", "\n: 1\n", 900000, "unknown key 'kkkk"},
    {"long number", "version: ", "9", "\n", 900000, "is out of range"},
    {"long fraction", "compile: {optimizer: {adam: {learning_rate: 0.", "1", "}}}\n", 900000,
     "is missing"},
    {"zeros", "version: ", "0", "\n", 900000, "is ambiguous; write 0"},
};

static char *text_of(const hostile *h, size_t *size) {
    dt_str s = {0};
    dt_str_puts(&s, h->head);
    for (int i = 0; i < h->times; i++) {
        char each[128];
        int n = snprintf(each, sizeof each, h->each, i);
        dt_str_add(&s, each, (size_t)n);
    }
    dt_str_puts(&s, h->tail);
    *size = s.size;
    return dt_str_take(&s);
}

static void check_hostile(const char *id, const char *text, size_t size, const char *part) {
    dt_source source = {"job.yaml", text, size};
    dt_arena *arena = dt_arena_create();
    struct job job = {0};
    int64_t start = dt_now_ns();
    dt_status *s = read_job(arena, &source, &job);
    double seconds = dt_seconds_since(start);
    char *printed = dt_status_format(s);
    if (!strstr(printed, part)) fail_msg("%s: expected '%s', got %.600s", id, part, printed);
    if (seconds > (SANITIZED ? 10 : 2)) fail_msg("%s: took %.2f s", id, seconds);
    if (strlen(printed) > 65536) fail_msg("%s: answered with %zu bytes", id, strlen(printed));
    free(printed);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_hostile_texts_are_answered_in_time(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        char *text = text_of(&cases[i], &size);
        check_hostile(cases[i].id, text, size, cases[i].text);
        free(text);
    }
}

/* Y13: every line has nine of the line before. */
static void test_alias_bomb(void **state) {
    (void)state;
    dt_str s = {0};
    dt_str_puts(&s, "a0: &a0 x\n");
    for (int i = 1; i <= 32; i++) {
        dt_str_printf(&s, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++) dt_str_printf(&s, "%s*a%d", k ? "," : "", i - 1);
        dt_str_puts(&s, "]\n");
    }
    check_hostile("Y13", s.data, s.size, "aliases expand to more than 10000 nodes");
    dt_str_release(&s);
}

/* A long text that is named 9,000 times: few nodes, but gigabytes where they are printed. */
static void test_alias_of_a_long_text(void **state) {
    (void)state;
    dt_str s = {0};
    dt_str_puts(&s, "a: &a ");
    for (int i = 0; i < 900000; i++) dt_str_putc(&s, 'x');
    dt_str_puts(&s, "\nb: [");
    for (int i = 0; i < 9000; i++) dt_str_puts(&s, "*a,");
    dt_str_puts(&s, "]\n");
    check_hostile("long alias", s.data, s.size, "aliases expand to more than 4 MiB of text");
    dt_str_release(&s);
}

/* Y15: 1,400 levels of indentation are all that fit into 1 MiB. */
static void test_deep_indentation(void **state) {
    (void)state;
    dt_str s = {0};
    for (int i = 0; i < 1400; i++) {
        dt_str_pad(&s, s.size, i);
        dt_str_puts(&s, "a:\n");
    }
    check_hostile("Y15", s.data, s.size, "job.yaml:65:65: error: nesting deeper than 64 levels");
    dt_str_release(&s);
}

/* Ten thousand faults behind a million line ends: each error shows its line. */
static void test_many_faults_far_down(void **state) {
    (void)state;
    dt_str s = {0};
    for (int i = 0; i < 800000; i++) dt_str_putc(&s, '\n');
    dt_str_puts(&s, "model:\n  layers:\n");
    for (int i = 0; i < 9000; i++) dt_str_printf(&s, "   - no%d\n", i);
    check_hostile("far down", s.data, s.size, "is missing");
    dt_str_release(&s);
}

static void test_memory_stayed_small(void **state) {
    (void)state;
    struct rusage usage;
    if (SANITIZED) skip(); /* freed memory is kept to find its users */
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    assert_true(usage.ru_maxrss < 256 * 1024);
}

static void test_a_job_takes_less_than_a_millisecond(void **state) {
    (void)state;
    double best = 1;
    for (int i = 0; i < 20; i++) {
        dt_source source = source_of(sample_text);
        dt_arena *arena = dt_arena_create();
        struct job job = {0};
        int64_t start = dt_now_ns();
        assert_null(read_job(arena, &source, &job));
        double seconds = dt_seconds_since(start);
        best = seconds < best ? seconds : best;
        dt_arena_destroy(arena);
    }
    print_message("a job of %zu bytes: %.0f us\n", strlen(sample_text), best * 1e6);
    assert_true(best < (SANITIZED ? 0.01 : 0.001));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_texts_are_answered_in_time),
        cmocka_unit_test(test_alias_bomb),
        cmocka_unit_test(test_alias_of_a_long_text),
        cmocka_unit_test(test_deep_indentation),
        cmocka_unit_test(test_many_faults_far_down),
        cmocka_unit_test(test_memory_stayed_small),
        cmocka_unit_test(test_a_job_takes_less_than_a_millisecond),
    };
    return cmocka_run_group_tests_name("conf/hostile", tests, NULL, NULL);
}

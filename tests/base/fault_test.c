/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of the system that a commit makes is made to fail, one after the other, in every way:
 * the file must then be the old one or the new one, whole, and an error must have been reported
 * unless it is the new one.
 *
 * The writing code is compiled into this program once more, with its faults; the library's own copy
 * has none.
 */
#define DT_FAULTS
#define _GNU_SOURCE /* file_write.c calls renameat2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/wait.h>

#include "base/fault.c"
#include "base/file_write.c"

#define DIR_ "build/tmp/base-fault"
#define PATH DIR_ "/x"

enum { SIZE = 5000, MOST_CALLS = 40 };

static void fill(char *bytes, char c) { memset(bytes, c, SIZE); }

static void assert_ok(dt_status *s) {
    if (s) dt_report(s);
    assert_null(s);
}

/* The child's exit code: 0 if the commit said that it is done, -1 if the child was killed. */
static int commit_in_child(const char *fault, char c) {
    char bytes[SIZE];
    fill(bytes, c);
    pid_t child = fork();
    if (child == 0) {
        setenv("DTRAIN_FAULT_WRITE", fault, 1);
        dt_status *s = dt_file_commit(PATH, bytes, sizeof bytes);
        int code = dt_status_code(s);
        dt_status_free(s);
        _exit(code);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The character that the whole file consists of; fails if there is more than one, or a byte too
 * few. */
static char content(void) {
    dt_str s = {0};
    char expected[SIZE];
    assert_ok(dt_file_read(PATH, 1 << 20, &s));
    assert_int_equal(s.size, SIZE);
    fill(expected, s.data[0]);
    assert_memory_equal(s.data, expected, SIZE);
    char c = s.data[0];
    dt_str_release(&s);
    return c;
}

static void begin(void) {
    char bytes[SIZE];
    fill(bytes, 'o');
    assert_ok(dt_dir_make(DIR_));
    assert_ok(dt_file_commit(PATH, bytes, SIZE));
}

/* Fails call after call until a run has fewer than that; the number of calls met. */
static int fail_each_call(const char *how, bool persistent, int code) {
    for (int call = 1; call < MOST_CALLS; call++) {
        char fault[32];
        snprintf(fault, sizeof fault, "%d%s:%s", call, persistent ? "+" : "", how);
        begin();
        int got = commit_in_child(fault, 'n');
        if (got == 0) {
            assert_int_equal(content(), 'n');
            return call - 1;
        }
        assert_int_equal(got, code);
        assert_true(content() == 'o' || content() == 'n');
        if (code > 0) /* reported, so there was time to clean up */
            assert_int_equal(access(PATH ".tmp", F_OK), -1);
    }
    fail_msg("a commit makes more than %d calls", MOST_CALLS);
    return 0;
}

static void test_every_failing_call_leaves_the_old_file_or_the_new(void **state) {
    (void)state;
    static const char *const errors[] = {"ENOSPC", "EIO", "EDQUOT"};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        for (int persistent = 0; persistent < 2; persistent++)
            /* open, write, fsync, close, rename, and the directory's fsync */
            assert_int_equal(fail_each_call(errors[i], persistent, 74), 6);
}

static void test_death_at_every_call_leaves_the_old_file_or_the_new(void **state) {
    (void)state;
    assert_int_equal(fail_each_call("KILL", false, -1), 6);
}

static void test_interrupted_and_short_writes_are_continued(void **state) {
    (void)state;
    begin();
    assert_int_equal(commit_in_child("1+:SHORT", 'n'), 0);
    assert_int_equal(content(), 'n');
    for (int call = 1; call <= 6; call++) {
        char fault[32];
        snprintf(fault, sizeof fault, "%d:EINTR", call);
        begin();
        assert_int_equal(commit_in_child(fault, 'n'), 0);
        assert_int_equal(content(), 'n');
    }
}

/* The dead leave a file under the temporary name, which the next commit empties first: one call
 * more. */
static void test_leftovers_are_overwritten(void **state) {
    (void)state;
    begin();
    assert_int_equal(commit_in_child("4:KILL", 'd'), -1);
    assert_int_equal(access(PATH ".tmp", F_OK), 0);
    assert_int_equal(commit_in_child("2:EIO", 'n'), 74);
    assert_int_equal(content(), 'o');
    assert_int_equal(commit_in_child("100:EIO", 'n'), 0);
    assert_int_equal(content(), 'n');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_failing_call_leaves_the_old_file_or_the_new),
        cmocka_unit_test(test_death_at_every_call_leaves_the_old_file_or_the_new),
        cmocka_unit_test(test_interrupted_and_short_writes_are_continued),
        cmocka_unit_test(test_leftovers_are_overwritten),
    };
    return cmocka_run_group_tests_name("base/fault", tests, NULL, NULL);
}

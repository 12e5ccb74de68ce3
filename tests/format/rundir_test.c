/* SPDX-License-Identifier: Apache-2.0 */
/* The run directory: one job at a time, and what would stop a checkpoint is found before the first
 * step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "kit.h"

#define DIR_ "build/tmp/format-rundir"
#define RUN DIR_ "/run"

enum { RACERS = 20, HELD_BYTES = 512 << 20 };

static int set_up(void **state) {
    (void)state;
    umask(022);
    fresh(DIR_);
    return 0;
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static dt_status *open_and_close(const char *path, int64_t checkpoint_bytes) {
    dt_run_dir r;
    dt_status *s = dt_run_dir_open(&r, path, checkpoint_bytes);
    dt_run_dir_close(&r);
    return s;
}

/* ---- what is there afterwards ---- */

static void test_directories_are_made_and_nothing_else_is_left(void **state) {
    (void)state;
    dt_run_dir r;
    umask(0); /* F29 */
    assert_ok(dt_run_dir_open(&r, DIR_ "/a/b/run", 1000));
    assert_string_equal(r.path, DIR_ "/a/b/run");
    assert_int_equal(mode_of(r.path), 0755);
    assert_int_equal(mode_of(DIR_ "/a/b/run/ckpt"), 0755);
    assert_int_equal(mode_of(DIR_ "/a/b/run/.lock"), 0644);
    assert_int_equal(system("test \"$(ls -A " DIR_ "/a/b/run " DIR_
                            "/a/b/run/ckpt | tr '\\n' ' ')\" = "
                            "'" DIR_ "/a/b/run: .lock ckpt  " DIR_ "/a/b/run/ckpt: '"),
                     0);
    dt_run_dir_close(&r);
    dt_run_dir_close(&r); /* takes a closed one */
    dt_run_dir zero = {0};
    dt_run_dir_close(&zero);
    assert_true(fcntl(0, F_GETFD) >= 0); /* and leaves descriptor 0 alone */
    assert_ok(open_and_close(DIR_ "/a/b/run", 1000));
}

static void test_the_text_names_the_holder(void **state) {
    (void)state;
    dt_run_dir r;
    dt_str text = {0};
    char host[256] = "", start[64];
    assert_ok(dt_run_dir_open(&r, RUN, 0));
    assert_ok(dt_file_read(RUN "/.lock", 1000, &text));
    gethostname(host, sizeof host - 1);
    snprintf(start, sizeof start, "pid %d on ", (int)getpid());
    assert_true(strncmp(text.data, start, strlen(start)) == 0);
    assert_true(strncmp(text.data + strlen(start), host, strlen(host)) == 0);
    assert_non_null(strstr(text.data, "\nboot "));
    dt_str_release(&text);
    dt_run_dir_close(&r);
}

/* ---- refusals ---- */

static void test_places_that_cannot_be_written_are_refused(void **state) {
    (void)state;
    assert_ok(dt_dir_make(RUN));
    write_file(DIR_ "/file", "", 0);
    write_file(RUN "/ckpt", "", 0);
    assert_int_equal(mkdir(DIR_ "/link", 0755), 0);
    assert_int_equal(symlink("/tmp", DIR_ "/link/ckpt"), 0);
    assert_int_equal(mkdir(DIR_ "/locklink", 0755), 0);
    assert_int_equal(symlink("/etc/passwd", DIR_ "/locklink/.lock"), 0);
    char longer[400];
    snprintf(longer, sizeof longer, DIR_ "/%0300d", 0);
    const struct {
        const char *path, *text;
    } rows[] = {
        {"/proc/nope/ckpt", "/proc/nope"},                 /* F05 */
        {DIR_ "/file", "exists and is not a directory"},   /* F06 */
        {RUN, RUN "/ckpt: exists and is not a directory"}, /* F06 */
        {DIR_ "/link", "ckpt: is a symbolic link"},        /* F16 */
        {DIR_ "/locklink", ".lock: is a symbolic link"},   /* F16 */
        {longer, "file name too long"},                    /* K27 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_status *s = open_and_close(rows[i].path, 1000);
        assert_int_equal(dt_status_code(s), 73);
        assert_fails(s, (dt_error)dt_status_number(s), rows[i].text);
    }
}

static void test_world_writable_needs_the_sticky_bit(void **state) {
    (void)state;
    assert_ok(open_and_close(RUN, 1000));
    assert_int_equal(chmod(RUN, 0777), 0);
    dt_status *s = open_and_close(RUN, 1000);
    assert_int_equal(dt_status_code(s), 77);
    assert_fails(s, DT_E_PERMISSION, RUN ": is world-writable without the sticky bit");
    assert_int_equal(chmod(RUN, 01777), 0);
    assert_ok(open_and_close(RUN, 1000));
    assert_int_equal(chmod(RUN "/ckpt", 0777), 0);
    assert_fails(open_and_close(RUN, 1000), DT_E_PERMISSION, RUN "/ckpt: is world-writable");
}

static void test_too_little_space_is_found_first(void **state) {
    (void)state;
    dt_status *s = open_and_close(RUN, INT64_MAX);
    assert_int_equal(dt_status_code(s), 74);
    assert_fails(s, DT_E_IO, "two checkpoints need");
    assert_fails(open_and_close(RUN, INT64_MAX / 4), DT_E_IO, RUN "/ckpt: ");
    assert_ok(open_and_close(RUN, 1000)); /* the lock was given back */
}

/* F26: the probe is larger than the limit. */
static void test_a_limit_on_file_sizes_is_found_first(void **state) {
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit small = {1024, 1024};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        dt_status *s = open_and_close(RUN, 1000);
        _exit(s && strstr(dt_status_text(s), "probe.tmp: file too large") ? dt_status_code(s) : 1);
    }
    assert_int_equal(wait_for(child), 74);
    assert_false(is_there(RUN "/ckpt/probe.tmp"));
}

/* ---- the lock ---- */

/* A child that holds the directory, and `bytes` of memory, until it is killed; returns when it has
 * both. */
static pid_t hold_with_memory(size_t bytes) {
    int ends[2];
    char ready = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dt_run_dir r;
        ready = dt_run_dir_open(&r, RUN, 1000) ? 'n' : 'y';
        void *memory = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)
                             : NULL;
        ready = memory == MAP_FAILED ? 'n' : ready;
        if (write(ends[1], &ready, 1) == 1) pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], &ready, 1), 1);
    assert_int_equal(ready, 'y');
    close(ends[0]);
    close(ends[1]);
    return child;
}

static pid_t hold_in_child(void) { return hold_with_memory(0); }

static void end_child(pid_t child) {
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(wait_for(child), -1);
}

static void test_a_second_job_is_refused_within_a_second(void **state) {
    (void)state;
    char text[400], host[256] = "";
    pid_t child = hold_in_child();
    int64_t start = dt_now_ns();
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, RUN ": in use by pid %d on %s since 2", (int)child, host);
    dt_status *s = open_and_close(RUN, 1000);
    assert_int_equal(dt_status_code(s), 73);
    assert_fails(s, DT_E_IN_USE, text);
    assert_true(dt_seconds_since(start) < 1);
    end_child(child);
}

static void test_the_lock_of_a_killed_job_is_free(void **state) {
    (void)state;
    dt_run_dir r;
    for (int i = 0; i < 3; i++) end_child(hold_in_child());
    assert_ok(dt_run_dir_open(&r, RUN, 1000));
    assert_fails(open_and_close(RUN, 1000), DT_E_IN_USE, "in use by pid"); /* by ourselves */
    dt_run_dir_close(&r);
}

/* A supervisor that starts the next run at once need not wait for the kernel to free the memory of
 * the last. */
static void test_the_lock_of_a_job_that_is_ending_is_waited_for(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        pid_t child = hold_with_memory(HELD_BYTES);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_ok(open_and_close(RUN, 1000));
        assert_int_equal(wait_for(child), -1);
    }
}

/* Whatever the text says: the lock decides. */
static void test_texts_that_name_nobody_are_survived(void **state) {
    (void)state;
    static const char *const texts[] = {"", "pid", "pid -5 on x since y\nboot z\n", "\x1b[2J\n\n",
                                        "pid 1 on"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fresh(RUN);
        write_file(RUN "/.lock", texts[i], strlen(texts[i]));
        pid_t child = hold_in_child();
        write_file(RUN "/.lock", texts[i], strlen(texts[i]));
        int64_t start = dt_now_ns(); /* a holder that is ending would be waited for, ten seconds */
        assert_fails(open_and_close(RUN, 1000), DT_E_IN_USE, RUN ": in use by ");
        assert_true(dt_seconds_since(start) < 5);
        end_child(child);
    }
}

/* A racer waits for the start, tries, and tells: "won" and its pid, or the message. The winner
 * holds on until `stop` closes. */
static _Noreturn void race(int go, int tell, int stop) {
    dt_run_dir r;
    char c, text[256] = "";
    if (read(go, &c, 1) != 0) _exit(1);
    dt_status *s = dt_run_dir_open(&r, RUN, 1000);
    snprintf(text, sizeof text - 1, "%s %d", s ? dt_status_text(s) : "won", s ? 0 : (int)getpid());
    if (write(tell, text, sizeof text) != sizeof text) _exit(1);
    if (!s && read(stop, &c, 1) != 0) _exit(1);
    _exit(dt_status_code(s));
}

static void start_racers(pid_t child[RACERS], int go[2], int tell[2], int stop[2]) {
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(tell), 0);
    assert_int_equal(pipe(stop), 0);
    for (int i = 0; i < RACERS; i++)
        if ((child[i] = fork()) == 0) {
            close(go[1]);
            close(stop[1]);
            race(go[0], tell[1], stop[0]);
        }
    close(go[0]);
    close(go[1]); /* all read the end of it at once */
    close(tell[1]);
    close(stop[0]);
}

/* Over the text of a killed holder, which must not be named. */
static void test_of_racing_starts_exactly_one_wins(void **state) {
    (void)state;
    pid_t child[RACERS];
    char text[RACERS][256], winner[32] = "";
    int go[2], tell[2], stop[2], losers = 0;
    end_child(hold_in_child());
    start_racers(child, go, tell, stop);
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(read(tell[0], text[i], sizeof text[i]), sizeof text[i]);
        if (strncmp(text[i], "won ", 4) == 0) {
            assert_string_equal(winner, "");
            snprintf(winner, sizeof winner, "pid %d on", atoi(text[i] + 4));
        }
    }
    close(stop[1]);
    for (int i = 0; i < RACERS; i++) {
        int code = wait_for(child[i]);
        assert_true(code == 0 || code == 73);
        losers += code == 73;
        assert_true(strncmp(text[i], "won ", 4) == 0 || strstr(text[i], winner));
    }
    assert_int_equal(losers, RACERS - 1);
    close(tell[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_directories_are_made_and_nothing_else_is_left, set_up),
        cmocka_unit_test_setup(test_the_text_names_the_holder, set_up),
        cmocka_unit_test_setup(test_places_that_cannot_be_written_are_refused, set_up),
        cmocka_unit_test_setup(test_world_writable_needs_the_sticky_bit, set_up),
        cmocka_unit_test_setup(test_too_little_space_is_found_first, set_up),
        cmocka_unit_test_setup(test_a_limit_on_file_sizes_is_found_first, set_up),
        cmocka_unit_test_setup(test_a_second_job_is_refused_within_a_second, set_up),
        cmocka_unit_test_setup(test_the_lock_of_a_killed_job_is_free, set_up),
        cmocka_unit_test_setup(test_the_lock_of_a_job_that_is_ending_is_waited_for, set_up),
        cmocka_unit_test_setup(test_texts_that_name_nobody_are_survived, set_up),
        cmocka_unit_test_setup(test_of_racing_starts_exactly_one_wins, set_up),
    };
    return cmocka_run_group_tests_name("format/rundir", tests, NULL, NULL);
}

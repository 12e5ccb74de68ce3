/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk and the power. Each call of the system that a save makes is made to fail in every way,
 * or is the last one before the program dies: then the newest checkpoint is the old one or the new
 * one, whole, and never the old one if the save said that it is done.
 *
 * The writing code is compiled into this program once more, with its faults; the library's own copy
 * has none.
 */
#define _GNU_SOURCE
#define DT_FAULTS
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <time.h>

#include "base/fault.c"
#include "base/file_write.c"
#include "kit.h"

#define DIR_ "build/tmp/format-checkpoint-fault"
#define RUN DIR_ "/run"

enum { MOST_CALLS = 100, OLD = 10, NEW = 20 };

static int set_up(void **state) {
    (void)state;
    unsetenv("DTRAIN_FAULT_WRITE");
    fresh(DIR_);
    return 0;
}

/* What a save may meet: how many checkpoints it keeps, and whether one of its step is there. */
typedef struct scene {
    const char *name;
    int keep;
    bool replaces, leftover;
} scene;

static const scene scenes[] = {
    {"beside the old one", 3, false, false},
    {"instead of the old one", 1, false, false},
    {"in the place of one of the same step", 3, true, false},
    {"over the remains of a killed save", 3, false, true},
};

/* One checkpoint of step OLD, and what the scene wants besides. */
static void begin(const scene *s) {
    dt_run_dir r;
    unsetenv("DTRAIN_FAULT_WRITE");
    fresh(RUN);
    assert_ok(dt_run_dir_open(&r, RUN, 1000));
    assert_ok(toy_save(&r, OLD, 3));
    if (s->replaces) assert_ok(toy_save(&r, NEW, 3));
    if (s->leftover) {
        assert_ok(dt_dir_make(RUN "/ckpt/step-00000020.tmp"));
        write_file(RUN "/ckpt/step-00000020.tmp/state.json", "{", 1);
    }
    dt_run_dir_close(&r);
}

/* A run as fit makes it, in a child: 0 if all was said to be done, else the exit code; -1 if it was
 * killed. */
static int save_in_child(const char *fault, int keep) {
    pid_t child = fork();
    if (child == 0) {
        dt_run_dir r;
        setenv("DTRAIN_FAULT_WRITE", fault, 1);
        dt_status *s = dt_run_dir_open(&r, RUN, 1000);
        if (!s) s = dt_checkpoints_clean(&r, false, NULL);
        if (!s) s = toy_save(&r, NEW, keep);
        int code = dt_status_code(s);
        dt_status_free(s);
        _exit(code);
    }
    return wait_for(child);
}

/* Whatever happened, the next run finds a whole checkpoint, saves, and leaves nothing behind. */
static void assert_recovers(const char *fault, bool was_done) {
    int warnings;
    int64_t step = newest_step(RUN, &warnings);
    if ((step != OLD && step != NEW) || (was_done && step != NEW) || warnings > 0)
        fail_msg("after %s: step %d, %d warnings", fault, (int)step, warnings);
    assert_int_equal(save_in_child("1000:EIO", 1), 0);
    assert_int_equal(newest_step(RUN, &warnings), NEW);
    assert_int_equal(warnings, 0);
    assert_int_equal(system("test \"$(ls -A " RUN "/ckpt)\" = step-00000020"), 0);
}

/* One run in which call number `call` fails. 0 or the run's exit code, which is `code` or the test
 * fails. */
static int fail_call(const scene *at, const char *how, int call, int code) {
    char fault[32];
    snprintf(fault, sizeof fault, "%d%s", call, how);
    begin(at);
    int got = save_in_child(fault, at->keep);
    if (got != 0 && got != code) fail_msg("%s, %s: exit code %d", at->name, fault, got);
    assert_recovers(fault, got == 0);
    return got;
}

/* How many calls a run makes in the scene: the first that does not kill it comes behind the
 * last. */
static int kill_each_call(const scene *at) {
    int call = 1;
    while (fail_call(at, ":KILL", call, -1) != 0)
        if (++call > MOST_CALLS) fail_msg("a run makes more than %d calls", MOST_CALLS);
    return call - 1;
}

static void test_death_at_every_call_loses_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        assert_true(kill_each_call(&scenes[i]) > 25);
}

/* A call that need not succeed, such as making a directory that is there, may fail without a
 * word. */
static void test_every_failing_call_loses_nothing(void **state) {
    (void)state;
    static const char *const ways[] = {":ENOSPC", ":EIO", ":EDQUOT", "+:EIO"};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        int calls = kill_each_call(&scenes[i]), quiet = 0;
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (int call = 1; call <= calls; call++)
                quiet += fail_call(&scenes[i], ways[w], call, 74) == 0;
        assert_true(quiet <= 3 * (int)(sizeof ways / sizeof *ways));
    }
}

static void test_interrupted_and_short_writes_are_continued(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        int calls = kill_each_call(&scenes[i]);
        assert_int_equal(fail_call(&scenes[i], "+:SHORT", 1, 0), 0);
        for (int call = 1; call <= calls; call++)
            assert_int_equal(fail_call(&scenes[i], ":EINTR", call, 0), 0);
    }
}

/* Runs that say they are done although one of their calls failed so. */
static int count_quiet(const scene *at, const char *how, int calls) {
    int quiet = 0;
    for (int call = 1; call <= calls; call++) {
        char fault[32];
        snprintf(fault, sizeof fault, "%d%s", call, how);
        begin(at);
        int got = save_in_child(fault, at->keep);
        assert_true(got == 0 || got == 73 || got == 74);
        assert_recovers(fault, got == 0);
        quiet += got == 0;
    }
    return quiet;
}

/* EINVAL is what file systems say that cannot let two names change places, or sync a directory: the
 * save goes another way, or without. */
static void test_replacing_works_where_names_cannot_change_places(void **state) {
    (void)state;
    const scene *at = &scenes[2];
    assert_true(at->replaces);
    int calls = kill_each_call(at);
    assert_true(count_quiet(at, ":EINVAL", calls) > count_quiet(at, ":EIO", calls));
}

/* ---- killed from outside ---- */

/* Saves step after step and tells each that is done. */
static _Noreturn void save_forever(int tell, int64_t step) {
    dt_run_dir r;
    dt_status *s = dt_run_dir_open(&r, RUN, 1000);
    if (!s) s = dt_checkpoints_clean(&r, false, NULL);
    for (; !s; step++) {
        s = toy_save(&r, step, 2);
        if (!s && write(tell, &step, sizeof step) != sizeof step) break;
    }
    _exit(dt_report(s));
}

/* The last step that the child told of, or `before`. */
static int64_t last_told(int fd, int64_t before) {
    int64_t step;
    while (read(fd, &step, sizeof step) == sizeof step) before = step;
    return before;
}

static void test_kills_at_random_moments_lose_at_most_the_save_at_hand(void **state) {
    (void)state;
    uint64_t seed = (uint64_t)dt_now_ns();
    dt_random random = dt_random_stream(seed, "kill", 0);
    int64_t step = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    /* a busy machine may save nothing in 20 naps */
    for (int kill_number = 0; kill_number < 20 || (step == 0 && kill_number < 1000);
         kill_number++) {
        int ends[2], warnings;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) save_forever(ends[1], step + 1);
        close(ends[1]);
        const struct timespec nap = {.tv_nsec = (long)dt_random_below(&random, 40000000)};
        nanosleep(&nap, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(wait_for(child), -1);
        int64_t told = last_told(ends[0], step), found = newest_step(RUN, &warnings);
        close(ends[0]);
        assert_int_equal(warnings, 0);
        assert_in_range(found == -1 ? 0 : found, told, told + 1);
        step = found > 0 ? found : 0;
    }
    assert_true(step > 0);
}

/* ---- real disks ---- */

/* In a mount namespace of its own, with a small file system on RUN: its exit code, 1 where that is
 * not allowed. */
static int run_on_a_small_disk(const char *options, unsigned long flags, int64_t checkpoint_bytes,
                               char *text, size_t size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_ok(dt_dir_make(RUN));
    pid_t child = fork();
    if (child == 0) {
        dt_run_dir r = {0};
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("small", RUN, "tmpfs", flags, options) != 0)
            _exit(1);
        dt_status *s = dt_run_dir_open(&r, RUN, checkpoint_bytes);
        for (int64_t step = 1; !s && step < 100; step++) s = toy_save(&r, step, 100);
        if (!s || write(ends[1], dt_status_text(s), strlen(dt_status_text(s))) < 0) _exit(2);
        _exit(r.path && newest_step(RUN, NULL) < 1 ? 3 : dt_status_code(s));
    }
    close(ends[1]);
    ssize_t n = read(ends[0], text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    return wait_for(child);
}

static void test_a_full_disk_and_a_read_only_one_are_named(void **state) {
    (void)state;
    char text[500];
    int code = run_on_a_small_disk("size=128k", 0, 1000, text, sizeof text);
    if (code == 1) {
        print_message("no mount namespaces here\n");
        skip();
    }
    assert_int_equal(code, 74);
    assert_non_null(strstr(text, "no space left on device"));
    /* at the preflight */
    assert_int_equal(run_on_a_small_disk("size=128k", 0, 65000, text, sizeof text), 74);
    assert_non_null(strstr(text, "ckpt: 124.0 KiB free, two checkpoints need 127.0 KiB"));
    assert_int_equal(run_on_a_small_disk("size=128k", MS_RDONLY, 1000, text, sizeof text), 73);
    assert_non_null(strstr(text, "read-only file system"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_death_at_every_call_loses_nothing, set_up),
        cmocka_unit_test_setup(test_every_failing_call_loses_nothing, set_up),
        cmocka_unit_test_setup(test_interrupted_and_short_writes_are_continued, set_up),
        cmocka_unit_test_setup(test_replacing_works_where_names_cannot_change_places, set_up),
        cmocka_unit_test_setup(test_kills_at_random_moments_lose_at_most_the_save_at_hand, set_up),
        cmocka_unit_test_setup(test_a_full_disk_and_a_read_only_one_are_named, set_up),
    };
    return cmocka_run_group_tests_name("format/checkpoint_fault", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Files: what is read and refused, what is written, and that nothing follows links or leaves pieces
 * behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

#define DIR_ "build/tmp/base-file"

static void assert_ok(dt_status *s) {
    if (s) dt_report(s);
    assert_null(s);
}

static void assert_fails(dt_status *s, dt_error id, const char *text) {
    assert_int_equal(dt_status_number(s), id);
    assert_string_equal(dt_status_text(s), text);
    dt_status_free(s);
}

static void assert_holds(const char *path, const char *expected) {
    dt_str s = {0};
    assert_ok(dt_file_read(path, 1 << 20, &s));
    assert_string_equal(dt_str_text(&s), expected);
    dt_str_release(&s);
}

static int set_up(void **state) {
    (void)state;
    assert_ok(dt_dir_make(DIR_));
    return system("rm -rf " DIR_ "/*") == 0 ? 0 : -1;
}

static void test_only_regular_files_are_read(void **state) {
    (void)state;
    dt_str s = {0};
    assert_int_equal(mkfifo(DIR_ "/fifo", 0600), 0); /* without a writer: must not be waited for */
    assert_fails(dt_file_read(DIR_ "/fifo", 100, &s), DT_E_NOT_REGULAR,
                 DIR_ "/fifo: not a regular file");
    assert_fails(dt_file_read(DIR_, 100, &s), DT_E_NOT_REGULAR, DIR_ ": is a directory");
    assert_fails(dt_file_read("/dev/zero", 100, &s), DT_E_NOT_REGULAR,
                 "/dev/zero: not a regular file");
    assert_fails(dt_file_read(DIR_ "/none", 100, &s), DT_E_NO_INPUT,
                 DIR_ "/none: no such file or directory");
    assert_fails(dt_file_read(DIR_ "/fifo/x", 100, &s), DT_E_NO_INPUT,
                 DIR_ "/fifo/x: not a directory");
    dt_str_release(&s);
}

static void test_reading_stops_at_the_limit(void **state) {
    (void)state;
    enum { N = 200000 };
    char *bytes = malloc(N);
    memset(bytes, 'x', N);
    bytes[5] = '\0';
    assert_ok(dt_file_commit(DIR_ "/x", bytes, N));
    dt_str s = {0};
    assert_ok(dt_file_read(DIR_ "/x", N, &s));
    assert_int_equal(s.size, N);
    assert_memory_equal(s.data, bytes, N);
    assert_fails(dt_file_read(DIR_ "/x", N - 1, &s), DT_E_TOO_LARGE,
                 DIR_ "/x: larger than the limit of 195.3 KiB");
    /* fstat says 0 here: only reading shows that there is more than the limit. */
    assert_fails(dt_file_read("/proc/self/status", 10, &s), DT_E_TOO_LARGE,
                 "/proc/self/status: larger than the limit of 10 B");
    dt_str_release(&s);
    free(bytes);
}

static void test_pread_wants_all_bytes(void **state) {
    (void)state;
    assert_ok(dt_file_commit(DIR_ "/x", "0123456789", 10));
    int fd;
    int64_t size;
    char buffer[8] = "";
    assert_ok(dt_file_open(DIR_ "/x", &fd, &size));
    assert_int_equal(size, 10);
    assert_ok(dt_file_pread(fd, DIR_ "/x", buffer, 4, 6));
    assert_string_equal(buffer, "6789");
    assert_fails(dt_file_pread(fd, DIR_ "/x", buffer, 4, 7), DT_E_FILE_CHANGED,
                 DIR_ "/x: ends at byte 10, 1 bytes short: changed while in use");
    close(fd);
}

static void test_commit_replaces_and_leaves_nothing_else(void **state) {
    (void)state;
    struct stat st;
    umask(0);
    assert_ok(dt_file_commit(DIR_ "/x", "old", 3));
    assert_ok(dt_file_commit(DIR_ "/x", "newer", 5));
    umask(022);
    assert_holds(DIR_ "/x", "newer");
    assert_int_equal(stat(DIR_ "/x", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    assert_int_equal(access(DIR_ "/x.tmp", F_OK), -1);
    assert_ok(dt_file_commit(DIR_ "/empty", "", 0));
    assert_holds(DIR_ "/empty", "");
    assert_fails(dt_file_commit(DIR_ "/none/x", "x", 1), DT_E_CANT_CREATE,
                 DIR_ "/none/x.tmp: no such file or directory");
}

/* A rename over a device would take its name away. */
static void test_commit_leaves_what_is_no_file(void **state) {
    (void)state;
    assert_int_equal(mkfifo(DIR_ "/fifo", 0600), 0);
    assert_fails(dt_file_commit(DIR_ "/fifo", "x", 1), DT_E_CANT_CREATE,
                 DIR_ "/fifo: exists and is not a regular file");
    assert_fails(dt_file_commit(DIR_, "x", 1), DT_E_CANT_CREATE,
                 DIR_ ": exists and is not a regular file");
    assert_int_equal(access(DIR_ ".tmp", F_OK), -1);
    assert_fails(dt_file_commit("", "x", 1), DT_E_CANT_CREATE,
                 "the name of the output file is empty");
    struct stat st;
    assert_int_equal(lstat(DIR_ "/fifo", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(unlink(DIR_ "/fifo"), 0);
}

static void test_output_follows_no_links(void **state) {
    (void)state;
    dt_writer w;
    assert_ok(dt_file_commit(DIR_ "/secret", "secret", 6));
    assert_int_equal(symlink("secret", DIR_ "/link"), 0);
    assert_int_equal(symlink("secret", DIR_ "/x.tmp"), 0);
    assert_int_equal(mkfifo(DIR_ "/fifo", 0600), 0);
    assert_fails(dt_writer_open(&w, DIR_ "/link"), DT_E_CANT_CREATE,
                 DIR_ "/link: is a symbolic link; output is not written through links");
    assert_fails(dt_writer_append(&w, DIR_ "/link"), DT_E_CANT_CREATE,
                 DIR_ "/link: is a symbolic link; output is not written through links");
    assert_fails(dt_file_commit(DIR_ "/x", "x", 1), DT_E_CANT_CREATE,
                 DIR_ "/x.tmp: is a symbolic link; output is not written through links");
    assert_fails(dt_writer_open(&w, DIR_ "/fifo"), DT_E_CANT_CREATE,
                 DIR_ "/fifo: exists and is not a regular file");
    assert_fails(dt_writer_open(&w, DIR_), DT_E_CANT_CREATE, DIR_ ": is a directory");
    dt_writer_abandon(&w);                           /* takes one that did not open */
    assert_ok(dt_file_commit(DIR_ "/link", "x", 1)); /* replaces the link, not what it points to */
    assert_holds(DIR_ "/secret", "secret");
}

/* What users name: a link is followed to its end, there or not. */
static void test_targets_follow_links(void **state) {
    (void)state;
    static const struct {
        const char *link, *to, *target;
    } rows[] = {
        {"plain", NULL, DIR_ "/plain"},
        {"a", "plain", DIR_ "/plain"},
        {"b", "a", DIR_ "/plain"},
        {"hanging", "sub/new", DIR_ "/sub/new"},
        {"over", "hanging", DIR_ "/sub/new"},
        {"up", "../file/plain", DIR_ "/../file/plain"},
        {"away", "/nowhere/x", "/nowhere/x"},
    };
    static const char *const bad[] = {DIR_ "/round",  DIR_ "/there", DIR_ "/pipe",
                                      DIR_ "/folder", DIR_ "/null",  ""};
    char path[128], *target;
    assert_int_equal(symlink("there", DIR_ "/round") | symlink("round", DIR_ "/there") |
                         mkfifo(DIR_ "/fifo", 0600),
                     0);
    assert_int_equal(symlink("fifo", DIR_ "/pipe") | symlink(".", DIR_ "/folder") |
                         symlink("/dev/null", DIR_ "/null"),
                     0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(path, sizeof path, DIR_ "/%s", rows[i].link);
        assert_int_equal(rows[i].to ? symlink(rows[i].to, path) : 0, 0);
        assert_ok(dt_file_target(path, &target));
        assert_string_equal(target, rows[i].target);
        free(target);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_status *s = dt_file_target(bad[i], &target);
        assert_int_equal(dt_status_number(s), DT_E_CANT_CREATE);
        assert_null(target);
        dt_status_free(s);
    }
    assert_ok(dt_file_output(DIR_ "/b", "through", 7));
    assert_holds(DIR_ "/plain", "through");
    assert_int_equal(readlink(DIR_ "/b", path, sizeof path), 1);
}

static void test_writer_truncates_appends_and_abandons(void **state) {
    (void)state;
    dt_writer w;
    assert_ok(dt_writer_open(&w, DIR_ "/x"));
    assert_ok(dt_writer_put(&w, "one\n", 4));
    assert_ok(dt_writer_put(&w, NULL, 0));
    assert_ok(dt_writer_sync(&w));
    assert_ok(dt_writer_close(&w));
    dt_writer_abandon(&w); /* closed: the file stays */
    assert_ok(dt_writer_append(&w, DIR_ "/x"));
    assert_ok(dt_writer_put(&w, "two\n", 4));
    dt_writer_abandon(&w); /* appended: it was not made here */
    assert_holds(DIR_ "/x", "one\ntwo\n");
    assert_ok(dt_writer_open(&w, DIR_ "/x"));
    assert_ok(dt_writer_put(&w, "3", 1));
    assert_ok(dt_writer_close(&w));
    assert_holds(DIR_ "/x", "3");
    assert_ok(dt_writer_open(&w, DIR_ "/x"));
    dt_writer_abandon(&w);
    assert_int_equal(access(DIR_ "/x", F_OK), -1);
}

/* The limit of file sizes makes the write short first, and then fail: the system's own fault
 * injection. */
static void test_full_disk_is_an_io_error(void **state) {
    (void)state;
    assert_ok(dt_file_commit(DIR_ "/x", "old", 3));
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
        char bytes[3000] = "";
        dt_status *s = dt_file_commit(DIR_ "/x", bytes, sizeof bytes);
        bool right = s && strcmp(dt_status_text(s), DIR_ "/x.tmp: file too large") == 0;
        int code = dt_status_code(s);
        dt_status_free(s);
        _exit(right ? code : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 74);
    assert_holds(DIR_ "/x", "old");
    assert_int_equal(access(DIR_ "/x.tmp", F_OK), -1);
}

static void test_directories(void **state) {
    (void)state;
    struct stat st;
    umask(0);
    assert_ok(dt_dir_make(DIR_ "/a/b/c/"));
    assert_ok(dt_dir_make(DIR_ "/a/b/c"));
    umask(022);
    assert_int_equal(stat(DIR_ "/a/b", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
    assert_ok(dt_file_commit(DIR_ "/a/b/c/x", "x", 1));
    assert_ok(dt_file_commit(DIR_ "/a/b/c/y", "y", 1));
    assert_fails(dt_dir_make(DIR_ "/a/b/c/x"), DT_E_CANT_CREATE,
                 DIR_ "/a/b/c/x: exists and is not a directory");
    assert_fails(dt_dir_make(DIR_ "/a/b/c/x/y"), DT_E_CANT_CREATE,
                 DIR_ "/a/b/c/x/y: not a directory");
    assert_ok(dt_dir_sync(DIR_ "/a"));
    assert_ok(dt_dir_sync("")); /* the working directory, as dt_path_dir writes it */
    assert_ok(dt_rename(DIR_ "/a/b/c", DIR_ "/a/d"));
    assert_holds(DIR_ "/a/d/x", "x");
    assert_ok(dt_dir_remove(DIR_ "/a/d"));
    assert_int_equal(access(DIR_ "/a/d", F_OK), -1);
    assert_ok(dt_dir_remove(DIR_ "/a/d"));
    assert_fails(dt_dir_sync(DIR_ "/a/d"), DT_E_NO_INPUT, DIR_ "/a/d: no such file or directory");
}

static void test_remove_neither_descends_nor_follows(void **state) {
    (void)state;
    assert_ok(dt_dir_make(DIR_ "/outer/inner"));
    assert_ok(dt_file_commit(DIR_ "/outer/inner/x", "x", 1));
    dt_status *s = dt_dir_remove(DIR_ "/outer");
    assert_non_null(s);
    dt_status_free(s);
    assert_int_equal(symlink("inner", DIR_ "/outer/link"), 0);
    s = dt_dir_remove(DIR_ "/outer/link");
    assert_non_null(s);
    dt_status_free(s);
    assert_holds(DIR_ "/outer/inner/x", "x");
}

static void test_unreadable_places_are_permission_errors(void **state) {
    (void)state;
    if (geteuid() == 0) {
        print_message("root may read everything: skipped\n");
        skip();
    }
    dt_str s = {0};
    assert_ok(dt_file_commit(DIR_ "/x", "x", 1));
    assert_int_equal(chmod(DIR_ "/x", 0), 0);
    assert_fails(dt_file_read(DIR_ "/x", 10, &s), DT_E_PERMISSION, DIR_ "/x: permission denied");
    dt_str_release(&s);
}

static void test_paths(void **state) {
    (void)state;
    const struct {
        const char *dir, *name, *expected;
    } joins[] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"},
                 {NULL, "b", "b"},  {"a", "/b", "/b"},  {"/", "b", "/b"}};
    const struct {
        const char *path, *expected;
    } dirs[] = {{"a/b/c", "a/b"}, {"c", ""},     {"/c", "/"}, {"/", "/"},
                {"a/b/", "a"},    {"a//b", "a"}, {"", ""},    {"./x", "."}};
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
        char *path = dt_path_join(joins[i].dir, joins[i].name);
        assert_string_equal(path, joins[i].expected);
        free(path);
    }
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char *dir = dt_path_dir(dirs[i].path);
        assert_string_equal(dir, dirs[i].expected);
        free(dir);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_only_regular_files_are_read, set_up),
        cmocka_unit_test_setup(test_reading_stops_at_the_limit, set_up),
        cmocka_unit_test_setup(test_pread_wants_all_bytes, set_up),
        cmocka_unit_test_setup(test_commit_replaces_and_leaves_nothing_else, set_up),
        cmocka_unit_test_setup(test_commit_leaves_what_is_no_file, set_up),
        cmocka_unit_test_setup(test_output_follows_no_links, set_up),
        cmocka_unit_test_setup(test_targets_follow_links, set_up),
        cmocka_unit_test_setup(test_writer_truncates_appends_and_abandons, set_up),
        cmocka_unit_test_setup(test_full_disk_is_an_io_error, set_up),
        cmocka_unit_test_setup(test_directories, set_up),
        cmocka_unit_test_setup(test_remove_neither_descends_nor_follows, set_up),
        cmocka_unit_test_setup(test_unreadable_places_are_permission_errors, set_up),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests_name("base/file", tests, NULL, NULL);
}

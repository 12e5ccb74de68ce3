/* SPDX-License-Identifier: Apache-2.0 */
/* Job files as files: what is there, what is not, and standard input. */
#include "sample_job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define FOLDER "build/tmp/conf-read"

static int make_folder(void **state) {
    (void)state;
    return dt_dir_make(FOLDER) != NULL;
}

static void write_file(const char *path, const char *text, size_t size) {
    assert_null(dt_file_commit(path, text, size));
}

static void check_read(const char *path, const expected *fault, const char *file) {
    dt_arena *arena = dt_arena_create();
    const dt_source *source;
    dt_tree *tree;
    dt_status *s = dt_tree_read(arena, path, &source, &tree);
    check_fault(s, fault);
    assert_null(tree);
    if (file) assert_string_equal(dt_status_file(s), file);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_file_is_read(void **state) {
    (void)state;
    const char *path = FOLDER "/sample.yaml";
    write_file(path, sample_text, strlen(sample_text));
    dt_arena *arena = dt_arena_create();
    const dt_source *source;
    dt_tree *tree;
    assert_null(dt_tree_read(arena, path, &source, &tree));
    assert_string_equal(source->name, path);
    assert_int_equal(source->size, strlen(sample_text));
    assert_ptr_equal(tree->at.source, source);
    assert_string_equal(dt_tree_get(tree, "name")->text, "mnist");
    dt_arena_destroy(arena);
}

static void test_what_is_no_file(void **state) {
    (void)state;
    unlink(FOLDER "/fifo");
    assert_int_equal(mkfifo(FOLDER "/fifo", 0600), 0);
    check_read(FOLDER "/none.yaml",
               &(expected){"missing", DT_E_NO_INPUT, 0, 0,
                           FOLDER "/none.yaml: no such file or directory", NULL},
               NULL);
    check_read(FOLDER,
               &(expected){"folder", DT_E_NOT_REGULAR, 0, 0, FOLDER ": is a directory",
                           "expected a job file, such as job.yaml"},
               NULL);
    check_read(FOLDER "/fifo",
               &(expected){"pipe", DT_E_NOT_REGULAR, 0, 0, FOLDER "/fifo: not a regular file",
                           "expected a job file, such as job.yaml"},
               NULL);
    check_read("/dev/zero",
               &(expected){"device", DT_E_NOT_REGULAR, 0, 0, "/dev/zero: not a regular file",
                           "expected a job file, such as job.yaml"},
               NULL);
}

static void test_what_is_no_job(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
        expected fault;
    } cases[] = {
        {FOLDER "/y01.yaml", "", {"Y01", DT_E_EMPTY_JOB, 1, 1, "the job is empty", NULL}},
        {FOLDER "/y09.yaml",
         "# a list\n- a: 1\n- b: 2\n",
         {"Y09", DT_E_WRONG_TYPE, 2, 1, "expected a mapping at the top, got a list", NULL}},
        {FOLDER "/y10.yaml",
         "hello\n",
         {"Y10", DT_E_WRONG_TYPE, 1, 1, "expected a mapping at the top, got a string", NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(cases[i].name, cases[i].text, strlen(cases[i].text));
        check_read(cases[i].name, &cases[i].fault, cases[i].name);
    }
}

/* Y16: refused by its size, without being read. */
static void test_large_files(void **state) {
    (void)state;
    const char *path = FOLDER "/y16.yaml";
    write_file(path, "a: 1\n", 5);
    assert_int_equal(truncate(path, 64 << 20), 0);
    check_read(
        path,
        &(expected){"Y16", DT_E_JOB_LIMIT, 1, 1, "64.0 MiB; a job may not exceed 1 MiB", NULL},
        path);
    assert_int_equal(truncate(path, (1 << 20) + 1), 0);
    check_read(path,
               &(expected){"one byte more", DT_E_JOB_LIMIT, 1, 1,
                           "more than 1 MiB; a job may not exceed 1 MiB", NULL},
               path);
    assert_int_equal(truncate(path, 1 << 20), 0);
    check_read(path,
               &(expected){"zeros that fit", DT_E_JOB_BYTES, 2, 1, "control character 0x00", NULL},
               path);
    unlink(path);
}

/* Runs dt_tree_read("-") with a file as standard input. */
static dt_status *read_stdin_from(dt_arena *arena, const char *path, const dt_source **source,
                                  dt_tree **tree) {
    int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
    assert_true(saved >= 0 && fd >= 0);
    dup2(fd, STDIN_FILENO);
    close(fd);
    dt_status *s = dt_tree_read(arena, "-", source, tree);
    dup2(saved, STDIN_FILENO);
    close(saved);
    return s;
}

static void test_standard_input(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    const dt_source *source;
    dt_tree *tree;
    write_file(FOLDER "/stdin.yaml", "a: 1\na: 2\n", 10);
    dt_status *s = read_stdin_from(arena, FOLDER "/stdin.yaml", &source, &tree);
    check_fault(s, &(expected){"place", DT_E_DUPLICATE_KEY, 2, 1,
                               "duplicate key 'a', first given at line 1", NULL});
    assert_string_equal(dt_status_file(s), "<stdin>");
    assert_non_null(tree);
    dt_status_free(s);

    s = read_stdin_from(arena, "/dev/zero", &source, &tree);
    check_fault(s, &(expected){"without end", DT_E_JOB_LIMIT, 1, 1,
                               "more than 1 MiB; a job may not exceed 1 MiB", NULL});
    assert_null(tree);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_is_read),   cmocka_unit_test(test_what_is_no_file),
        cmocka_unit_test(test_what_is_no_job), cmocka_unit_test(test_large_files),
        cmocka_unit_test(test_standard_input),
    };
    return cmocka_run_group_tests_name("conf/read", tests, make_folder, NULL);
}

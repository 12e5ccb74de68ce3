/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All fuzz targets over what was found so far: every file of the archive
 * tests/fuzz/corpus/NAME.tar.gz (unpacked into build/corpus/NAME) and of the folder
 * tests/fuzz/corpus/NAME goes through target NAME once. No libFuzzer is needed for that. Words name
 * targets; none: all. With the word --starved each file goes through once more for every allocation
 * whose size comes from it (dt_try_alloc), which fails: asked is an error, or the end with exit
 * code 71.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "file/records.h"
#include "fuzz.h"

#define FUZZ_ROW(name, files) int fuzz_##name(const uint8_t *data, size_t size);
#include "targets.h"
#undef FUZZ_ROW

typedef struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} target;

static const target targets[] = {
#define FUZZ_ROW(name, files) {#name, fuzz_##name},
#include "targets.h"
};
enum { TARGETS = sizeof targets / sizeof *targets };

/* A second on a machine that is not busy with anything else, with room for sanitizers and others'
 * work. */
static const double most_seconds = 30;

/* ---- allocations that fail ---- */

/* The linker puts these in the place of the library's own (Makefile). */
void *__real_dt_try_alloc(size_t n);
void *__real_dt_try_alloc_dense(size_t n);
void *__wrap_dt_try_alloc(size_t n);
void *__wrap_dt_try_alloc_dense(size_t n);

/* allocations so far; the number of the one that fails, 0: none */
static atomic_int asked, failing;

static bool fails(void) { return atomic_fetch_add(&asked, 1) + 1 == failing; }

void *__wrap_dt_try_alloc(size_t n) { return fails() ? NULL : __real_dt_try_alloc(n); }

void *__wrap_dt_try_alloc_dense(size_t n) { return fails() ? NULL : __real_dt_try_alloc_dense(n); }

/* ---- files ---- */

static void run_file(const target *t, const char *path) {
    dt_str bytes = {0};
    dt_status *s = dt_file_read(path, 1 << 20, &bytes);
    if (s) fail_msg("%s", dt_status_text(s));
    /* Of its exact size, so that reading past it is found. */
    uint8_t *exact = malloc(bytes.size ? bytes.size : 1);
    assert_non_null(exact);
    memcpy(exact, dt_str_text(&bytes), bytes.size);
    const int64_t began = dt_now_ns();
    t->run(exact, bytes.size);
    double took = dt_seconds_since(began);
    if (took > most_seconds) fail_msg("%s took %.1f s", path, took);
    free(exact);
    dt_str_release(&bytes);
}

/* ---- without memory ---- */

enum { MOST_STARVED = 16, NO_MEMORY = 71 };

/* How far it has come: the allocation that fails, of which file. Seen by the process that goes on
 * when one has ended for want of memory. */
typedef struct progress {
    int file, number;
} progress;

static void starve_on(const target *t, const dt_paths *paths, progress *at) {
    for (; at->file < paths->n; at->file++, at->number = 1)
        for (bool more = true; more; at->number++) {
            asked = 0;
            failing = at->number;
            run_file(t, paths->v[at->file]);
            more = asked >= failing && failing < MOST_STARVED;
        }
}

static void starve(const target *t, const dt_paths *paths) {
    progress *at =
        mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status, code = NO_MEMORY;
    assert_true(at != MAP_FAILED);
    for (at->number = 1; code == NO_MEMORY; at->number++) {
        pid_t child = fork();
        if (child == 0) {
            starve_on(t, paths, at);
            exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (code != 0 && code != NO_MEMORY)
            fail_msg("%s: exit %d where allocation %d fails", paths->v[at->file], code, at->number);
    }
    munmap(at, sizeof *at);
}

/* ---- the tests ---- */

static bool starved;

static void test_target(void **state) {
    const target *t = *state;
    static const char *const corpora[] = {"build/corpus", "tests/fuzz/corpus"};
    dt_paths paths = {0};
    for (int i = 0; i < 2; i++) {
        char folder[128];
        snprintf(folder, sizeof folder, "%s/%s", corpora[i], t->name);
        /* a target may have either, or both */
        dt_status *s = access(folder, F_OK) == 0 ? dt_paths_list(&paths, folder) : NULL;
        if (s) fail_msg("%s", dt_status_text(s));
    }
    assert_true(paths.n > 0);
    for (int i = 0; i < paths.n; i++) run_file(t, paths.v[i]);
    if (starved) starve(t, &paths);
    dt_paths_release(&paths);
}

static bool is_option(const char *word) { return strcmp(word, "--starved") == 0; }

static bool is_wanted(const char *name, int n, char **words) {
    bool all = true;
    for (int i = 1; i < n; i++) {
        if (strcmp(words[i], name) == 0) return true;
        all &= is_option(words[i]);
    }
    return all;
}

int main(int n, char **words) {
    struct CMUnitTest tests[TARGETS];
    size_t chosen = 0;
    for (int i = 1; i < n; i++) starved |= is_option(words[i]);
    for (size_t i = 0; i < TARGETS; i++)
        if (is_wanted(targets[i].name, n, words))
            tests[chosen++] = (struct CMUnitTest){targets[i].name, test_target, NULL, NULL,
                                                  (void *)(uintptr_t)&targets[i]};
    return _cmocka_run_group_tests("fuzz", tests, chosen, NULL, NULL);
}

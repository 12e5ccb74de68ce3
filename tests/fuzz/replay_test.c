/*
 * All fuzz targets over what was found so far: every file of tests/fuzz/corpus/NAME goes through target NAME once. No libFuzzer is needed for that.
 * Words name targets; none: all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "data/record/record.h"
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

/* A second on a machine that is not busy with anything else, with room for sanitizers and others' work. */
static const double most_seconds = 30;

static void run_file(const target *t, const char *path)
{
    dt_str bytes = {0};
    dt_status *s = dt_file_read(path, 1 << 20, &bytes);
    if (s)
        fail_msg("%s", dt_status_text(s));
    /* Of its exact size, so that reading past it is found. */
    uint8_t *exact = malloc(bytes.size ? bytes.size : 1);
    assert_non_null(exact);
    memcpy(exact, dt_str_text(&bytes), bytes.size);
    const int64_t began = dt_now_ns();
    t->run(exact, bytes.size);
    double took = dt_seconds_since(began);
    if (took > most_seconds)
        fail_msg("%s took %.1f s", path, took);
    free(exact);
    dt_str_release(&bytes);
}

static void test_target(void **state)
{
    const target *t = *state;
    dt_paths paths = {0};
    char folder[128];
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", t->name);
    dt_status *s = dt_paths_list(&paths, folder);
    if (s)
        fail_msg("%s", dt_status_text(s));
    assert_true(paths.n > 0);
    for (int i = 0; i < paths.n; i++)
        run_file(t, paths.v[i]);
    dt_paths_release(&paths);
}

static bool is_wanted(const char *name, int n, char **words)
{
    for (int i = 1; i < n; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return n == 1;
}

int main(int n, char **words)
{
    struct CMUnitTest tests[TARGETS];
    size_t chosen = 0;
    for (size_t i = 0; i < TARGETS; i++)
        if (is_wanted(targets[i].name, n, words))
            tests[chosen++] = (struct CMUnitTest){targets[i].name, test_target, NULL, NULL, (void *)(uintptr_t)&targets[i]};
    return _cmocka_run_group_tests("fuzz", tests, chosen, NULL, NULL);
}

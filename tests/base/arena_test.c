/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas, checked sizes, and the end of a program that finds no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"

/* Under AddressSanitizer a refused allocation shall return NULL too, as it does without. */
DT_API const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
DT_API const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static void test_pieces_are_zeroed_aligned_and_apart(void **state) {
    (void)state;
    enum { N = 3000 };
    static unsigned char *piece[N];
    static size_t size[N];
    dt_arena *a = dt_arena_create();
    for (int i = 0; i < N; i++) {
        /* some larger than a block, some of no size */
        size[i] = i % 100 == 99 ? 70000 : (size_t)(i * 7 % 301);
        piece[i] = dt_arena_alloc(a, size[i]);
        assert_int_equal((uintptr_t)piece[i] % alignof(max_align_t), 0);
        for (size_t k = 0; k < size[i]; k++) assert_int_equal(piece[i][k], 0);
        memset(piece[i], i % 255 + 1, size[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k++) assert_int_equal(piece[i][k], i % 255 + 1);
    dt_arena_destroy(a);
    dt_arena_destroy(NULL);
}

static void test_copies(void **state) {
    (void)state;
    dt_arena *a = dt_arena_create();
    assert_string_equal(dt_arena_strdup(a, "word"), "word");
    assert_string_equal(dt_arena_printf(a, "%s/%d", "dense", 1), "dense/1");
    assert_string_equal(dt_arena_printf(a, "%s", ""), "");
    assert_memory_equal(dt_arena_copy(a, "a\0b", 3), "a\0b", 3);
    assert_non_null(dt_arena_copy(a, NULL, 0));
    double *numbers = dt_arena_array(a, double, 3);
    assert_true(numbers[2] == 0);
    dt_arena_destroy(a);
}

static void test_sizes_that_do_not_fit_are_refused(void **state) {
    (void)state;
    const struct {
        int64_t a, b;
        bool mul, add;
    } cases[] = {
        {3, 4, true, true},
        {0, INT64_MAX, true, true},
        {1, INT64_MAX, true, false},
        {2, INT64_MAX / 2 + 1, false, true},
        {INT64_C(1) << 32, INT64_C(1) << 31, false, true},
        {-1, 4, false, false},
        {4, -1, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t out = -7;
        assert_int_equal(dt_mul_fits(cases[i].a, cases[i].b, &out), cases[i].mul);
        if (cases[i].mul) assert_int_equal(out, cases[i].a * cases[i].b);
        assert_int_equal(dt_add_fits(cases[i].a, cases[i].b, &out), cases[i].add);
        if (cases[i].add) assert_int_equal(out, cases[i].a + cases[i].b);
    }
    assert_null(dt_try_alloc(SIZE_MAX));
    assert_null(dt_try_alloc(SIZE_MAX / 2));
}

static void test_try_alloc_is_aligned(void **state) {
    (void)state;
    for (size_t n = 0; n < 200; n += 13) {
        char *p = dt_try_alloc(n);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, n);
        free(p);
    }
}

static void test_grow_keeps_what_is_there(void **state) {
    (void)state;
    int *items = NULL, cap = 0;
    for (int n = 1; n <= 1000; n++) {
        DT_GROW(items, cap, n);
        assert_true(cap >= n);
        items[n - 1] = n;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(items[i], i + 1);
    int before = cap;
    DT_GROW(items, cap, 5);
    assert_int_equal(cap, before);
    free(items);
}

static void want_too_much(void) {
    volatile size_t much = SIZE_MAX / 4;
    free(dt_alloc(much));
}

static void multiply_too_much(void) { dt_size_mul(SIZE_MAX / 2, 3); }

static void want_too_much_of_an_arena(void) { dt_arena_alloc(dt_arena_create(), SIZE_MAX - 3); }

/* Runs `doomed` in a child; its exit code, with what it wrote to stderr in text. */
static int run_child(void (*doomed)(void), char *text, size_t size) {
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        doomed();
        _exit(0);
    }
    close(ends[1]);
    size_t n = 0;
    for (ssize_t got; n < size - 1 && (got = read(ends[0], text + n, size - 1 - n)) > 0;
         n += (size_t)got) {}
    text[n] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_no_memory_ends_with_71_and_a_word(void **state) {
    (void)state;
    void (*const doomed[])(void) = {want_too_much, multiply_too_much, want_too_much_of_an_arena};
    for (size_t i = 0; i < sizeof doomed / sizeof *doomed; i++) {
        char text[4096];
        assert_int_equal(run_child(doomed[i], text, sizeof text), 71);
        assert_non_null(strstr(text, "dtrain: error: out of memory [DT115]\n"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(test_try_alloc_is_aligned),
        cmocka_unit_test(test_grow_keeps_what_is_there),
        cmocka_unit_test(test_no_memory_ends_with_71_and_a_word),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random damage to a valid job: bytes changed, cut out, doubled, swapped with pieces that mean
 * something to YAML. Whatever comes out, reading it gives a tree or an error with a text and a
 * place inside the file; under sanitizers it shows that nothing is read beyond its end.
 * MUTATION_SEED repeats a run, MUTATIONS sets its length.
 */
#include "sample_job.h"

#include <time.h>

#include "base/random.h"

enum { LONGEST = 2048 };

typedef struct text {
    char *bytes; /* LONGEST at most */
    size_t size;
} text;

static const char extra[] = "anchors: &a {x: [1, 2], y: 'z'}\naliases: [*a, *a]\ntext: |\n  one\n  "
                            "two\nreal: 1e-4\nodd: \"\\x41\\u00e9\"\n";

static const char *const pieces[] = {
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    ": ",
    "- ",
    "\n",
    "\r\n",
    "\t",
    "#",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "|\n",
    ">",
    "? ",
    "%TAG ",
    "---\n",
    "...\n",
    "~",
    "010",
    "1e999",
    ".nan",
    "-1",
    "99999999999999999999",
    "\xef\xbb\xbf",
    "\xc3",
    "\xff",
    "\x01",
    "\xe2\x80\xa8",
    "\\x00",
    "  ",
    "a: 1\n",
    ",",
    "=",
};

static size_t below(dt_random *r, size_t n) { return (size_t)dt_random_below(r, n); }

static void cut(text *t, size_t at, size_t n) {
    n = n < t->size - at ? n : t->size - at;
    memmove(t->bytes + at, t->bytes + at + n, t->size - at - n);
    t->size -= n;
}

static void insert(text *t, size_t at, const char *bytes, size_t n) {
    if (n > LONGEST - t->size) return;
    memmove(t->bytes + at + n, t->bytes + at, t->size - at);
    memcpy(t->bytes + at, bytes, n);
    t->size += n;
}

static void repeat(text *t, dt_random *r, size_t at) {
    char copy[64];
    size_t n = 1 + below(r, sizeof copy);
    n = n < t->size - at ? n : t->size - at;
    memcpy(copy, t->bytes + at, n);
    insert(t, below(r, t->size + 1), copy, n);
}

static void mutate(text *t, dt_random *r) {
    if (t->size == 0) return;
    size_t at = below(r, t->size);
    const char *piece = pieces[below(r, sizeof pieces / sizeof *pieces)];
    switch (below(r, 6)) {
    case 0: t->bytes[at] = (char)dt_random_u32(r); break;
    case 1: t->bytes[at] ^= (char)(1 << below(r, 8)); break;
    case 2: cut(t, at, 1 + below(r, 40)); break;
    case 3: insert(t, at, piece, strlen(piece)); break;
    case 4: repeat(t, r, at); break;
    default: cut(t, at, strlen(piece)); insert(t, at, piece, strlen(piece));
    }
}

static int lines_of(const text *t) {
    int n = 1;
    for (size_t i = 0; i < t->size; i++) n += t->bytes[i] == '\n';
    return n;
}

static void check_fault_is_sensible(const dt_status *s, const text *t) {
    const char *message = dt_status_text(s);
    assert_int_equal(dt_status_code(s), 78);
    assert_true(strlen(message) > 0);
    assert_true(dt_status_line(s) >= 0 && dt_status_line(s) <= lines_of(t));
    assert_true(dt_status_column(s) >= 0 && dt_status_column(s) <= (int)t->size + 1);
    for (const char *p = message; *p; p++) assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
}

/* The text goes into a block of its exact size, so that a byte read behind it is seen. */
static bool check_text(const text *t) {
    char *exact = malloc(t->size ? t->size : 1);
    assert_non_null(exact);
    memcpy(exact, t->bytes, t->size);
    dt_source source = {"job.yaml", exact, t->size};
    dt_arena *arena = dt_arena_create();
    struct job job = {0};
    dt_tree *tree;
    dt_status *s = dt_tree_parse(arena, &source, &tree);
    assert_true(s || tree);
    if (tree) {
        dt_str printed = {0};
        dt_tree_print(tree, &printed);
        assert_true(printed.size > 0);
        dt_str_release(&printed);
        dt_status_append(&s, read_tree(arena, tree, &job));
    }
    bool good = !s;
    for (const dt_status *one = s; one; one = dt_status_next(one)) check_fault_is_sensible(one, t);
    char *format = dt_status_format(s);
    assert_non_null(format);
    free(format);
    dt_status_free(s);
    dt_arena_destroy(arena);
    free(exact);
    return good;
}

static unsigned long long number_from(const char *variable, unsigned long long otherwise) {
    const char *value = getenv(variable);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

static void test_damaged_jobs_give_a_tree_or_an_error(void **state) {
    (void)state;
    uint64_t seed = number_from("MUTATION_SEED", (uint64_t)time(NULL));
    int runs = (int)number_from("MUTATIONS", 20000), good = 0;
    print_message("MUTATION_SEED=%llu\n", (unsigned long long)seed);
    char bytes[LONGEST];
    for (int run = 0; run < runs; run++) {
        dt_random r = dt_random_stream(seed, "mutation", (uint64_t)run);
        text t = {bytes, 0};
        insert(&t, 0, sample_text, strlen(sample_text));
        if (run % 2) insert(&t, t.size, extra, strlen(extra));
        for (size_t n = 1 + below(&r, 4); n > 0; n--) mutate(&t, &r);
        good += check_text(&t);
    }
    print_message("%d of %d damaged jobs are still valid\n", good, runs);
    assert_true(good > 0 && good < runs);
}

/* Overrides are texts from outside as well. */
static void test_damaged_overrides_give_a_tree_or_an_error(void **state) {
    (void)state;
    static const char *const assignments[] = {"model.layers.1.Dense.units=64",
                                              "strategy={type: tpu, replicas: 8}", "fit.epochs=3",
                                              "a.b.c=[1, *x]"};
    uint64_t seed = number_from("MUTATION_SEED", (uint64_t)time(NULL));
    print_message("MUTATION_SEED=%llu\n", (unsigned long long)seed);
    int refused = 0;
    for (int run = 0; run < 2000; run++) {
        dt_random r = dt_random_stream(seed, "override", (uint64_t)run);
        char bytes[LONGEST + 1];
        text t = {bytes, 0};
        const char *assignment = assignments[run % 4];
        insert(&t, 0, assignment, strlen(assignment));
        for (size_t n = 1 + below(&r, 3); n > 0; n--) mutate(&t, &r);
        bytes[t.size] = '\0';

        dt_source source = source_of(sample_text);
        dt_arena *arena = dt_arena_create();
        struct job job = {0};
        dt_tree *tree;
        assert_null(dt_tree_parse(arena, &source, &tree));
        dt_status *s = dt_tree_override(arena, tree, 1, bytes);
        refused += s != NULL;
        dt_status_append(&s, read_tree(arena, tree, &job));
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
    assert_true(refused > 0 && refused < 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_jobs_give_a_tree_or_an_error),
        cmocka_unit_test(test_damaged_overrides_give_a_tree_or_an_error),
    };
    return cmocka_run_group_tests_name("conf/mutation", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transformations one by one: small pipelines of integers and what they give, specs, cardinalities,
 * batch sizes, and arguments that cannot be. Elements are read as examples, so that no tensor is
 * needed.
 */
#define HERE "build/tmp/data-pipeline"
#include "files.h"

#include "data/parts.h"
#include "data/pipeline/build.h"

/* All elements as text: "[0 1][2]", scalars bare. */
static void print_array(const dt_tensor *a, dt_str *out) {
    bool scalar = a->type.rank == 0;
    dt_str_puts(out, scalar ? "" : "[");
    for (int64_t i = 0; i < dt_type_elements(&a->type); i++)
        dt_str_printf(out, "%s%lld", i ? " " : "",
                      a->type.dtype == DT_INT64 ? (long long)((const int64_t *)a->data)[i]
                                                : (long long)((const uint8_t *)a->data)[i]);
    dt_str_puts(out, scalar ? " " : "]");
}

static dt_status *elements_from(const dt_dataset *d, uint64_t epoch, int64_t first, dt_str *out) {
    dt_iterator *it;
    dt_example example;
    dt_status *s = dt_iterator_open(&it, d, epoch, first);
    while (!s && !(s = dt_iterator_next_example(it, &example)) && example.n > 0) {
        for (int i = 0; i < example.n; i++) print_array(example.tensor[i], out);
        dt_example_release(&example);
    }
    dt_iterator_close(it);
    return s;
}

static dt_status *elements(const dt_dataset *d, uint64_t epoch, dt_str *out) {
    return elements_from(d, epoch, 0, out);
}

static void gives(const dt_dataset *d, const char *want) {
    dt_str out = {0};
    OK(elements(d, 0, &out));
    assert_string_equal(dt_str_text(&out), want);
    dt_str_release(&out);
}

static dt_dataset *range(int64_t n) {
    dt_dataset *d = NULL;
    OK(dt_dataset_range(&d, 0, n, 1));
    return d;
}

/* One step of a chain: what it is called here, and its number. */
typedef struct part {
    /* b batch, B batch that drops, p padded, u unbatch, r repeat, t take, s skip, h shard of 2,
     * e even, f prefetch, l select of n odd numbers */
    char what;
    int64_t n;
} part;

static dt_status *select_odd(dt_dataset **d, int64_t n) {
    uint32_t *odd = dt_try_alloc((size_t)n * sizeof *odd);
    assert_non_null(odd);
    for (int64_t i = 0; i < n; i++) odd[i] = (uint32_t)(2 * i + 1);
    return dt_dataset_add_select(d, *d, odd, n);
}

static dt_status *apply(dt_dataset **d, part k) {
    switch (k.what) {
    case 'b': return dt_dataset_batch(d, *d, k.n, false);
    case 'B': return dt_dataset_batch(d, *d, k.n, true);
    case 'p': return dt_dataset_padded_batch(d, *d, k.n, false);
    case 'u': return dt_dataset_unbatch(d, *d);
    case 'r': return dt_dataset_repeat(d, *d, k.n);
    case 't': return dt_dataset_take(d, *d, k.n);
    case 's': return dt_dataset_skip(d, *d, k.n);
    case 'h': return dt_dataset_shard(d, *d, 2, k.n);
    case 'e': return dt_dataset_rebatch_even(d, *d, k.n);
    case 'f': return dt_dataset_prefetch(d, *d, k.n);
    case 'l': return select_odd(d, k.n);
    default: return dt_dataset_shuffle(d, *d, k.n, 1, true);
    }
}

typedef struct chain {
    int64_t range;
    part part[4];
    const char *elements;
    int64_t count, batch; /* batch: -9: no rows */
} chain;

static const chain chains[] = {
    {5, {{0, 0}}, "0 1 2 3 4 ", 5, -9},
    {0, {{'b', 2}}, "", 0, 2},
    {5, {{'b', 2}}, "[0 1][2 3][4]", 3, 2},
    {5, {{'B', 2}}, "[0 1][2 3]", 2, 2},
    {5, {{'p', 2}}, "[0 1][2 3][4]", 3, 2},
    {4, {{'b', 2}, {'b', 2}}, "[0 1 2 3]", 1, 2},
    {5, {{'b', 2}, {'u', 0}}, "0 1 2 3 4 ", DT_UNKNOWN_CARDINALITY, -9},
    {6, {{'B', 2}, {'u', 0}}, "0 1 2 3 4 5 ", 6, -9},
    {2, {{'r', 3}}, "0 1 0 1 0 1 ", 6, -9},
    {3, {{'b', 2}, {'r', 2}}, "[0 1][2][0 1][2]", 4, 2},
    {2, {{'r', -1}, {'t', 5}}, "0 1 0 1 0 ", 5, -9},
    {0, {{'r', -1}}, "", 0, -9},
    {2, {{'r', 0}}, "", 0, -9},
    {5, {{'t', -1}}, "0 1 2 3 4 ", 5, -9},
    {5, {{'s', 3}}, "3 4 ", 2, -9},
    {5, {{'s', -1}}, "", 0, -9},
    {5, {{'s', 9}}, "", 0, -9},
    {5, {{'h', 1}}, "1 3 ", 2, -9},
    {5, {{'h', 0}, {'b', 2}, {'f', 4}}, "[0 2][4]", 2, 2},
    {6, {{'b', 6}, {'e', 4}}, "[0 1][2 3][4 5][]", 4, -1},
    {7, {{'b', 4}, {'e', 2}}, "[0 1][2 3][4 5][6]", 4, -1},
    {8, {{'B', 4}, {'e', 2}}, "[0 1][2 3][4 5][6 7]", 4, 2},
    {3, {{'x', 1}}, "0 1 2 ", 3, -9},
    {7, {{'l', 3}}, "1 3 5 ", 3, -9},
    {9, {{'s', 2}, {'l', 3}, {'r', 2}, {'t', 4}}, "3 5 7 3 ", 4, -9},
};

/* Elements of an indexed data set from the last to the first, each by its index, in order of their
 * indices. */
static void gives_by_index(const dt_dataset *d, const char *want) {
    dt_str out = {0}, one = {0};
    dt_example x;
    for (int64_t i = d->length; i-- > 0;) {
        OK(dt_dataset_at(d, i, &x));
        for (int k = 0; k < x.n; k++) print_array(x.tensor[k], &one);
        dt_example_release(&x);
        dt_str_add(&one, dt_str_text(&out), out.size);
        dt_str_clear(&out);
        dt_str_add(&out, dt_str_text(&one), one.size);
        dt_str_clear(&one);
    }
    assert_string_equal(dt_str_text(&out), want);
    OK(dt_dataset_at(d, d->length, &x));
    assert_int_equal(x.n, 0);
    dt_str_release(&out);
    dt_str_release(&one);
}

/* Each chain over a range, which is indexed, and over a shuffle of one element at a time, which is
 * read from front to back. */
static void check_chain(const chain *c, bool in_order) {
    dt_dataset *d = range(c->range);
    int64_t batch = -9;
    if (in_order) OK(dt_dataset_shuffle(&d, d, 1, 1, true));
    for (int k = 0; k < 4 && c->part[k].what; k++) OK(apply(&d, c->part[k]));
    gives(d, c->elements);
    assert_false(in_order && d->indexed);
    if (d->indexed) gives_by_index(d, c->elements);
    assert_int_equal(dt_dataset_cardinality(d), c->count);
    dt_status_free(dt_dataset_static_batch_size(d, &batch));
    assert_int_equal(batch, c->batch);
    dt_dataset_unref(d);
}

static void test_chains_of_transformations(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        check_chain(&chains[i], false);
        check_chain(&chains[i], true);
    }
}

static dt_status *count_calls(const dt_example *example, void *user, dt_example *out) {
    ++*(int *)user;
    *out = dt_example_ref(example);
    return NULL;
}

/* A position far on in batches of a map is opened at once; after a shuffle, all is read before. */
static void test_an_indexed_data_set_is_opened_at_a_position(void **state) {
    (void)state;
    for (int in_order = 0; in_order < 2; in_order++) {
        dt_dataset *d = range(1000);
        dt_str out = {0};
        int calls = 0;
        if (in_order) OK(dt_dataset_shuffle(&d, d, 1, 1, true));
        OK(dt_dataset_build_map(&d, d, &(dt_example_function){.map = count_calls, .user = &calls},
                                dt_spec_copy(&d->spec)));
        OK(dt_dataset_batch(&d, d, 3, false));
        OK(dt_dataset_concatenate(&d, d, d));
        OK(elements_from(d, 0, 666, &out));
        assert_string_equal(dt_str_text(&out), "[996 997 998][999]");
        assert_int_equal(calls, in_order ? 2000 : 4);
        OK(dt_dataset_zip(&d, (const dt_dataset *const[]){d, d}, 2));
        dt_str_clear(&out);
        OK(elements_from(d, 0, 667, &out));
        assert_string_equal(dt_str_text(&out), "[999][999]");
        dt_str_release(&out);
        dt_dataset_unref(d);
    }
}

static void test_ranges_in_both_directions(void **state) {
    dt_dataset *d = NULL;
    (void)state;
    OK(dt_dataset_range(&d, 5, 0, -2));
    gives(d, "5 3 1 ");
    OK(dt_dataset_range(&d, 5, 0, 2));
    gives(d, "");
    OK(dt_dataset_range(&d, INT64_MIN, INT64_MAX, INT64_MAX));
    assert_int_equal(dt_dataset_cardinality(d), 3);
    expect_fault("step 0", dt_dataset_range(&d, 0, 1, 0), DT_E_PIPELINE, 78, "step cannot be 0");
    dt_dataset_unref(d);
}

static void test_rebatch_cuts_across_borders(void **state) {
    dt_dataset *d = range(7);
    (void)state;
    OK(dt_dataset_batch(&d, d, 4, false));
    OK(dt_dataset_rebatch(&d, d, (const int64_t[]){2, 1, 0}, 3, false));
    gives(d, "[0 1][2][][3 4][5][][6]");
    dt_dataset_unref(d);
    d = range(7);
    OK(dt_dataset_batch(&d, d, 4, false));
    expect_fault("zeros", dt_dataset_rebatch(&d, d, (const int64_t[]){0, 0}, 2, false),
                 DT_E_PIPELINE, 78, "all sizes are 0");
    expect_fault("negative", dt_dataset_rebatch(&d, d, (const int64_t[]){-1}, 1, false),
                 DT_E_PIPELINE, 78, "cannot be -1");
    dt_dataset_unref(d);
}

static void test_shuffle_is_a_permutation_by_seed_and_iteration(void **state) {
    dt_dataset *d = range(100), *same = NULL;
    dt_str a = {0}, b = {0}, c = {0};
    (void)state;
    OK(dt_dataset_shuffle(&same, d, 100, 7, false));
    OK(dt_dataset_shuffle(&d, d, 100, 7, true));
    OK(elements(d, 0, &a));
    OK(elements(d, 0, &b));
    OK(elements(d, 1, &c));
    assert_string_equal(a.data, b.data);
    assert_string_not_equal(a.data, c.data);
    dt_str_clear(&b);
    OK(elements(same, 1, &b));
    assert_string_equal(a.data, b.data);
    int seen[100] = {0};
    for (char *p = a.data; *p; p = strchr(p, ' ') + 1) seen[atoi(p)]++;
    for (int i = 0; i < 100; i++) assert_int_equal(seen[i], 1);
    dt_str_release(&a);
    dt_str_release(&b);
    dt_str_release(&c);
    dt_dataset_unref(same);
    dt_dataset_unref(d);
}

/* Five batches of two shuffled numbers: from batch k on there are the last 5 - k. */
static void test_iterators_begin_at_any_element(void **state) {
    (void)state;
    dt_dataset *d = range(10);
    dt_str all = {0}, rest = {0};
    OK(dt_dataset_shuffle(&d, d, 4, 9, true));
    OK(dt_dataset_batch(&d, d, 2, false));
    OK(elements(d, 3, &all));
    for (int64_t first = 0; first < 8; first++) {
        const char *at = all.data;
        for (int64_t k = 0; k < first && *at; k++) at = strchr(at, ']') + 1;
        dt_str_clear(&rest);
        OK(elements_from(d, 3, first, &rest));
        assert_string_equal(dt_str_text(&rest), at);
    }
    assert_int_equal(all.size, 25); /* "[0 1]" five times */
    dt_str_release(&all);
    dt_str_release(&rest);
    dt_dataset_unref(d);
}

static void test_repeat_shuffles_each_pass_anew(void **state) {
    dt_dataset *d = range(50);
    dt_str all = {0};
    (void)state;
    OK(dt_dataset_shuffle(&d, d, 50, 3, true));
    OK(dt_dataset_repeat(&d, d, 2));
    OK(elements(d, 0, &all));
    size_t half = all.size / 2;
    assert_memory_not_equal(all.data, all.data + half, half);
    dt_str_release(&all);
    dt_dataset_unref(d);
}

static void test_two_data_sets_in_turn_and_side_by_side(void **state) {
    dt_dataset *a = range(2), *b = range(3), *d = NULL;
    dt_spec spec;
    (void)state;
    OK(dt_dataset_concatenate(&d, a, b));
    gives(d, "0 1 0 1 2 ");
    OK(dt_dataset_zip(&d, (const dt_dataset *const[]){a, b}, 2));
    gives(d, "0 0 1 1 ");
    assert_true(dt_dataset_element_spec(d, 1, &spec));
    assert_string_equal(spec.name, "1");
    OK(dt_dataset_enumerate(&d, d, 10));
    gives(d, "10 0 0 11 1 1 ");
    assert_true(dt_dataset_element_spec(d, 2, &spec));
    assert_string_equal(spec.name, "1/1");
    expect_fault("components", dt_dataset_concatenate(&d, a, d), DT_E_PIPELINE, 78,
                 "1 and 3 components");
    dt_dataset_unref(a);
    dt_dataset_unref(b);
    dt_dataset_unref(d);
}

static void test_static_sizes_of_joined_pipelines(void **state) {
    dt_dataset *a = range(4), *b = range(4), *d = NULL;
    int64_t size = 0;
    (void)state;
    OK(dt_dataset_batch(&a, a, 2, false));
    OK(dt_dataset_batch(&b, b, 3, false));
    OK(dt_dataset_concatenate(&d, a, a));
    OK(dt_dataset_static_batch_size(d, &size));
    assert_int_equal(size, 2);
    OK(dt_dataset_concatenate(&d, a, b));
    OK(dt_dataset_static_batch_size(d, &size));
    assert_int_equal(size, -1);
    OK(dt_dataset_zip(&d, (const dt_dataset *const[]){a, b}, 2));
    OK(dt_dataset_static_batch_size(d, &size));
    assert_int_equal(size, -1);
    dt_dataset_unref(a);
    dt_dataset_unref(b);
    dt_dataset_unref(d);
}

static void test_arguments_that_cannot_be(void **state) {
    dt_dataset *d = range(4), *out = NULL;
    (void)state;
    expect_fault("NULL", dt_dataset_batch(&out, NULL, 1, false), DT_E_PIPELINE, 78,
                 "batch: no data set given");
    expect_fault("size", dt_dataset_batch(&out, d, 0, false), DT_E_BATCH_SIZE, 78, "got 0");
    expect_fault("unbatch", dt_dataset_unbatch(&out, d), DT_E_NOT_BATCHED, 78,
                 "'value' is a scalar");
    expect_fault("shuffle", dt_dataset_shuffle(&out, d, 0, 0, true), DT_E_PIPELINE, 78, "got 0");
    expect_fault("shards", dt_dataset_shard(&out, d, 0, 0), DT_E_SHARD, 78, "at least 1, got 0");
    expect_fault("index", dt_dataset_shard(&out, d, 5, 5), DT_E_SHARD, 78, "0 to 4, got 5");
    expect_fault("prefetch", dt_dataset_prefetch(&out, d, -2), DT_E_PIPELINE, 78, "got -2");
    expect_fault("zip", dt_dataset_zip(&out, NULL, 2), DT_E_PIPELINE, 78, "no data sets given");
    expect_fault("files", dt_dataset_list_files(&out, NULL, 0), DT_E_PIPELINE, 78, "at least one");
    expect_fault("names", dt_dataset_read_files(&out, d, NULL), DT_E_PIPELINE, 78,
                 "names of files");
    expect_fault("records", dt_dataset_parse_example(&out, d, NULL, 0), DT_E_PIPELINE, 78,
                 "records");
    assert_null(out);
    expect_fault("share", dt_dataset_auto_shard(&out, d, NULL), DT_E_SHARD, 78, "no worker given");
    expect_fault("share", dt_dataset_for_worker(&out, d, &(dt_input_share){0}), DT_E_SHARD, 78,
                 "worker 0 of 0");
    expect_fault("sizes", dt_batch_sizes_for_worker(4, NULL, NULL), DT_E_SHARD, 78,
                 "no worker or no array");
    dt_str none = {0};
    OK(dt_dataset_shard(&out, d, DT_SHARD_HINT, DT_SHARD_HINT));
    expect_fault("hint", elements(out, 0, &none), DT_E_SHARD_HINT, 78, "HINT");
    dt_dataset_unref(out);
    dt_dataset_unref(d);
}

static void test_towers_are_limited(void **state) {
    dt_dataset *d = range(1);
    dt_status *s = NULL;
    (void)state;
    for (int i = 0; i < 2000 && !s; i++) s = dt_dataset_repeat(&d, d, 1);
    expect_fault("deep", s, DT_E_PIPELINE, 78, "nested at most 1000 deep");
    gives(d, "0 ");
    dt_dataset_unref(d);
    d = range(1);
    for (s = NULL; !s;) s = dt_dataset_concatenate(&d, d, d); /* doubles what is walked */
    expect_fault("wide", s, DT_E_PIPELINE, 78, "at most 100000");
    dt_dataset_unref(d);
}

static void test_files_are_read_in_turn_or_interleaved(void **state) {
    dt_dataset *names = NULL, *d = NULL;
    (void)state;
    write_file("a.txt", "a\nb\nc\n", 6);
    write_file("b.txt", "d\n", 2);
    write_file("c.txt", "e\nf", 3);
    OK(dt_dataset_list_files(&names, (const char *const[]){HERE "/?.txt"}, 1));
    assert_int_equal(dt_dataset_cardinality(names), 3);
    OK(dt_dataset_read_files(&d, names, &(dt_file_options){.kind = DT_TEXT_LINES}));
    gives(d, "[97][98][99][100][101][102]");
    OK(dt_dataset_read_files(&d, names,
                             &(dt_file_options){.kind = DT_TEXT_LINES, .cycle_length = 2}));
    /* an ended file leaves its turn to the next, and its place to the third */
    gives(d, "[97][100][98][99][101][102]");
    OK(dt_dataset_read_files(
        &d, names,
        &(dt_file_options){.kind = DT_TEXT_LINES, .cycle_length = 3, .block_length = 2}));
    gives(d, "[97][98][100][101][102][99]");
    dt_dataset_unref(names);
    dt_dataset_unref(d);
}

static void test_sharing_of_files(void **state) {
    const char *const files[] = {HERE "/a.txt", HERE "/b.txt", HERE "/c.txt"};
    dt_dataset *d = NULL, *mine = NULL;
    dt_input_share share = {.workers = 2,
                            .replicas = 1,
                            .worker = 1,
                            .options = {.auto_shard_policy = DT_AUTO_SHARD_AUTO}};
    (void)state;
    OK(dt_dataset_text_lines(&d, files, 3));
    OK(dt_dataset_auto_shard(&mine, d, &share));
    gives(mine, "[100]");
    share.workers = 4;
    OK(dt_dataset_auto_shard(&mine, d, &share)); /* too few files: data */
    gives(mine, "[98][102]");
    share.options.no_fallback = true;
    expect_fault("strict", dt_dataset_auto_shard(&mine, d, &share), DT_E_TOO_FEW_FILES, 78,
                 "3 files cannot be shared by 4 workers");
    share.worker = 4;
    expect_fault("worker", dt_dataset_auto_shard(&mine, d, &share), DT_E_SHARD, 78,
                 "worker 4 of 4");
    dt_dataset_unref(d);
    d = range(3);
    share = (dt_input_share){
        .workers = 2, .replicas = 1, .options = {.auto_shard_policy = DT_AUTO_SHARD_FILE}};
    expect_fault("no files", dt_dataset_auto_shard(&mine, d, &share), DT_E_UNSHARDABLE, 78,
                 "'range' reads no files");
    dt_dataset_unref(d);
    dt_dataset_unref(mine);
}

/* Over all workers each row of the data comes once, and a step's pieces are one global batch, for
 * any division. */
static void test_workers_share_every_row_once(void **state) {
    (void)state;
    for (int64_t size = 0; size < 20; size++)
        for (int w = 1; w <= 3; w++)
            for (int r = 1; r <= 3; r++)
                for (int64_t batch = 1; batch <= 7; batch += 2)
                    for (int even = 0; even < 2; even++) {
                        dt_dataset *d = range(size), *mine = NULL;
                        int seen[20] = {0};
                        OK(dt_dataset_batch(&d, d, batch, false));
                        for (int k = 0; k < w; k++) {
                            dt_str out = {0};
                            OK(dt_dataset_for_worker(
                                &mine, d,
                                &(dt_input_share){w,
                                                  r,
                                                  k,
                                                  {.auto_shard_policy = DT_AUTO_SHARD_DATA,
                                                   .rebatch = (dt_rebatch)even}}));
                            OK(elements(mine, 0, &out));
                            for (const char *p = dt_str_text(&out); (p = strpbrk(p, "0123456789"));
                                 p += strspn(p, "0123456789"))
                                seen[atoi(p)]++;
                            dt_str_release(&out);
                        }
                        for (int64_t i = 0; i < size; i++) assert_int_equal(seen[i], 1);
                        dt_dataset_unref(mine);
                        dt_dataset_unref(d);
                    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains_of_transformations),
        cmocka_unit_test(test_an_indexed_data_set_is_opened_at_a_position),
        cmocka_unit_test(test_ranges_in_both_directions),
        cmocka_unit_test(test_rebatch_cuts_across_borders),
        cmocka_unit_test(test_shuffle_is_a_permutation_by_seed_and_iteration),
        cmocka_unit_test(test_iterators_begin_at_any_element),
        cmocka_unit_test(test_repeat_shuffles_each_pass_anew),
        cmocka_unit_test(test_two_data_sets_in_turn_and_side_by_side),
        cmocka_unit_test(test_static_sizes_of_joined_pipelines),
        cmocka_unit_test(test_arguments_that_cannot_be),
        cmocka_unit_test(test_towers_are_limited),
        cmocka_unit_test(test_files_are_read_in_turn_or_interleaved),
        cmocka_unit_test(test_sharing_of_files),
        cmocka_unit_test(test_workers_share_every_row_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

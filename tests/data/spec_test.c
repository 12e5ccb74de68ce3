/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the `dataset` mapping: defaults, every key, every fault with its place, all in one run,
 * and nothing opened. */
#define HERE "build/tmp/data-spec"
#include "files.h"

#define XY "format: npy\ntrain: {x: x.npy, y: y.npy}\n"

static dt_status *read_spec(dt_arena *arena, const char *text, dt_dataset_spec *out) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_tree *tree;
    *source = (dt_source){.name = "job.yaml", .text = text, .size = strlen(text)};
    DT_TRY(dt_tree_parse(arena, source, &tree));
    return dt_dataset_read(arena, tree, "dir", 7, out);
}

static void test_defaults(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec d;
    OK(read_spec(arena, XY "global_batch_size: 64\n", &d));
    assert_string_equal(d.format->kind.name, "npy");
    assert_string_equal(d.directory, "dir");
    assert_int_equal(d.seed, 7);
    assert_int_equal(d.shuffle_seed, 7);
    assert_int_equal(d.global_batch_size, 64);
    assert_int_equal(d.per_replica_batch_size, 0);
    assert_int_equal(d.last_batch, DT_LAST_PARTIAL);
    assert_false(d.shuffle);
    assert_true(d.reshuffle);
    assert_int_equal(d.take, -1);
    assert_int_equal(d.repeat, 1);
    assert_int_equal(d.prefetch, 0);
    assert_int_equal(d.auto_shard_policy, DT_AUTO_SHARD_AUTO);
    assert_false(dt_validation_splits(&d.split));
    assert_null(d.part[DT_PART_VALIDATION]);
    dt_arena_destroy(arena);
}

static void test_all_keys(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec d;
    OK(read_spec(arena,
                 XY "validation: {y: b.npy, x: a.npy}\ntest: {x: c.npy, y: d.npy}\nmap: {x: [cast: "
                    "float32, rescale: {scale: 2}], y: [one_hot: 10]}\n"
                    "shuffle: {buffer_size: 100, reshuffle_each_iteration: false, seed: "
                    "5}\nper_replica_batch_size: 8\n"
                    "last_batch: drop_remainder\ntake: 1000\nrepeat: 2\ncache: true\nprefetch: "
                    "4\nauto_shard_policy: data\n",
                 &d));
    assert_int_equal(d.global_batch_size, 0);
    assert_int_equal(d.per_replica_batch_size, 8);
    assert_int_equal(d.last_batch, DT_LAST_DROP);
    assert_true(d.shuffle);
    assert_false(d.reshuffle);
    assert_int_equal(d.shuffle_seed, 5);
    assert_int_equal(d.take, 1000);
    assert_int_equal(d.repeat, 2);
    assert_int_equal(d.prefetch, 4);
    assert_int_equal(d.auto_shard_policy, DT_AUTO_SHARD_DATA);
    assert_non_null(d.part[DT_PART_TEST]);
    dt_arena_destroy(arena);
}

static void test_shuffle_true_and_null(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec d;
    OK(read_spec(arena,
                 XY "global_batch_size: 64\nshuffle: true\nvalidation: null\nprefetch: "
                    "auto\ncache: false\nlast_batch: pad\n",
                 &d));
    assert_true(d.shuffle && d.reshuffle);
    assert_null(d.part[DT_PART_VALIDATION]);
    assert_int_equal(d.last_batch, DT_LAST_PAD);
    dt_arena_destroy(arena);
}

typedef struct fault_case {
    const char *job;
    int number, line, column;
    const char *text, *suggestion; /* part of it; NULL: any */
} fault_case;

#define B "global_batch_size: 64\n"
#define SYNTH "format: synthetic\nexamples: 10\nelement: {x: {shape: [4]}, y: {num_classes: 3}}\n"
static const fault_case faults[] = {
    {"format: parqet\ntrain: {x: x.npy}\n" B, DT_E_UNKNOWN_NAME, 1, 9,
     "unknown data format 'parqet'",
     "csv, idx, image_folder, jsonl, libsvm, npy, synthetic, text, text_folder, tfrecord"},
    {"format: nyp\ntrain: {x: x.npy}\n" B, DT_E_UNKNOWN_NAME, 1, 9, "unknown data format 'nyp'",
     "did you mean 'npy'?"},
    {"train: {x: x.npy}\n" B, DT_E_MISSING_KEY, 1, 1, "required key 'format' is missing in dataset",
     NULL},
    {"format: text\ntrain: x.txt\ntokenizer: {type: char, path: t.json}\nelement: {tokens: {shape: "
     "[4]}}\n" B,
     DT_E_DATASET_KEYS, 3, 12, "tokenizer has both 'type: char' and 'path'", "delete one of them"},
    {"format: npy\n" B, DT_E_DATASET_KEYS, 1, 1,
     "dataset lacks 'train': a mapping of elements to files", NULL},
    {"format: npy\ntrain: x.npy\n" B, DT_E_WRONG_TYPE, 2, 8,
     "train: expected a mapping, got 'x.npy'", NULL},
    {"format: npy\ntrain: {}\n" B, DT_E_DATASET_KEYS, 2, 8,
     "'train' must name 1 to 1024 files, got 0", NULL},
    {"format: npy\ntrain: {x: ''}\n" B, DT_E_DATASET_KEYS, 2, 12,
     "'x' must name a file, got an empty string", NULL},
    {"format: npy\ntrain: {x: [a]}\n" B, DT_E_WRONG_TYPE, 2, 12, "x: expected a string, got a list",
     NULL},
    {"format: npy\ntrain: {x: }\n" B, DT_E_DATASET_KEYS, 2, 8,
     "'train' must name 1 to 1024 files, got 0", NULL},
    {XY, DT_E_BATCH_SIZE, 1, 1, "dataset lacks 'global_batch_size'", NULL},
    {XY "batch_size: 64\n", DT_E_UNKNOWN_KEY, 3, 1, "unknown key 'batch_size' in dataset",
     "write global_batch_size (all replicas together"},
    {XY B "per_replica_batch_size: 8\n", DT_E_BATCH_SIZE, 4, 1,
     "give global_batch_size or per_replica_batch_size, not both", NULL},
    {XY "global_batch_size: 0\n", DT_E_RANGE, 3, 20,
     "global_batch_size must be in [1, 16777216], got 0", NULL},
    {XY "global_batch_size: 16777217\n", DT_E_RANGE, 3, 20,
     "global_batch_size must be in [1, 16777216], got 16777217", NULL},
    {XY "per_replica_batch_size: -1\n", DT_E_RANGE, 3, 25, "got -1", NULL},
    {XY B "validation_split: 1\n", DT_E_RANGE, 4, 19, "validation_split", NULL},
    {XY B "validation_split: -0.1\n", DT_E_RANGE, 4, 19, "validation_split", NULL},
    {XY B "validation_split: 0.2\nvalidation: {x: a.npy, y: b.npy}\n", DT_E_DATASET_KEYS, 4, 1,
     "give validation or validation_split, not both", NULL},
    {XY B "validation: {x: a.npy}\n", DT_E_DATASET_KEYS, 4, 13,
     "validation lacks 'y', but train has it", NULL},
    {XY B "validation: {x: a.npy, y: b.npy, z: c.npy}\n", DT_E_DATASET_KEYS, 4, 34,
     "validation has 'z', but train does not", NULL},
    {XY B "test: {x: a.npy}\n", DT_E_DATASET_KEYS, 4, 7, "test lacks 'y', but train has it", NULL},
    {XY B "map: {imag: [cast: float32]}\n", DT_E_DATASET_KEYS, 4, 7,
     "map names 'imag', which is not an element of the data", NULL},
    {XY B "map: {x: [cst: float32]}\n", DT_E_UNKNOWN_NAME, 4, 11, "unknown map step 'cst'",
     "did you mean 'cast'?"},
    {XY B "map: {x: [cast: float99]}\n", DT_E_UNKNOWN_NAME, 4, 17, "float99", NULL},
    {XY B "map: {x: [cast]}\n", DT_E_MISSING_KEY, 4, 11, "required key 'dtype' is missing in cast",
     NULL},
    {XY B "map: {x: [rescale: {scal: 2}]}\n", DT_E_UNKNOWN_KEY, 4, 21,
     "unknown key 'scal' in rescale", "did you mean 'scale'?"},
    {XY B "map: {x: [rescale: 2]}\n", DT_E_WRONG_TYPE, 4, 20, "rescale: expected a mapping, got 2",
     NULL},
    {XY B "map: {x: [one_hot: 0]}\n", DT_E_RANGE, 4, 20,
     "num_classes must be in [1, 16777216], got 0", NULL},
    {XY B "map: {x: cast}\n", DT_E_WRONG_TYPE, 4, 10, "x: expected a list, got 'cast'", NULL},
    {XY B "map: [cast]\n", DT_E_WRONG_TYPE, 4, 6, "map: expected a mapping, got a list", NULL},
    {XY B "shuffle: yes\n", DT_E_WRONG_TYPE, 4, 10, "shuffle: expected true or false", NULL},
    {XY B "shuffle: {buffer_size: 0}\n", DT_E_RANGE, 4, 24, "buffer_size must be", NULL},
    {XY B "shuffle: {bufer_size: 10}\n", DT_E_UNKNOWN_KEY, 4, 11,
     "unknown key 'bufer_size' in shuffle", "did you mean 'buffer_size'?"},
    {XY B "prefetch: 0\n", DT_E_RANGE, 4, 11, "prefetch must be in [1, 1024], got 0", NULL},
    {XY B "prefetch: lots\n", DT_E_WRONG_TYPE, 4, 11, "prefetch: expected an integer, got 'lots'",
     NULL},
    {XY B "cache: /tmp/cache\n", DT_E_DATASET_KEYS, 4, 8, "caching in a file is not supported",
     NULL},
    {XY B "take: 0\n", DT_E_DATASET_KEYS, 4, 1, "take must be at least 1, or -1 for all, got 0",
     NULL},
    {XY B "repeat: 0\n", DT_E_RANGE, 4, 9, "repeat", NULL},
    {XY B "last_batch: drop\n", DT_E_UNKNOWN_NAME, 4, 13, "drop", "drop_remainder"},
    {XY B "auto_shard_policy: files\n", DT_E_UNKNOWN_NAME, 4, 20, "files", "did you mean 'file'?"},
    {XY B "compression: gzip\n", DT_E_UNKNOWN_KEY, 4, 1, "unknown key 'compression' in dataset",
     "gzip is seen by a file's first bytes"},
    {XY B "examples: 10\n", DT_E_UNKNOWN_KEY, 4, 1, "unknown key 'examples' in dataset", NULL},
    {"[1]\n", DT_E_WRONG_TYPE, 1, 1, "dataset: expected a mapping, got a list", NULL},
    {"format: synthetic\nelement: {x: {shape: [4]}}\n" B, DT_E_MISSING_KEY, 1, 1,
     "required key 'examples' is missing in dataset", NULL},
    {"format: synthetic\nexamples: 10\n" B, DT_E_MISSING_KEY, 1, 1,
     "required key 'element' is missing in dataset", NULL},
    {"format: synthetic\nexamples: 10\nelement: {}\n" B, DT_E_DATASET_KEYS, 3, 10,
     "'element' must name at least one element", NULL},
    {"format: synthetic\nexamples: 0\nelement: {x: {shape: [4]}}\n" B, DT_E_RANGE, 2, 11, "got 0",
     NULL},
    {"format: synthetic\nexamples: 10\nelement: {x: {shape: [0]}}\n" B, DT_E_RANGE, 3, 23, "got 0",
     NULL},
    {"format: synthetic\nexamples: 10\nelement: {x: {shape: [1,1,1,1,1,1,1,1]}}\n" B,
     DT_E_DATASET_KEYS, 3, 14, "'x' has 8 dimensions; at most 7", NULL},
    {"format: synthetic\nexamples: 10\nelement: {x: {shape: [1000000, 1000000]}}\n" B,
     DT_E_DATASET_KEYS, 3, 14, "an example may not exceed", NULL},
    {"format: synthetic\nexamples: 10\nelement: {y: {num_classes: 1000, dtype: uint8}}\n" B,
     DT_E_DATASET_KEYS, 3, 14, "'y': 1000 classes do not fit uint8", NULL},
    {"format: synthetic\nexamples: 10\nelement: {y: {num_classes: 10, dtype: float32}}\n" B,
     DT_E_DATASET_KEYS, 3, 14, "'y': 10 classes do not fit float32", NULL},
    {SYNTH B "train: {x: x.npy}\n", DT_E_DATASET_KEYS, 5, 8, "synthetic data has no 'train'", NULL},
    {SYNTH B "validation: {x: x.npy}\n", DT_E_WRONG_TYPE, 5, 13,
     "validation: expected an integer, got a mapping", NULL},
};

static bool is_as_expected(const fault_case *c) {
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec d;
    dt_status *s = read_spec(arena, c->job, &d);
    char *all = dt_status_format(s);
    bool right = s && strstr(dt_status_text(s), c->text) && dt_status_number(s) == c->number &&
                 dt_status_line(s) == c->line && dt_status_column(s) == c->column &&
                 dt_status_count(s) == 1 && dt_status_code(s) == 78 &&
                 (!c->suggestion || strstr(all, c->suggestion));
    if (!right)
        print_error("%sexpected one fault at %d:%d [DT%03d] %s; got\n%s\n", c->job, c->line,
                    c->column, c->number, c->text, all);
    free(all);
    dt_status_free(s);
    dt_arena_destroy(arena);
    return right;
}

static void test_faults(void **state) {
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        wrong += !is_as_expected(&faults[i]);
    assert_int_equal(wrong, 0);
}

static void test_all_faults_in_one_run(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec d;
    dt_status *s = read_spec(arena,
                             "format: npy\ntrain: {x: ''}\nvalidation: {z: a.npy}\nprefetch: "
                             "0\nshuffle: maybe\nmap: {x: [cst]}\nfoo: 1\n",
                             &d);
    /* foo, batch size, shuffle, prefetch, '', z, lacks x, cst */
    assert_int_equal(dt_status_count(s), 8);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_unknown_format_says_nothing_of_its_keys(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec d;
    dt_status *s = read_spec(arena,
                             "format: sinthetic\nexamples: 10\nelement: {x: {shape: [4]}}\nmap: "
                             "{q: [cast: int8]}\nglobal_batch_size: 2\n",
                             &d);
    assert_int_equal(dt_status_count(s), 1);
    assert_int_equal(dt_status_number(s), DT_E_UNKNOWN_NAME);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* A mapping is read without its files; they are missed when the data is opened. */
static void test_files_are_not_opened(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec spec;
    dt_dataset *d = NULL;
    OK(read_spec(arena, XY "global_batch_size: 64\n", &spec));
    dt_status *s = dt_dataset_create(&d, &spec);
    assert_null(d);
    assert_int_equal(dt_status_count(s), 2);
    expect_fault("relative", s, DT_E_NO_INPUT, 66, "dir/x.npy: no such file");
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_all_keys),
        cmocka_unit_test(test_shuffle_true_and_null),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_all_faults_in_one_run),
        cmocka_unit_test(test_unknown_format_says_nothing_of_its_keys),
        cmocka_unit_test(test_files_are_not_opened),
    };
    return cmocka_run_group_tests_name("dataset mapping", tests, NULL, NULL);
}

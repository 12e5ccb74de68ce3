/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of `map` for text and sequences, and what they learn from the training part, against Keras
 * (tests/golden/preprocessing.json, lookups.json). */
#define HERE "build/tmp/data-learned"
#include "files.h"

#include <jansson.h>
#include <math.h>

/* ---- files of a recorded case ---- */

static void write_texts(const char *name, const json_t *texts) {
    dt_str csv = {0};
    size_t i;
    json_t *text;
    dt_str_puts(&csv, "x\n");
    json_array_foreach(texts, i, text) {
        const char *p = json_string_value(text);
        dt_str_putc(&csv, '"');
        if (!p) dt_str_printf(&csv, "%lld", (long long)json_integer_value(text));
        for (; p && *p; p++) dt_str_puts(&csv, *p == '"' ? "\"\"" : (const char[]){*p, '\0'});
        dt_str_puts(&csv, "\"\n");
    }
    write_str(name, &csv);
}

/* (1, ...) of a single example; else as it is. */
static void write_array(const char *name, const json_t *x, bool single) {
    const json_t *shape = json_object_get(x, "shape"), *data = json_object_get(x, "data");
    const size_t n = json_array_size(data);
    dt_str text = {0};
    float *v = malloc(n * sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++) v[i] = (float)json_number_value(json_array_get(data, i));
    dt_str_puts(&text, single ? "(1, " : "(");
    for (size_t i = 0; i < json_array_size(shape); i++)
        dt_str_printf(&text, "%lld, ", (long long)json_integer_value(json_array_get(shape, i)));
    dt_str_putc(&text, ')');
    write_npy(name, "<f4", dt_str_text(&text), v, n * sizeof *v);
    dt_str_release(&text);
    free(v);
}

/* Writes the files of a case, and opens them. */
static void open_case(const json_t *c, dt_dataset **d) {
    const json_t *in = json_object_get(c, "in");
    const char *op = json_string_value(json_object_get(c, "op")),
               *step = json_string_value(json_object_get(in, "step"));
    const bool integers = strcmp(op, "integers") == 0, texts = strcmp(op, "text") == 0 || integers,
               learns = strcmp(op, "normalize") == 0;
    if (texts) {
        write_texts("train.csv", json_object_get(in, "train"));
        write_texts("asked.csv", json_object_get(in, "texts"));
        OK(dt_dataset_open(d,
                           "{format: csv, train: " HERE "/train.csv, validation: " HERE
                           "/asked.csv, element: {x: {column: x, dtype: %s}},"
                           " map: {x: [%s]}, global_batch_size: 64}",
                           integers ? "int64" : "string", step));
        return;
    }
    write_array("train.npy", json_object_get(in, learns ? "train" : "x"), !learns);
    write_array("asked.npy", json_object_get(in, "x"), !learns);
    OK(dt_dataset_open(d,
                       "{format: npy, train: {x: " HERE "/train.npy}, validation: {x: " HERE
                       "/asked.npy}, map: {x: [%s]}, global_batch_size: 64}",
                       step));
}

/* ---- comparing ---- */

static void check_words(const char *id, const dt_dataset *d, const json_t *vocabulary) {
    const dt_learned *l = dt_dataset_learned(d);
    size_t first = 0;
    if (l->n == 0 || !vocabulary) return;
    const dt_texts *words = &l->lesson[0].words;
    while (first + (size_t)words->n < json_array_size(vocabulary) &&
           (strcmp(json_string_value(json_array_get(vocabulary, first)), "") == 0 ||
            strcmp(json_string_value(json_array_get(vocabulary, first)), "[UNK]") == 0))
        first++;
    if ((size_t)words->n != json_array_size(vocabulary) - first)
        fail_msg("%s: %d words, recorded %zu", id, words->n, json_array_size(vocabulary) - first);
    for (int i = 0; i < words->n; i++)
        if (strcmp(words->v[i], json_string_value(json_array_get(vocabulary, first + (size_t)i))) !=
            0)
            fail_msg("%s: word %d is '%s', recorded '%s'", id, i, words->v[i],
                     json_string_value(json_array_get(vocabulary, first + (size_t)i)));
}

/* Keras sums in float32. */
static void check_reals(const char *id, const char *what, const dt_reals *x, const json_t *recorded,
                        double tolerance) {
    assert_int_equal(x->n, json_array_size(recorded));
    for (int i = 0; i < x->n; i++) {
        const double want = json_number_value(json_array_get(recorded, (size_t)i));
        if (!(fabs(x->v[i] - want) <= tolerance * (1e-6 + fabs(want))))
            fail_msg("%s: %s %d is %.9g, recorded %.9g", id, what, i, x->v[i], want);
    }
}

static void check_values(const char *id, dt_dataset *d, const json_t *out, double tolerance) {
    const json_t *data = json_object_get(out, "data");
    dt_iterator *f = NULL;
    dt_example b;
    OK(dt_iterator_open_batches(&f, d,
                                &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 64}));
    OK(dt_iterator_next_batch(f, &b));
    const dt_tensor *v = b.tensor[0];
    assert_int_equal(dt_type_elements(&v->type), json_array_size(data));
    for (size_t i = 0; i < json_array_size(data); i++) {
        const double got = v->type.dtype == DT_INT32 ? ((const int32_t *)v->data)[i]
                                                     : (double)((const float *)v->data)[i];
        const double want = json_number_value(json_array_get(data, i));
        if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
            fail_msg("%s: value %zu is %.9g, recorded %.9g", id, i, got, want);
    }
    dt_iterator_close(f);
}

static void check_case(const json_t *c) {
    const char *id = json_string_value(json_object_get(c, "id"));
    const json_t *out = json_object_get(c, "out");
    /* a mean of 1,000 and a deviation of 0.01: of float32 few digits are left */
    const bool features = strcmp(id, "features") == 0;
    dt_dataset *d = NULL;
    open_case(c, &d);
    check_words(id, d, json_object_get(out, "vocabulary"));
    if (json_object_get(out, "mean")) {
        check_reals(id, "mean", &dt_dataset_learned(d)->lesson[0].mean,
                    json_object_get(out, "mean"), 1e-6);
        check_reals(id, "variance", &dt_dataset_learned(d)->lesson[0].variance,
                    json_object_get(out, "variance"), features ? 2e-3 : 1e-5);
    }
    check_values(id, d, out,
                 features                                                                ? 1e-3
                 : strcmp(json_string_value(json_object_get(c, "op")), "normalize") == 0 ? 1e-5
                 : strstr(id, "tf_idf")                                                  ? 1e-6
                                                                                         : 0);
    dt_dataset_unref(d);
}

static void check_recorded(const char *path, size_t least) {
    json_t *root = json_load_file(path, 0, NULL), *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) > least);
    for (size_t i = 0; i < json_array_size(cases); i++) check_case(json_array_get(cases, i));
    json_decref(root);
}

static void test_recorded(void **state) {
    (void)state;
    check_recorded("tests/golden/preprocessing.json", 30);
    check_recorded("tests/golden/lookups.json", 34);
}

/* ---- what is learned, and from what ---- */

/* The training part alone: not validation by split, and not what `take` leaves out. A step learns
 * from what the steps before it give. */
static void test_learns_from_the_training_part(void **state) {
    (void)state;
    const float x[6] = {1, 3, 100, 100, 5000, 5000};
    dt_dataset *d = NULL;
    write_npy("x.npy", "<f4", "(6,)", x, sizeof x);
    OK(dt_dataset_open(&d,
                       "{format: npy, train: {x: " HERE "/x.npy}, take: 4, validation_split: 0.5,"
                       " map: {x: [rescale: {scale: 2}, normalize, rescale: {offset: 1}, "
                       "normalize]}, global_batch_size: 2}"));
    const dt_learned *l = dt_dataset_learned(d);
    assert_int_equal(l->n, 2);
    assert_string_equal(l->lesson[0].step, "map/normalize/x/1");
    assert_true(l->lesson[0].mean.v[0] == 4 && l->lesson[0].variance.v[0] == 4);
    assert_string_equal(l->lesson[1].step, "map/normalize/x/3");
    assert_true(l->lesson[1].mean.v[0] == 1 && l->lesson[1].variance.v[0] == 1);
    dt_dataset_unref(d);
}

/* Opened with what a run has learned, nothing is learned from the files. */
static void test_takes_what_was_learned(void **state) {
    (void)state;
    const float x[2] = {10, 20};
    dt_arena *arena = dt_arena_create();
    dt_dataset *first = NULL, *d = NULL;
    dt_type t;
    write_npy("x.npy", "<f4", "(2,)", x, sizeof x);
    OK(dt_dataset_open(&first, "{format: npy, train: {x: " HERE
                               "/x.npy}, map: {x: [normalize]}, global_batch_size: 2}"));
    dt_lesson lesson = {.step = "map/normalize/x/0",
                        .mean = {.n = 1, .v = (double[]){10}},
                        .variance = {.n = 1, .v = (double[]){4}}};
    dt_dataset_spec spec = *dt_dataset_spec_of(first);
    spec.learned = &(dt_learned){.n = 1, .lesson = &lesson};
    OK(dt_dataset_create(&d, &spec));
    float *v = read_all(d, 0, &t);
    assert_true(v[0] == 0 && v[1] == 5);
    free(v);
    dt_dataset_unref(d);
    dt_dataset_unref(first);
    dt_arena_destroy(arena);
}

/* ---- what cannot be ---- */

typedef struct bad_case {
    const char *text, *step;
    int number, code;
    const char *message;
} bad_case;

static const bad_case bad_cases[] = {
    {"x\n1\n", "integer_lookup: {vocabulary: [1, 02]}", DT_E_DATASET_KEYS, 78,
     "word 1 of the vocabulary, '02', is not an integer"},
    {"x\n1\n", "integer_lookup: {mask_token: a}", DT_E_WRONG_TYPE, 78,
     "mask_token: expected an integer, got 'a'"},
    {"x\na\n", "hashing: {num_bins: 3, salt: [1, 2, 3]}", DT_E_DATASET_KEYS, 78,
     "salt: expected one integer or two, got 3"},
    {"x\na\n", "", DT_E_DATA_TYPE, 65,
     "'x' is text: 'map' must turn it into numbers, with text_vectorization, tokenizer or "
     "string_lookup"},
    {"x\na\n", "rescale: {scale: 2}", DT_E_DATA_TYPE, 65, "rescale needs numbers, got text"},
    {"x\na\n", "string_lookup, string_lookup", DT_E_DATA_TYPE, 65,
     "string_lookup needs text, got numbers"},
    {"x\na\n", "text_vectorization", DT_E_DATASET_KEYS, 78, "lacks 'output_sequence_length'"},
    {"x\na\n", "text_vectorization: {output_mode: count, output_sequence_length: 4}",
     DT_E_DATASET_KEYS, 78, "output_sequence_length requires output_mode int"},
    {"x\na\n", "text_vectorization: {output_sequence_length: 4, pad_to_max_tokens: true}",
     DT_E_DATASET_KEYS, 78, "pad_to_max_tokens requires"},
    {"x\na\n", "string_lookup: {vocabulary: [a, b, a]}", DT_E_DATASET_KEYS, 78,
     "'a' appears twice in the vocabulary"},
    {"x\na\n", "string_lookup: {vocabulary: [a, b, c], max_tokens: 3}", DT_E_DATASET_KEYS, 78,
     "the vocabulary has 3 words, but max_tokens allows only 2"},
    {"x\na\n", "string_lookup: {vocabulary: nowhere.txt}", DT_E_NO_INPUT, 66, "nowhere.txt"},
    {"x\na\n", "string_lookup, pad: 4", DT_E_DATA_SHAPE, 65,
     "pad needs sequences, but an example is a single value"},
    {"x\na\n", "string_lookup: {num_oov_indices: 0, output_mode: one_hot}", DT_E_DATASET_KEYS, 78,
     "num_oov_indices: 0 requires output_mode int"},
    {"x\na\n", "string_lookup: {num_oov_indices: 2}", DT_E_RANGE, 78,
     "num_oov_indices must be in [0, 1], got 2"},
    {"x\n\xff\n", "string_lookup", DT_E_DATA_FILE, 65, "x.csv:2:1: byte 0xff is not UTF-8"},
    {"x\n123456789\n", "string_lookup", DT_E_DATA_FILE, 65,
     "x.csv:2:1: column 'x': '123456789' is longer than the element's max_bytes"},
};

static void test_faults(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof *bad_cases; i++) {
        const bad_case *c = &bad_cases[i];
        dt_dataset *d = NULL;
        write_file("x.csv", c->text, strlen(c->text));
        dt_status *s = dt_dataset_open(
            &d,
            "{format: csv, train: " HERE "/x.csv, element: {x: {column: x, dtype: %s}},"
            " map: {x: [%s]}, global_batch_size: 1}",
            strncmp(c->step, "integer", 7) == 0 ? "int64" : "string, max_bytes: 8", c->step);
        expect_fault(c->step, s, c->number, c->code, c->message);
    }
}

static void test_values_that_are_no_numbers(void **state) {
    (void)state;
    const float x[2] = {1, (float)NAN};
    dt_dataset *d = NULL;
    write_npy("x.npy", "<f4", "(2,)", x, sizeof x);
    expect_fault("nan",
                 dt_dataset_open(&d, "{format: npy, train: {x: " HERE
                                     "/x.npy}, map: {x: [normalize]}, global_batch_size: 2}"),
                 DT_E_DATA_FILE, 65, "x.npy: normalize learns a mean of nan");
}

/* A file of words: with or without the two that Keras' get_vocabulary puts first, line ends of
 * either kind. */
static void test_vocabulary_in_a_file(void **state) {
    (void)state;
    static const char *const files[] = {"red\ngreen\nblue", "\n[UNK]\nred\r\ngreen\r\nblue\r\n",
                                        "\xef\xbb\xbfred\ngreen\nblue\n"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        dt_dataset *d = NULL;
        dt_type t;
        write_file("x.csv", "x\nblue\npink\nred\n", 16);
        write_file("words.txt", files[i], strlen(files[i]));
        OK(dt_dataset_open(&d, "{format: csv, train: " HERE
                               "/x.csv, element: {x: {column: x, dtype: string}},"
                               " map: {x: [string_lookup: {vocabulary: " HERE
                               "/words.txt}]}, global_batch_size: 1}"));
        int32_t *v = read_all(d, 0, &t);
        assert_true(v[0] == 3 && v[1] == 0 && v[2] == 1);
        free(v);
        dt_dataset_unref(d);
    }
}

/* A file other than a list of words is refused with the line, or with its kind. */
static void test_vocabulary_files_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        size_t n;
    } cases[] = {
        {"", "words.txt: the vocabulary is empty", 0},
        {"\xef\xbb\xbf", "words.txt: the vocabulary is empty", 3},
        {"red\n\nblue\n", "words.txt:2: empty line", 10},
        {"\nred\n", "words.txt:1: empty line", 5},
        {"red\r\n\r\n", "words.txt:2: empty line", 7},
        {"red\nd\xe9j\xe0\n", "words.txt:2:2: byte 0xe9 is not UTF-8", 9},
        {"red\nb\0e\n", "words.txt:2:2: NUL byte", 8},
        {"\xff\xfer\0e\0", "words.txt: UTF-16 text is not supported; save it as UTF-8", 6},
        {"r\0e\0d\0\n\0", "words.txt: UTF-16LE text is not supported", 8},
        {"\xff\xfe\0\0r\0\0\0", "words.txt: UTF-32 text is not supported", 8},
        {"PK\3\4\x14\0\0\0",
         "words.txt: is a ZIP archive (as .xlsx, .npz and .keras files are), not a vocabulary", 8},
        {"\x1f\x8b\x08\0", "words.txt: is a gzip file, not a vocabulary", 4},
        {"version https://git-lfs.github.com/spec/v1\noid",
         "words.txt: is a Git LFS pointer, not a vocabulary", 46},
    };
    write_file("x.csv", "x\nblue\n", 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_dataset *d = NULL;
        write_file("words.txt", cases[i].text, cases[i].n);
        dt_status *s = dt_dataset_open(&d, "{format: csv, train: " HERE
                                           "/x.csv, element: {x: {column: x, dtype: string}},"
                                           " map: {x: [string_lookup: {vocabulary: " HERE
                                           "/words.txt}]}, global_batch_size: 1}");
        expect_fault(cases[i].message, s, DT_E_DATA_FILE, 65, cases[i].message);
    }
}

/* int64 seconds: beyond 2^24 float32 has steps of 128; (x - mean) / deviation is NumPy's in
 * float64, rounded once. */
static void test_large_numbers_keep_their_digits(void **state) {
    (void)state;
    static const struct {
        const char *descr, *step;
        float wanted[4];
    } cases[] = {
        {"<i8", "normalize", {-1.3416407F, -0.4472136F, 0.4472136F, 1.3416407F}},
        {"<f8", "normalize", {-1.3416407F, -0.4472136F, 0.4472136F, 1.3416407F}},
        {"<i8", "normalize: {mean: 1700000000, std: 3600}", {0, 1, 2, 3}},
        {"<i8", "rescale: {scale: 1, offset: -1700000000}", {0, 3600, 7200, 10800}},
        {"<f8", "rescale: {scale: 0.5, offset: -850000000}", {0, 1800, 3600, 5400}},
        {"<i4", "rescale: {scale: 1, offset: -1700000000}", {0, 3600, 7200, 10800}},
        {"<i8", "cast: float32, normalize: {mean: 1700003600, std: 3600}", {-1, 0, 1, 2}},
        {"<f8",
         "cast: float32, cast: float32, rescale: {offset: -1700003600}",
         {-3600, 0, 3600, 7200}},
        {"<i8",
         "cast: float32, cast: float64, normalize",
         {-1.3416407F, -0.4472136F, 0.4472136F, 1.3416407F}},
        {"<i4",
         "cast: float64, cast: float32, rescale: {offset: -1700003601}",
         {-3601, -1, 3599, 7199}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t seconds[4];
        double real[4];
        int32_t small[4];
        for (int k = 0; k < 4; k++)
            real[k] = (double)(small[k] = (int32_t)(seconds[k] = 1700000000 + 3600 * k));
        const void *values = cases[i].descr[1] == 'f'   ? (const void *)real
                             : cases[i].descr[2] == '8' ? (const void *)seconds
                                                        : small;
        dt_dataset *d = NULL;
        dt_type t;
        write_npy("x.npy", cases[i].descr, "(4,)", values, cases[i].descr[2] == '8' ? 32 : 16);
        OK(dt_dataset_open(
            &d, "{format: npy, train: {x: " HERE "/x.npy}, map: {x: [%s]}, global_batch_size: 1}",
            cases[i].step));
        float *v = read_all(d, 0, &t);
        for (int k = 0; k < 4; k++) assert_float_equal(v[k], cases[i].wanted[k], 3e-7F);
        free(v);
        dt_dataset_unref(d);
    }
}

/* Modes other than int: the row of each text has 1 at its index, as Keras defines them for a single
 * text. */
static void test_lookup_as_rows(void **state) {
    (void)state;
    static const char *const modes[] = {"one_hot", "multi_hot", "count"};
    static const float wanted[3][4] = {{0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}};
    write_file("x.csv", "x\nblue\npink\nred\n", 16);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        dt_dataset *d = NULL;
        dt_type t;
        OK(dt_dataset_open(&d,
                           "{format: csv, train: " HERE
                           "/x.csv, element: {x: {column: x, dtype: string}},"
                           " map: {x: [string_lookup: {vocabulary: [red, green, blue], "
                           "output_mode: %s}]}, global_batch_size: 1}",
                           modes[i]));
        float *v = read_all(d, 0, &t);
        assert_true(t.dtype == DT_FLOAT32 && t.rank == 2 && t.dim[1] == 4);
        assert_memory_equal(v, wanted, sizeof wanted);
        free(v);
        dt_dataset_unref(d);
    }
}

/* Keras' StringLookup(num_oov_indices=0): the first word has index 0, as labels want it. A text that
 * the vocabulary lacks is -1, which no label may be. */
static void test_lookup_without_an_unknown_index(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_type t;
    write_file("x.csv", "x\nred\nblue\nred\ngreen\nred\nblue\n", 30);
    OK(dt_dataset_open(&d, "{format: csv, train: " HERE
                           "/x.csv, element: {x: {column: x, dtype: string}}, map: {x: "
                           "[string_lookup: {num_oov_indices: 0}]}, global_batch_size: 1}"));
    int32_t *v = read_all(d, 0, &t);
    const int32_t wanted[] = {0, 1, 0, 2, 0, 1};
    assert_memory_equal(v, wanted, sizeof wanted);
    free(v);
    assert_null(dt_dataset_check_labels(d, 0, 3));
    expect_fault("too few", dt_dataset_check_labels(d, 0, 2), DT_E_LABEL_RANGE, 65,
                 "label 2 at record 4 is outside [0, 2)");
    dt_dataset_unref(d);
    OK(dt_dataset_open(&d, "{format: csv, train: " HERE
                           "/x.csv, element: {x: {column: x, dtype: string}}, map: {x: "
                           "[string_lookup: {vocabulary: [red, blue], num_oov_indices: 0}]}, "
                           "global_batch_size: 1}"));
    dt_status *s = dt_dataset_check_labels(d, 0, 2);
    expect_fault("unknown", s, DT_E_LABEL_RANGE, 65, "label -1 at record 4 is outside [0, 2)");
    dt_dataset_unref(d);
    OK(dt_dataset_open(&d, "{format: csv, train: " HERE
                           "/x.csv, element: {x: {column: x, dtype: string}}, map: {x: "
                           "[string_lookup: {vocabulary: [blue], num_oov_indices: 0, mask_token: "
                           "red}]}, global_batch_size: 1}"));
    v = read_all(d, 0, &t);
    const int32_t masked[] = {0, 1, 0, -1, 0, 1};
    assert_memory_equal(v, masked, sizeof masked);
    free(v);
    dt_dataset_unref(d);
    OK(dt_dataset_open(&d, "{format: csv, train: " HERE
                           "/x.csv, element: {x: {column: x, dtype: string}}, map: {x: "
                           "[string_lookup]}, global_batch_size: 1}"));
    s = dt_dataset_check_labels(d, 0, 3);
    expect_fault("from 1", s, DT_E_LABEL_RANGE, 65, "label 3 at record 4 is outside [0, 3)");
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookup_without_an_unknown_index),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_learns_from_the_training_part),
        cmocka_unit_test(test_takes_what_was_learned),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_values_that_are_no_numbers),
        cmocka_unit_test(test_vocabulary_in_a_file),
        cmocka_unit_test(test_vocabulary_files_that_are_refused),
        cmocka_unit_test(test_large_numbers_keep_their_digits),
        cmocka_unit_test(test_lookup_as_rows),
    };
    return cmocka_run_group_tests_name("what is learned", tests, NULL, NULL);
}

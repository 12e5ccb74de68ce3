/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for `predict` are those that the same files give as a data set: NPZ, TFRecords with values,
 * with pictures and with texts, folders of pictures and one picture. */
#define HERE "build/tmp/data-rows-file"
#include "files.h"
#include "records.h"

#include "data/rows_file.h"
#include "pictures.h"

enum { EXAMPLES = 5 };

static int write_all(void **state) {
    dt_str values = {0}, encoded = {0}, texts = {0}, noted = {0};
    (void)state;
    OK(dt_dir_make(HERE "/pictures/a"));
    for (int i = 0; i < EXAMPLES; i++) {
        char name[64];
        dt_str png = draw_png(&forms[5], i), features = {0};
        const float x[2] = {(float)i, (float)-i};
        add_floats(&features, "feature/x", x, i == 3 ? 1 : 2); /* one is short: it is padded */
        add_example(&values, &features);
        add_string(&features, "x", png.data, png.size);
        add_example(&encoded, &features);
        add_string(&features, "x", i % 2 ? "The CAT!" : "a dog", i % 2 ? 8 : 5);
        add_example(&texts, &features);
        add_string(&features, "x", "a dog", 5);
        add_floats(&features, "y", x, 1);
        add_example(&noted, &features);
        snprintf(name, sizeof name, "pictures/a/%d.png", i);
        write_str(name, &png);
    }
    write_str("values.tfrecord", &values);
    write_str("encoded.tfrecord", &encoded);
    write_str("texts.tfrecord", &texts);
    write_str("noted.tfrecord", &noted);
    return 0;
}

typedef struct rows_case {
    const char *id, *element, *dataset, *path;
    int rows;
} rows_case;

#define WORDS "map: {x: [text_vectorization: {vocabulary: [cat, dog], output_sequence_length: 3}]}"
static const rows_case cases[] = {
    {"npz", "f64_fortran", "format: npy, train: {f64_fortran: tests/golden/data/deflated.npz}",
     "tests/golden/data/deflated.npz", 6},
    {"npz as it lies", "f32", "format: npy, train: {f32: tests/golden/data/streamed.npz}",
     "tests/golden/data/streamed.npz", 6},
    {"big-endian npz", "u16_big_fortran",
     "format: npy, train: {u16_big_fortran: tests/golden/data/stored.npz}",
     "tests/golden/data/stored.npz", 6},
    {"tfrecord", "x",
     "format: tfrecord, train: " HERE
     "/values.tfrecord, element: {x: {shape: [2], feature: feature/x, padding_value: 7}},"
     " map: {x: [rescale: {scale: 2}]}",
     HERE "/values.tfrecord", EXAMPLES},
    {"pictures in records", "x",
     "format: tfrecord, train: " HERE
     "/encoded.tfrecord, element: {x: {shape: [5, 7, 3], dtype: uint8}}",
     HERE "/encoded.tfrecord", EXAMPLES},
    {"texts in records", "x",
     "format: tfrecord, train: " HERE "/texts.tfrecord, element: {x: {dtype: string}}, " WORDS,
     HERE "/texts.tfrecord", EXAMPLES},
    {"folder", "x",
     "format: image_folder, train: " HERE
     "/pictures, element: {x: {shape: [5, 7, 3], dtype: uint8}, y: {num_classes: 1}},"
     " map: {x: [rescale: {scale: 0.5}]}",
     HERE "/pictures/a", EXAMPLES},
    {"folder of any size", "x",
     "format: image_folder, train: " HERE
     "/pictures, element: {x: {shape: [4, 3, 3], interpolation: bilinear},"
     " y: {num_classes: 1}}, map: {x: [rescale: {scale: 0.5}]}",
     HERE "/pictures/a", EXAMPLES},
    {"folder of any size, cut", "x",
     "format: image_folder, train: " HERE "/pictures, element: {y: {num_classes: 1},"
     " x: {shape: [9, 4, 3], interpolation: nearest, crop_to_aspect_ratio: true}}",
     HERE "/pictures/a", EXAMPLES},
    {"picture of any size", "x",
     "format: image_folder, train: " HERE
     "/pictures, element: {x: {shape: [2, 2, 3], interpolation: bilinear},"
     " y: {num_classes: 1}}",
     HERE "/pictures/a/0.png", 1},
    {"picture", "x",
     "format: image_folder, train: " HERE
     "/pictures, element: {x: {shape: [5, 7, 3], dtype: uint8}, y: {num_classes: 1}}",
     HERE "/pictures/a/0.png", 1},
};

static void check_case(const rows_case *c) {
    dt_dataset *d = NULL;
    dt_dataset *rows = NULL;
    dt_iterator *feed = NULL;
    dt_example b;
    dt_type t;
    OK(dt_note(dt_dataset_open(&d, "{%s, global_batch_size: 2}", c->dataset), "%s", c->id));
    const int x = dt_dataset_find(d, c->element);
    const dt_element_spec *all;
    dt_dataset_elements(d, &all);
    char *want = read_all(d, x, &t);
    const dt_rows_request q = {
        .path = c->path, .job = dt_dataset_spec_of(d), .input = &all[x], .n = 1, .once = true};
    OK(dt_note(dt_rows_open(&rows, &q), "%s", c->id));
    OK(dt_iterator_open_batches(&feed, rows, &(dt_batch_options){.batch = EXAMPLES + 2}));
    OK(dt_iterator_next_batch(feed, &b));
    assert_int_equal(b.rows, c->rows);
    if (memcmp(b.tensor[0]->data, want, (size_t)(dt_type_bytes(&t) / t.dim[0] * b.rows)) != 0)
        fail_msg("%s: other rows", c->id);
    OK(dt_iterator_next_batch(feed, &b));
    assert_int_equal(b.rows, 0);
    dt_iterator_close(feed);
    dt_dataset_unref(rows);
    free(want);
    dt_dataset_unref(d);
}

static void test_the_same_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

/* An archive holds no texts. */
static void test_texts_of_other_files(void **state) {
    (void)state;
    dt_dataset *d = NULL, *rows = NULL;
    const dt_element_spec *all;
    OK(dt_dataset_open(&d, "{format: tfrecord, train: " HERE
                           "/texts.tfrecord, element: {x: {dtype: string}}, " WORDS
                           ", global_batch_size: 1}"));
    dt_dataset_elements(d, &all);
    expect_fault("picture",
                 dt_rows_open(&rows, &(dt_rows_request){.path = HERE "/pictures/a/0.png",
                                                        .job = dt_dataset_spec_of(d),
                                                        .input = all,
                                                        .n = 1,
                                                        .once = true}),
                 DT_E_ELEMENTS, 78, "the model expects 'x' to be text, which");
    dt_dataset_unref(d);
}

/* Columns in order, one of them text: a first record is names only where it has no number. */
static void test_first_records_of_csv(void **state) {
    static const struct {
        const char *text;
        int rows;
    } files[] = {{"a dog,1\nThe CAT!,2\n", 2},
                 {"review,stars\na dog,1\n", 1},
                 {"5,1\n", 1},
                 {",1\n", 1},
                 {",stars\na dog,1\n", 1}};
    dt_dataset *d = NULL;
    const dt_element_spec *all;
    (void)state;
    OK(dt_dataset_open(&d, "{format: tfrecord, train: " HERE
                           "/noted.tfrecord, element: {x: {dtype: string}, y: {}}, " WORDS ", "
                           "global_batch_size: 1}"));
    dt_dataset_elements(d, &all);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        dt_dataset *rows = NULL;
        dt_iterator *feed = NULL;
        dt_example b;
        write_file("first.csv", files[i].text, strlen(files[i].text));
        OK(dt_rows_open(&rows, &(dt_rows_request){.path = HERE "/first.csv",
                                                  .job = dt_dataset_spec_of(d),
                                                  .input = all,
                                                  .n = 2,
                                                  .once = true}));
        OK(dt_iterator_open_batches(&feed, rows, &(dt_batch_options){.batch = 3}));
        OK(dt_iterator_next_batch(feed, &b));
        assert_int_equal(b.rows, files[i].rows);
        assert_true(*(const float *)b.tensor[1]->data == 1);
        dt_iterator_close(feed);
        dt_dataset_unref(rows);
    }
    dt_dataset_unref(d);
}

/* Rows that cannot be looked at before are looked at one by one. */
static void test_numbers_of_classes(void **state) {
    static const char rows[] = "{\"k\": 0}\n{\"k\": 2}\n{\"k\": 3}\n";
    dt_dataset *d = NULL, *few = NULL;
    dt_iterator *feed = NULL;
    dt_example b;
    const dt_element_spec *all;
    (void)state;
    write_file("train.jsonl", rows, sizeof rows - 1 - strlen("{\"k\": 3}\n"));
    write_file("rows.jsonl", rows, sizeof rows - 1);
    OK(dt_dataset_open(&d,
                       "{format: jsonl, train: " HERE "/train.jsonl, element: {k: {dtype: int32}}, "
                       "map: {k: [one_hot: {num_classes: 3}]}, global_batch_size: 1}"));
    dt_dataset_elements(d, &all);
    OK(dt_rows_open(&few, &(dt_rows_request){.path = HERE "/rows.jsonl",
                                             .job = dt_dataset_spec_of(d),
                                             .input = all,
                                             .n = 1,
                                             .once = true}));
    OK(dt_iterator_open_batches(&feed, few, &(dt_batch_options){.batch = 2}));
    OK(dt_iterator_next_batch(feed, &b));
    assert_int_equal(b.rows, 2);
    expect_fault("a class too many", dt_iterator_next_batch(feed, &b), DT_E_LABEL_RANGE, 65,
                 "rows.jsonl: 'k' of row 2 is 3, outside [0, 3)");
    dt_iterator_close(feed);
    dt_dataset_unref(few);
    dt_dataset_unref(d);
}

/* A header declares any row; no memory is taken for one that is not kept. */
static void test_rows_too_large(void **state) {
    static const float values[4] = {1, 2, 3, 4};
    dt_dataset *d = NULL, *rows = NULL;
    const dt_element_spec *all;
    dt_str small = npy_header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"),
           large =
               npy_header(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 134217728), }");
    (void)state;
    dt_str_add(&small, values, sizeof values);
    write_str("small.npy", &small);
    write_str("large.npy", &large);
    OK(dt_dataset_open(&d, "{format: npy, train: {x: " HERE "/small.npy}, global_batch_size: 1}"));
    dt_dataset_elements(d, &all);
    dt_rows_request q = {
        .path = HERE "/large.npy", .job = dt_dataset_spec_of(d), .input = all, .n = 1};
    expect_fault("a large row", dt_rows_open(&rows, &q), DT_E_TOO_LARGE, 65,
                 "large.npy: more than 268435456 bytes of values");
    q.path = HERE "/small.npy";
    OK(dt_rows_open(&rows, &q));
    assert_int_equal(dt_dataset_count(rows, DT_PART_TRAIN), 2);
    dt_dataset_unref(rows);
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_rows), cmocka_unit_test(test_texts_of_other_files),
        cmocka_unit_test(test_first_records_of_csv), cmocka_unit_test(test_numbers_of_classes),
        cmocka_unit_test(test_rows_too_large)};
    return cmocka_run_group_tests_name("rows of files", tests, write_all, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The formats tfrecord and text, as jobs use them: values, and the catalogue of bad examples (D66,
 * D68 to D74). */
#define HERE "build/tmp/data-tfrecord"
#include "files.h"
#include "records.h"

#include "pictures.h"

/* Example i: x = i + {0, 0.25, 0.5, 0.75}, y = i, raw = 3 bytes of i. */
static void add_numbered(dt_str *file, int i) {
    dt_str features = {0};
    const float x[4] = {(float)i, (float)i + 0.25f, (float)i + 0.5f, (float)i + 0.75f};
    const unsigned char raw[3] = {(unsigned char)i, (unsigned char)i, (unsigned char)i};
    add_floats(&features, "x", x, 4);
    add_integers(&features, "y", &(int64_t){i}, 1, i % 2);
    add_string(&features, "raw", raw, 3);
    add_example(file, &features);
}

static void write_numbered(const char *name, int first, int n, bool gzip) {
    dt_str s = {0}, z = {0};
    for (int i = 0; i < n; i++) add_numbered(&s, first + i);
    if (gzip) add_gzip(&z, s.data, s.size);
    write_str(name, gzip ? &z : &s);
    dt_str_release(gzip ? &s : &z);
}

#define ELEMENTS                                                                                   \
    "element: {x: {shape: [2, 2]}, label: {dtype: int32, feature: y}, raw: {shape: [3], dtype: "   \
    "uint8}}"

static void check_numbered(const char *train, int n) {
    dt_dataset *d = NULL;
    dt_type type;
    OK(dt_dataset_open(&d, "{format: tfrecord, train: %s, " ELEMENTS ", global_batch_size: 8}",
                       train));
    assert_int_equal(dt_dataset_examples(d), n);
    float *x = read_all(d, dt_dataset_find(d, "x"), &type);
    assert_true(dt_type_equal(&type, &(dt_type){.dtype = DT_FLOAT32, .rank = 3, .dim = {n, 2, 2}}));
    int32_t *label = read_all(d, dt_dataset_find(d, "label"), &type);
    uint8_t *raw = read_all(d, dt_dataset_find(d, "raw"), &type);
    for (int i = 0; i < n; i++) {
        assert_true(x[4 * i] == (float)i && x[4 * i + 3] == (float)i + 0.75f);
        assert_int_equal(label[i], i);
        assert_int_equal(raw[3 * i + 2], i);
    }
    free(x);
    free(label);
    free(raw);
    dt_dataset_unref(d);
}

static void test_examples_of_one_file_a_list_and_a_pattern(void **state) {
    (void)state;
    write_numbered("a.tfrecord", 0, 10, false);
    check_numbered(HERE "/a.tfrecord", 10);
    write_numbered("p-00000-of-00002", 0, 3, false);
    write_numbered("p-00001-of-00002", 3, 4, true);
    check_numbered("'" HERE "/p-*'", 7);
    check_numbered("[" HERE "/p-00000-of-00002, " HERE "/p-00001-of-00002]", 7);
}

/* A byte string that is a file of a picture, where pixels are wanted; cut off in the last
 * record. */
static void test_pictures_in_records(void **state) {
    dt_str s = {0};
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    (void)state;
    for (int i = 0; i < 7; i++) {
        dt_str features = {0}, png = draw_png(&forms[5], i);
        add_string(&features, "image/encoded", png.data, i < 6 ? png.size : png.size / 2);
        add_example(&s, &features);
        dt_str_release(&png);
    }
    write_str("pictures.tfrecord", &s);
    OK(dt_dataset_open(&d, "{format: tfrecord, train: " HERE "/pictures.tfrecord,"
                           " element: {image: {shape: [5, 7, 3], dtype: uint8, feature: "
                           "image/encoded}}, global_batch_size: 3}"));
    OK(dt_iterator_open_batches(
        &f, d, &(dt_batch_options){.part = DT_PART_TRAIN, .batch = 3, .threads = 2}));
    for (int i = 0; i < 6; i++) {
        if (i % 3 == 0) OK(dt_iterator_next_batch(f, &b));
        const uint8_t *image = (const uint8_t *)b.tensor[0]->data + (size_t)(i % 3) * PIXELS * 3;
        for (int k = 0; k < PIXELS * 3; k++)
            assert_int_equal(image[k], pixel(i, k / 3 / COLUMNS, k / 3 % COLUMNS, k % 3));
    }
    expect_fault("cut", dt_iterator_next_batch(f, &b), DT_E_DATA_FILE, 65,
                 "pictures.tfrecord: record 6: image/encoded: ");
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

/* What validate and training say of a file with one record that holds these bytes (NULL: an example
 * with these features). */
static dt_status *open_record(const void *bytes, size_t n, dt_str *features) {
    dt_str s = {0};
    dt_dataset *d = NULL;
    if (features) add_example(&s, features);
    else add_record(&s, bytes, n);
    write_str("t.tfrecord", &s);
    dt_status *bad =
        dt_dataset_open(&d, "{format: tfrecord, train: " HERE
                            "/t.tfrecord, element: {x: {shape: [4]}}, global_batch_size: 1}");
    dt_dataset_unref(d);
    return bad;
}

static void test_records_that_are_no_examples(void **state) {
    dt_str groups = {0};
    (void)state;
    for (int i = 0; i < 100000; i++) dt_str_putc(&groups, '\x0b'); /* start-group of field 1 */
    expect_fault("D66", open_record("", 0, NULL), DT_E_EXAMPLE, 65,
                 "t.tfrecord: record 0: feature 'x' is missing");
    expect_fault("D68", open_record("hello, world", 12, NULL), DT_E_EXAMPLE, 65,
                 "t.tfrecord: record 0: is not a tf.Example");
    expect_fault("D69", open_record("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 ", 13, NULL),
                 DT_E_EXAMPLE, 65, "(varint too long)");
    expect_fault("D70", open_record("\x0a\x7f\x0a\x01", 4, NULL), DT_E_EXAMPLE, 65,
                 "is not a tf.Example");
    expect_fault("D71", open_record(groups.data, groups.size, NULL), DT_E_EXAMPLE, 65,
                 "is not a tf.Example");
    dt_str_release(&groups);
}

static void test_features_that_do_not_fit(void **state) {
    dt_str f = {0};
    const float three[3] = {1, 2, 3};
    (void)state;
    add_integers(&f, "label", &(int64_t){1}, 1, true);
    expect_fault("D72", open_record(NULL, 0, &f), DT_E_EXAMPLE, 65,
                 "record 0: feature 'x' is missing; it has: label");
    add_string(&f, "x", "abc", 3);
    expect_fault("D73", open_record(NULL, 0, &f), DT_E_EXAMPLE, 65,
                 "record 0: feature 'x' is bytes_list, expected float_list");
    add_floats(&f, "x", (const float[4]){0}, 4);
    add_floats(&f, "x", (const float[4]){0}, 4);
    expect_fault("D86", open_record(NULL, 0, &f), DT_E_EXAMPLE, 65,
                 "record 0: feature 'x' appears twice");
    add_floats(&f, "x", three, 3);
    expect_fault("D74", open_record(NULL, 0, &f), DT_E_EXAMPLE, 65,
                 "record 0: feature 'x' has 3 values, expected 4");
}

static void test_a_later_record_is_named_when_it_is_read(void **state) {
    dt_str s = {0}, f = {0};
    dt_dataset *d = NULL;
    dt_iterator *feed = NULL;
    dt_example b;
    const float one = 1;
    (void)state;
    for (int i = 0; i < 3; i++) add_numbered(&s, i);
    add_floats(&f, "x", &one, 1);
    add_example(&s, &f);
    write_str("late.tfrecord", &s);
    OK(dt_dataset_open(&d, "{format: tfrecord, train: " HERE
                           "/late.tfrecord, element: {x: {shape: [4]}}, global_batch_size: 4}"));
    OK(dt_iterator_open_batches(&feed, d, &(dt_batch_options){.part = DT_PART_TRAIN, .batch = 4}));
    expect_fault("record 3", dt_iterator_next_batch(feed, &b), DT_E_EXAMPLE, 65,
                 "late.tfrecord: record 3: feature 'x' has 1 values, expected 4");
    dt_iterator_close(feed);
    dt_dataset_unref(d);
}

/* Bits flipped in the payload, its checksum made right again: the parser answers, whatever it is
 * given. */
static void test_flipped_examples_are_answered(void **state) {
    dt_str record = {0}, f = {0};
    const float x[4] = {1, 2, 3, 4};
    (void)state;
    add_floats(&f, "x", x, 4);
    add_integers(&f, "y", &(int64_t){-1}, 1, true);
    add_message(&record, 1, &f);
    for (size_t i = 0; i < record.size * 8; i++) {
        record.data[i / 8] = (char)(record.data[i / 8] ^ 1 << i % 8);
        dt_status_free(open_record(record.data, record.size, NULL));
        record.data[i / 8] = (char)(record.data[i / 8] ^ 1 << i % 8);
    }
    for (size_t n = 0; n < record.size; n++) dt_status_free(open_record(record.data, n, NULL));
    dt_str_release(&record);
}

static void test_words_of_the_job(void **state) {
    dt_dataset *d = NULL;
    (void)state;
    expect_fault(
        "no file",
        dt_dataset_open(
            &d, "{format: tfrecord, train: nope.tfrecord, element: {x: {}}, global_batch_size: 1}"),
        DT_E_NO_INPUT, 66, "nope.tfrecord");
    expect_fault(
        "no element",
        dt_dataset_open(&d, "{format: tfrecord, train: a, element: {}, global_batch_size: 1}"),
        DT_E_DATASET_KEYS, 78, "at least one element");
    expect_fault("no train",
                 dt_dataset_open(&d, "{format: tfrecord, element: {x: {}}, global_batch_size: 1}"),
                 DT_E_DATASET_KEYS, 78, "lacks 'train'");
}

/* Lists of one to three values, then a record without any, and one whose feature says nothing,
 * which is missing too: filled at the end. */
static void test_lists_of_any_length_are_padded(void **state) {
    dt_str s = {0};
    dt_dataset *d = NULL;
    dt_type type;
    const float x[3] = {1, 2, 3};
    const float want[5][3] = {{1, -1, -1}, {1, 2, -1}, {1, 2, 3}, {-1, -1, -1}, {-1, -1, -1}};
    (void)state;
    for (int i = 0; i < 5; i++) {
        dt_str f = {0};
        if (i < 3) add_floats(&f, "x", x, i + 1);
        if (i == 4) {
            add_nothing(&f, "x");
            add_nothing(&f, "y");
        } else if (i != 1) {
            add_integers(&f, "y", &(int64_t){i}, 1, true);
        }
        add_example(&s, &f);
    }
    write_str("lists.tfrecord", &s);
    OK(dt_dataset_open(&d, "{format: tfrecord, train: " HERE
                           "/lists.tfrecord, element: {x: {shape: [3], padding_value: -1}, "
                           "y: {dtype: int64, default_value: 7}}, global_batch_size: 2}"));
    float *got = read_all(d, 0, &type);
    int64_t *y = read_all(d, 1, &type);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(y[0], 0);
    assert_int_equal(y[1], 7);
    assert_int_equal(y[3], 3);
    assert_int_equal(y[4], 7);
    free(got);
    free(y);
    dt_dataset_unref(d);
    d = NULL;
    OK(dt_dataset_open(
        &d,
        "{format: tfrecord, train: " HERE
        "/lists.tfrecord, element: {x: {shape: [2], padding_value: 0}}, global_batch_size: 4}"));
    dt_iterator *feed = NULL;
    dt_example b;
    OK(dt_iterator_open_batches(&feed, d, &(dt_batch_options){.part = DT_PART_TRAIN, .batch = 4}));
    expect_fault("too long", dt_iterator_next_batch(feed, &b), DT_E_EXAMPLE, 65,
                 "lists.tfrecord: record 2: feature 'x' has 3 values, expected 2");
    dt_iterator_close(feed);
    dt_dataset_unref(d);
}

/* Numbers as array.tobytes() writes them; only where the job says so, since text has bytes, too. */
static void test_bytes_of_arrays_are_numbers(void **state) {
    dt_str s = {0}, f = {0};
    dt_dataset *d = NULL;
    dt_type type;
    const double x[4] = {1.5, -2, 3e300, 0};
    const int16_t y[2] = {-300, 7};
    (void)state;
    add_string(&f, "x", x, sizeof x);
    add_string(&f, "y", y, sizeof y);
    add_string(&f, "flag", "\1", 1);
    add_string(&f, "big", "\xfe\xd4\0\7",
               4); /* tf.io.decode_raw(..., little_endian=False): -300, 7 */
    add_string(&f, "pi", "\x40\x49\x0f\xdb", 4);
    add_example(&s, &f);
    write_str("raw.tfrecord", &s);
#define RAW "{format: tfrecord, train: " HERE "/raw.tfrecord, global_batch_size: 1, element: "
    OK(dt_dataset_open(
        &d, RAW "{x: {shape: [2, 2], dtype: float64, raw: true}, y: {shape: [3], dtype: int16, "
                "raw: true, padding_value: 9}, flag: {dtype: bool, raw: true}, big: {shape: [3], "
                "dtype: int16, raw: true, little_endian: false, padding_value: 9}, pi: {raw: true, "
                "little_endian: false}}}"));
    double *got = read_all(d, 0, &type);
    int16_t *padded = read_all(d, 1, &type), *turned = read_all(d, 3, &type);
    float *pi = read_all(d, 4, &type);
    assert_memory_equal(turned, padded, 6);
    assert_true(*pi == 3.14159274F);
    free(turned);
    free(pi);
    assert_memory_equal(got, x, sizeof x);
    assert_memory_equal(padded, ((const int16_t[]){-300, 7, 9}), 6);
    free(got);
    free(padded);
    dt_dataset_unref(d);
    d = NULL;
    expect_fault("size", dt_dataset_open(&d, RAW "{x: {shape: [4], raw: true}}}"), DT_E_EXAMPLE, 65,
                 "record 0: feature 'x' has 32 bytes, expected 16 of 4 float32");
    expect_fault("part",
                 dt_dataset_open(&d, RAW "{flag: {shape: [2], dtype: int16, raw: true, "
                                         "padding_value: 0}}}"),
                 DT_E_EXAMPLE, 65, "feature 'flag' has 1 bytes, expected 4 of 2 int16");
    expect_fault("bool", dt_dataset_open(&d, RAW "{y: {shape: [4], dtype: bool, raw: true}}}"),
                 DT_E_EXAMPLE, 65, "feature 'y' has a value that does not fit bool");
    expect_fault("order", dt_dataset_open(&d, RAW "{pi: {little_endian: false}}}"),
                 DT_E_DATASET_KEYS, 78, "little_endian needs raw: true");
    dt_status *bad = dt_dataset_open(&d, RAW "{x: {shape: [4], dtype: float64}}}");
    assert_non_null(strstr(dt_status_suggestion(bad), "set raw: true"));
    dt_status_free(bad);
}

/* ---- text ---- */

static void test_text_gives_windows_and_the_next_characters(void **state) {
    dt_dataset *d = NULL;
    dt_type type;
    (void)state;
    /* 10 characters; codes in order: ' ' ! , e h l o é */
    write_file("t.txt", "hello, h\xc3\xa9!", 11);
    OK(dt_dataset_open(&d, "{format: text, train: " HERE
                           "/t.txt, element: {tokens: {shape: [3]}}, global_batch_size: 2}"));
    assert_int_equal(dt_dataset_examples(d), 3);
    int32_t *tokens = read_all(d, dt_dataset_find(d, "tokens"), &type),
            *targets = read_all(d, dt_dataset_find(d, "targets"), &type);
    const int32_t all[10] = {4, 3, 5, 5, 6, 2, 0, 4, 7, 1};
    for (int i = 0; i < 9; i++) {
        assert_int_equal(tokens[i], all[i]);
        assert_int_equal(targets[i], all[i + 1]);
    }
    free(tokens);
    free(targets);
    OK(dt_dataset_check_labels(d, dt_dataset_find(d, "targets"), 8));
    expect_fault("classes", dt_dataset_check_labels(d, dt_dataset_find(d, "targets"), 7),
                 DT_E_LABEL_RANGE, 65, "outside [0, 7)");
    dt_dataset_unref(d);
}

static void test_text_becomes_tokens_and_tokens_text(void **state) {
    dt_dataset *d = NULL;
    dt_tokens token = {0};
    dt_str text = {0};
    (void)state;
    write_file("t.txt", "hello, h\xc3\xa9!", 11);
    OK(dt_dataset_open(
        &d,
        "{format: text, train: " HERE
        "/t.txt, element: {tokens: {shape: [3]}}, validation_split: 0.3, global_batch_size: 2}"));
    OK(dt_dataset_encode(d, "\xc3\xa9, o", &token));
    const int32_t wanted[] = {7, 2, 0, 6};
    assert_int_equal(token.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(token.v[i], wanted[i]);
        dt_dataset_decode(d, token.v[i], i == 0, &text);
    }
    assert_string_equal(dt_str_text(&text), "\xc3\xa9, o");
    token.n = 0;
    expect_fault("unknown", dt_dataset_encode(d, "lox", &token), DT_E_RANGE, 78,
                 "character 2, U+0078, does not occur in the training text");
    free(token.v);
    dt_str_release(&text);
    dt_dataset_unref(d);
}

/* CR and LF that two files or two buffers share are one end of a line. */
static void test_line_ends_that_are_cut(void **state) {
    enum { BUFFER = 1 << 16 };
    static char text[BUFFER + 2];
    dt_dataset *d = NULL;
    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + BUFFER - 1, "\r\n", 2);
    write_file("cut.txt", text, sizeof text);
    write_file("cr.txt", "ab\r", 3);
    write_file("lf.txt", "\nac", 3);
    write_file("ab.txt", "ab\nab\n", 6);
    expect_fault("buffers",
                 dt_dataset_open(&d, "{format: text, train: " HERE "/cut.txt, "
                                     "element: {tokens: {shape: [70000]}}, global_batch_size: 2}"),
                 DT_E_DATA_EMPTY, 65, "65537 characters are too few");
    expect_fault("files",
                 dt_dataset_open(&d, "{format: text, train: [" HERE "/cr.txt, " HERE "/lf.txt], "
                                     "element: {tokens: {shape: [8]}}, global_batch_size: 2}"),
                 DT_E_DATA_EMPTY, 65, "5 characters are too few");
    expect_fault("place in the second file",
                 dt_dataset_open(&d, "{format: text, train: " HERE "/ab.txt, validation: [" HERE
                                     "/cr.txt, " HERE "/lf.txt], "
                                     "element: {tokens: {shape: [2]}}, global_batch_size: 2}"),
                 DT_E_DATA_FILE, 65, HERE "/lf.txt: character 2 (U+0063) does not occur");
}

static void test_text_that_cannot_be_read(void **state) {
    dt_dataset *d = NULL;
    (void)state;
    write_file("bad.txt", "abc\xff", 4);
    write_file("ab.txt", "abababab", 8);
    write_file("other.txt", "abc", 3);
    write_file("two.txt", "ab\nx\xff", 5);
    expect_fault(
        "UTF-8",
        dt_dataset_open(&d, "{format: text, train: " HERE
                            "/bad.txt, element: {tokens: {shape: [2]}}, global_batch_size: 2}"),
        DT_E_DATA_FILE, 65, "bad.txt:1:4: byte 0xff is not UTF-8");
    expect_fault("UTF-8 of another file",
                 dt_dataset_open(&d, "{format: text, train: [" HERE "/ab.txt, " HERE
                                     "/other.txt, " HERE "/two.txt], "
                                     "element: {tokens: {shape: [2]}}, global_batch_size: 2}"),
                 DT_E_DATA_FILE, 65, HERE "/two.txt:2:2: byte 0xff");
    expect_fault("short",
                 dt_dataset_open(&d,
                                 "{format: text, train: " HERE
                                 "/ab.txt, element: {tokens: {shape: [8]}}, global_batch_size: 2}"),
                 DT_E_DATA_EMPTY, 65, "8 characters are too few: an example needs 8");
    expect_fault("unknown character",
                 dt_dataset_open(&d, "{format: text, train: " HERE "/ab.txt, validation: " HERE
                                     "/other.txt, "
                                     "element: {tokens: {shape: [2]}}, global_batch_size: 2}"),
                 DT_E_DATA_FILE, 65, "(U+0063) does not occur in the training text");
    expect_fault(
        "unknown character of another file",
        dt_dataset_open(&d,
                        "{format: text, train: " HERE "/ab.txt, validation: [" HERE "/ab.txt, " HERE
                        "/other.txt], element: {tokens: {shape: [2]}}, global_batch_size: 2}"),
        DT_E_DATA_FILE, 65, HERE "/other.txt: character 2 (U+0063) does not");
    expect_fault(
        "names",
        dt_dataset_open(
            &d, "{format: text, train: a, element: {words: {shape: [2]}}, global_batch_size: 2}"),
        DT_E_DATASET_KEYS, 78, "'tokens'");
}

static void test_label_in_a_later_shard(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    write_numbered("s-00000-of-00003", 0, 3, false);
    write_numbered("s-00001-of-00003", 3, 4, true);
    write_numbered("s-00002-of-00003", 7, 2, false);
    OK(dt_dataset_open(&d, "{format: tfrecord, train: '" HERE "/s-*', " ELEMENTS
                           ", validation_split: 0.5, global_batch_size: 8}"));
    const int label = dt_dataset_find(d, "label");
    expect_fault("second", dt_dataset_check_labels(d, label, 5), DT_E_LABEL_RANGE, 65,
                 HERE "/s-00001-of-00003: label 5 at record 3 is outside [0, 5)");
    expect_fault("third", dt_dataset_check_labels(d, label, 8), DT_E_LABEL_RANGE, 65,
                 HERE "/s-00002-of-00003: label 8 at record 2 is outside [0, 8)");
    dt_dataset_unref(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_of_one_file_a_list_and_a_pattern),
        cmocka_unit_test(test_label_in_a_later_shard),
        cmocka_unit_test(test_pictures_in_records),
        cmocka_unit_test(test_records_that_are_no_examples),
        cmocka_unit_test(test_features_that_do_not_fit),
        cmocka_unit_test(test_a_later_record_is_named_when_it_is_read),
        cmocka_unit_test(test_flipped_examples_are_answered),
        cmocka_unit_test(test_bytes_of_arrays_are_numbers),
        cmocka_unit_test(test_lists_of_any_length_are_padded),
        cmocka_unit_test(test_words_of_the_job),
        cmocka_unit_test(test_text_gives_windows_and_the_next_characters),
        cmocka_unit_test(test_text_becomes_tokens_and_tokens_text),
        cmocka_unit_test(test_line_ends_that_are_cut),
        cmocka_unit_test(test_text_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

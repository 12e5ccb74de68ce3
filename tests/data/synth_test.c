/* SPDX-License-Identifier: Apache-2.0 */
/* The sample digits and the sample text: the same bits for a seed everywhere, the files that
 * readers of MNIST and NumPy expect. */
#define HERE "build/tmp/data-synth"
#include "files.h"

#include "base/clock.h"
#include "base/hash.h"

static dt_digest digest_of(const char *path) {
    dt_str s = {0};
    OK(dt_file_read(path, 64 << 20, &s));
    dt_digest d = dt_sha256_of(s.data, s.size);
    dt_str_release(&s);
    return d;
}

static const char *const names[] = {"train-images-idx3-ubyte",
                                    "train-labels-idx1-ubyte",
                                    "t10k-images-idx3-ubyte",
                                    "t10k-labels-idx1-ubyte",
                                    "x.npy",
                                    "y.npy"};

static int draw(void **state) {
    (void)state;
    dt_status *s = NULL;
    int64_t from = dt_now_ns();
    DT_GO(s, dt_data_synth("digits", HERE "/a", 0));
    print_message("drawn in %.2f s\n", dt_seconds_since(from));
    DT_GO(s, dt_data_synth("digits", HERE "/b", 0));
    DT_GO(s, dt_data_synth("digits", HERE "/c", 1));
out:
    return dt_report(s);
}

static void test_same_seed_same_files(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char a[128], b[128], c[128];
        snprintf(a, sizeof a, HERE "/a/%s", names[i]);
        snprintf(b, sizeof b, HERE "/b/%s", names[i]);
        snprintf(c, sizeof c, HERE "/c/%s", names[i]);
        dt_digest da = digest_of(a), db = digest_of(b), dc = digest_of(c);
        assert_string_equal(da.hex, db.hex);
        assert_string_not_equal(da.hex, dc.hex);
    }
}

/* Nothing that draws may differ between compilers, options and processors. A change of the drawing
 * changes this line. */
static void test_same_bits_everywhere(void **state) {
    (void)state;
    assert_string_equal(digest_of(HERE "/a/train-images-idx3-ubyte").hex,
                        "6c36a0951f871121722f5f23276621d2dc5aa125aff8f2279804ca967d3735ca");
}

static void test_shapes_and_labels(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    const dt_element_spec *e;
    OK(dt_dataset_open(&d,
                       "{format: idx, train: {image: " HERE
                       "/a/train-images-idx3-ubyte, label: " HERE "/a/train-labels-idx1-ubyte},\n"
                       "validation: {image: " HERE "/a/t10k-images-idx3-ubyte, label: " HERE
                       "/a/t10k-labels-idx1-ubyte}, global_batch_size: 64}"));
    assert_int_equal(dt_dataset_count(d, DT_PART_TRAIN), 10000);
    assert_int_equal(dt_dataset_count(d, DT_PART_VALIDATION), 2000);
    dt_dataset_elements(d, &e);
    assert_int_equal(e[0].type.dim[1], 28);
    assert_int_equal(e[0].type.dim[2], 28);
    OK(dt_dataset_check_labels(d, 1, 10));
    dt_type t;
    int count[10] = {0};
    uint8_t *labels = read_all(d, 1, &t);
    for (int i = 0; i < 10000; i++) count[labels[i]]++;
    for (int i = 0; i < 10; i++) assert_in_range(count[i], 850, 1150);
    free(labels);
    dt_dataset_unref(d);
}

/* x.npy and y.npy are the same pictures and labels as the IDX files. */
static void test_arrays_are_the_same_pictures(void **state) {
    (void)state;
    dt_dataset *a = NULL, *b = NULL;
    dt_type t, u;
    OK(dt_dataset_open(&a, "{format: npy, train: {x: " HERE "/a/x.npy, y: " HERE
                           "/a/y.npy}, global_batch_size: 64}"));
    OK(dt_dataset_open(&b, "{format: idx, train: {x: " HERE "/a/train-images-idx3-ubyte, y: " HERE
                           "/a/train-labels-idx1-ubyte},\n"
                           "map: {y: [one_hot: 10]}, global_batch_size: 64}"));
    float *x = read_all(a, 0, &t), *y = read_all(a, 1, &t);
    uint8_t *pixels = read_all(b, 0, &u);
    float *one_hot = read_all(b, 1, &u);
    assert_int_equal(t.dim[0], 10000);
    assert_int_equal(t.dim[1], 10);
    assert_memory_equal(y, one_hot, 100000 * sizeof *y);
    for (int i = 0; i < 10000 * 784; i++)
        if (x[i] != (float)pixels[i] / 255) fail_msg("pixel %d differs", i);
    free(x);
    free(y);
    free(pixels);
    free(one_hot);
    dt_dataset_unref(a);
    dt_dataset_unref(b);
}

/* White strokes on black, inside a border, centred. */
static void test_pictures_look_like_digits(void **state) {
    (void)state;
    dt_str s = {0};
    OK(dt_file_read(HERE "/a/train-images-idx3-ubyte", 64 << 20, &s));
    const uint8_t *p = (const uint8_t *)s.data + 16;
    double ink = 0, x = 0, y = 0, border = 0;
    for (int i = 0; i < 10000 * 784; i++) {
        int row = i % 784 / 28, column = i % 28;
        ink += p[i];
        x += (double)column * p[i];
        y += (double)row * p[i];
        border += row == 0 || row == 27 || column == 0 || column == 27 ? p[i] : 0;
    }
    assert_in_range(ink / (10000 * 784), 15, 60); /* MNIST's mean is 33 */
    assert_true(x / ink > 13 && x / ink < 14 && y / ink > 13 && y / ink < 14);
    assert_true(border / ink < 0.02);
    dt_str_release(&s);
}

/* A play: as long as Tiny Shakespeare, of as many characters, all of them among the first nine
 * tenths, which jobs train on. */
static void test_text_has_the_characters_of_the_real_one(void **state) {
    (void)state;
    dt_str s = {0};
    bool seen[256] = {false};
    OK(dt_data_synth("text", HERE "/text", 0));
    OK(dt_file_read(HERE "/text/play.txt", 64 << 20, &s));
    assert_int_equal(s.size, 1115394);
    for (size_t i = 0; i < s.size * 9 / 10; i++) seen[(unsigned char)s.data[i]] = true;
    static const char known[] =
        "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (int i = 0; i < 256; i++)
        if (seen[i] != (i > 0 && strchr(known, i) != NULL))
            fail_msg("character %d is %s", i, seen[i] ? "not of Tiny Shakespeare" : "missing");
    size_t longest = 0, from = 0;
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] == '\n') {
            longest = i - from > longest ? i - from : longest;
            from = i + 1;
        }
    assert_in_range(longest, 30, 60);
    dt_str_release(&s);
}

static void test_text_follows_its_seed(void **state) {
    (void)state;
    OK(dt_data_synth("text", HERE "/text", 0));
    OK(dt_data_synth("text", HERE "/text-1", 1));
    assert_string_equal(digest_of(HERE "/text/play.txt").hex,
                        "22b4b8e7e9d2f00029cffc4b308cbb98c33513e96a4b802964234264715b16ad");
    assert_string_not_equal(digest_of(HERE "/text/play.txt").hex,
                            digest_of(HERE "/text-1/play.txt").hex);
}

static void test_unknown_kind(void **state) {
    (void)state;
    expect_fault("kind", dt_data_synth("digit", HERE "/x", 0), DT_E_SYNTH_KIND, 64,
                 "unknown sample data 'digit'; known: digits, text");
}

static void test_directory_that_cannot_be_made(void **state) {
    (void)state;
    write_file("file", "x", 1);
    dt_status *s = dt_data_synth("digits", HERE "/file/x", 0);
    assert_int_equal(dt_status_code(s), 73);
    dt_status_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_files),
        cmocka_unit_test(test_same_bits_everywhere),
        cmocka_unit_test(test_shapes_and_labels),
        cmocka_unit_test(test_arrays_are_the_same_pictures),
        cmocka_unit_test(test_pictures_look_like_digits),
        cmocka_unit_test(test_text_has_the_characters_of_the_real_one),
        cmocka_unit_test(test_text_follows_its_seed),
        cmocka_unit_test(test_unknown_kind),
        cmocka_unit_test(test_directory_that_cannot_be_made),
    };
    return cmocka_run_group_tests_name("sample digits", tests, draw, NULL);
}

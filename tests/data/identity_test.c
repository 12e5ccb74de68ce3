/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of what data sets read: arrays, archives, pictures, text; by their ends where there is
 * much of it; files that change or go, and an end before the end. */
#define HERE "build/tmp/data-identity"
#include "files.h"

#include <fcntl.h>

#include "data/identity.h"
#include "pictures.h"

static const atomic_bool go_on;

static void take(const char *spec, dt_part part, dt_identity *out) {
    dt_dataset *d = NULL;
    OK(dt_dataset_open(&d, "%s", spec));
    OK(dt_identity_take(d, part, &go_on, out));
    for (int i = 0; i < out->n; i++)
        out->file[i].path = out->file[i].what = NULL; /* they go with the data set */
    dt_dataset_unref(d);
}

static void read_file(const char *name, dt_str *out) { OK(dt_file_read(name, 1 << 20, out)); }

/* A line of the text whose hash is that of several files. */
static void add_line(dt_str *text, const char *path, const char *what) {
    dt_str file = {0};
    read_file(path, &file);
    dt_str_printf(text, "%s %zu %s\n", dt_sha256_of(dt_str_text(&file), file.size).hex, file.size,
                  what);
    dt_str_release(&file);
}

static void expect(const dt_identity *x, int64_t files, dt_hashed hashed, dt_str *text) {
    assert_int_equal(x->files, files);
    assert_int_equal(x->hashed, hashed);
    assert_string_equal(x->sha256.hex, dt_sha256_of(dt_str_text(text), text->size).hex);
    dt_str_release(text);
}

static void test_arrays_have_their_elements_names(void **state) {
    (void)state;
    dt_identity x, again;
    dt_str text = {0};
    write_idx("x-idx2", 2, (const uint32_t[]){6, 4});
    write_idx("y-idx1", 1, (const uint32_t[]){6});
    const char *spec = "{format: idx, train: {x: " HERE "/x-idx2, y: " HERE
                       "/y-idx1}, validation_split: 0.5, global_batch_size: 2}";
    take(spec, DT_PART_TRAIN, &x);
    add_line(&text, HERE "/x-idx2", "x");
    add_line(&text, HERE "/y-idx1", "y");
    expect(&x, 2, DT_HASHED_WHOLE, &text);
    take(spec, DT_PART_VALIDATION, &again);
    assert_int_equal(again.files, 0); /* split off: the same files */
    write_idx("x-idx2", 2, (const uint32_t[]){6, 5});
    take(spec, DT_PART_TRAIN, &again);
    assert_string_not_equal(x.sha256.hex, again.sha256.hex);
}

/* The archive itself, whichever of its members are read. */
static void test_members_of_archives(void **state) {
    (void)state;
    dt_identity x;
    dt_str file = {0};
    take("{format: npz, train: {u1: tests/golden/data/stored.npz, i8: "
         "tests/golden/data/stored.npz/i8}, global_batch_size: 2}",
         DT_PART_TRAIN, &x);
    read_file("tests/golden/data/stored.npz", &file);
    assert_int_equal(x.files, 2);
    for (int i = 0; i < 2; i++)
        assert_string_equal(x.file[i].sha256.hex, dt_sha256_of(dt_str_text(&file), file.size).hex);
    dt_str_release(&file);
}

static void test_one_file_has_its_own_hash(void **state) {
    (void)state;
    static const char words[] = "the quick brown fox jumps over the lazy dog";
    dt_identity x;
    dt_str text = {0};
    write_file("a.txt", words, sizeof words - 1);
    take("{format: text, train: " HERE
         "/a.txt, element: {tokens: {shape: [4]}}, global_batch_size: 2}",
         DT_PART_TRAIN, &x);
    dt_str_puts(&text, words);
    expect(&x, 1, DT_HASHED_WHOLE, &text);
}

static void test_pictures_have_their_classes(void **state) {
    (void)state;
    static const char *const names[] = {"p/a/1.png", "p/a/2.png", "p/b/1.png"};
    dt_identity x;
    dt_str text = {0};
    OK(dt_dir_make(HERE "/p/a"));
    OK(dt_dir_make(HERE "/p/b"));
    for (int i = 0; i < 3; i++) {
        dt_str file = draw_png(&forms[5], i);
        char path[64];
        write_str(names[i], &file);
        snprintf(path, sizeof path, HERE "/%s", names[i]);
        add_line(&text, path, names[i] + 2);
    }
    take("{format: image_folder, train: " HERE
         "/p, element: {image: {shape: [5, 7, 3], dtype: uint8}, label: {num_classes: 2}}, "
         "global_batch_size: 2}",
         DT_PART_TRAIN, &x);
    expect(&x, 3, DT_HASHED_WHOLE, &text);
}

/* A hole of 300 MiB costs no room; what lies between the ends is not looked at. */
static void write_large(char first, char middle, char last) {
    enum { ROW = 150 << 20 };
    static const int64_t all = 128 + 2 * (int64_t)ROW;
    const struct {
        char c;
        int64_t at;
    } bytes[] = {{first, 128}, {middle, all / 2}, {last, all - 1}};
    dt_str head =
        npy_header(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 157286400), }");
    assert_int_equal(head.size, 128);
    write_str("large.npy", &head);
    int fd = open(HERE "/large.npy", O_WRONLY);
    for (size_t i = 0; i < 3; i++) assert_int_equal(pwrite(fd, &bytes[i].c, 1, bytes[i].at), 1);
    assert_int_equal(close(fd), 0);
}

static void test_large_files_by_their_ends(void **state) {
    (void)state;
    static const struct {
        char c[3];
        bool same;
    } rows[] = {{"aba", true}, {"baa", false}, {"aab", false}};
    const char *spec = "{format: npy, train: {x: " HERE "/large.npy}, global_batch_size: 2}";
    dt_identity x, other;
    write_large('a', 'a', 'a');
    take(spec, DT_PART_TRAIN, &x);
    assert_int_equal(x.hashed, DT_HASHED_ENDS);
    assert_int_equal(x.bytes, 128 + 2 * (150 << 20));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_large(rows[i].c[0], rows[i].c[1], rows[i].c[2]);
        take(spec, DT_PART_TRAIN, &other);
        assert_int_equal(strcmp(x.sha256.hex, other.sha256.hex) == 0, rows[i].same);
    }
    assert_int_equal(unlink(HERE "/large.npy"), 0);
}

static void test_faults(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_identity x;
    atomic_bool stop = true;
    write_idx("z-idx1", 1, (const uint32_t[]){6});
    OK(dt_dataset_open(&d, "{format: idx, train: {x: " HERE "/z-idx1}, global_batch_size: 2}"));
    expect_fault("stopped", dt_identity_take(d, DT_PART_TRAIN, &stop, &x), DT_E_STOPPED, 75,
                 "not read to its end");
    assert_int_equal(unlink(HERE "/z-idx1"), 0);
    expect_fault("gone", dt_identity_take(d, DT_PART_TRAIN, &go_on, &x), DT_E_NO_INPUT, 66,
                 "z-idx1");
    dt_dataset_unref(d);
    take("{format: synthetic, examples: 8, element: {x: {shape: [2]}}, global_batch_size: 2}",
         DT_PART_TRAIN, &x);
    assert_int_equal(x.files, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_have_their_elements_names),
        cmocka_unit_test(test_members_of_archives),
        cmocka_unit_test(test_one_file_has_its_own_hash),
        cmocka_unit_test(test_pictures_have_their_classes),
        cmocka_unit_test(test_large_files_by_their_ends),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The format image_folder: order, labels, pixels; folders and files that are refused. */
#define HERE "build/tmp/data-image-folder"
#include "files.h"

#include <unistd.h>

#include "file/image/resize.h"
#include "pictures.h"

/* ---- good ones ---- */

static void clear(const char *part) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf " HERE "/%s", part);
    assert_int_equal(system(command), 0);
}

static void write_picture(const char *name, int seed) {
    char folder[256];
    snprintf(folder, sizeof folder, HERE "/%s", name);
    *strrchr(folder, '/') = '\0';
    OK(dt_dir_make(folder));
    dt_str file = draw_png(&forms[5], seed);
    write_str(name, &file);
}

/* Three classes, whose names sort as b10 < b9 < c, in an order of writing that is another one. */
static void write_set(const char *part, int n) {
    static const char *const classes[] = {"c", "b9", "b10"};
    clear(part);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            char name[128];
            /* content, not name, says what a file is */
            snprintf(name, sizeof name, "%s/%s/%s%d.%s", part, classes[k], i % 2 ? "y" : "x", i,
                     i % 2 ? "PNG" : "jpg");
            write_picture(name, 10 * (2 - k) + i);
        }
}

#define ELEMENTS "element: {image: {shape: [5, 7, 3], dtype: uint8}, label: {num_classes: 3}}"

static dt_status *open_set(dt_dataset **out, const char *more) {
    return dt_dataset_open(
        out, "{format: image_folder, train: " HERE "/train, " ELEMENTS ", global_batch_size: 4%s}",
        more);
}

static void test_order_labels_and_pixels(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_type type;
    write_set("train", 4);
    write_file("train/b9/.hidden", "x", 1);
    write_file("train/readme.txt", "x", 1);
    OK(open_set(&d, ""));
    assert_int_equal(dt_dataset_examples(d), 12);
    for (int again = 0; again < 2; again++) { /* decoded, then kept */
        uint8_t *image = read_all(d, dt_dataset_find(d, "image"), &type);
        assert_true(
            dt_type_equal(&type, &(dt_type){.dtype = DT_UINT8, .rank = 4, .dim = {12, 5, 7, 3}}));
        int32_t *label = read_all(d, dt_dataset_find(d, "label"), &type);
        static const int order[] = {0, 2, 1, 3}; /* x0 x2 y1 y3 */
        for (int i = 0; i < 12; i++) {
            assert_int_equal(label[i], i / 4);
            assert_int_equal(image[i * PIXELS * 3], pixel(10 * (i / 4) + order[i % 4], 0, 0, 0));
            assert_int_equal(image[(i + 1) * PIXELS * 3 - 1],
                             pixel(10 * (i / 4) + order[i % 4], ROWS - 1, COLUMNS - 1, 2));
        }
        free(image);
        free(label);
    }
    dt_dataset_unref(d);
}

/* As Keras' image_dataset_from_directory: folder by folder, sorted by path. A link to a folder is
 * not followed. */
static void test_folders_in_folders_of_classes(void **state) {
    (void)state;
    static const char *const in_order[] = {"b9/z.png", "b9/k/x.png", "b9/k-b/y.png",
                                           "b9/k/c/w.png"};
    dt_dataset *d = NULL;
    dt_type type;
    clear("train");
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof name, "train/%s", in_order[i]);
        write_picture(name, i);
    }
    write_picture("train/c/a.png", 4);
    write_picture("train/b10/a.png", 5);
    assert_int_equal(symlink("..", HERE "/train/b9/k/loop"), 0);
    OK(open_set(&d, ""));
    uint8_t *image = read_all(d, dt_dataset_find(d, "image"), &type);
    int32_t *label = read_all(d, dt_dataset_find(d, "label"), &type);
    static const int seeds[] = {5, 0, 1, 2, 3, 4}, classes[] = {0, 1, 1, 1, 1, 2};
    assert_int_equal(dt_dataset_examples(d), 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(image[i * PIXELS * 3], pixel(seeds[i], 0, 0, 0));
        assert_int_equal(label[i], classes[i]);
    }
    free(image);
    free(label);
    dt_dataset_unref(d);
}

static const char *warning_of(const dt_dataset *d) {
    dt_texts warnings;
    dt_dataset_left_out(d, &warnings);
    return warnings.n > 0 ? warnings.v[0] : "";
}

/* Broken pictures and other files are counted; the examples are the others, in order. */
static void test_broken_pictures_are_skipped(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_type type;
    write_set("train", 4);
    write_file("train/b9/x2.jpg", "no picture", 10);
    write_file("train/b10/x0.jpg", "", 0);
    write_file("train/c/new.heic", "x", 1);
    write_file("train/c/notes.txt", "x", 1);
    OK(open_set(&d, ", on_error: skip"));
    assert_int_equal(dt_dataset_examples(d), 10);
    assert_string_equal(warning_of(d), HERE
                        "/train: left out 3 of 13 images, which cannot be read; the first: " HERE
                        "/train/b10/x0.jpg: is empty; " HERE
                        "/train: left out 1 file that is not an image, such as " HERE
                        "/train/c/notes.txt");
    uint8_t *image = read_all(d, dt_dataset_find(d, "image"), &type);
    static const int seeds[] = {2, 1, 3, 10, 11, 13, 20, 22, 21, 23};
    for (int i = 0; i < 10; i++) assert_int_equal(image[i * PIXELS * 3], pixel(seeds[i], 0, 0, 0));
    free(image);
    dt_dataset_unref(d);
    d = NULL;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            char name[64];
            snprintf(name, sizeof name, "train/%s/%s%d.%s", (const char *[]){"c", "b9", "b10"}[k],
                     i % 2 ? "y" : "x", i, i % 2 ? "PNG" : "jpg");
            write_file(name, "x", 1);
        }
    expect_fault("all", open_set(&d, ", on_error: skip"), DT_E_DATA_EMPTY, 65,
                 HERE "/train: no picture can be read; the first: " HERE "/train/b10/x0.jpg: not");
}

static void test_maps_of_pictures(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_type type;
    write_set("train", 1);
    OK(open_set(
        &d,
        ", map: {image: [cast: float32, rescale: {scale: 0.00784313725490196, offset: -1.0}]}"));
    float *image = read_all(d, dt_dataset_find(d, "image"), &type);
    for (int c = 0; c < 3; c++)
        assert_true(image[c] == (float)pixel(0, 0, 0, c) * 0.00784313725490196f + -1.0f);
    free(image);
    dt_dataset_unref(d);
}

/* A third of every class, its last pictures, however many there are of it. */
static void test_a_split_takes_its_share_of_every_class(void **state) {
    (void)state;
    static const int sizes[] = {3, 9, 6}, trained[] = {2, 6, 4};
    static const char *const names[] = {"a", "b", "c"};
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    clear("train");
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < sizes[k]; i++) {
            char name[64];
            snprintf(name, sizeof name, "train/%s/%d.png", names[k], i);
            write_picture(name, 20 * k + i);
        }
    OK(open_set(&d, ", validation_split: 0.333"));
    OK(dt_iterator_open_batches(&f, d,
                                &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 18}));
    OK(dt_iterator_next_batch(f, &b));
    int seen[3] = {0};
    for (int i = 0; i < b.rows; i++) {
        int class = ((const int32_t *)b.tensor[dt_dataset_find(d, "label")]->data)[i];
        uint8_t first =
            ((const uint8_t *)b.tensor[dt_dataset_find(d, "image")]->data)[i * PIXELS * 3];
        /* the last of each class */
        assert_int_equal(first, pixel(20 * class + trained[class] + seen[class]++, 0, 0, 0));
    }
    for (int k = 0; k < 3; k++) assert_int_equal(seen[k], sizes[k] - trained[k]);
    dt_iterator_close(f);
    dt_dataset_unref(d);
}

/* Classes of other parts have train's numbers, and may be fewer. */
static void test_validation_has_the_classes_of_train(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    write_set("train", 1);
    clear("val");
    write_picture("val/c/a.png", 0);
    OK(open_set(&d, ", validation: " HERE "/val"));
    OK(dt_iterator_open_batches(&f, d,
                                &(dt_batch_options){.part = DT_PART_VALIDATION, .batch = 1}));
    OK(dt_iterator_next_batch(f, &b));
    assert_int_equal(*(const int32_t *)b.tensor[dt_dataset_find(d, "label")]->data, 2);
    dt_iterator_close(f);
    dt_dataset_unref(d);
    d = NULL;
    write_picture("val/d/a.png", 0);
    expect_fault("new class", open_set(&d, ", validation: " HERE "/val"), DT_E_DATA_FILE, 65,
                 HERE "/val/d: the training data has no class 'd'");
}

/* ---- pictures of any size ---- */

/* A PNG of that size, whose pixels are those of pixel(). */
static void write_sized(const char *name, int seed, int rows, int columns, uint8_t *pixels) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)columns,
                       .height = (png_uint_32)rows,
                       .format = PNG_FORMAT_RGB};
    char file[20000];
    png_alloc_size_t size = sizeof file;
    for (int i = 0; i < rows * columns * 3; i++)
        pixels[i] = pixel(seed, i / 3 / columns, i / 3 % columns, i % 3);
    assert_true(png_image_write_to_memory(&image, file, &size, 0, pixels, 0, NULL));
    write_file(name, file, size);
}

static void expect_resized(const dt_resizing *like, const uint8_t *pixels, const void *got,
                           const char *what) {
    dt_between tables[64];
    uint8_t out[8 * 6 * 3 * 4];
    dt_resizing r = *like;
    r.row = tables;
    r.column = tables + r.out.dim[0];
    dt_resizing_prepare(&r);
    dt_resizing_run(&r, pixels, out);
    if (memcmp(got, out, (size_t)dt_type_bytes(&r.out)) != 0) fail_msg("%s: other values", what);
}

static void test_pictures_of_any_size(void **state) {
    (void)state;
    static const struct {
        const char *keys;
        dt_interpolation interpolation;
        bool crop;
    } cases[] = {
        {"interpolation: bilinear", DT_BILINEAR, false},
        {"interpolation: nearest, dtype: uint8", DT_NEAREST, false},
        {"interpolation: bilinear, dtype: float32, crop_to_aspect_ratio: true", DT_BILINEAR, true}};
    static const int sizes[][2] = {{5, 7}, {1, 1}, {8, 6}, {40, 30}, {3, 50}, {31, 2}};
    enum { N = sizeof sizes / sizeof *sizes };
    static uint8_t pixels[N][40 * 30 * 3];
    clear("sized");
    OK(dt_dir_make(HERE "/sized/a"));
    for (int i = 0; i < N; i++) {
        char name[64];
        snprintf(name, sizeof name, "sized/a/%d.png", i);
        write_sized(name, i, sizes[i][0], sizes[i][1], pixels[i]);
    }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        dt_dataset *d = NULL;
        dt_type type;
        OK(dt_dataset_open(
            &d,
            "{format: image_folder, train: " HERE
            "/sized, element: {image: {shape: [8, 6, 3], %s}, label: {num_classes: 1}},"
            " global_batch_size: 4}",
            cases[k].keys));
        char *got = read_all(d, dt_dataset_find(d, "image"), &type);
        assert_int_equal(type.dtype, cases[k].interpolation == DT_BILINEAR ? DT_FLOAT32 : DT_UINT8);
        dt_type one = dt_type_of(type.dtype, 3, type.dim + 1);
        for (int i = 0; i < N; i++) {
            int64_t dim[3] = {sizes[i][0], sizes[i][1], 3};
            expect_resized(&(dt_resizing){.in = dt_type_of(DT_UINT8, 3, dim),
                                          .out = one,
                                          .interpolation = cases[k].interpolation,
                                          .crop = cases[k].crop},
                           pixels[i], got + i * dt_type_bytes(&one), cases[k].keys);
        }
        free(got);
        dt_dataset_unref(d);
    }
}

static void test_sizes_that_lie(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_str png = draw_png(&forms[5], 0);
    const char *keys = "{format: image_folder, train: " HERE
                       "/lies, element: {image: {shape: [8, 6, 3], interpolation: bilinear%s}, "
                       "label: {num_classes: 1}},"
                       " global_batch_size: 4}";
    clear("lies");
    OK(dt_dir_make(HERE "/lies/a"));
    memcpy(png.data + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8);
    write_file("lies/a/a.png", png.data, png.size);
    expect_fault("large", dt_dataset_open(&d, keys, ""), DT_E_TOO_LARGE, 65,
                 "a.png: a picture of 2147483647 x 2147483647 pixels; at most");
    memcpy(png.data + 16, "\0\0\0\0\0\0\0\1", 8);
    write_file("lies/a/a.png", png.data, png.size);
    expect_fault("empty", dt_dataset_open(&d, keys, ""), DT_E_TOO_LARGE, 65,
                 "a.png: a picture of 1 x 0");
    write_file("lies/a/a.png", png.data, 20);
    expect_fault("cut", dt_dataset_open(&d, keys, ""), DT_E_DATA_FILE, 65,
                 "a.png: broken PNG image: no header");
    expect_fault("dtype", dt_dataset_open(&d, keys, ", dtype: uint8"), DT_E_DATASET_KEYS, 78,
                 "'image' is float32 with interpolation bilinear");
    dt_str_release(&png);
}

/* ---- bad ones ---- */

static void test_bad_folders(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    clear("train");
    expect_fault("missing", open_set(&d, ""), DT_E_NO_INPUT, 66,
                 HERE "/train: no such file or directory");
    OK(dt_dir_make(HERE "/train"));
    expect_fault("empty", open_set(&d, ""), DT_E_DATA_FILE, 65,
                 HERE "/train: has 0 folders, one per class, but 'label' has 3 classes");
    OK(dt_dir_make(HERE "/train/a"));
    OK(dt_dir_make(HERE "/train/b"));
    OK(dt_dir_make(HERE "/train/c"));
    expect_fault("no pictures", open_set(&d, ""), DT_E_DATA_EMPTY, 65, HERE "/train: no pictures");
    write_file("train/b/notes.txt", "x", 1);
    expect_fault("notes alone", open_set(&d, ""), DT_E_DATA_EMPTY, 65, HERE "/train: no pictures");
    clear("train/b/notes.txt");
    static const char *const unread[] = {"a.heic", "a.AVIF"};
    for (int i = 0; i < 2; i++) {
        char path[64], message[192];
        snprintf(path, sizeof path, "train/b/%s", unread[i]);
        snprintf(message, sizeof message,
                 HERE "/%s: only PNG, JPEG, GIF, BMP, WebP or TIFF images can be read", path);
        write_file(path, "x", 1);
        expect_fault(path, open_set(&d, ""), DT_E_DATA_FILE, 65, message);
        clear(path);
    }
    OK(dt_dir_make(HERE "/train/b/x.png"));
    expect_fault("folder", open_set(&d, ""), DT_E_DATA_EMPTY, 65, HERE "/train: no pictures");
    clear("train");
    write_file("train", "x", 1);
    expect_fault("file", open_set(&d, ""), DT_E_NO_INPUT, 66, HERE "/train: not a directory");
    clear("train");
}

/* The first picture is looked at when the set is opened, a later one when its turn comes. */
static void test_a_bad_picture_is_named(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    dt_iterator *f = NULL;
    dt_example b;
    write_set("train", 2);
    write_file("train/b9/x0.jpg", "no picture", 10);
    OK(open_set(&d, ""));
    OK(dt_iterator_open_batches(&f, d, &(dt_batch_options){.part = DT_PART_TRAIN, .batch = 2}));
    OK(dt_iterator_next_batch(f, &b));
    expect_fault("in its turn", dt_iterator_next_batch(f, &b), DT_E_DATA_FILE, 65,
                 HERE "/train/b9/x0.jpg: not a PNG, JPEG, GIF, BMP, WebP or TIFF image");
    dt_iterator_close(f);
    dt_dataset_unref(d);
    d = NULL;
    write_file("train/b10/x0.jpg", "", 0);
    expect_fault("first", open_set(&d, ""), DT_E_DATA_FILE, 65, HERE "/train/b10/x0.jpg: is empty");
}

static void test_bad_words(void **state) {
    (void)state;
    static const struct {
        const char *keys, *text;
    } rows[] = {
        {"element: {image: {shape: [5, 7, 3]}}",
         "a folder of pictures has two elements, one with a shape and one with num_classes"},
        {"element: {a: {shape: [5, 7]}, b: {shape: [5, 7]}}",
         "a folder of pictures has two elements, one with a shape and one with num_classes"},
        {"element: {image: {shape: [5]}, label: {num_classes: 3}}",
         "'image' must have a shape [rows, columns, channels] with 1, 3 or 4 channels"},
        {"element: {image: {shape: [5, 7, 2]}, label: {num_classes: 3}}",
         "'image' must have a shape [rows, columns, channels] with 1, 3 or 4 channels"},
        {"element: {image: {shape: [100000, 100000]}, label: {num_classes: 3}}",
         "'image': an example may not exceed 1073741824 bytes"},
        {"element: {image: {shape: [5, 7], num_classes: 3}, label: {num_classes: 3}}",
         "a folder of pictures has two elements"},
        {"element: {image: {shape: [5, 7], dtype: float32}, label: {num_classes: 3}}",
         "'image' is uint8 with interpolation none; cast it in map"},
        {"element: {image: {shape: [5, 7], dtype: int8}, label: {num_classes: 3}}",
         "unknown dtype 'int8'"},
        {"element: [image]", "element: expected a mapping, got a list"},
        {"train: ''", "'train' must name a folder, got an empty string"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_dataset *d = NULL;
        bool own = strncmp(rows[i].keys, "train", 5) == 0;
        dt_status *s = dt_dataset_open(&d, "{format: image_folder, %s, %s, global_batch_size: 1}",
                                       rows[i].keys, own ? ELEMENTS : "train: x");
        if (!s || !strstr(dt_status_text(s), rows[i].text))
            fail_msg("%s: got '%s'", rows[i].keys, s ? dt_status_text(s) : "no error");
        assert_int_equal(dt_status_code(s), 78);
        dt_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_labels_and_pixels),
        cmocka_unit_test(test_folders_in_folders_of_classes),
        cmocka_unit_test(test_broken_pictures_are_skipped),
        cmocka_unit_test(test_maps_of_pictures),
        cmocka_unit_test(test_a_split_takes_its_share_of_every_class),
        cmocka_unit_test(test_pictures_of_any_size),
        cmocka_unit_test(test_sizes_that_lie),
        cmocka_unit_test(test_validation_has_the_classes_of_train),
        cmocka_unit_test(test_bad_folders),
        cmocka_unit_test(test_a_bad_picture_is_named),
        cmocka_unit_test(test_bad_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

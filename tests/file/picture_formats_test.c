/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures in all formats decode to the pixels that Pillow decodes (tests/golden/pictures.json), and
 * stand as their Exif orientation says. Files that are cut off, or have a wrong byte, end in a
 * picture or in an error that names them.
 */
#define HERE "build/tmp/file-picture-formats"
#include "../data/files.h"

#include <jansson.h>

#include "file/image/layout.h"

typedef struct picture {
    const char *id;
    int rows, columns, channels, near;
    bool turns;
    dt_str file, out;
} picture;

static int integer(const json_t *row, const char *key) {
    return (int)json_integer_value(json_object_get(row, key));
}

static dt_str bytes_of(const json_t *row, const char *key) {
    const char *digits = json_string_value(json_object_get(row, key));
    dt_str out = {0};
    for (; *digits; digits += 2) {
        const char two[] = {digits[0], digits[1], 0};
        dt_str_putc(&out, (char)strtol(two, NULL, 16));
    }
    return out;
}

static picture picture_of(const json_t *row) {
    return (picture){.id = json_string_value(json_object_get(row, "id")),
                     .rows = integer(row, "rows"),
                     .columns = integer(row, "columns"),
                     .channels = integer(row, "channels"),
                     .near = integer(row, "near"),
                     .turns = json_is_true(json_object_get(row, "turns")),
                     .file = bytes_of(row, "file"),
                     .out = bytes_of(row, "out")};
}

static bool is_installed(const picture *p) {
    const char *name = strncmp(p->id, "tiff", 4) == 0   ? "libtiff.so.6"
                       : strncmp(p->id, "webp", 4) == 0 ? "libwebp.so.7"
                                                        : NULL;
    void *library = NULL;
    if (name) OK(dt_library_open(&library, (const char *const[]){name, NULL}, 2, NULL));
    return !name || library;
}

/* Decodes into a value of uint8 of the picture's upright size. */
static dt_status *fit(const picture *p, int channels, const char *bytes, size_t n, uint8_t *out) {
    const dt_image_layout l = {
        .type = dt_type_of(DT_UINT8, 3, (int64_t[]){p->rows, p->columns, channels})};
    return dt_image_fit(&l, &(dt_image_name){p->id, "image"}, bytes, n, out);
}

static void each(void (*body)(const picture *p)) {
    json_t *file = json_load_file("tests/golden/pictures.json", 0, NULL), *row;
    size_t i;
    assert_non_null(file);
    json_array_foreach(json_object_get(file, "cases"), i, row) {
        picture p = picture_of(row);
        if (is_installed(&p)) body(&p);
        else print_message("skipped: %s: its library is not installed\n", p.id);
        dt_str_release(&p.file);
        dt_str_release(&p.out);
    }
    json_decref(file);
}

static void compare(const picture *p) {
    const int size = p->rows * p->columns * p->channels;
    uint8_t *out = calloc(1, (size_t)size);
    assert_non_null(out);
    assert_int_equal(size, p->out.size);
    dt_status *s = fit(p, p->channels, p->file.data, p->file.size, out);
    if (s) fail_msg("%s: %s", p->id, dt_status_text(s));
    for (int i = 0; i < size; i++)
        if (abs(out[i] - (uint8_t)p->out.data[i]) > p->near)
            fail_msg("%s: byte %d is %d, not %d", p->id, i, out[i], (uint8_t)p->out.data[i]);
    free(out);
}

static void test_pixels_are_those_of_pillow(void **state) {
    (void)state;
    each(compare);
}

/* Grey is the luminance of the colours. */
static void compare_grey(const picture *p) {
    const int pixels = p->rows * p->columns;
    uint8_t *out = calloc(1, (size_t)pixels);
    assert_non_null(out);
    OK(fit(p, 1, p->file.data, p->file.size, out));
    for (int i = 0; i < pixels; i++) {
        const uint8_t *c = (const uint8_t *)p->out.data + i * p->channels;
        const int grey = (int)((19595u * c[0] + 38470u * c[1] + 7471u * c[2] + 0x8000u) >> 16);
        if (abs(out[i] - grey) > p->near + 1)
            fail_msg("%s: grey pixel %d is %d, not %d", p->id, i, out[i], grey);
    }
    free(out);
}

static void test_grey(void **state) {
    (void)state;
    each(compare_grey);
}

/* Resizing takes the upright picture, too; `exif: false` takes it as it is stored. */
static void turn(const picture *p) {
    uint8_t out[64], stored[64];
    const int64_t size[] = {1, 2, 3};
    dt_image_layout l = {
        .type = dt_type_of(DT_UINT8, 3, size), .resizes = true, .interpolation = DT_NEAREST};
    if (!p->turns || p->rows == 5) return;
    OK(dt_image_fit(&l, &(dt_image_name){p->id, "image"}, p->file.data, p->file.size, out));
    l.as_stored = true;
    OK(dt_image_fit(&l, &(dt_image_name){p->id, "image"}, p->file.data, p->file.size, stored));
    const int64_t at = (3 * 5 + 1) * 3; /* row 3 of 7, column 1 of 5: nearest to the first pixel */
    assert_in_range(out[0] + p->near, (uint8_t)p->out.data[at],
                    (uint8_t)p->out.data[at] + 2 * p->near);
    assert_memory_not_equal(out, stored, 6);
}

static void test_orientation(void **state) {
    (void)state;
    each(turn);
}

/* ---- hostile files ---- */

static void expect_error_of_file(const picture *p, dt_status *s) {
    if (!s) return;
    assert_int_equal(dt_status_code(s), 65);
    assert_memory_equal(dt_status_text(s), p->id, strlen(p->id));
    dt_status_free(s);
}

/* A file may end in bytes that are not needed; at half its size pixels are missing. */
static void cut(const picture *p) {
    uint8_t *out = malloc((size_t)(p->rows * p->columns * 3));
    for (size_t n = 0; n<p->file.size; n += p->file.size> 600 ? 31 : 1) {
        char *part = malloc(n + 1);
        assert_non_null(part);
        memcpy(part, p->file.data, n);
        dt_status *s = fit(p, 3, part, n, out);
        if (!s && n < p->file.size / 2) fail_msg("%s: taken with %zu bytes", p->id, n);
        expect_error_of_file(p, s);
        free(part);
    }
    free(out);
}

static void test_files_that_are_cut_off(void **state) {
    (void)state;
    each(cut);
}

static void spoil(const picture *p) {
    uint8_t *out = malloc((size_t)(p->rows * p->columns * 3));
    for (size_t at = 0; at<p->file.size; at += p->file.size> 600 ? 31 : 1)
        for (int wrong = 1; wrong < 256; wrong += 37) {
            p->file.data[at] = (char)(p->file.data[at] ^ wrong);
            expect_error_of_file(p, fit(p, 3, p->file.data, p->file.size, out));
            p->file.data[at] = (char)(p->file.data[at] ^ wrong);
        }
    free(out);
}

static void test_files_with_a_wrong_byte(void **state) {
    (void)state;
    each(spoil);
}

static void test_forms_that_are_refused(void **state) {
    (void)state;
    static const char rle[] = "BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\7\0\0\0\5\0\0\0\1\0\x08\0\1"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
                      animated[] = "RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\2\0\0\0\6\0\0\4\0\0";
    const picture p = {.id = "x", .rows = 5, .columns = 7};
    uint8_t out[105];
    expect_fault("rle", fit(&p, 3, rle, sizeof rle - 1, out), DT_E_DATA_FILE, 65,
                 "x: broken BMP image: run-length encoding is not supported");
    char jpeg[sizeof rle];
    memcpy(jpeg, rle, sizeof rle);
    jpeg[30] = 4;
    expect_fault("jpeg in bmp", fit(&p, 3, jpeg, sizeof rle - 1, out), DT_E_DATA_FILE, 65,
                 "x: broken BMP image: its compression is not supported");
    expect_fault("webp", fit(&p, 3, animated, sizeof animated - 1, out), DT_E_DATA_FILE, 65,
                 "x: animated WebP images are not supported");
}

/* A grey TIFF of 2 bits with one row of the numbers 0 to 3, for which 0 is black or white. */
static void test_class_numbers_are_read_as_stored(void **state) {
    (void)state;
    char tiff[] = "II*\0\x08\0\0\0\x09\0"
                  "\0\1\4\0\1\0\0\0\4\0\0\0"     /* width: 4 */
                  "\1\1\4\0\1\0\0\0\1\0\0\0"     /* height: 1 */
                  "\2\1\3\0\1\0\0\0\2\0\0\0"     /* bits: 2 */
                  "\3\1\3\0\1\0\0\0\1\0\0\0"     /* compression: none */
                  "\6\1\3\0\1\0\0\0\0\0\0\0"     /* 0 is white */
                  "\x11\1\4\0\1\0\0\0\x7a\0\0\0" /* offset of the pixels */
                  "\x15\1\3\0\1\0\0\0\1\0\0\0"   /* samples: 1 */
                  "\x16\1\4\0\1\0\0\0\1\0\0\0"   /* rows in the strip: 1 */
                  "\x17\1\4\0\1\0\0\0\1\0\0\0"   /* bytes of the strip: 1 */
                  "\0\0\0\0\x1b";
    const picture p = {.id = "tiff"};
    const dt_image_layout l = {.type = dt_type_of(DT_UINT8, 3, (int64_t[]){1, 4, 1}), .suffix = ""};
    if (!is_installed(&p)) skip();
    for (char black = 0; black < 2; black++) {
        uint8_t out[4] = {9, 9, 9, 9};
        tiff[10 + 4 * 12 + 8] = black;
        OK(dt_image_fit(&l, &(dt_image_name){p.id, "mask"}, tiff, sizeof tiff - 1, out));
        for (int i = 0; i < 4; i++) assert_int_equal(out[i], i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels_are_those_of_pillow),
        cmocka_unit_test(test_grey),
        cmocka_unit_test(test_orientation),
        cmocka_unit_test(test_files_that_are_cut_off),
        cmocka_unit_test(test_files_with_a_wrong_byte),
        cmocka_unit_test(test_forms_that_are_refused),
        cmocka_unit_test(test_class_numbers_are_read_as_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

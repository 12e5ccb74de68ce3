/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding pictures: every form of PNG, and JPEG, compared with what was drawn; hostile files are
 * made of good ones by cutting and changing bytes.
 */
#define HERE "build/tmp/data-image"
#include "files.h"

#include <jpeglib.h>

#include "pictures.h"

/* A JPEG of (rows, columns), of one colour a channel, which survives compression nearly. */
static dt_str draw_jpeg(int rows, int columns, int channels, const uint8_t *value,
                        bool progressive) {
    struct jpeg_compress_struct j;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long n = 0;
    dt_str out = {0};
    j.err = jpeg_std_error(&errors);
    jpeg_create_compress(&j);
    jpeg_mem_dest(&j, &bytes, &n);
    j.image_width = (JDIMENSION)columns;
    j.image_height = (JDIMENSION)rows;
    j.input_components = channels;
    j.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&j);
    jpeg_set_quality(&j, 100, TRUE);
    if (progressive) jpeg_simple_progression(&j);
    jpeg_start_compress(&j, TRUE);
    unsigned char *row = malloc((size_t)columns * (size_t)channels);
    assert_non_null(row);
    for (int i = 0; i < columns * channels; i++) row[i] = value[i % channels];
    for (int y = 0; y < rows; y++) jpeg_write_scanlines(&j, &row, 1);
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    dt_str_add(&out, bytes, n);
    free(row);
    free(bytes);
    return out;
}

/* ---- pictures by themselves ---- */

static uint8_t grey_of(const uint8_t p[4]) {
    return p[0] == p[1] && p[1] == p[2]
               ? p[0]
               : (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 0x8000u) >> 16);
}

static void test_every_form_of_png_in_every_number_of_channels(void **state) {
    (void)state;
    static const int numbers[] = {1, 3, 4};
    for (int i = 0; i < FORMS; i++)
        for (int k = 0; k < 3; k++) {
            dt_str file = draw_png(&forms[i], i);
            uint8_t out[PIXELS * 4 + 1], p[4];
            int n = numbers[k];
            memset(out, 0xa5, sizeof out);
            OK(dt_image_decode(&(dt_image){.height = ROWS,
                                           .width = COLUMNS,
                                           .channels = n,
                                           .path = "x.png",
                                           .element = "image"},
                               file.data, file.size, out));
            for (int at = 0; at < PIXELS; at++) {
                colour(&forms[i], i, at / COLUMNS, at % COLUMNS, p);
                for (int c = 0; c < n; c++) {
                    int ought = n == 1 ? grey_of(p) : p[c];
                    if (out[at * n + c] != ought)
                        fail_msg("%s, %d channels: pixel %d channel %d is %d, not %d",
                                 forms[i].name, n, at, c, out[at * n + c], ought);
                }
            }
            assert_int_equal(out[PIXELS * n], 0xa5);
            dt_str_release(&file);
        }
}

static void test_jpeg_in_every_number_of_channels(void **state) {
    (void)state;
    static const uint8_t value[] = {200, 60, 90};
    static const struct {
        int channels, wanted;
        bool progressive;
        uint8_t out[4];
    } rows[] = {
        {1, 1, false, {200}}, {1, 3, false, {200, 200, 200}}, {1, 4, true, {200, 200, 200, 255}},
        {3, 1, false, {105}}, {3, 3, true, {200, 60, 90}},    {3, 4, false, {200, 60, 90, 255}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_str file = draw_jpeg(ROWS, COLUMNS, rows[i].channels, value, rows[i].progressive);
        uint8_t out[PIXELS * 4];
        OK(dt_image_decode(&(dt_image){.height = ROWS,
                                       .width = COLUMNS,
                                       .channels = rows[i].wanted,
                                       .path = "x.jpg",
                                       .element = "image"},
                           file.data, file.size, out));
        for (int at = 0; at < PIXELS * rows[i].wanted; at++)
            assert_in_range(out[at] + 2, rows[i].out[at % rows[i].wanted],
                            rows[i].out[at % rows[i].wanted] + 4);
        dt_str_release(&file);
    }
}

/* ---- hostile files ---- */

static dt_status *decode(const void *bytes, size_t n) {
    uint8_t out[PIXELS * 3];
    return dt_image_decode(
        &(dt_image){
            .height = ROWS, .width = COLUMNS, .channels = 3, .path = "x", .element = "image"},
        bytes, n, out);
}

/* However short a file is, it is refused, and by its name. */
static void test_files_that_are_cut_off(void **state) {
    (void)state;
    static const uint8_t value[] = {200, 60, 90};
    dt_str files[] = {draw_png(&forms[5], 0), draw_png(&forms[6], 0),
                      draw_jpeg(ROWS, COLUMNS, 3, value, false),
                      draw_jpeg(ROWS, COLUMNS, 3, value, true)};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t n = 0; n < files[i].size; n++) {
            char *cut = malloc(n + 1); /* so that a sanitizer sees a byte too many */
            assert_non_null(cut);
            memcpy(cut, files[i].data, n);
            dt_status *s = decode(cut, n);
            if (!s) fail_msg("file %zu, %zu of %zu bytes: taken", i, n, files[i].size);
            assert_int_equal(dt_status_code(s), 65);
            assert_memory_equal(dt_status_text(s), "x: ", 3);
            dt_status_free(s);
            free(cut);
        }
        OK(decode(files[i].data, files[i].size));
        dt_str_release(&files[i]);
    }
}

/* Nothing but an error or a picture comes of it. */
static void test_files_with_a_wrong_byte(void **state) {
    (void)state;
    static const uint8_t value[] = {200, 60, 90};
    dt_str files[] = {draw_png(&forms[9], 0), draw_png(&forms[11], 0),
                      draw_jpeg(ROWS, COLUMNS, 3, value, true)};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t at = 0; at < files[i].size; at++)
            for (int wrong = 1; wrong < 256; wrong += 37) {
                files[i].data[at] = (char)(files[i].data[at] ^ wrong);
                dt_status *s = decode(files[i].data, files[i].size);
                if (s) assert_int_equal(dt_status_code(s), 65);
                dt_status_free(s);
                files[i].data[at] = (char)(files[i].data[at] ^ wrong);
            }
        dt_str_release(&files[i]);
    }
}

static uint32_t crc_of(const char *bytes, size_t n) {
    return (uint32_t)crc32(0, (const Bytef *)bytes, (uInt)n);
}

/* A PNG whose header, rightly signed, says that it is 2^30 by 2^30. */
static void test_huge_sizes_cost_nothing(void **state) {
    (void)state;
    static const uint8_t value[] = {200, 60, 90};
    dt_str png = draw_png(&forms[5], 0), jpeg = draw_jpeg(ROWS, COLUMNS, 3, value, false);
    memcpy(png.data + 16, "\x00\x0f\x42\x40\x00\x0f\x42\x40", 8);
    uint32_t crc = crc_of(png.data + 12, 17);
    for (int i = 0; i < 4; i++) png.data[29 + i] = (char)(crc >> (24 - 8 * i));
    expect_fault("png", decode(png.data, png.size), DT_E_DATA_FILE, 65,
                 "x: has 1000000 rows of 1000000 pixels, 'image' has 5 of 7");
    for (size_t i = 2; i + 8 < jpeg.size; i++)
        if (memcmp(jpeg.data + i, "\xff\xc0", 2) == 0)
            memcpy(jpeg.data + i + 5, "\xff\x00\xff\x00", 4);
    expect_fault("jpeg", decode(jpeg.data, jpeg.size), DT_E_DATA_FILE, 65,
                 "x: has 65280 rows of 65280 pixels, 'image' has 5 of 7");
    dt_str_release(&png);
    dt_str_release(&jpeg);
}

static void test_what_is_no_picture(void **state) {
    (void)state;
    expect_fault("nothing", decode("", 0), DT_E_DATA_FILE, 65, "x: is empty");
    expect_fault("zeros", decode("\0\0\0\0\0\0\0\0\0\0", 10), DT_E_DATA_FILE, 65,
                 "x: not a PNG, JPEG, GIF, BMP, WebP or TIFF image");
    expect_fault("heic",
                 decode("\0\0\0\x18"
                        "ftypheic",
                        12),
                 DT_E_DATA_FILE, 65,
                 "x: is a HEIC, AVIF or MP4 file, not a PNG, JPEG, GIF, BMP, WebP or TIFF image");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_of_png_in_every_number_of_channels),
        cmocka_unit_test(test_jpeg_in_every_number_of_channels),
        cmocka_unit_test(test_files_that_are_cut_off),
        cmocka_unit_test(test_files_with_a_wrong_byte),
        cmocka_unit_test(test_huge_sizes_cost_nothing),
        cmocka_unit_test(test_what_is_no_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

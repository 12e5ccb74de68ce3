/*
 * The format image_folder. Pictures are written here by the libraries that the reader has them decoded by, in every form of PNG, and compared
 * with what was drawn; hostile files are made of good ones by cutting and changing bytes.
 */
#define HERE "build/tmp/data-image"
#include "files.h"

#include <jpeglib.h>
#include <png.h>
#include <sys/stat.h>

#include "data/image/image.h"

enum { ROWS = 5, COLUMNS = 7, PIXELS = ROWS * COLUMNS };

/* ---- drawing ---- */

/* Channel c of a pixel of picture `seed`; alpha is c == 3. */
static uint8_t pixel(int seed, int y, int x, int c)
{
    return (uint8_t)(40 * y + 17 * x + 60 * c + 11 * seed);
}

typedef struct form {
    const char *name;
    int color_type, bit_depth, interlace;
    bool transparent; /* a tRNS chunk */
} form;

static const form forms[] = {
    {"grey", PNG_COLOR_TYPE_GRAY, 8, PNG_INTERLACE_NONE, false},
    {"grey with a transparent value", PNG_COLOR_TYPE_GRAY, 8, PNG_INTERLACE_NONE, true},
    {"grey of 16 bits", PNG_COLOR_TYPE_GRAY, 16, PNG_INTERLACE_NONE, false},
    {"grey of 2 bits", PNG_COLOR_TYPE_GRAY, 2, PNG_INTERLACE_NONE, false},
    {"grey and alpha", PNG_COLOR_TYPE_GRAY_ALPHA, 8, PNG_INTERLACE_NONE, false},
    {"rgb", PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_NONE, false},
    {"rgb, interlaced", PNG_COLOR_TYPE_RGB, 8, PNG_INTERLACE_ADAM7, false},
    {"rgb of 16 bits", PNG_COLOR_TYPE_RGB, 16, PNG_INTERLACE_NONE, false},
    {"rgb and alpha", PNG_COLOR_TYPE_RGB_ALPHA, 8, PNG_INTERLACE_NONE, false},
    {"rgb and alpha of 16 bits", PNG_COLOR_TYPE_RGB_ALPHA, 16, PNG_INTERLACE_ADAM7, false},
    {"palette", PNG_COLOR_TYPE_PALETTE, 8, PNG_INTERLACE_NONE, false},
    {"palette with alpha", PNG_COLOR_TYPE_PALETTE, 8, PNG_INTERLACE_NONE, true},
};
enum { FORMS = sizeof forms / sizeof *forms };

static int channels_of(const form *f)
{
    return 1 + (f->color_type & PNG_COLOR_MASK_COLOR ? 2 : 0) + (f->color_type & PNG_COLOR_MASK_ALPHA ? 1 : 0);
}

/* What a pixel of a picture in that form is, as red, green, blue, alpha. */
static void colour(const form *f, int seed, int y, int x, uint8_t out[4])
{
    bool coloured = f->color_type & PNG_COLOR_MASK_COLOR;
    for (int c = 0; c < 3; c++)
        out[c] = pixel(seed, y, x, coloured ? c : 0);
    if (f->bit_depth == 2)
        out[0] = out[1] = out[2] = (uint8_t)((out[0] >> 6) * 85);
    out[3] = f->color_type & PNG_COLOR_MASK_ALPHA ? pixel(seed, y, x, 3) : 255;
    if (f->transparent && f->color_type == PNG_COLOR_TYPE_PALETTE)
        out[3] = (uint8_t)(7 * (y * COLUMNS + x));
    else if (f->transparent && out[0] == pixel(seed, 0, 0, 0))
        out[3] = 0;
}

/* One row as libpng wants it: 8 bits, 16 (the lower 8 are noise), 2 packed, or palette indices. */
static void put_row(const form *f, int seed, int y, png_bytep row)
{
    for (int x = 0; x < COLUMNS; x++) {
        uint8_t p[4];
        colour(f, seed, y, x, p);
        int n = channels_of(f), grey = n < 3;
        for (int c = 0; c < n && f->color_type != PNG_COLOR_TYPE_PALETTE && f->bit_depth >= 8; c++) {
            uint8_t value = grey && c == 1 ? p[3] : p[c];
            int at = (x * n + c) * f->bit_depth / 8;
            row[at] = value;
            if (f->bit_depth == 16)
                row[at + 1] = (uint8_t)(value * 31);
        }
        if (f->color_type == PNG_COLOR_TYPE_PALETTE)
            row[x] = (png_byte)(y * COLUMNS + x);
        else if (f->bit_depth == 2)
            row[x / 4] = (png_byte)((row[x / 4] & ~(3 << (6 - x % 4 * 2))) | p[0] / 85 << (6 - x % 4 * 2));
    }
}

static void put_palette(const form *f, int seed, png_structp png, png_infop info)
{
    png_color palette[PIXELS];
    png_byte alpha[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
        uint8_t p[4];
        colour(f, seed, i / COLUMNS, i % COLUMNS, p);
        palette[i] = (png_color){p[0], p[1], p[2]};
        alpha[i] = p[3];
    }
    png_set_PLTE(png, info, palette, PIXELS);
    if (f->transparent)
        png_set_tRNS(png, info, alpha, PIXELS, NULL);
}

static void on_write(png_structp png, png_bytep bytes, size_t n)
{
    dt_str_add(png_get_io_ptr(png), bytes, n);
}

static dt_str draw_png(const form *f, int seed)
{
    dt_str out = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &out, on_write, NULL);
    png_set_IHDR(png, info, COLUMNS, ROWS, f->bit_depth, f->color_type, f->interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (f->color_type == PNG_COLOR_TYPE_PALETTE)
        put_palette(f, seed, png, info);
    else if (f->transparent)
        png_set_tRNS(png, info, NULL, 0, &(png_color_16){.gray = pixel(seed, 0, 0, 0)});
    png_write_info(png, info);
    png_byte rows[ROWS][COLUMNS * 8] = {{0}}, *row[ROWS];
    for (int y = 0; y < ROWS; y++) {
        put_row(f, seed, y, rows[y]);
        row[y] = rows[y];
    }
    png_write_image(png, row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return out;
}

/* A JPEG of (rows, columns), of one colour a channel, which survives compression nearly. */
static dt_str draw_jpeg(int rows, int columns, int channels, const uint8_t *value, bool progressive)
{
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
    if (progressive)
        jpeg_simple_progression(&j);
    jpeg_start_compress(&j, TRUE);
    unsigned char *row = malloc((size_t)columns * (size_t)channels);
    assert_non_null(row);
    for (int i = 0; i < columns * channels; i++)
        row[i] = value[i % channels];
    for (int y = 0; y < rows; y++)
        jpeg_write_scanlines(&j, &row, 1);
    jpeg_finish_compress(&j);
    jpeg_destroy_compress(&j);
    dt_str_add(&out, bytes, n);
    free(row);
    free(bytes);
    return out;
}

/* ---- pictures by themselves ---- */

static uint8_t grey_of(const uint8_t p[4])
{
    return p[0] == p[1] && p[1] == p[2] ? p[0] : (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 0x8000u) >> 16);
}

static void test_every_form_of_png_in_every_number_of_channels(void **state)
{
    (void)state;
    static const int numbers[] = {1, 3, 4};
    for (int i = 0; i < FORMS; i++)
        for (int k = 0; k < 3; k++) {
            dt_str file = draw_png(&forms[i], i);
            uint8_t out[PIXELS * 4 + 1], p[4];
            int n = numbers[k];
            memset(out, 0xa5, sizeof out);
            OK(dt_image_decode(&(dt_image){ROWS, COLUMNS, n, "x.png", "image"}, file.data, file.size, out));
            for (int at = 0; at < PIXELS; at++) {
                colour(&forms[i], i, at / COLUMNS, at % COLUMNS, p);
                for (int c = 0; c < n; c++) {
                    int ought = n == 1 ? grey_of(p) : p[c];
                    if (out[at * n + c] != ought)
                        fail_msg("%s, %d channels: pixel %d channel %d is %d, not %d", forms[i].name, n, at, c, out[at * n + c], ought);
                }
            }
            assert_int_equal(out[PIXELS * n], 0xa5);
            dt_str_release(&file);
        }
}

static void test_jpeg_in_every_number_of_channels(void **state)
{
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
        OK(dt_image_decode(&(dt_image){ROWS, COLUMNS, rows[i].wanted, "x.jpg", "image"}, file.data, file.size, out));
        for (int at = 0; at < PIXELS * rows[i].wanted; at++)
            assert_in_range(out[at] + 2, rows[i].out[at % rows[i].wanted], rows[i].out[at % rows[i].wanted] + 4);
        dt_str_release(&file);
    }
}

/* ---- hostile files ---- */

static dt_status *decode(const void *bytes, size_t n)
{
    uint8_t out[PIXELS * 3];
    return dt_image_decode(&(dt_image){ROWS, COLUMNS, 3, "x", "image"}, bytes, n, out);
}

/* However short a file is, it is refused, and by its name. */
static void test_files_that_are_cut_off(void **state)
{
    (void)state;
    static const uint8_t value[] = {200, 60, 90};
    dt_str files[] = {draw_png(&forms[5], 0), draw_png(&forms[6], 0), draw_jpeg(ROWS, COLUMNS, 3, value, false), draw_jpeg(ROWS, COLUMNS, 3, value, true)};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t n = 0; n < files[i].size; n++) {
            char *cut = malloc(n + 1); /* so that a sanitizer sees a byte too many */
            assert_non_null(cut);
            memcpy(cut, files[i].data, n);
            dt_status *s = decode(cut, n);
            if (!s)
                fail_msg("file %zu, %zu of %zu bytes: taken", i, n, files[i].size);
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
static void test_files_with_a_wrong_byte(void **state)
{
    (void)state;
    static const uint8_t value[] = {200, 60, 90};
    dt_str files[] = {draw_png(&forms[9], 0), draw_png(&forms[11], 0), draw_jpeg(ROWS, COLUMNS, 3, value, true)};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t at = 0; at < files[i].size; at++)
            for (int wrong = 1; wrong < 256; wrong += 37) {
                files[i].data[at] = (char)(files[i].data[at] ^ wrong);
                dt_status *s = decode(files[i].data, files[i].size);
                if (s)
                    assert_int_equal(dt_status_code(s), 65);
                dt_status_free(s);
                files[i].data[at] = (char)(files[i].data[at] ^ wrong);
            }
        dt_str_release(&files[i]);
    }
}

static uint32_t crc_of(const char *bytes, size_t n)
{
    return (uint32_t)crc32(0, (const Bytef *)bytes, (uInt)n);
}

/* A PNG whose header, rightly signed, says that it is 2^30 by 2^30. */
static void test_huge_sizes_cost_nothing(void **state)
{
    (void)state;
    static const uint8_t value[] = {200, 60, 90};
    dt_str png = draw_png(&forms[5], 0), jpeg = draw_jpeg(ROWS, COLUMNS, 3, value, false);
    memcpy(png.data + 16, "\x00\x0f\x42\x40\x00\x0f\x42\x40", 8);
    uint32_t crc = crc_of(png.data + 12, 17);
    for (int i = 0; i < 4; i++)
        png.data[29 + i] = (char)(crc >> (24 - 8 * i));
    expect_fault("png", decode(png.data, png.size), DT_E_DATA_FILE, 65, "x: has 1000000 rows of 1000000 pixels, 'image' has 5 of 7");
    for (size_t i = 2; i + 8 < jpeg.size; i++)
        if (memcmp(jpeg.data + i, "\xff\xc0", 2) == 0)
            memcpy(jpeg.data + i + 5, "\xff\x00\xff\x00", 4);
    expect_fault("jpeg", decode(jpeg.data, jpeg.size), DT_E_DATA_FILE, 65, "x: has 65280 rows of 65280 pixels, 'image' has 5 of 7");
    dt_str_release(&png);
    dt_str_release(&jpeg);
}

static void test_what_is_no_picture(void **state)
{
    (void)state;
    static const uint8_t ink[] = {1, 2, 3, 4};
    dt_str cmyk = draw_jpeg(ROWS, COLUMNS, 4, ink, false);
    expect_fault("nothing", decode("", 0), DT_E_DATA_FILE, 65, "x: is empty");
    expect_fault("zeros", decode("\0\0\0\0\0\0\0\0\0\0", 10), DT_E_DATA_FILE, 65, "x: is neither a PNG nor a JPEG image");
    expect_fault("gif", decode("GIF89a....", 10), DT_E_DATA_FILE, 65, "x: is neither a PNG nor a JPEG image");
    expect_fault("cmyk", decode(cmyk.data, cmyk.size), DT_E_DATA_FILE, 65, "x: is in the colours of print (CMYK)");
    dt_str_release(&cmyk);
}

/* ---- folders ---- */

static void clear(const char *part)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf " HERE "/%s", part);
    assert_int_equal(system(command), 0);
}

static void write_picture(const char *name, int seed)
{
    char folder[256];
    snprintf(folder, sizeof folder, HERE "/%s", name);
    *strrchr(folder, '/') = '\0';
    OK(dt_dir_make(folder));
    dt_str file = draw_png(&forms[5], seed);
    write_str(name, &file);
}

/* Three classes, whose names sort as b10 < b9 < c, in an order of writing that is another one. */
static void write_set(const char *part, int n)
{
    static const char *const classes[] = {"c", "b9", "b10"};
    clear(part);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            char name[128];
            snprintf(name, sizeof name, "%s/%s/%s%d.%s", part, classes[k], i % 2 ? "y" : "x", i, i % 2 ? "PNG" : "jpg"); /* content, not name, says what it is */
            write_picture(name, 10 * (2 - k) + i);
        }
}

#define ELEMENTS "element: {image: {shape: [5, 7, 3], dtype: uint8}, label: {num_classes: 3}}"

static dt_status *open_set(dt_dataset **out, const char *more)
{
    return dt_dataset_open(out, "{format: image_folder, train: " HERE "/train, " ELEMENTS ", global_batch_size: 4%s}", more);
}

static void test_order_labels_and_pixels(void **state)
{
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
        assert_true(dt_type_equal(&type, &(dt_type){.dtype = DT_UINT8, .rank = 4, .dim = {12, 5, 7, 3}}));
        int32_t *label = read_all(d, dt_dataset_find(d, "label"), &type);
        static const int order[] = {0, 2, 1, 3}; /* x0 x2 y1 y3 */
        for (int i = 0; i < 12; i++) {
            assert_int_equal(label[i], i / 4);
            assert_int_equal(image[i * PIXELS * 3], pixel(10 * (i / 4) + order[i % 4], 0, 0, 0));
            assert_int_equal(image[(i + 1) * PIXELS * 3 - 1], pixel(10 * (i / 4) + order[i % 4], ROWS - 1, COLUMNS - 1, 2));
        }
        free(image);
        free(label);
    }
    dt_dataset_unref(d);
}

static void test_maps_of_pictures(void **state)
{
    (void)state;
    dt_dataset *d = NULL;
    dt_type type;
    write_set("train", 1);
    OK(open_set(&d, ", map: {image: [cast: float32, rescale: {scale: 0.00784313725490196, offset: -1.0}]}"));
    float *image = read_all(d, dt_dataset_find(d, "image"), &type);
    for (int c = 0; c < 3; c++)
        assert_true(image[c] == (float)pixel(0, 0, 0, c) * 0.00784313725490196f + -1.0f);
    free(image);
    dt_dataset_unref(d);
}

/* Classes of other parts have train's numbers, and may be fewer. */
static void test_validation_has_the_classes_of_train(void **state)
{
    (void)state;
    dt_dataset *d = NULL;
    dt_feed *f = NULL;
    dt_batch b;
    write_set("train", 1);
    clear("val");
    write_picture("val/c/a.png", 0);
    OK(open_set(&d, ", validation: " HERE "/val"));
    OK(dt_feed_open(&f, d, &(dt_feed_options){.part = DT_PART_VALIDATION, .batch = 1}));
    OK(dt_feed_next(f, &b));
    assert_int_equal(*(const int32_t *)b.element[dt_dataset_find(d, "label")].data, 2);
    dt_feed_close(f);
    dt_dataset_unref(d);
    d = NULL;
    write_picture("val/d/a.png", 0);
    expect_fault("new class", open_set(&d, ", validation: " HERE "/val"), DT_E_DATA_FILE, 65, HERE "/val/d: the training data has no class 'd'");
}

static void test_bad_folders(void **state)
{
    (void)state;
    dt_dataset *d = NULL;
    clear("train");
    expect_fault("missing", open_set(&d, ""), DT_E_NO_INPUT, 66, HERE "/train: no such file or directory");
    OK(dt_dir_make(HERE "/train"));
    expect_fault("empty", open_set(&d, ""), DT_E_DATA_FILE, 65, HERE "/train: holds 0 folders, one a class; 'label' has 3 classes");
    OK(dt_dir_make(HERE "/train/a"));
    OK(dt_dir_make(HERE "/train/b"));
    OK(dt_dir_make(HERE "/train/c"));
    expect_fault("no pictures", open_set(&d, ""), DT_E_DATA_EMPTY, 65, HERE "/train: no pictures");
    write_file("train/b/notes.txt", "x", 1);
    expect_fault("notes", open_set(&d, ""), DT_E_DATA_FILE, 65, HERE "/train/b/notes.txt: a folder of pictures holds files .png, .jpg and .jpeg");
    clear("train/b/notes.txt");
    OK(dt_dir_make(HERE "/train/b/x.png"));
    expect_fault("folder", open_set(&d, ""), DT_E_NOT_REGULAR, 66, HERE "/train/b/x.png: is a directory");
    clear("train");
    write_file("train", "x", 1);
    expect_fault("file", open_set(&d, ""), DT_E_NO_INPUT, 66, HERE "/train: not a directory");
    clear("train");
}

/* The first picture is looked at when the set is opened, a later one when its turn comes. */
static void test_a_bad_picture_is_named(void **state)
{
    (void)state;
    dt_dataset *d = NULL;
    dt_feed *f = NULL;
    dt_batch b;
    write_set("train", 2);
    write_file("train/b9/x0.jpg", "no picture", 10);
    OK(open_set(&d, ""));
    OK(dt_feed_open(&f, d, &(dt_feed_options){.part = DT_PART_TRAIN, .batch = 2}));
    OK(dt_feed_next(f, &b));
    expect_fault("in its turn", dt_feed_next(f, &b), DT_E_DATA_FILE, 65, HERE "/train/b9/x0.jpg: is neither a PNG nor a JPEG image");
    dt_feed_close(f);
    dt_dataset_unref(d);
    d = NULL;
    write_file("train/b10/x0.jpg", "", 0);
    expect_fault("first", open_set(&d, ""), DT_E_DATA_FILE, 65, HERE "/train/b10/x0.jpg: is empty");
}

static void test_bad_words(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *text;
    } rows[] = {
        {"element: {image: {shape: [5, 7, 3]}}", "a folder of pictures has two elements, one with a shape and one with num_classes"},
        {"element: {a: {shape: [5, 7]}, b: {shape: [5, 7]}}", "a folder of pictures has two elements, one with a shape and one with num_classes"},
        {"element: {image: {shape: [5]}, label: {num_classes: 3}}", "'image' must have a shape [rows, columns, channels] with 1, 3 or 4 channels"},
        {"element: {image: {shape: [5, 7, 2]}, label: {num_classes: 3}}", "'image' must have a shape [rows, columns, channels] with 1, 3 or 4 channels"},
        {"element: {image: {shape: [100000, 100000]}, label: {num_classes: 3}}", "'image': an example may not exceed 1073741824 bytes"},
        {"element: {image: {shape: [5, 7], num_classes: 3}, label: {num_classes: 3}}", "'image' has a shape, so it is the picture"},
        {"element: {image: {shape: [5, 7], dtype: float32}, label: {num_classes: 3}}", "unknown dtype 'float32'"},
        {"element: [image]", "element: expected a mapping, got a list"},
        {"train: ''", "'train' must name a folder, got an empty string"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_dataset *d = NULL;
        bool own = strncmp(rows[i].keys, "train", 5) == 0;
        dt_status *s = dt_dataset_open(&d, "{format: image_folder, %s, %s, global_batch_size: 1}", rows[i].keys, own ? ELEMENTS : "train: x");
        if (!s || !strstr(dt_status_text(s), rows[i].text))
            fail_msg("%s: got '%s'", rows[i].keys, s ? dt_status_text(s) : "no error");
        assert_int_equal(dt_status_code(s), 78);
        dt_status_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_of_png_in_every_number_of_channels),
        cmocka_unit_test(test_jpeg_in_every_number_of_channels),
        cmocka_unit_test(test_files_that_are_cut_off),
        cmocka_unit_test(test_files_with_a_wrong_byte),
        cmocka_unit_test(test_huge_sizes_cost_nothing),
        cmocka_unit_test(test_what_is_no_picture),
        cmocka_unit_test(test_order_labels_and_pixels),
        cmocka_unit_test(test_maps_of_pictures),
        cmocka_unit_test(test_validation_has_the_classes_of_train),
        cmocka_unit_test(test_bad_folders),
        cmocka_unit_test(test_a_bad_picture_is_named),
        cmocka_unit_test(test_bad_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

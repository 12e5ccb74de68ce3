/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of random sizes, channels and pixels, written by libpng, are read back pixel by pixel:
 * as one file and as a folder of them. What a grey or coloured picture is for a model of other
 * channels is libpng's affair, and data/image_test.c's. A failure names its seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "file/file.h"
#include "file/records.h"
#include "../support/status.h"

#define HERE "build/tmp/pictures"
enum { SEEDS = 200, MOST = 6, LARGEST = 40 };

static uint64_t seed; /* of the case at hand */
#define CHECK(ok, what, ...)                                                                       \
    do {                                                                                           \
        if (!(ok)) fail_msg("seed %llu: " what, (unsigned long long)seed, __VA_ARGS__);            \
    } while (0)

typedef struct album {
    int64_t height, width, channels;
    int n;
    unsigned char *pixels[MOST]; /* (height, width, channels) */
    char path[MOST][64];
} album;

static void write_picture(dt_random *r, const album *a, int i) {
    static const int types[] = {
        [1] = PNG_COLOR_TYPE_GRAY, [3] = PNG_COLOR_TYPE_RGB, [4] = PNG_COLOR_TYPE_RGB_ALPHA};
    FILE *f = fopen(a->path[i], "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_bytep row[LARGEST];
    assert_non_null(f);
    for (int64_t y = 0; y < a->height; y++) row[y] = a->pixels[i] + y * a->width * a->channels;
    png_init_io(png, f);
    png_set_IHDR(png, info, (png_uint_32)a->width, (png_uint_32)a->height, 8, types[a->channels],
                 dt_random_below(r, 2) ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, (int)dt_random_below(r, 10));
    png_write_info(png, info);
    png_write_image(png, row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    assert_int_equal(fclose(f), 0);
}

/* Names are numbered, so that a folder has them in this order. */
static void draw_album(dt_random *r, album *a) {
    static const int channels[] = {1, 3, 4};
    *a = (album){.height = 1 + dt_random_below(r, LARGEST),
                 .width = 1 + dt_random_below(r, LARGEST),
                 .channels = channels[dt_random_below(r, 3)],
                 .n = 1 + (int)dt_random_below(r, MOST)};
    for (int i = 0; i < a->n; i++) {
        const int64_t bytes = a->height * a->width * a->channels;
        a->pixels[i] = malloc((size_t)bytes);
        for (int64_t k = 0; k < bytes; k++) a->pixels[i][k] = (unsigned char)dt_random_u32(r);
        /* bytes tell, not names */
        snprintf(a->path[i], sizeof a->path[i], HERE "/%d.%s", i,
                 dt_random_below(r, 2) ? "png" : "jpg");
        write_picture(r, a, i);
    }
}

/* The pictures from number `first` on, of one file or the folder. */
static void read_album(const album *a, const char *path, int first, int n) {
    unsigned char start[DT_PEEK];
    int64_t got = -1;
    bool more = true;
    dt_element_spec image = {
        .name = "image",
        .type = dt_type_of(DT_UINT8, 3, (const int64_t[]){a->height, a->width, a->channels})};
    dt_row_source s = {
        .arena = dt_arena_create(), .path = path, .n = 1, .element = &image, .count = -1};
    void *row = dt_arena_alloc(s.arena, (size_t)dt_type_bytes(&image.type));
    if (!dt_path_is_folder(path)) {
        ok_for(dt_inflow_open(&s.file, path), seed);
        ok_for(dt_inflow_peek(s.file, start, DT_PEEK, &got), seed);
    }
    const dt_format *kind = dt_format_sniff(start, got);
    CHECK(kind == &dt_format_image_folder, "%s is taken for %s", path,
          kind ? kind->kind.name : "nothing");
    ok_for(kind->open(&s), seed);
    for (; more; s.row += more) {
        ok_for(s.reader->next(&s, &row, &more), seed);
        CHECK(!more ||
                  memcmp(row, a->pixels[first + s.row], (size_t)dt_type_bytes(&image.type)) == 0,
              "%s: picture %lld is another", path, (long long)s.row);
    }
    CHECK(s.row == n, "%s: %lld pictures of %d", path, (long long)s.row, n);
    dt_row_source_close(&s);
    dt_inflow_close(s.file);
    dt_arena_destroy(s.arena);
}

static void test_pictures_are_read_back(void **state) {
    (void)state;
    print_message("seeds 1 to %d\n", SEEDS);
    ok_for(dt_dir_make(HERE), seed);
    for (seed = 1; seed <= SEEDS; seed++) {
        dt_random r = dt_random_stream(seed, "pictures", 0);
        album a;
        draw_album(&r, &a);
        read_album(&a, HERE, 0, a.n);
        for (int i = 0; i < a.n; i++) {
            read_album(&a, a.path[i], i, 1);
            assert_int_equal(remove(a.path[i]), 0);
            free(a.pixels[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pictures_are_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

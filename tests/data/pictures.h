/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawing PNGs in every form, by the library that the reader has them decoded by: what tests of
 * pictures share. Included behind files.h.
 */
#ifndef PICTURES_H
#define PICTURES_H

#include <png.h>

#include "file/image/image.h"

enum { ROWS = 5, COLUMNS = 7, PIXELS = ROWS * COLUMNS };

/* Channel c of a pixel of picture `seed`; alpha is c == 3. */
static uint8_t pixel(int seed, int y, int x, int c) {
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

static int channels_of(const form *f) {
    return 1 + (f->color_type & PNG_COLOR_MASK_COLOR ? 2 : 0) +
           (f->color_type & PNG_COLOR_MASK_ALPHA ? 1 : 0);
}

/* What a pixel of a picture in that form is, as red, green, blue, alpha. */
static void colour(const form *f, int seed, int y, int x, uint8_t out[4]) {
    bool coloured = f->color_type & PNG_COLOR_MASK_COLOR;
    for (int c = 0; c < 3; c++) out[c] = pixel(seed, y, x, coloured ? c : 0);
    if (f->bit_depth == 2) out[0] = out[1] = out[2] = (uint8_t)((out[0] >> 6) * 85);
    out[3] = f->color_type & PNG_COLOR_MASK_ALPHA ? pixel(seed, y, x, 3) : 255;
    if (f->transparent && f->color_type == PNG_COLOR_TYPE_PALETTE)
        out[3] = (uint8_t)(7 * (y * COLUMNS + x));
    else if (f->transparent && out[0] == pixel(seed, 0, 0, 0)) out[3] = 0;
}

/* One row as libpng wants it: 8 bits, 16 (the lower 8 are noise), 2 packed, or palette indices. */
static void put_row(const form *f, int seed, int y, png_bytep row) {
    for (int x = 0; x < COLUMNS; x++) {
        uint8_t p[4];
        colour(f, seed, y, x, p);
        int n = channels_of(f), grey = n < 3;
        for (int c = 0; c < n && f->color_type != PNG_COLOR_TYPE_PALETTE && f->bit_depth >= 8;
             c++) {
            uint8_t value = grey && c == 1 ? p[3] : p[c];
            int at = (x * n + c) * f->bit_depth / 8;
            row[at] = value;
            if (f->bit_depth == 16) row[at + 1] = (uint8_t)(value * 31);
        }
        if (f->color_type == PNG_COLOR_TYPE_PALETTE) row[x] = (png_byte)(y * COLUMNS + x);
        else if (f->bit_depth == 2)
            row[x / 4] =
                (png_byte)((row[x / 4] & ~(3 << (6 - x % 4 * 2))) | p[0] / 85 << (6 - x % 4 * 2));
    }
}

static void put_palette(const form *f, int seed, png_structp png, png_infop info) {
    png_color palette[PIXELS];
    png_byte alpha[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
        uint8_t p[4];
        colour(f, seed, i / COLUMNS, i % COLUMNS, p);
        palette[i] = (png_color){p[0], p[1], p[2]};
        alpha[i] = p[3];
    }
    png_set_PLTE(png, info, palette, PIXELS);
    if (f->transparent) png_set_tRNS(png, info, alpha, PIXELS, NULL);
}

static void on_write(png_structp png, png_bytep bytes, size_t n) {
    dt_str_add(png_get_io_ptr(png), bytes, n);
}

__attribute__((unused)) static dt_str draw_png(const form *f, int seed) {
    dt_str out = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &out, on_write, NULL);
    png_set_IHDR(png, info, COLUMNS, ROWS, f->bit_depth, f->color_type, f->interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (f->color_type == PNG_COLOR_TYPE_PALETTE) put_palette(f, seed, png, info);
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

#endif

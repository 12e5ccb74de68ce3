/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads BMP: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits, bottom-up and top-down, with a
 * header of 12 bytes (OS/2) or 40 to 256 bytes (Windows). Pixels of 16 and 32 bits have alpha if
 * the header says that it has bit masks, and the one for alpha is not 0. A palette index without a
 * colour in the file gives black with alpha 0. All other pixels are opaque. Compressed pixels are
 * refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/image/image.h"

enum { FILE_HEADER = 14, PLAIN = 0, RLE4 = 2, FIELDS = 3, MOST_COLOURS = 256 };

typedef struct bmp {
    int64_t height, width;
    bool top_down;
    int bits;
    size_t pixels, stride; /* offset of the pixels in the file, and bytes of each row */
    uint32_t mask[4];      /* bits of red, green, blue and alpha in pixels of 16 and 32 bits */
    uint8_t palette[MOST_COLOURS][4];
} bmp;

static dt_status *broken(const char *path, const char *what) {
    return dt_image_broken(path, &dt_image_bmp, what);
}

/* Sets the masks to the usual ones for 16 or 32 bits, or, if the header says that it has masks, to
 * these, which follow a header of 40 bytes and are part of longer ones. */
static dt_status *read_masks(const char *path, const uint8_t *bytes, size_t n, size_t header,
                             bmp *b) {
    static const uint32_t usual[2][4] = {{0x7c00, 0x3e0, 0x1f, 0}, {0xff0000, 0xff00, 0xff, 0}};
    const uint32_t kind = header == 12 ? PLAIN : dt_image_little(bytes + 30, 4);
    memcpy(b->mask, usual[b->bits == 32], sizeof b->mask);
    if (kind != FIELDS) return NULL;
    const size_t masks = header >= 56 ? 4 : 3;
    if (b->bits != 16 && b->bits != 32) return broken(path, "masks without 16 or 32 bits");
    if (n < 54 + 4 * masks) return broken(path, "unexpected end of file");
    for (size_t i = 0; i < masks; i++) b->mask[i] = dt_image_little(bytes + 54 + 4 * i, 4);
    return NULL;
}

static void read_palette(const uint8_t *bytes, size_t n, size_t header, bmp *b) {
    const size_t entry = header == 12 ? 3 : 4, at = FILE_HEADER + header;
    const size_t stated = header == 12 ? 0 : dt_image_little(bytes + 46, 4);
    const size_t colours = stated > 0 && stated < MOST_COLOURS ? stated : (size_t)1 << b->bits;
    for (size_t i = 0; i < colours && at + (i + 1) * entry <= n; i++) {
        const uint8_t *p = bytes + at + i * entry;
        memcpy(b->palette[i], (uint8_t[]){p[2], p[1], p[0], 255}, 4);
    }
}

/* Reads the header: everything in `bmp` but the palette. Refuses compression. */
static dt_status *read_size(const char *path, const uint8_t *bytes, size_t n, bmp *b) {
    const uint32_t header = n < 26 ? 0 : dt_image_little(bytes + FILE_HEADER, 4);
    const bool is_old = header == 12;
    if (!is_old && (header < 40 || header > 256 || n < 54)) return broken(path, "no header");
    const int64_t height =
        (int32_t)(is_old ? dt_image_little(bytes + 20, 2) : dt_image_little(bytes + 22, 4));
    *b = (bmp){.height = height < 0 ? -height : height,
               .width = (int32_t)dt_image_little(bytes + 18, is_old ? 2 : 4),
               .top_down = height < 0,
               .bits = (int)dt_image_little(bytes + (is_old ? 24 : 28), 2),
               .pixels = dt_image_little(bytes + 10, 4)};
    const uint32_t kind = is_old ? PLAIN : dt_image_little(bytes + 30, 4);
    if (kind != PLAIN && kind != FIELDS)
        return dt_suggest(broken(path, kind <= RLE4 ? "run-length encoding is not supported"
                                                    : "its compression is not supported"),
                          "save it without compression, or as PNG");
    if (b->height < 1 || b->width < 1) return broken(path, "no pixels");
    b->stride = (((size_t)b->width * (size_t)b->bits + 31) / 32) * 4;
    return read_masks(path, bytes, n, header, b);
}

static dt_status *read_header(const char *path, const uint8_t *bytes, size_t n,
                              dt_image_header *out) {
    bmp b;
    DT_TRY(read_size(path, bytes, n, &b));
    *out = (dt_image_header){.height = b.height, .width = b.width, .orientation = 1};
    return NULL;
}

/* Returns the bits of a value under a mask, scaled to 255 and rounded down; 255 if the mask is
 * 0. */
static uint8_t part_of(uint32_t value, uint32_t mask) {
    if (!mask) return 255;
    const uint32_t lowest = mask & -mask;
    return (uint8_t)((uint64_t)((value & mask) / lowest) * 255 / (mask / lowest));
}

/* Returns the palette index of pixel x of a row of pixels of 1, 4 or 8 bits. */
static int index_of(const bmp *b, const uint8_t *row, int64_t x) {
    const int64_t bit = x * b->bits;
    const int shift = 8 - b->bits - (int)(bit % 8);
    return row[bit / 8] >> shift & ((1 << b->bits) - 1);
}

static void convert_row(const bmp *b, const uint8_t *row, uint8_t *rgba) {
    const int bytes = b->bits / 8;
    for (int64_t x = 0; x < b->width; x++, rgba += 4) {
        const uint8_t *p = row + x * bytes;
        if (b->bits <= 8) memcpy(rgba, b->palette[index_of(b, row, x)], 4);
        else if (b->bits == 24) memcpy(rgba, (uint8_t[]){p[2], p[1], p[0], 255}, 4);
        else
            for (int c = 0; c < 4; c++) rgba[c] = part_of(dt_image_little(p, bytes), b->mask[c]);
    }
}

/* Converts a row of 24-bit pixels, which are stored as blue, green, red, to three channels. This
 * case, the most common one, has a function of its own because it needs no alpha. */
static void copy_colors(const uint8_t *row, int64_t width, uint8_t *to) {
    for (int64_t x = 0; x < width; x++, row += 3, to += 3) {
        to[0] = row[2];
        to[1] = row[1];
        to[2] = row[0];
    }
}

/* Converts a row. rgba: working memory for its pixels. */
static void put_row(const bmp *b, const dt_image *want, const uint8_t *row, uint8_t *rgba,
                    uint8_t *to) {
    if (want->numbers) {
        for (int64_t x = 0; x < b->width; x++) to[x] = (uint8_t)index_of(b, row, x);
    } else if (b->bits == 24 && want->channels == 3) {
        copy_colors(row, b->width, to);
    } else {
        convert_row(b, row, rgba);
        dt_image_put(want, rgba, b->width, to);
    }
}

static dt_status *decode(const dt_image *want, const uint8_t *bytes, size_t n, uint8_t *out) {
    bmp b;
    DT_TRY(read_size(want->path, bytes, n, &b));
    DT_TRY(dt_image_check_size(want, b.height, b.width));
    if (b.bits != 1 && b.bits != 4 && b.bits != 8 && b.bits != 16 && b.bits != 24 && b.bits != 32)
        return broken(want->path, "its pixels do not have 1, 4, 8, 16, 24 or 32 bits");
    if (b.pixels > n || b.stride > (n - b.pixels) / (size_t)b.height)
        return broken(want->path, "unexpected end of file");
    if (b.bits <= 8) read_palette(bytes, n, dt_image_little(bytes + FILE_HEADER, 4), &b);
    if (want->numbers && b.bits > 8) return dt_image_refuse_colors(want, "colors");
    uint8_t *rgba = dt_try_alloc((size_t)b.width * 4);
    if (!rgba) return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", want->path);
    for (int64_t y = 0; y < b.height; y++) {
        const uint8_t *row =
            bytes + b.pixels + b.stride * (size_t)(b.top_down ? y : b.height - 1 - y);
        put_row(&b, want, row, rgba, out + y * b.width * want->channels);
    }
    free(rgba);
    return NULL;
}

/* A text may begin with BM, too, so the four reserved bytes after the file's size must be 0. */
const dt_image_format dt_image_bmp = {.name = "BMP",
                                      .suffix = {".bmp", ".dib"},
                                      .first = "BM",
                                      .first_size = 2,
                                      .second = "\0\0\0\0",
                                      .second_size = 4,
                                      .second_at = 6,
                                      .read_header = read_header,
                                      .decode = decode};

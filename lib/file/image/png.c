/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes PNG with libpng. The library's errors come back by longjmp, so all that is needed after
 * such a jump is in `reading`, which the caller owns and releases. Chunks after the pixels are read
 * as well, so that a file that is cut off there is refused.
 */
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/image/image.h"

typedef struct reading {
    const dt_image *want;
    const uint8_t *at; /* the part of the file that is not read yet */
    size_t left;
    uint8_t *out, *colours; /* colours: pixels of a coloured picture that becomes grey */
    png_structp png;
    png_infop info;
    jmp_buf jump;
    bool refused; /* the system refused an allocation */
    dt_status *bad;
} reading;

static dt_status *out_of_memory(const reading *r) {
    return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", r->want->path);
}

/* ---- what libpng calls ---- */

static png_voidp allocate(png_structp png, png_alloc_size_t n) {
    reading *r = png_get_mem_ptr(png);
    void *p = malloc(n);
    r->refused |= !p;
    return p;
}

static void release(png_structp png, png_voidp p) {
    (void)png;
    free(p);
}

static void on_error(png_structp png, png_const_charp text) {
    reading *r = png_get_error_ptr(png);
    r->bad = r->refused
                 ? out_of_memory(r)
                 : dt_fail(DT_E_DATA_FILE, NULL, "%s: broken PNG image: %s", r->want->path, text);
    longjmp(r->jump, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    (void)png;
    (void)text; /* a file for which libpng only warns is decoded */
}

static void on_read(png_structp png, png_bytep to, size_t n) {
    reading *r = png_get_io_ptr(png);
    if (n > r->left) png_error(png, "unexpected end of file");
    memcpy(to, r->at, n);
    r->at += n;
    r->left -= n;
}

/* ---- pixels ---- */

static bool has_colours(const reading *r) {
    return png_get_color_type(r->png, r->info) & PNG_COLOR_MASK_COLOR;
}

/* Has libpng unpack class numbers to one byte each without changing them. Refuses colours outside a
 * palette, and 16 bits. */
static void keep_numbers(reading *r) {
    const int kind = png_get_color_type(r->png, r->info);
    const bool wide = png_get_bit_depth(r->png, r->info) > 8;
    if (wide || (kind & PNG_COLOR_MASK_COLOR && kind != PNG_COLOR_TYPE_PALETTE))
        r->bad = dt_image_refuse_colors(r->want, wide ? "16 bits per channel" : "colors");
    png_set_packing(r->png);
    png_set_strip_alpha(r->png);
}

/* Requests 8 bits per channel and the wanted number of channels, or 3 for colours that become grey:
 * make_grey converts these afterwards. */
static void set_transforms(const reading *r) {
    bool grey = !has_colours(r), alpha = r->want->channels == 4;
    png_set_expand(r->png); /* expands palettes, fewer than 8 bits, and transparent colours */
    png_set_strip_16(r->png);
    if (alpha) png_set_add_alpha(r->png, 0xff, PNG_FILLER_AFTER);
    else png_set_strip_alpha(r->png);
    if (grey && r->want->channels > 1) png_set_gray_to_rgb(r->png);
}

/* Makes libpng skip chunks that are not needed. It would decompress and keep comments, colour
 * profiles and suggested palettes, up to 8 MB of each chunk. Transparency is still read, and
 * unknown critical chunks are still errors. */
static void skip_the_rest(const reading *r) {
    static const png_byte unread[] = "bKGD\0"
                                     "cHRM\0"
                                     "eXIf\0"
                                     "gAMA\0"
                                     "hIST\0"
                                     "iCCP\0"
                                     "iTXt\0"
                                     "oFFs\0"
                                     "pCAL\0"
                                     "pHYs\0"
                                     "sBIT\0"
                                     "sCAL\0"
                                     "sPLT\0"
                                     "sRGB\0"
                                     "tEXt\0"
                                     "tIME\0"
                                     "zTXt";
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, unread, sizeof unread / 5);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
}

static void read_rows(const reading *r, uint8_t *to) {
    int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    size_t bytes = png_get_rowbytes(r->png, r->info);
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < r->want->height; y++)
            png_read_row(r->png, to + (size_t)y * bytes, NULL);
    png_read_end(r->png, NULL);
}

/* Converts to luminance as in ITU-R BT.601, rounded. */
static void make_grey(const uint8_t *rgb, int64_t pixels, uint8_t *out) {
    for (int64_t i = 0; i < pixels; i++, rgb += 3)
        out[i] = (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

static void read_picture(reading *r) {
    int64_t pixels = r->want->height * r->want->width;
    png_set_read_fn(r->png, r, on_read);
    skip_the_rest(r);
    png_read_info(r->png, r->info);
    r->bad = dt_image_check_size(r->want, png_get_image_height(r->png, r->info),
                                 png_get_image_width(r->png, r->info));
    if (r->bad) return;
    bool becomes_grey = has_colours(r) && r->want->channels == 1 && !r->want->numbers;
    r->colours = becomes_grey ? dt_try_alloc((size_t)pixels * 3) : NULL;
    if (becomes_grey && !r->colours) {
        r->bad = out_of_memory(r);
        return;
    }
    if (r->want->numbers) keep_numbers(r);
    else set_transforms(r);
    if (r->bad) return;
    read_rows(r, becomes_grey ? r->colours : r->out);
    if (becomes_grey) make_grey(r->colours, pixels, r->out);
}

/* Reads a picture; libpng's errors jump back to here. */
static void read_or_come_back(reading *r) {
    if (setjmp(r->jump) == 0) read_picture(r);
}

static dt_status *decode(const dt_image *want, const uint8_t *bytes, size_t n, uint8_t *out) {
    reading r = {.want = want, .at = bytes, .left = n, .out = out};
    r.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning, &r, allocate,
                                     release);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    if (r.info) read_or_come_back(&r);
    else r.bad = out_of_memory(&r);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    free(r.colours);
    return r.bad;
}

/* ---- the header, and the format ---- */

static size_t big_endian(const uint8_t *p) {
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

/* Returns the orientation in the chunk eXIf; 1 if there is none. A chunk has its length, its name,
 * data and a checksum. */
static int orientation_of(const uint8_t *bytes, size_t n) {
    for (size_t at = 8; at + 12 <= n;) {
        const size_t size = big_endian(bytes + at), left = n - at - 12;
        if (size > left) break;
        if (memcmp(bytes + at + 4, "eXIf", 4) == 0)
            return dt_exif_orientation(bytes + at + 8, size);
        at += 12 + size;
    }
    return 1;
}

/* Reads the size from the first chunk: length, IHDR, width, height. */
static dt_status *read_header(const char *path, const uint8_t *bytes, size_t n,
                              dt_image_header *out) {
    if (n < 24 || memcmp(bytes + 12, "IHDR", 4) != 0)
        return dt_image_broken(path, &dt_image_png, "no header");
    *out = (dt_image_header){.width = (int64_t)big_endian(bytes + 16),
                             .height = (int64_t)big_endian(bytes + 20),
                             .orientation = orientation_of(bytes, n)};
    return NULL;
}

const dt_image_format dt_image_png = {.name = "PNG",
                                      .suffix = {".png"},
                                      .first = "\x89PNG\r\n\x1a\n",
                                      .first_size = 8,
                                      .read_header = read_header,
                                      .decode = decode};

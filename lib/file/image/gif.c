/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the first frame of a GIF (GIF89a specification). The part of the screen that the frame does
 * not cover has the transparent colour or, if there is none, colour 0, as in Pillow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/image/image.h"

enum { MOST_CODES = 4096, LONGEST_CODE = 12, CONTROL = 0xf9 };

typedef struct gif {
    const char *path;
    const uint8_t *at, *end;
    int64_t height, width; /* size of the screen in pixels, enlarged to hold the frame */
    int64_t top, left, rows, columns;
    bool interlaced;
    int transparent; /* index of the transparent colour; -1: all are opaque */
    uint8_t palette[256][4];
} gif;

static dt_status *broken(const gif *g, const char *what) {
    return dt_image_broken(g->path, &dt_image_gif, what);
}

/* ---- the parts of the file ---- */

/* Takes the next n bytes; NULL: the file ends before. */
static const uint8_t *read_bytes(gif *g, size_t n) {
    const uint8_t *p = g->at;
    if ((size_t)(g->end - p) < n) return NULL;
    g->at += n;
    return p;
}

/* Reads a table of colours into g->palette, if bit 7 of the flags says that it follows. Colours
 * that it lacks stay as they are: grey, or those of an earlier table. */
static dt_status *read_palette(gif *g, int flags) {
    if (!(flags & 0x80)) return NULL;
    const size_t colours = (size_t)2 << (flags & 7);
    const uint8_t *p = read_bytes(g, 3 * colours);
    if (!p) return broken(g, "unexpected end of file");
    for (size_t i = 0; i < colours; i++) memcpy(g->palette[i], p + 3 * i, 3);
    return NULL;
}

/* Reads an extension. That of the kind CONTROL says which colour of the frame is transparent, or
 * that none is. */
static dt_status *read_extension(gif *g) {
    const uint8_t *label = read_bytes(g, 1), *size = label ? read_bytes(g, 1) : NULL;
    for (; size && *size > 0; size = read_bytes(g, 1)) {
        const uint8_t *data = read_bytes(g, *size);
        if (!data) break;
        if (*label == CONTROL && *size >= 4) g->transparent = data[0] & 1 ? data[3] : -1;
    }
    return size && *size == 0 ? NULL : broken(g, "unexpected end of file");
}

static dt_status *read_frame_header(gif *g) {
    const uint8_t *p = read_bytes(g, 9);
    if (!p) return broken(g, "unexpected end of file");
    g->left = dt_image_little(p, 2);
    g->top = dt_image_little(p + 2, 2);
    g->columns = dt_image_little(p + 4, 2);
    g->rows = dt_image_little(p + 6, 2);
    g->interlaced = p[8] & 0x40;
    if (g->rows == 0 || g->columns == 0) return broken(g, "a frame without pixels");
    if (g->width < g->left + g->columns) g->width = g->left + g->columns;
    if (g->height < g->top + g->rows) g->height = g->top + g->rows;
    return read_palette(g, p[8]);
}

/* Reads all that comes before the pixels of the first frame. */
static dt_status *read_start(gif *g, const char *path, const uint8_t *bytes, size_t n) {
    *g = (gif){.path = path, .at = bytes, .end = bytes + n, .transparent = -1};
    const uint8_t *p = read_bytes(g, 13);
    if (!p) return broken(g, "no header");
    for (int i = 0; i < 256; i++)
        memcpy(g->palette[i], (uint8_t[]){(uint8_t)i, (uint8_t)i, (uint8_t)i, 255}, 4);
    g->width = dt_image_little(p + 6, 2);
    g->height = dt_image_little(p + 8, 2);
    DT_TRY(read_palette(g, p[10]));
    for (;;) {
        const uint8_t *block = read_bytes(g, 1);
        if (!block || *block == ';') return broken(g, "no frame");
        if (*block == '!') DT_TRY(read_extension(g));
        if (*block == ',') return read_frame_header(g);
    }
}

static dt_status *read_header(const char *path, const uint8_t *bytes, size_t n,
                              dt_image_header *out) {
    gif g;
    DT_TRY(read_start(&g, path, bytes, n));
    *out = (dt_image_header){.height = g.height, .width = g.width, .orientation = 1};
    return NULL;
}

/* ---- LZW ---- */

/* The table of codes. A code below `clear` is a byte; code `clear` + 1 ends the picture; a code
 * above it stands for the bytes of an earlier code and one more byte. */
typedef struct codes {
    gif *g;
    size_t block; /* number of bytes left in the block of data */
    uint32_t bits;
    int held;        /* number of bits in `bits` */
    int clear, size; /* clear: the code that clears the table; size: number of bits of a code */
    /* next: the next code to define; last: the previous code, -1: none since `clear`. */
    int next, last;
    uint8_t first; /* the first of the bytes that the previous code stands for */
    uint16_t before[MOST_CODES];
    /* before, byte: a code from `clear` + 2 on stands for the bytes of code before[code] and then
     * byte[code]; text: the bytes of one code, in reverse order */
    uint8_t byte[MOST_CODES], text[MOST_CODES + 1];
} codes;

static void clear(codes *z) {
    z->next = z->clear + 2;
    z->last = -1;
    z->size = 1;
    while (1 << z->size <= z->clear) z->size++;
}

/* Reads the next code; -1: the data ends. */
static int read_code(codes *z) {
    while (z->held < z->size) {
        const uint8_t *p = read_bytes(z->g, 1);
        if (p && z->block == 0) {
            z->block = *p;
            p = *p ? read_bytes(z->g, 1) : NULL;
        }
        if (!p) return -1;
        z->block--;
        z->bits |= (uint32_t)*p << z->held;
        z->held += 8;
    }
    const int code = (int)(z->bits & ((1u << z->size) - 1));
    z->bits >>= z->size;
    z->held -= z->size;
    return code;
}

/* Writes the bytes of a code to `text`, in reverse order. Defines the next code if a code precedes
 * this one and the table is not full. Returns the number of bytes; 0: the code is not defined. */
static int expand(codes *z, int code) {
    const bool is_next = code == z->next;
    int n = 0, c = code;
    if (code > z->next || (is_next && z->last < 0)) return 0;
    if (is_next) {
        z->text[n++] = z->first;
        c = z->last;
    }
    for (; c >= z->clear; c = z->before[c]) z->text[n++] = z->byte[c];
    z->text[n++] = z->first = (uint8_t)c;
    if (z->last >= 0 && z->next < MOST_CODES) {
        z->before[z->next] = (uint16_t)z->last;
        z->byte[z->next++] = z->first;
        if (z->next == 1 << z->size && z->size < LONGEST_CODE) z->size++;
    }
    z->last = code;
    return n;
}

/* ---- pixels, and the format ---- */

typedef struct frame {
    const gif *g;
    const dt_image *want;
    uint8_t *out, *rgba; /* rgba: the row that is being read */
    int64_t row, column; /* row: index of the row in the order in which rows are stored */
} frame;

/* Returns the position in the frame of stored row i. An interlaced frame stores every eighth row
 * first, then the rows between them. */
static int64_t row_position(const gif *g, int64_t i) {
    static const int64_t from[] = {0, 4, 2, 1}, by[] = {8, 8, 4, 2};
    for (int pass = 0; g->interlaced && pass < 4; pass++) {
        const int64_t n =
            g->rows > from[pass] ? (g->rows - from[pass] + by[pass] - 1) / by[pass] : 0;
        if (i < n) return from[pass] + i * by[pass];
        i -= n;
    }
    return i;
}

/* Sets out to red, green, blue and alpha of palette index i; for class numbers, the three colours
 * are i itself. Alpha is 0 for the transparent index. */
static void colour(const frame *f, int i, uint8_t out[4]) {
    memcpy(out, f->g->palette[i], 4);
    if (f->want->numbers) memset(out, i, 3);
    if (i == f->g->transparent) out[3] = 0;
}

static void put_pixel(frame *f, int i) {
    const gif *g = f->g;
    colour(f, i, f->rgba + 4 * f->column);
    if (++f->column < g->columns) return;
    const int64_t at = (g->top + row_position(g, f->row)) * g->width + g->left;
    dt_image_put(f->want, f->rgba, g->columns, f->out + at * f->want->channels);
    f->column = 0;
    f->row++;
}

static void fill_screen(const frame *f) {
    uint8_t rgba[4];
    colour(f, f->g->transparent < 0 ? 0 : f->g->transparent, rgba);
    for (int64_t i = 0; i < f->g->height * f->g->width; i++)
        dt_image_put(f->want, rgba, 1, f->out + i * f->want->channels);
}

static dt_status *read_pixels(codes *z, frame *f) {
    const uint8_t *bits = read_bytes(z->g, 1);
    if (!bits || *bits < 1 || *bits > 8) return broken(z->g, "wrong size of codes");
    z->clear = 1 << *bits;
    clear(z);
    while (f->row < f->g->rows) {
        const int code = read_code(z);
        if (code < 0 || code == z->clear + 1) return broken(z->g, "its pixels are cut off");
        if (code == z->clear) {
            clear(z);
            continue;
        }
        int n = expand(z, code);
        if (n == 0) return broken(z->g, "an undefined code");
        while (n > 0 && f->row < f->g->rows) put_pixel(f, z->text[--n]);
    }
    return NULL;
}

static dt_status *decode(const dt_image *want, const uint8_t *bytes, size_t n, uint8_t *out) {
    gif g;
    DT_TRY(read_start(&g, want->path, bytes, n));
    DT_TRY(dt_image_check_size(want, g.height, g.width));
    codes *z = dt_try_alloc(sizeof *z);
    frame f = {.g = &g, .want = want, .out = out, .rgba = dt_try_alloc((size_t)g.columns * 4)};
    dt_status *s =
        z && f.rgba ? NULL
                    : dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", want->path);
    if (!s) {
        *z = (codes){.g = &g};
        if (g.rows < g.height || g.columns < g.width) fill_screen(&f);
        s = read_pixels(z, &f);
    }
    free(z);
    free(f.rgba);
    return s;
}

const dt_image_format dt_image_gif = {.name = "GIF",
                                      .suffix = {".gif"},
                                      .first = "GIF8",
                                      .first_size = 4,
                                      .read_header = read_header,
                                      .decode = decode};

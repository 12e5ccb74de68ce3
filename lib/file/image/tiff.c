/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes TIFF with libtiff, which is loaded when the first such picture is decoded. Its version
 * 4.5, the first with the name libtiff.so.6, can limit each allocation, and takes a handler of
 * errors for each file. Size and orientation are read from the first directory without it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/image/image.h"

/* Numbers of tags and values, as in tiff.h. */
enum {
    WIDTH = 256,
    HEIGHT = 257,
    BITS = 258,
    PHOTOMETRIC = 262,
    ORIENTATION = 274,
    EXTRA_SAMPLES = 338,
    TOP_LEFT = 1,
    BLACK_IS_ZERO = 1,
    PALETTE = 3,
    ALPHA_IS_MULTIPLIED = 1
};

typedef struct source {
    const uint8_t *bytes;
    int64_t n, at;
    char fault[160]; /* libtiff's first error message since this was last "" */
} source;

/* Functions of libtiff, as declared in tiffio.h. */
typedef struct library {
    void *(*options)(void);
    void (*options_free)(void *options);
    void (*most)(void *options, ssize_t bytes);
    void (*on_error)(void *options,
                     int (*handler)(void *, void *, const char *, const char *, va_list),
                     void *user);
    void (*on_warning)(void *options,
                       int (*handler)(void *, void *, const char *, const char *, va_list),
                       void *user);
    void *(*open)(const char *name, const char *mode, void *user,
                  ssize_t (*read)(void *, void *, ssize_t),
                  ssize_t (*write)(void *, void *, ssize_t),
                  uint64_t (*seek)(void *, uint64_t, int), int (*close)(void *),
                  uint64_t (*size)(void *), int (*map)(void *, void **, uint64_t *),
                  void (*unmap)(void *, void *, uint64_t), void *options);
    int (*get)(void *tiff, uint32_t tag, ...);
    int (*set)(void *tiff, uint32_t tag, ...);
    int (*read)(void *tiff, uint32_t width, uint32_t height, uint32_t *raster, int orientation,
                int stop);
    void (*close)(void *tiff);
} library;

static dt_status *load(library *l, const char *path) {
    static const dt_library_function functions[] = {
        {"TIFFOpenOptionsAlloc", offsetof(library, options)},
        {"TIFFOpenOptionsFree", offsetof(library, options_free)},
        {"TIFFOpenOptionsSetMaxSingleMemAlloc", offsetof(library, most)},
        {"TIFFOpenOptionsSetErrorHandlerExtR", offsetof(library, on_error)},
        {"TIFFOpenOptionsSetWarningHandlerExtR", offsetof(library, on_warning)},
        {"TIFFClientOpenExt", offsetof(library, open)},
        {"TIFFGetField", offsetof(library, get)},
        {"TIFFSetField", offsetof(library, set)},
        {"TIFFReadRGBAImageOriented", offsetof(library, read)},
        {"TIFFClose", offsetof(library, close)}};
    static const dt_image_library tiff = {"libtiff.so.6",
                                          "libtiff6 (Debian, Ubuntu) or libtiff (Fedora)",
                                          functions, sizeof functions / sizeof *functions};
    return dt_image_library_open(&tiff, &dt_image_tiff, path, l);
}

static dt_status *read_header(const char *path, const uint8_t *bytes, size_t n,
                              dt_image_header *out) {
    uint32_t width, height;
    if (!dt_exif_value(bytes, n, WIDTH, &width) || !dt_exif_value(bytes, n, HEIGHT, &height))
        return dt_image_broken(path, &dt_image_tiff, "no size in its first directory");
    *out = (dt_image_header){
        .height = height, .width = width, .orientation = dt_exif_orientation(bytes, n)};
    /* larger pictures are refused later because of their size */
    if (height < 1u << 28 && width < 1u << 28) out->working = 8 * out->height * out->width;
    return NULL;
}

/* ---- what libtiff calls ---- */

static ssize_t on_read(void *user, void *to, ssize_t n) {
    source *s = user;
    const int64_t left = s->at < s->n ? s->n - s->at : 0;
    if (n > left) n = left;
    if (n > 0) memcpy(to, s->bytes + s->at, (size_t)n);
    s->at += n;
    return n;
}

static ssize_t on_write(void *user, void *from, ssize_t n) {
    (void)user, (void)from, (void)n;
    return 0;
}

static uint64_t on_seek(void *user, uint64_t offset, int whence) {
    source *s = user;
    const int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? s->at : s->n;
    if (offset > INT64_MAX / 2) return (uint64_t)-1;
    s->at = from + (int64_t)offset;
    return (uint64_t)s->at;
}

static int on_close(void *user) {
    (void)user;
    return 0;
}

static uint64_t on_size(void *user) { return (uint64_t)((source *)user)->n; }

/* libtiff 4.5 refuses small tiles without compression unless the file is in memory. */
static int on_map(void *user, void **base, uint64_t *size) {
    const source *s = user;
    /* This pointer is not const in the interface, but libtiff only reads from it. */
    *base = (void *)(uintptr_t)s->bytes;
    *size = (uint64_t)s->n;
    return 1;
}

static void on_unmap(void *user, void *base, uint64_t size) { (void)user, (void)base, (void)size; }

/* Keeps the first error message. 1: libtiff prints nothing. */
static int on_error(void *tiff, void *user, const char *module, const char *format, va_list args) {
    source *s = user;
    (void)tiff, (void)module;
    if (!*s->fault) vsnprintf(s->fault, sizeof s->fault, format, args);
    return 1;
}

/* Ignores warnings. Most of them are about tags that are not needed. */
static int on_warning(void *tiff, void *user, const char *module, const char *format,
                      va_list args) {
    (void)tiff, (void)user, (void)module, (void)format, (void)args;
    return 1;
}

/* ---- pixels, and the format ---- */

static void *open_source(const library *l, const dt_image *want, source *s) {
    void *options = l->options();
    if (!options) return NULL;
    l->most(options, want->height * want->width * 8 + (1 << 20));
    l->on_error(options, on_error, s);
    l->on_warning(options, on_warning, s);
    void *tiff = l->open(want->path, "r", s, on_read, on_write, on_seek, on_close, on_size, on_map,
                         on_unmap, options);
    l->options_free(options);
    return tiff;
}

/* In a picture with one extra sample, takes this to be alpha, and keeps it separate from the
 * colours if it is so in the file. libtiff would multiply the colours by alpha unless the directory
 * says that this has been done, so the directory is changed in memory. Returns whether the colours
 * in the file were multiplied by alpha; false if there is not exactly one extra sample. */
static bool keep_alpha_apart(const library *l, void *tiff) {
    uint16_t n = 0, *kind = NULL, multiplied = ALPHA_IS_MULTIPLIED;
    if (!l->get(tiff, EXTRA_SAMPLES, &n, &kind) || n != 1) return false;
    if (*kind == ALPHA_IS_MULTIPLIED) return true;
    l->set(tiff, EXTRA_SAMPLES, 1, &multiplied);
    return false;
}

/* Divides the colours of a pixel by its alpha, unless that is 0; the result is at most 255. */
static void divide(uint8_t *rgba) {
    for (int c = 0; c < 3 && rgba[3] > 0; c++) {
        const int value = 255 * rgba[c] / rgba[3];
        rgba[c] = (uint8_t)(value < 255 ? value : 255);
    }
}

/* Has libtiff read the stored numbers, greys or indices of a palette, as grey values, which it
 * scales to 0..255. Otherwise it would invert greys of which 0 is white. *most: the largest number
 * that a pixel can store. Refuses colours without a palette, and more than 8 bits. */
static dt_status *keep_numbers(const library *l, const dt_image *want, void *tiff, int *most) {
    uint16_t bits = 1, kind = BLACK_IS_ZERO;
    l->get(tiff, BITS, &bits);
    l->get(tiff, PHOTOMETRIC, &kind);
    if (bits > 8 || kind > PALETTE || kind == PALETTE - 1)
        return dt_image_refuse_colors(want, bits > 8 ? "more than 8 bits per channel" : "colors");
    l->set(tiff, PHOTOMETRIC, BLACK_IS_ZERO);
    *most = (1 << bits) - 1;
    return NULL;
}

static void put_pixels(const dt_image *want, const uint32_t *raster, bool multiplied, int most,
                       uint8_t *out) {
    for (int64_t i = 0; i < want->height * want->width; i++) {
        uint8_t rgba[4];
        for (int c = 0; c < 4; c++) rgba[c] = (uint8_t)(raster[i] >> 8 * c);
        if (multiplied) divide(rgba);
        if (want->numbers) out[i] = (uint8_t)((rgba[0] * most + 127) / 255);
        else dt_image_put(want, rgba, 1, out + i * want->channels);
    }
}

/* Reads the picture into `raster` as pixels of 32 bits, with red in the lowest 8, and then writes
 * it to `out` as `want` says. */
static dt_status *read_raster(const library *l, const dt_image *want, source *s, uint32_t *raster,
                              uint8_t *out) {
    uint16_t orientation = TOP_LEFT;
    uint32_t width = 0, height = 0;
    int most = 255;
    void *tiff = open_source(l, want, s);
    if (!tiff) return dt_image_broken(want->path, &dt_image_tiff, *s->fault ? s->fault : "no TIFF");
    /* Removes messages that come from reading the directory: they are about tags that are not
     * needed. */
    *s->fault = '\0';
    const bool multiplied = keep_alpha_apart(l, tiff);
    l->get(tiff, ORIENTATION, &orientation);
    bool right = l->get(tiff, WIDTH, &width) && l->get(tiff, HEIGHT, &height) &&
                 width == want->width && height == want->height;
    dt_status *bad = want->numbers ? keep_numbers(l, want, tiff, &most) : NULL;
    /* given its own orientation, libtiff returns the picture as it is stored */
    right = !bad && right && l->read(tiff, width, height, raster, orientation, 1);
    l->close(tiff);
    if (bad) return bad;
    if (!right || *s->fault)
        return dt_image_broken(want->path, &dt_image_tiff,
                               *s->fault ? s->fault : "it cannot be decoded");
    put_pixels(want, raster, multiplied, most, out);
    return NULL;
}

static dt_status *decode(const dt_image *want, const uint8_t *bytes, size_t n, uint8_t *out) {
    library l;
    dt_image_header header;
    source s = {.bytes = bytes, .n = (int64_t)n};
    DT_TRY(read_header(want->path, bytes, n, &header));
    DT_TRY(dt_image_check_size(want, header.height, header.width));
    DT_TRY(load(&l, want->path));
    uint32_t *raster = dt_try_alloc((size_t)(want->height * want->width) * sizeof *raster);
    if (!raster)
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", want->path);
    dt_status *bad = read_raster(&l, want, &s, raster, out);
    free(raster);
    return bad;
}

#define TIFF(magic)                                                                                \
    {                                                                                              \
        .name = "TIFF", .suffix = {".tif", ".tiff"}, .first = magic, .first_size = 4,              \
        .read_header = read_header, .decode = decode                                               \
    }
const dt_image_format dt_image_tiff = TIFF("II*\0"), dt_image_tiff_big_endian = TIFF("MM\0*");

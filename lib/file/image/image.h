/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes pictures to 8 bits per channel: PNG with libpng, JPEG with libjpeg-turbo, WebP with
 * libwebp, TIFF with libtiff; GIF (its first frame) and BMP are read here. The first bytes of a
 * file determine its format. Unless class numbers are wanted, 16-bit channels are reduced to 8
 * bits, and indices of a palette become its colours. Alpha is dropped unless four channels are
 * wanted. Before a decoder allocates the pixels, it checks that the header has the wanted size.
 */
#ifndef DT_FILE_IMAGE_IMAGE_H
#define DT_FILE_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/library.h"

#define DT_IMAGE_FORMATS "PNG, JPEG, GIF, BMP, WebP or TIFF"

/* The picture that the caller wants: (height, width, channels) with 1 channel (grey), 3 (red,
 * green, blue) or 4 (and alpha, 255 if the file has none). */
typedef struct dt_image {
    int64_t height, width;
    int channels;
    /* Read one channel of class numbers: the indices of a palette, or grey values that are not
     * scaled to 0..255. Refuses pictures with other colours or more than 8 bits per channel, and
     * all JPEG and WebP files. */
    bool numbers;
    /* the file or the TFRecord's feature, and the element, for messages */
    const char *path, *element;
} dt_image;

/* Decodes height * width * channels bytes into `out`. Fails with DATA_FILE, naming the file, if it
 * has another size, is not a picture of these formats, is of an unsupported kind, is refused
 * because class numbers are wanted, or has damage that the decoder of its format detects; with
 * PLUGIN if a library is missing or lacks a function; with NO_MEMORY. */
dt_status *dt_image_decode(const dt_image *want, const void *bytes, size_t n,
                           uint8_t *out) DT_MUST_USE;

/* Whether a file has a suffix of pictures that can be read: .png, .jpg, .gif, ... */
bool dt_image_is_named(const char *path);
/* Whether a file has a suffix of pictures that cannot be read: .heic, .avif, ... */
bool dt_image_is_other(const char *path);
/* Whether the first bytes are those of one of the formats. */
bool dt_image_is(const void *bytes, size_t n);

/* What a picture's file says before its pixels are decoded. */
typedef struct dt_image_header {
    int64_t height, width; /* size of the stored picture in pixels */
    /* Estimate of the bytes that the decoder takes besides the pixels of the result, such as those
     * of the coefficients of a JPEG with several scans, which are kept until the last scan; 0:
     * few. */
    int64_t working;
    /* Exif's orientation, 1 to 8: how to turn the stored picture upright; see dt_image_turn. 1: it
     * is upright, or the file has no valid orientation. */
    int orientation;
} dt_image_header;
/* Reads the size and the orientation without decoding pixels. Fails with DATA_FILE, naming the
 * file, if it is not a picture, or its header is broken or of an unsupported kind. */
dt_status *dt_image_read_header(const char *path, const void *bytes, size_t n,
                                dt_image_header *out) DT_MUST_USE;

/* Whether turning a picture upright exchanges its rows and columns. */
bool dt_image_turns_sides(int orientation);
/* Turns a picture upright, as Pillow's ImageOps.exif_transpose does. orientation: Exif's, 1 to 8.
 * `stored` gives the size and channels of `in`; `out` has the same number of bytes. */
void dt_image_turn(const dt_image *stored, int orientation, const uint8_t *in, uint8_t *out);

/* ---- formats, in image.c's table, and what their decoders share ---- */

typedef struct dt_image_format {
    const char *name;
    const char *suffix[3];
    /* the first bytes of a file, and more bytes at `second_at`; second NULL: no more */
    const char *first, *second;
    int first_size, second_size, second_at;
    dt_status *(*read_header)(const char *path, const uint8_t *bytes, size_t n,
                              dt_image_header *out);
    dt_status *(*decode)(const dt_image *want, const uint8_t *bytes, size_t n, uint8_t *out);
} dt_image_format;
extern const dt_image_format dt_image_png, dt_image_jpeg, dt_image_gif, dt_image_bmp, dt_image_webp,
    dt_image_tiff, dt_image_tiff_big_endian;

/* Functions that the decoders of formats share. */

/* Fails unless the picture has the wanted size. */
dt_status *dt_image_check_size(const dt_image *want, int64_t height, int64_t width) DT_MUST_USE;
/* Returns the error DATA_FILE "PATH: broken NAME image: WHAT". */
dt_status *dt_image_broken(const char *path, const dt_image_format *f,
                           const char *what) DT_MUST_USE;
/* Returns the error DATA_FILE for a picture that does not hold class numbers, which the caller
 * wants. what: what the picture has instead, for the message. */
dt_status *dt_image_refuse_colors(const dt_image *want, const char *what) DT_MUST_USE;
/* Writes `pixels` pixels of red, green, blue and alpha as want->channels channels. Grey is the
 * luminance of ITU-R BT.601, rounded. */
void dt_image_put(const dt_image *want, const uint8_t *rgba, int64_t pixels, uint8_t *to);

/* Reads a little-endian number of 1 to 4 bytes. */
static inline uint32_t dt_image_little(const uint8_t *p, int bytes) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << 8 * i;
    return v;
}

/* A library that decodes a format. */
typedef struct dt_image_library {
    const char *soname, *packages; /* packages: names of the packages to install */
    const dt_library_function *function;
    int n;
} dt_image_library;
/* Loads the library's functions into the struct of pointers `functions`. path: the picture, for
 * messages. Error PLUGIN: it is not installed (the message names the packages) or lacks a
 * function. */
dt_status *dt_image_library_open(const dt_image_library *l, const dt_image_format *f,
                                 const char *path, void *functions) DT_MUST_USE;

/* exif.c: gets the value of a tag, SHORT or LONG, in the first directory of a TIFF file or of Exif
 * data, which have the same form. Returns false if the bytes do not have this form, or the
 * directory lacks the tag or has it with another type. */
bool dt_exif_value(const uint8_t *tiff, size_t n, unsigned tag, uint32_t *out);
/* Returns the orientation in Exif data, which may begin with "Exif" and two zero bytes; 1: they
 * have no valid one. */
int dt_exif_orientation(const uint8_t *exif, size_t n);

#endif

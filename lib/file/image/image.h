/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures, decoded to 8 bits a channel: PNG by libpng, JPEG by libjpeg-turbo. The
 * first bytes of a file determine its format. Of 16 bits the upper 8 are taken, palettes are looked
 * up; alpha is dropped unless it is requested, as TensorFlow's decode_image does. A picture's size
 * is looked at before anything of that size is allocated, so a header that lies costs nothing.
 */
#ifndef DT_FILE_IMAGE_IMAGE_H
#define DT_FILE_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The requested picture: (height, width, channels), with 1 channel (grey), 3 (red, green, blue) or
 * 4 (and alpha, 255 if the file has none). */
typedef struct dt_image {
    int64_t height, width;
    int channels;
    const char *path, *element; /* for messages */
} dt_image;

/* height * width * channels bytes into out. DATA_FILE, naming the file: of another size, broken,
 * cut off, or no picture. */
dt_status *dt_image_decode(const dt_image *want, const void *bytes, size_t n,
                           uint8_t *out) DT_MUST_USE;

/* Whether a file is named as pictures are: .png, .jpg, .jpeg. */
bool dt_image_is_named(const char *path);
/* Whether it is named as a picture of a format that cannot be read: .gif, .webp, .tiff, ... */
bool dt_image_is_other(const char *path);
/* Whether bytes begin as a picture that can be decoded does. */
bool dt_image_is(const void *bytes, size_t n);

/* The size of a picture, from the beginning of its file. */
typedef struct dt_image_header {
    int64_t height, width; /* pixels */
    /* bytes that decoding takes beside the pixels: a JPEG of several scans is kept as
     * coefficients until the last one */
    int64_t working;
} dt_image_header;
/* Reads no more of the file than that takes. DATA_FILE, naming the file: broken, or no picture. */
dt_status *dt_image_read_header(const char *path, const void *bytes, size_t n,
                                dt_image_header *out) DT_MUST_USE;

/* For the decoders of one kind. */
dt_status *dt_jpeg_read_header(const char *path, const void *bytes, size_t n,
                               dt_image_header *out) DT_MUST_USE;
dt_status *dt_png_decode(const dt_image *want, const void *bytes, size_t n,
                         uint8_t *out) DT_MUST_USE;
dt_status *dt_jpeg_decode(const dt_image *want, const void *bytes, size_t n,
                          uint8_t *out) DT_MUST_USE;
/* An error unless that is the size. */
dt_status *dt_image_check_size(const dt_image *want, int64_t height, int64_t width) DT_MUST_USE;

#endif

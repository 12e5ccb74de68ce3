/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes pictures to 8 bits per channel: PNG with libpng, JPEG with libjpeg-turbo. The first bytes
 * of a file determine its format. 16-bit channels keep their upper 8 bits, and palettes are looked
 * up. Alpha is dropped unless it is requested, as TensorFlow's decode_image does. The size in the
 * header is checked before anything of that size is allocated, so a false header does no harm.
 */
#ifndef DT_FILE_IMAGE_IMAGE_H
#define DT_FILE_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The picture that the caller wants: (height, width, channels) with 1 channel (grey), 3 (red,
 * green, blue) or 4 (and alpha, 255 if the file has none). */
typedef struct dt_image {
    int64_t height, width;
    int channels;
    const char *path, *element; /* for messages */
} dt_image;

/* Decodes height * width * channels bytes into `out`. Fails with DATA_FILE, naming the file, if it
 * has another size, is broken or cut off, or is not a picture. */
dt_status *dt_image_decode(const dt_image *want, const void *bytes, size_t n,
                           uint8_t *out) DT_MUST_USE;

/* Whether a file has a suffix of pictures that can be read: .png, .jpg, .jpeg. */
bool dt_image_is_named(const char *path);
/* Whether a file has a suffix of pictures that cannot be read: .gif, .webp, .tiff, ... */
bool dt_image_is_other(const char *path);
/* Whether the first bytes are those of a picture that can be decoded. */
bool dt_image_is(const void *bytes, size_t n);

/* The size of a picture, from the beginning of its file. */
typedef struct dt_image_header {
    int64_t height, width; /* pixels */
    /* Bytes that decoding takes besides the pixels. Coefficients of a JPEG with several scans are
     * kept until the last scan. */
    int64_t working;
} dt_image_header;
/* Reads the header only. Fails with DATA_FILE, naming the file, if it is broken or not a
 * picture. */
dt_status *dt_image_read_header(const char *path, const void *bytes, size_t n,
                                dt_image_header *out) DT_MUST_USE;

/* The decoders for single formats. */
dt_status *dt_jpeg_read_header(const char *path, const void *bytes, size_t n,
                               dt_image_header *out) DT_MUST_USE;
dt_status *dt_png_decode(const dt_image *want, const void *bytes, size_t n,
                         uint8_t *out) DT_MUST_USE;
dt_status *dt_jpeg_decode(const dt_image *want, const void *bytes, size_t n,
                          uint8_t *out) DT_MUST_USE;
/* Fails unless the picture has the wanted size. */
dt_status *dt_image_check_size(const dt_image *want, int64_t height, int64_t width) DT_MUST_USE;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes WebP with libwebp, which is loaded when the first such picture is decoded. The header is
 * read here (RFC 9649): a simple file has one chunk of pixels, an extended one begins with VP8X. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "file/image/image.h"

enum { CHUNKS = 12, IS_ANIMATED = 0x02 };

/* webp/decode.h's functions, which are the same in all versions of libwebp.so.7. */
typedef struct library {
    int (*get_info)(const uint8_t *bytes, size_t n, int *width, int *height);
    uint8_t *(*rgb_into)(const uint8_t *bytes, size_t n, uint8_t *out, size_t size, int stride);
    uint8_t *(*rgba_into)(const uint8_t *bytes, size_t n, uint8_t *out, size_t size, int stride);
} library;

static dt_status *load(library *l, const char *path) {
    static const dt_library_function functions[] = {
        {"WebPGetInfo", offsetof(library, get_info)},
        {"WebPDecodeRGBInto", offsetof(library, rgb_into)},
        {"WebPDecodeRGBAInto", offsetof(library, rgba_into)}};
    static const dt_image_library webp = {"libwebp.so.7",
                                          "libwebp7 (Debian, Ubuntu) or libwebp (Fedora)",
                                          functions, sizeof functions / sizeof *functions};
    return dt_image_library_open(&webp, &dt_image_webp, path, l);
}

/* ---- the header ---- */

/* Returns the orientation in the chunk EXIF, which follows the pixels; 1 if there is no such chunk,
 * or it has no valid orientation. */
static int orientation_of(const uint8_t *bytes, size_t n) {
    for (size_t at = CHUNKS; at + 8 <= n;) {
        const size_t size = (size_t)dt_image_little(bytes + at + 4, 4), left = n - at - 8;
        if (memcmp(bytes + at, "EXIF", 4) == 0)
            return dt_exif_orientation(bytes + at + 8, size < left ? size : left);
        if (size >= left) break;
        at += 8 + size + size % 2;
    }
    return 1;
}

static dt_status *read_header(const char *path, const uint8_t *bytes, size_t n,
                              dt_image_header *out) {
    const char *kind = n < CHUNKS + 18 ? "" : (const char *)bytes + CHUNKS;
    *out = (dt_image_header){.orientation = 1};
    if (strncmp(kind, "VP8X", 4) == 0) {
        if (bytes[20] & IS_ANIMATED)
            return dt_suggest(
                dt_fail(DT_E_DATA_FILE, NULL, "%s: animated WebP images are not supported", path),
                "save one of its frames");
        out->width = 1 + dt_image_little(bytes + 24, 3);
        out->height = 1 + dt_image_little(bytes + 27, 3);
        out->orientation = orientation_of(bytes, n);
    } else if (strncmp(kind, "VP8L", 4) == 0) {
        const int64_t sizes = dt_image_little(bytes + 21, 4);
        out->width = 1 + (sizes & 0x3fff);
        out->height = 1 + (sizes >> 14 & 0x3fff);
    } else if (strncmp(kind, "VP8 ", 4) == 0) {
        out->width = dt_image_little(bytes + 26, 2) & 0x3fff;
        out->height = dt_image_little(bytes + 28, 2) & 0x3fff;
    } else return dt_image_broken(path, &dt_image_webp, "no header");
    out->working = 4 * out->height * out->width;
    return NULL;
}

/* ---- pixels, and the format ---- */

/* Decodes to red, green, blue and alpha, and converts these to grey. */
static dt_status *decode_grey(const library *l, const dt_image *want, const uint8_t *bytes,
                              size_t n, uint8_t *out) {
    const int64_t pixels = want->height * want->width;
    uint8_t *rgba = dt_try_alloc((size_t)pixels * 4);
    if (!rgba) return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", want->path);
    const bool right =
        l->rgba_into(bytes, n, rgba, (size_t)pixels * 4, (int)want->width * 4) != NULL;
    if (right) dt_image_put(want, rgba, pixels, out);
    free(rgba);
    return right ? NULL : dt_image_broken(want->path, &dt_image_webp, "it cannot be decoded");
}

static dt_status *decode(const dt_image *want, const uint8_t *bytes, size_t n, uint8_t *out) {
    library l;
    dt_image_header header;
    int width, height;
    DT_TRY(read_header(want->path, bytes, n, &header));
    DT_TRY(dt_image_check_size(want, header.height, header.width));
    if (want->numbers) return dt_image_refuse_colors(want, "colors");
    DT_TRY(load(&l, want->path));
    if (!l.get_info(bytes, n, &width, &height) || width != want->width || height != want->height)
        return dt_image_broken(want->path, &dt_image_webp, "its parts differ in size");
    if (want->channels == 1) return decode_grey(&l, want, bytes, n, out);
    const int stride = width * want->channels;
    uint8_t *done = (want->channels == 3 ? l.rgb_into : l.rgba_into)(
        bytes, n, out, (size_t)stride * (size_t)height, stride);
    return done ? NULL : dt_image_broken(want->path, &dt_image_webp, "it cannot be decoded");
}

const dt_image_format dt_image_webp = {.name = "WebP",
                                       .suffix = {".webp"},
                                       .first = "RIFF",
                                       .first_size = 4,
                                       .second = "WEBP",
                                       .second_size = 4,
                                       .second_at = 8,
                                       .read_header = read_header,
                                       .decode = decode};

/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes the format of a picture file; see image.h. */
#include "file/image/image.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

dt_status *dt_image_check_size(const dt_image *want, int64_t height, int64_t width) {
    if (height == want->height && width == want->width) return NULL;
    dt_status *s =
        dt_fail(DT_E_DATA_FILE, NULL, "%s: has %lld rows of %lld pixels, '%s' has %lld of %lld",
                want->path, (long long)height, (long long)width, want->element,
                (long long)want->height, (long long)want->width);
    return dt_suggest(
        s, "to resize images of any size, add interpolation: bilinear to '%s' in dataset.element",
        want->element);
}

static bool begins(const void *bytes, size_t n, const char *magic, size_t length) {
    return n >= length && memcmp(bytes, magic, length) == 0;
}

static bool is_png(const void *bytes, size_t n) { return begins(bytes, n, "\x89PNG\r\n\x1a\n", 8); }

static bool is_jpeg(const void *bytes, size_t n) { return begins(bytes, n, "\xff\xd8\xff", 3); }

bool dt_image_is(const void *bytes, size_t n) { return is_png(bytes, n) || is_jpeg(bytes, n); }

static dt_status *no_picture(const char *path, const void *bytes, size_t n) {
    const dt_file_sort *sort = dt_file_sort_of(bytes, n);
    if (!sort)
        return dt_fail(DT_E_DATA_FILE, NULL, n ? "%s: not a PNG or JPEG image" : "%s: is empty",
                       path);
    dt_status *s =
        dt_fail(DT_E_DATA_FILE, NULL, "%s: is %s, not a PNG or JPEG image", path, sort->what);
    return dt_suggest(s, "convert it, such as with Pillow: Image.open(FILE).save(OUT)");
}

static int64_t big_endian(const unsigned char *p) {
    return (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* Reads the size from PNG's first chunk: length, IHDR, width, height. */
static dt_status *png_read_header(const char *path, const unsigned char *bytes, size_t n,
                                  dt_image_header *out) {
    if (n < 24 || memcmp(bytes + 12, "IHDR", 4) != 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: broken PNG image: no header", path);
    *out = (dt_image_header){.width = big_endian(bytes + 16), .height = big_endian(bytes + 20)};
    return NULL;
}

dt_status *dt_image_read_header(const char *path, const void *bytes, size_t n,
                                dt_image_header *out) {
    if (is_png(bytes, n)) return png_read_header(path, bytes, n, out);
    return is_jpeg(bytes, n) ? dt_jpeg_read_header(path, bytes, n, out)
                             : no_picture(path, bytes, n);
}

dt_status *dt_image_decode(const dt_image *want, const void *bytes, size_t n, uint8_t *out) {
    if (is_png(bytes, n)) return dt_png_decode(want, bytes, n, out);
    if (is_jpeg(bytes, n)) return dt_jpeg_decode(want, bytes, n, out);
    return no_picture(want->path, bytes, n);
}

static bool ends_in(const char *path, const char *const *ending) {
    const char *dot = strrchr(path, '.');
    for (; dot && *ending; ending++)
        if (strcasecmp(dot, *ending) == 0) return true;
    return false;
}

bool dt_image_is_named(const char *path) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg", NULL};
    return ends_in(path, endings);
}

bool dt_image_is_other(const char *path) {
    static const char *const endings[] = {".bmp",  ".gif", ".webp", ".tif", ".tiff", ".heic",
                                          ".avif", ".jp2", ".jfif", ".ppm", ".pgm",  NULL};
    return ends_in(path, endings);
}

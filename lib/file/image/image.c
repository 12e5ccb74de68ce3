/* SPDX-License-Identifier: Apache-2.0 */
/* The table of picture formats, and what their decoders share; see image.h. */
#include "file/image/image.h"

#include <dlfcn.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const dt_image_format *const formats[] = {
    &dt_image_png,
    &dt_image_jpeg,
    &dt_image_gif,
    &dt_image_bmp,
    &dt_image_webp,
    &dt_image_tiff,
    &dt_image_tiff_big_endian,
};
enum { FORMATS = sizeof formats / sizeof *formats };

static bool has(const char *bytes, size_t n, const char *magic, int size, int at) {
    return n >= (size_t)(at + size) && memcmp(bytes + at, magic, (size_t)size) == 0;
}

static const dt_image_format *format_of(const void *bytes, size_t n) {
    for (int i = 0; i < FORMATS; i++) {
        const dt_image_format *f = formats[i];
        if (has(bytes, n, f->first, f->first_size, 0) &&
            (!f->second || has(bytes, n, f->second, f->second_size, f->second_at)))
            return f;
    }
    return NULL;
}

bool dt_image_is(const void *bytes, size_t n) { return format_of(bytes, n); }

static dt_status *no_picture(const char *path, const void *bytes, size_t n) {
    const dt_file_sort *sort = dt_file_sort_of(bytes, n);
    if (!sort)
        return dt_fail(DT_E_DATA_FILE, NULL,
                       n ? "%s: not a " DT_IMAGE_FORMATS " image" : "%s: is empty", path);
    dt_status *s = dt_fail(DT_E_DATA_FILE, NULL, "%s: is %s, not a " DT_IMAGE_FORMATS " image",
                           path, sort->what);
    return dt_suggest(s, "convert it, such as with Pillow: Image.open(FILE).save(OUT)");
}

dt_status *dt_image_read_header(const char *path, const void *bytes, size_t n,
                                dt_image_header *out) {
    const dt_image_format *f = format_of(bytes, n);
    return f ? f->read_header(path, bytes, n, out) : no_picture(path, bytes, n);
}

dt_status *dt_image_decode(const dt_image *want, const void *bytes, size_t n, uint8_t *out) {
    const dt_image_format *f = format_of(bytes, n);
    return f ? f->decode(want, bytes, n, out) : no_picture(want->path, bytes, n);
}

bool dt_image_is_named(const char *path) {
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < FORMATS; i++)
        for (int k = 0; k < 3 && formats[i]->suffix[k]; k++)
            if (strcasecmp(dot, formats[i]->suffix[k]) == 0) return true;
    return false;
}

bool dt_image_is_other(const char *path) {
    static const char *const endings[] = {".heic", ".heif", ".avif", ".jp2",
                                          ".jxl",  ".ppm",  ".pgm",  NULL};
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && endings[i]; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

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

dt_status *dt_image_broken(const char *path, const dt_image_format *f, const char *what) {
    return dt_fail(DT_E_DATA_FILE, NULL, "%s: broken %s image: %s", path, f->name, what);
}

dt_status *dt_image_refuse_colors(const dt_image *want, const char *what) {
    return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL,
                              "%s: %s, but a mask holds class numbers: a palette, or grey of up to "
                              "8 bits",
                              want->path, what),
                      "list the colors of the classes: 'colors' of '%s' in dataset.element",
                      want->element);
}

void dt_image_put(const dt_image *want, const uint8_t *rgba, int64_t pixels, uint8_t *to) {
    const size_t channels = (size_t)want->channels;
    for (int64_t i = 0; i < pixels; i++, rgba += 4, to += channels)
        if (channels > 1) memcpy(to, rgba, channels);
        else
            *to =
                (uint8_t)((19595u * rgba[0] + 38470u * rgba[1] + 7471u * rgba[2] + 0x8000u) >> 16);
}

dt_status *dt_image_library_open(const dt_image_library *l, const dt_image_format *f,
                                 const char *path, void *functions) {
    void *handle = NULL;
    DT_TRY(dt_library_open(&handle, (const char *const[]){l->soname, NULL}, RTLD_NOW | RTLD_LOCAL,
                           NULL));
    if (!handle)
        return dt_suggest(dt_fail(DT_E_PLUGIN, NULL,
                                  "%s: %s, which decodes %s images, is not installed", path,
                                  l->soname, f->name),
                          "install %s, or convert the images to PNG", l->packages);
    const char *missing = dt_library_bind(handle, l->function, l->n, functions);
    return missing ? dt_fail(DT_E_PLUGIN, NULL, "%s: %s is of another version: it lacks %s", path,
                             l->soname, missing)
                   : NULL;
}

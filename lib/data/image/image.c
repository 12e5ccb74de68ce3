/* What kind of picture a file is; see image.h. */
#include "data/image/image.h"

#include <string.h>

dt_status *dt_image_check_size(const dt_image *want, int64_t height, int64_t width)
{
    if (height == want->height && width == want->width)
        return NULL;
    return dt_fail(DT_E_DATA_FILE, NULL, "%s: has %lld rows of %lld pixels, '%s' has %lld of %lld", want->path, (long long)height, (long long)width,
                   want->element, (long long)want->height, (long long)want->width);
}

static bool begins(const void *bytes, size_t n, const char *magic, size_t length)
{
    return n >= length && memcmp(bytes, magic, length) == 0;
}

static bool is_png(const void *bytes, size_t n)
{
    return begins(bytes, n, "\x89PNG\r\n\x1a\n", 8);
}

static bool is_jpeg(const void *bytes, size_t n)
{
    return begins(bytes, n, "\xff\xd8\xff", 3);
}

bool dt_image_is(const void *bytes, size_t n)
{
    return is_png(bytes, n) || is_jpeg(bytes, n);
}

dt_status *dt_image_decode(const dt_image *want, const void *bytes, size_t n, uint8_t *out)
{
    if (is_png(bytes, n))
        return dt_png_decode(want, bytes, n, out);
    if (is_jpeg(bytes, n))
        return dt_jpeg_decode(want, bytes, n, out);
    return dt_fail(DT_E_DATA_FILE, NULL, n ? "%s: is neither a PNG nor a JPEG image" : "%s: is empty", want->path);
}

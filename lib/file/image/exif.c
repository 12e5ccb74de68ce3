/* SPDX-License-Identifier: Apache-2.0 */
/* Reads single values of Exif data and of TIFF files, and turns pictures upright by an Exif
 * orientation. Exif data has the form of a TIFF file: a header with the byte order, then
 * directories of tags (TIFF 6.0, section 2). */
#include <string.h>

#include "file/image/image.h"

enum { SHORT = 3, LONG = 4, ORIENTATION = 0x112, ENTRY = 12 };

static uint32_t value_at(const uint8_t *p, int bytes, bool big) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
    return v;
}

bool dt_exif_value(const uint8_t *tiff, size_t n, unsigned tag, uint32_t *out) {
    if (n < 8 || (memcmp(tiff, "II*\0", 4) != 0 && memcmp(tiff, "MM\0*", 4) != 0)) return false;
    const bool big = *tiff == 'M';
    const size_t directory = value_at(tiff + 4, 4, big);
    if (directory > n - 2) return false;
    const size_t entries = value_at(tiff + directory, 2, big);
    for (size_t i = 0; i < entries; i++) {
        const size_t at = directory + 2 + i * ENTRY;
        if (at + ENTRY > n) return false;
        if (value_at(tiff + at, 2, big) != tag) continue;
        const unsigned type = value_at(tiff + at + 2, 2, big);
        if (type != SHORT && type != LONG) return false;
        *out = value_at(tiff + at + 8, type == SHORT ? 2 : 4, big);
        return true;
    }
    return false;
}

int dt_exif_orientation(const uint8_t *exif, size_t n) {
    static const size_t mark = sizeof "Exif\0";
    uint32_t value;
    if (n >= mark && memcmp(exif, "Exif\0", mark) == 0) {
        exif += mark;
        n -= mark;
    }
    return dt_exif_value(exif, n, ORIENTATION, &value) && value >= 1 && value <= 8 ? (int)value : 1;
}

bool dt_image_turns_sides(int orientation) { return orientation >= 5; }

void dt_image_turn(const dt_image *stored, int orientation, const uint8_t *in, uint8_t *out) {
    const bool turns = dt_image_turns_sides(orientation), down = (0xd8 >> orientation) & 1,
               left = (0x18c >> orientation) & 1;
    const int64_t rows = stored->height, columns = stored->width;
    const int64_t h = turns ? columns : rows, w = turns ? rows : columns;
    const size_t pixel = (size_t)stored->channels;
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++, out += pixel) {
            const int64_t row = turns ? x : y, column = turns ? y : x;
            const int64_t from =
                (down ? rows - 1 - row : row) * columns + (left ? columns - 1 - column : column);
            memcpy(out, in + (size_t)from * pixel, pixel);
        }
}

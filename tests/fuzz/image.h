/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets of pictures share. */
#ifndef TESTS_FUZZ_IMAGE_H
#define TESTS_FUZZ_IMAGE_H

#include <stdlib.h>

#include "base/arena.h"
#include "file/image/image.h"
#include "fuzz.h"

/* Decoded as it says it is, if it is small, and as one of 5 x 7 pixels. The first byte says with
 * how many channels, or that they are class numbers. */
static inline void fuzz_picture(const uint8_t *data, size_t size) {
    static const int channels[] = {1, 3, 4, 1};
    if (size == 0) return;
    dt_image want = {.height = 5,
                     .width = 7,
                     .channels = channels[data[0] % 4],
                     .numbers = data[0] % 4 == 3,
                     .path = "picture",
                     .element = "x"};
    uint8_t out[5 * 7 * 4];
    const uint8_t *bytes = data + 1;
    int64_t pixels;
    dt_image_header h;
    size--;
    fuzz_done(dt_image_decode(&want, bytes, size, out));
    dt_status *s = dt_image_read_header(want.path, bytes, size, &h);
    if (!s && dt_mul_fits(h.height, h.width, &pixels) && pixels <= 1 << 16) {
        want.height = h.height;
        want.width = h.width;
        uint8_t *picture = malloc((size_t)(pixels * want.channels));
        s = dt_image_decode(&want, bytes, size, picture);
        free(picture);
    }
    fuzz_done(s);
}

#endif

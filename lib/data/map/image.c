/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by steps over images; see step.h. */
#include <string.h>

#include "data/map/step.h"

dt_pixels dt_pixels_of(const dt_type *t) {
    int64_t channels = t->rank == 3 ? t->dim[2] : 1;
    return (dt_pixels){.rows = t->dim[0],
                       .columns = t->dim[1],
                       .channels = channels,
                       .pixel = channels * (int64_t)dt_dtype_size(t->dtype)};
}

dt_type dt_image_sized(const dt_type *t, int64_t rows, int64_t columns) {
    dt_type sized = *t;
    sized.dim[0] = rows;
    sized.dim[1] = columns;
    return sized;
}

void dt_image_cut(const dt_type *in, const dt_type *out, int64_t row, int64_t column,
                  const void *from, void *to) {
    dt_pixels all = dt_pixels_of(in), part = dt_pixels_of(out);
    int64_t stride = all.columns * all.pixel, width = part.columns * part.pixel;
    const char *at = (const char *)from + row * stride + column * all.pixel;
    for (int64_t r = 0; r < part.rows; r++)
        memcpy((char *)to + r * width, at + r * stride, (size_t)width);
}

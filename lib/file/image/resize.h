/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of another size: tf.image.resize without antialiasing, pixels having their centres at half
 * coordinates. The pixels and weights depend on the sizes only and are kept in tables, one for rows
 * and one for columns.
 */
#ifndef DT_FILE_IMAGE_RESIZE_H
#define DT_FILE_IMAGE_RESIZE_H

#include "graph/graph.h"

typedef enum dt_interpolation { DT_BILINEAR, DT_NEAREST } dt_interpolation;

/* Where a row or column of the new image comes from: between `low` and `high`, `part` of the
 * way. */
typedef struct dt_between {
    int64_t low, high;
    float part;
} dt_between;

typedef struct dt_resizing {
    /* (rows, columns) or (rows, columns, channels); of up to 32 bits. Bilinear gives float32,
     * nearest what was there */
    dt_type in, out;
    dt_interpolation interpolation;
    /* the largest part of the wanted ratio from the middle is taken, else the image is distorted */
    bool crop;
    /* (out.dim[0]), (out.dim[1]): the caller's memory, filled by dt_resizing_prepare */
    dt_between *row, *column;
} dt_resizing;

void dt_resizing_prepare(dt_resizing *r);
void dt_resizing_run(const dt_resizing *r, const void *in, void *out);

#endif

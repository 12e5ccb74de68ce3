/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes images as tf.image.resize does, without antialiasing; pixels have their centres at half
 * coordinates. The source rows of a new row and their weights are the same for all its pixels, and
 * so are those of a column; two tables keep them, one for rows and one for columns.
 */
#ifndef DT_FILE_IMAGE_RESIZE_H
#define DT_FILE_IMAGE_RESIZE_H

#include "graph/graph.h"

typedef enum dt_interpolation { DT_BILINEAR, DT_NEAREST } dt_interpolation;

/* The source of a new row or column: between the old ones `low` and `high`, at `part` of the
 * distance. DT_NEAREST uses only `low`. */
typedef struct dt_between {
    int64_t low, high;
    float part;
} dt_between;

typedef struct dt_resizing {
    /* (rows, columns) or (rows, columns, channels), with values of up to 32 bits. DT_BILINEAR gives
     * float32; DT_NEAREST keeps the dtype. */
    dt_type in, out;
    dt_interpolation interpolation;
    /* use the largest middle part with the wanted aspect ratio; false: use the whole image, even if
     * that distorts it */
    bool crop;
    /* row: [out.dim[0]], column: [out.dim[1]]; memory of the caller, filled by
     * dt_resizing_prepare */
    dt_between *row, *column;
} dt_resizing;

void dt_resizing_prepare(dt_resizing *r);
/* Resizes an image of type r->in to one of type r->out, after dt_resizing_prepare. */
void dt_resizing_run(const dt_resizing *r, const void *in, void *out);

#endif

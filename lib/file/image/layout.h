/* SPDX-License-Identifier: Apache-2.0 */
/* The key `element` for folders of pictures: {image: {shape: [rows, columns, channels]}, label:
 * {num_classes: N}}. */
#ifndef DT_FILE_IMAGE_LAYOUT_H
#define DT_FILE_IMAGE_LAYOUT_H

#include "conf/conf.h"
#include "file/image/image.h"
#include "file/image/resize.h"

/* of a picture in its own size: where Pillow takes it for a decompression bomb */
#define DT_MOST_PIXELS ((int64_t)178956970)

/* Decoding a picture takes at most as much as one of so many pixels of four bytes; a progressive
 * JPEG needs up to 9 a pixel. */
#define DT_MOST_DECODING (4 * DT_MOST_PIXELS)
/* TOO_LARGE unless a picture has at least one pixel and at most so many, and decoding it to so many
 * channels takes no more than that. */
dt_status *dt_image_check_header(const char *path, const dt_image_header *h,
                                 int channels) DT_MUST_USE;

/* Memory that threads share for pictures in their own size, and for what decoding takes beside
 * pixels. */
typedef struct dt_image_room dt_image_room;
dt_image_room *dt_image_room_create(dt_arena *arena);
/* What so many threads take of it if all pictures are as large as the largest so far. */
int64_t dt_image_room_bytes(dt_image_room *r, int threads);

/* Two elements, in either order and of any names. */
typedef struct dt_image_layout {
    int image, label; /* their places */
    /* of a picture: (rows, columns) or (rows, columns, channels); uint8, and float32 where it is
     * interpolated */
    dt_type type;
    bool resizes; /* pictures may have any size */
    dt_interpolation interpolation;
    bool crop; /* to the ratio of type's sides */
    int64_t num_classes;
    dt_image_room *room; /* NULL: for one thread */
} dt_image_layout;

/* The keys of an entry of `element`. */
extern const dt_field dt_image_element_fields[];
/* All faults. */
dt_status *dt_image_layout_read(dt_arena *arena, const dt_tree *element,
                                dt_image_layout *out) DT_MUST_USE;

/* What messages call a picture. */
typedef struct dt_image_name {
    const char *path, *element;
} dt_image_name;
/* A picture's file as a value of l->type. */
dt_status *dt_image_fit(const dt_image_layout *l, const dt_image_name *name, const void *bytes,
                        size_t n, void *out) DT_MUST_USE;

/* Orders rows 0 .. n - 1 so that their classes are spread evenly: the last examples have a share of
 * each class. */
void dt_image_spread(const int32_t *class, int n, int64_t classes, int *order);

#endif

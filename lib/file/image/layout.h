/* SPDX-License-Identifier: Apache-2.0 */
/* The key `element` for folders of pictures: {image: {shape: [rows, columns, channels]}, label:
 * {num_classes: N}}; or, with a mask for each picture, {image: {shape: [rows, columns, channels]},
 * mask: {shape: [rows, columns], num_classes: N}}. */
#ifndef DT_FILE_IMAGE_LAYOUT_H
#define DT_FILE_IMAGE_LAYOUT_H

#include "conf/conf.h"
#include "file/image/image.h"
#include "file/image/resize.h"

/* most pixels of a picture in its original size: the number above which Pillow raises
 * DecompressionBombError */
#define DT_MOST_PIXELS ((int64_t)178956970)

/* Most bytes for decoding a picture: as many as for DT_MOST_PIXELS pixels of four bytes. A
 * progressive JPEG keeps 2 more bytes per sample: with three components at full resolution, it
 * needs 9 bytes per pixel if it is decoded to 3 channels. */
#define DT_MOST_DECODING (4 * DT_MOST_PIXELS)
/* Fails with TOO_LARGE unless a picture has 1 to DT_MOST_PIXELS pixels and decoding it to
 * `channels` channels takes at most DT_MOST_DECODING bytes. */
dt_status *dt_image_check_header(const char *path, const dt_image_header *h,
                                 int channels) DT_MUST_USE;

/* The memory that threads take for pictures in their original size and for decoding; fit.c limits
 * it. */
typedef struct dt_image_room dt_image_room;
dt_image_room *dt_image_room_create(dt_arena *arena);
/* Returns the most bytes of this memory that `threads` threads take at once, if all pictures are as
 * large as the largest one so far: at most 256 MiB, unless a single picture needs more. */
int64_t dt_image_room_bytes(dt_image_room *r, int threads);

/* The two elements of image_folder, which may be in either order and have any names. */
typedef struct dt_image_layout {
    int image, label; /* positions in `element`; label: the element of the class or of the mask */
    /* The layout of masks, which are resized like the pictures, but to the nearest pixel. NULL: a
     * picture has one class. */
    struct dt_image_layout *mask;
    /* For masks. suffix: what a mask's name has after the name of its picture. color: [n_colors]
     * red, green and blue of each class; n_colors 0: masks hold class numbers. */
    const char *suffix;
    const uint8_t (*color)[3];
    int n_colors;
    /* (rows, columns) or (rows, columns, channels) of the element; float32 for pictures that are
     * resized with DT_BILINEAR, otherwise uint8 */
    dt_type type;
    bool resizes; /* pictures may have any size and are resized */
    dt_interpolation interpolation;
    bool crop;      /* crop to the aspect ratio of `type` before resizing */
    bool as_stored; /* the Exif orientation of pictures is ignored */
    int64_t num_classes;
    dt_image_room *room; /* limits the memory of all threads together; NULL: no limit */
} dt_image_layout;

/* The table of keys of an `element` entry. */
extern const dt_field dt_image_element_fields[];
/* Reads the entries of `element`, and reports the first fault of each. */
dt_status *dt_image_layout_read(dt_arena *arena, const dt_tree *element,
                                dt_image_layout *out) DT_MUST_USE;

/* The names of a picture in messages: its file and its element. */
typedef struct dt_image_name {
    const char *path, *element;
} dt_image_name;
/* Decodes a picture file into a value of type l->type. */
dt_status *dt_image_fit(const dt_image_layout *l, const dt_image_name *name, const void *bytes,
                        size_t n, void *out) DT_MUST_USE;

#endif

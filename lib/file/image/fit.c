/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a picture file into an element's value. The picture must have the job's size, or is
 * resized to it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "file/image/layout.h"

/* Limits the memory that threads take at once for decoding: a thread waits until the bytes that its
 * picture needs fit into ROOM together with those of the other threads, or until the others have
 * none. */
struct dt_image_room {
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    int64_t taken, largest;
};
#define ROOM ((int64_t)256 << 20)

dt_image_room *dt_image_room_create(dt_arena *arena) {
    static const dt_image_room fresh = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                        .given_back = PTHREAD_COND_INITIALIZER};
    return dt_arena_copy(arena, &fresh, sizeof fresh);
}

static void reserve(dt_image_room *r, int64_t bytes) {
    if (!r || bytes == 0) return;
    pthread_mutex_lock(&r->lock);
    while (r->taken > 0 && r->taken + bytes > ROOM) pthread_cond_wait(&r->given_back, &r->lock);
    r->taken += bytes;
    if (r->largest < bytes) r->largest = bytes;
    pthread_mutex_unlock(&r->lock);
}

static void give_back(dt_image_room *r, int64_t bytes) {
    if (!r || bytes == 0) return;
    pthread_mutex_lock(&r->lock);
    r->taken -= bytes;
    pthread_cond_broadcast(&r->given_back);
    pthread_mutex_unlock(&r->lock);
}

int64_t dt_image_room_bytes(dt_image_room *r, int threads) {
    pthread_mutex_lock(&r->lock);
    const int64_t one = r->largest, fit = one > 0 ? ROOM / one : 0;
    pthread_mutex_unlock(&r->lock);
    return one * (threads < fit ? threads : fit > 1 ? fit : 1);
}

static dt_status *too_large(const char *path, int64_t needed) {
    return dt_suggest(dt_fail(DT_E_TOO_LARGE, NULL, "%s: decoding this image takes %s; at most %s",
                              path, dt_text_of_bytes((double)needed).s,
                              dt_text_of_bytes((double)DT_MOST_DECODING).s),
                      "save it as PNG or as a baseline JPEG");
}

/* Returns the bytes that decoding takes: for the pixels of the stored picture, 4 bytes each if
 * colours may have to become grey, and for the decoder. */
static int64_t decoding_bytes(const dt_image_header *h, int channels) {
    return h->height * h->width * (channels == 1 ? 4 : channels) + h->working;
}

dt_status *dt_image_check_header(const char *path, const dt_image_header *h, int channels) {
    int64_t all;
    if (h->height < 1 || h->width < 1 || !dt_mul_fits(h->height, h->width, &all) ||
        all > DT_MOST_PIXELS)
        return dt_fail(DT_E_TOO_LARGE, NULL,
                       "%s: a picture of %lld x %lld pixels; at most %lld pixels are decoded", path,
                       (long long)h->height, (long long)h->width, (long long)DT_MOST_PIXELS);
    const int64_t needed = decoding_bytes(h, channels);
    return needed <= DT_MOST_DECODING ? NULL : too_large(path, needed);
}

static dt_status *no_memory(const dt_image *own) {
    return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", own->path);
}

/* Decodes a picture of the stored size and turns it upright. */
static dt_status *decode_upright(const dt_image *stored, int orientation, const void *file,
                                 size_t n, uint8_t *out) {
    if (orientation == 1) return dt_image_decode(stored, file, n, out);
    DT_LOCAL uint8_t *picture =
        dt_try_alloc((size_t)(stored->height * stored->width * stored->channels));
    dt_status *s = picture ? dt_image_decode(stored, file, n, picture) : no_memory(stored);
    if (!s) dt_image_turn(stored, orientation, picture, out);
    return s;
}

/* Replaces the colors of an upright mask by class numbers; a color of no class is an error. width:
 * pixels of a row. */
static dt_status *look_up(const dt_image_layout *l, const dt_image *stored, int64_t width,
                          uint8_t *picture) {
    int last = 0;
    for (int64_t i = 0; i < stored->height * stored->width; i++) {
        const uint8_t *p = picture + 3 * i;
        /* The previous color is tried first, since most pixels have the color of the pixel
         * before. */
        int k = last;
        for (int n = 0; n < l->n_colors && memcmp(p, l->color[k], 3) != 0; n++)
            k = (k + 1) % l->n_colors;
        if (memcmp(p, l->color[k], 3) != 0)
            return dt_fail(DT_E_DATA_FILE, NULL,
                           "%s: [%d, %d, %d] in row %lld, column %lld is not one of the colors of "
                           "'%s'",
                           stored->path, p[0], p[1], p[2], (long long)(i / width),
                           (long long)(i % width), stored->element);
        picture[i] = (uint8_t)k;
        last = k;
    }
    return NULL;
}

/* Decodes a picture in its original size, turns it upright, replaces the colors of a mask by class
 * numbers if the job lists the colors, and resizes it to the element's size. */
static dt_status *decode_and_resize(const dt_image_layout *l, const dt_image *stored,
                                    int orientation, dt_bytes file, void *out) {
    const dt_type *t = &l->type;
    const bool turns = dt_image_turns_sides(orientation);
    const int64_t dim[] = {turns ? stored->width : stored->height,
                           turns ? stored->height : stored->width, t->rank == 3 ? t->dim[2] : 1};
    dt_resizing r = {.in = dt_type_of(DT_UINT8, t->rank, dim),
                     .out = *t,
                     .interpolation = l->interpolation,
                     .crop = l->crop};
    DT_LOCAL uint8_t *picture = dt_try_alloc((size_t)(dim[0] * dim[1] * stored->channels));
    r.row = dt_try_alloc((size_t)(t->dim[0] + t->dim[1]) * sizeof *r.row);
    r.column = r.row ? r.row + t->dim[0] : NULL;
    dt_status *s = picture && r.row
                       ? decode_upright(stored, orientation, file.data, file.n, picture)
                       : no_memory(stored);
    if (!s && l->n_colors > 0) s = look_up(l, stored, dim[1], picture);
    if (!s) {
        dt_resizing_prepare(&r);
        dt_resizing_run(&r, picture, out);
    }
    free(r.row);
    return s;
}

static dt_status *check_size(const dt_image_layout *l, const dt_image *own, int64_t height,
                             int64_t width) {
    dt_status *s = dt_image_check_size(own, height, width);
    return s && l->suffix
               ? dt_suggest(s, "masks are resized as images are: add interpolation: bilinear to "
                               "the image in dataset.element")
               : s;
}

dt_status *dt_image_fit(const dt_image_layout *l, const dt_image_name *name, const void *bytes,
                        size_t n, void *out) {
    const dt_type *t = &l->type;
    dt_image own = {.height = t->dim[0],
                    .width = t->dim[1],
                    .channels = l->n_colors > 0 ? 3
                                : t->rank == 3  ? (int)t->dim[2]
                                                : 1,
                    .numbers = l->suffix && l->n_colors == 0,
                    .path = name->path,
                    .element = name->element};
    dt_image_header header;
    DT_TRY(dt_image_read_header(own.path, bytes, n, &header));
    const int orientation = l->as_stored ? 1 : header.orientation;
    const bool turns = dt_image_turns_sides(orientation);
    if (!l->resizes)
        DT_TRY(check_size(l, &own, turns ? header.width : header.height,
                          turns ? header.height : header.width));
    DT_TRY(dt_image_check_header(own.path, &header, own.channels));
    if (orientation > 1) { /* the stored pixels need memory in addition to the upright ones */
        header.working += header.height * header.width * own.channels;
        DT_TRY(dt_image_check_header(own.path, &header, own.channels));
    }
    own.height = header.height;
    own.width = header.width;
    /* A picture that is resized, or a mask whose colors are replaced by class numbers, is decoded
     * into memory of its own. The pixels of any other are written, turned upright, into the
     * example. */
    const bool apart = l->resizes || l->n_colors > 0;
    const int64_t needed = apart ? decoding_bytes(&header, own.channels) : header.working;
    reserve(l->room, needed);
    dt_status *s = apart ? decode_and_resize(l, &own, orientation, (dt_bytes){bytes, n}, out)
                         : decode_upright(&own, orientation, bytes, n, out);
    give_back(l->room, needed);
    return s;
}

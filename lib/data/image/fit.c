/* SPDX-License-Identifier: Apache-2.0 */
/* A picture's file as an element's value: of the very size that the job tells, or of any and brought to it. */
#include <stdlib.h>

#include "data/image/layout.h"

#define LARGEST_PICTURE ((int64_t)1 << 29) /* that is resized, as its file has it */

/* Decodes a picture in its own size into memory for it, and brings it to the one that is wanted. */
static dt_status *decode_and_resize(const dt_image_layout *l, const dt_image *own, const void *bytes, size_t n, void *out)
{
    const dt_type *t = &l->type;
    int64_t dim[] = {own->height, own->width, own->channels}, all;
    dt_resizing r = {.in = dt_type_of(DT_UINT8, t->rank, dim), .out = *t, .interpolation = l->interpolation, .crop = l->crop};
    if (own->height < 1 || own->width < 1 || !dt_mul_fits(own->height, own->width, &all) || all > LARGEST_PICTURE / own->channels)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: a picture of %lld x %lld; at most %lld bytes are decoded", own->path, (long long)own->height,
                       (long long)own->width, (long long)LARGEST_PICTURE);
    uint8_t *picture = dt_try_alloc((size_t)(all * own->channels));
    r.row = dt_try_alloc((size_t)(t->dim[0] + t->dim[1]) * sizeof *r.row);
    r.column = r.row ? r.row + t->dim[0] : NULL;
    dt_status *s = picture && r.row ? dt_image_decode(own, bytes, n, picture)
                                    : dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for its pixels", own->path);
    if (!s) {
        dt_resizing_prepare(&r);
        dt_resizing_run(&r, picture, out);
    }
    free(picture);
    free(r.row);
    return s;
}

dt_status *dt_image_fit(const dt_image_layout *l, const dt_image_name *name, const void *bytes, size_t n, void *out)
{
    const dt_type *t = &l->type;
    dt_image want = {.height = t->dim[0], .width = t->dim[1], .channels = t->rank == 3 ? (int)t->dim[2] : 1,
                     .path = name->path, .element = name->element};
    if (!l->resizes)
        return dt_image_decode(&want, bytes, n, out);
    DT_TRY(dt_image_size(want.path, bytes, n, &want.height, &want.width));
    return decode_and_resize(l, &want, bytes, n, out);
}

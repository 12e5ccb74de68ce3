/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an array on devices. A part is a box: along each dimension it is one of several
 * equal ranges. The device's rank in the mesh axes that divide the dimension says which one. */
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"

bool dt_pjrt_is_cut(const dt_pjrt_lie *lie, int rank) {
    for (int d = 0; lie->mesh && d < rank; d++)
        if (lie->layout.axes[d]) return true;
    return false;
}

bool dt_pjrt_lies_alike(const dt_pjrt_lie *a, const dt_pjrt_lie *b, int rank) {
    if (!dt_pjrt_is_cut(a, rank) || !dt_pjrt_is_cut(b, rank))
        return dt_pjrt_is_cut(a, rank) == dt_pjrt_is_cut(b, rank);
    return memcmp(a->layout.axes, b->layout.axes, sizeof a->layout.axes) == 0 &&
           a->mesh->n == b->mesh->n &&
           memcmp(a->mesh->size, b->mesh->size, sizeof a->mesh->size) == 0;
}

/* Returns the type of the part that a device has. */
static dt_type part_type(const dt_type *whole, const dt_pjrt_lie *lie) {
    dt_type t = *whole;
    for (int d = 0; lie->mesh && d < t.rank; d++)
        t.dim[d] /= dt_mesh_parts(lie->mesh, lie->layout.axes[d]);
    return t;
}

/* Copies the device's part out of the whole array or, with `into`, into it. Everything inside the
 * last divided dimension is contiguous in both arrays, and is copied at once. */
static void copy_part(const dt_view *whole, const dt_pjrt_lie *lie, int device, const dt_view *part,
                      bool into) {
    const dt_type *w = &whole->type, *p = &part->type;
    int last = w->rank - 1;
    int64_t run = (int64_t)dt_dtype_size(w->dtype), runs = 1, first[DT_MAX_RANK] = {0};

    while (last > 0 && w->dim[last] == p->dim[last]) run *= w->dim[last--];
    for (int d = 0; d <= last; d++)
        first[d] = dt_mesh_rank(lie->mesh, device, lie->layout.axes[d]) * p->dim[d];
    for (int d = 0; d < last; d++) runs *= p->dim[d];
    const int64_t bytes = run * p->dim[last];
    for (int64_t i = 0; i < runs; i++) {
        int64_t at = 0, scale = w->dim[last], rest = i;
        for (int d = last - 1; d >= 0; d--) {
            at += (first[d] + rest % p->dim[d]) * scale;
            rest /= p->dim[d];
            scale *= w->dim[d];
        }
        char *in_whole = (char *)whole->data + (at + first[last]) * run,
             *in_part = (char *)part->data + i * bytes;
        memcpy(into ? in_whole : in_part, into ? in_part : in_whole, (size_t)bytes);
    }
}

static dt_status *room(const dt_type *t, void **out) {
    *out = dt_try_alloc((size_t)dt_type_bytes(t) + 1);
    return *out ? NULL
                : dt_fail(DT_E_NO_MEMORY, NULL,
                          "out of memory: a device's part of an array needs %lld bytes",
                          (long long)dt_type_bytes(t));
}

dt_status *dt_pjrt_place(dt_pjrt_device *d, const dt_view *whole, const dt_pjrt_lie *lie, int n,
                         dt_pjrt_buffer **out) {
    const bool cut = dt_pjrt_is_cut(lie, whole->type.rank);
    dt_view part = {part_type(&whole->type, lie), whole->data};
    dt_status *s = cut ? room(&part.type, &part.data) : NULL;

    for (int i = 0; i < n; i++) out[i] = NULL;
    for (int i = 0; !s && i < n; i++) {
        if (cut) copy_part(whole, lie, i, &part, false);
        s = dt_pjrt_upload(d->client, d->ordinal[i], &part, &out[i]);
    }
    if (cut) free(part.data);
    if (s) dt_pjrt_drop(d, out, n);
    return s;
}

static dt_status *download(const dt_pjrt_device *d, dt_pjrt_buffer *b, const dt_view *x) {
    void *ready = NULL;
    DT_TRY(dt_pjrt_check_size(d->client, b, x));
    dt_status *s = dt_pjrt_download(d->client, b, x, &ready);
    dt_status *late = dt_pjrt_await(d->client, ready);
    dt_status_free(s ? late : NULL);
    return s ? s : late;
}

dt_status *dt_pjrt_collect(dt_pjrt_device *d, dt_pjrt_buffer *const *b, int n,
                           const dt_pjrt_lie *lie, const dt_view *whole) {
    const bool cut = dt_pjrt_is_cut(lie, whole->type.rank);
    dt_view part = {part_type(&whole->type, lie), whole->data};
    dt_status *s = cut ? room(&part.type, &part.data) : NULL;

    for (int i = 0; !s && i < (cut ? n : 1); i++) {
        s = download(d, b[i], &part);
        if (!s && cut) copy_part(whole, lie, i, &part, true);
    }
    if (cut) free(part.data);
    return s;
}

static dt_type stacked_type(const dt_type *row, int n) {
    dt_type t = {.dtype = row->dtype, .rank = row->rank + 1, .dim = {n}};
    memcpy(t.dim + 1, row->dim, (size_t)row->rank * sizeof *row->dim);
    return t;
}

/* row: [n] arrays that are stacked. With `into`, copies from the device's stack `all` to the
 * device's part of each array; else the other way round. */
static void copy_rows(const dt_view *row, int n, const dt_pjrt_lie *lie, int device, dt_view *all,
                      bool into) {
    dt_view part = {part_type(&row->type, lie), all->data};
    const size_t bytes = (size_t)dt_type_bytes(&part.type);
    for (int i = 0; i < n; i++, part.data = (char *)part.data + bytes) {
        if (!row[i].data) continue;
        if (dt_pjrt_is_cut(lie, row->type.rank)) copy_part(&row[i], lie, device, &part, into);
        else memcpy(into ? row[i].data : part.data, into ? part.data : row[i].data, bytes);
    }
}

dt_status *dt_pjrt_place_stack(dt_pjrt_device *d, const dt_view *row, int n_rows, bool stacked,
                               const dt_pjrt_lie *lie, int n, dt_pjrt_buffer **out) {
    const bool cut = dt_pjrt_is_cut(lie, row->type.rank);
    const dt_type part = part_type(&row->type, lie);
    dt_view all = {stacked_type(&part, n_rows), NULL};
    dt_status *s = NULL;

    if (!stacked) return dt_pjrt_place(d, row, lie, n, out);
    memset(out, 0, (size_t)n * sizeof *out);
    s = room(&all.type, &all.data);
    for (int i = 0; !s && i < n; i++) {
        if (cut || i == 0) copy_rows(row, n_rows, lie, i, &all, false);
        s = dt_pjrt_upload(d->client, d->ordinal[i], &all, &out[i]);
    }
    free(all.data);
    if (s) dt_pjrt_drop(d, out, n);
    return s;
}

dt_status *dt_pjrt_collect_stack(dt_pjrt_device *d, dt_pjrt_buffer *const *b, int n,
                                 const dt_pjrt_lie *lie, const dt_view *row, int n_rows,
                                 bool stacked) {
    const dt_type part = part_type(&row->type, lie);
    dt_view all = {stacked_type(&part, n_rows), NULL};
    dt_status *s = NULL;

    if (!stacked) return dt_pjrt_collect(d, b, n, lie, row);
    s = room(&all.type, &all.data);
    for (int i = 0; !s && i < (dt_pjrt_is_cut(lie, row->type.rank) ? n : 1); i++) {
        s = download(d, b[i], &all);
        if (!s) copy_rows(row, n_rows, lie, i, &all, true);
    }
    free(all.data);
    return s;
}

void dt_pjrt_drop(const dt_pjrt_device *d, dt_pjrt_buffer **b, int n) {
    for (int i = 0; i < n; i++) {
        dt_pjrt_buffer_destroy(d->client, b[i]);
        b[i] = NULL;
    }
}

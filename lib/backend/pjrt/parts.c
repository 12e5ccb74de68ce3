/* SPDX-License-Identifier: Apache-2.0 */
/* What devices hold of an array. A part is a box: along each dimension a run of neighbours, whose number is the device's rank among the axes that cut it. */
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"

bool dt_pjrt_is_cut(const dt_pjrt_lie *lie, int rank)
{
    for (int d = 0; lie->mesh && d < rank; d++)
        if (lie->layout.axes[d])
            return true;
    return false;
}

bool dt_pjrt_lies_alike(const dt_pjrt_lie *a, const dt_pjrt_lie *b, int rank)
{
    if (!dt_pjrt_is_cut(a, rank) || !dt_pjrt_is_cut(b, rank))
        return dt_pjrt_is_cut(a, rank) == dt_pjrt_is_cut(b, rank);
    return memcmp(a->layout.axes, b->layout.axes, sizeof a->layout.axes) == 0 && a->mesh->n == b->mesh->n &&
           memcmp(a->mesh->size, b->mesh->size, sizeof a->mesh->size) == 0;
}

dt_type dt_pjrt_part_type(const dt_type *whole, const dt_pjrt_lie *lie)
{
    dt_type t = *whole;
    for (int d = 0; lie->mesh && d < t.rank; d++)
        t.dim[d] /= dt_mesh_parts(lie->mesh, lie->layout.axes[d]);
    return t;
}

/* Runs of elements that are neighbours in both: everything inside the last dimension that is cut. */
void dt_pjrt_copy_part(const dt_view *whole, const dt_pjrt_lie *lie, int device, const dt_view *part, bool into)
{
    const dt_type *w = &whole->type, *p = &part->type;
    int last = w->rank - 1;
    int64_t run = (int64_t)dt_dtype_size(w->dtype), runs = 1, first[DT_MAX_RANK] = { 0 };

    while (last > 0 && w->dim[last] == p->dim[last])
        run *= w->dim[last--];
    for (int d = 0; d <= last; d++)
        first[d] = dt_mesh_rank(lie->mesh, device, lie->layout.axes[d]) * p->dim[d];
    for (int d = 0; d < last; d++)
        runs *= p->dim[d];
    const int64_t bytes = run * p->dim[last];
    for (int64_t i = 0; i < runs; i++) {
        int64_t at = 0, scale = w->dim[last], rest = i;
        for (int d = last - 1; d >= 0; d--) {
            at += (first[d] + rest % p->dim[d]) * scale;
            rest /= p->dim[d];
            scale *= w->dim[d];
        }
        char *in_whole = (char *)whole->data + (at + first[last]) * run, *in_part = (char *)part->data + i * bytes;
        memcpy(into ? in_whole : in_part, into ? in_part : in_whole, (size_t)bytes);
    }
}

static dt_status *room(const dt_type *t, void **out)
{
    *out = dt_try_alloc((size_t)dt_type_bytes(t) + 1);
    return *out ? NULL : dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: a device's part of an array needs %lld bytes", (long long)dt_type_bytes(t));
}

dt_status *dt_pjrt_place(dt_pjrt_device *d, const dt_view *whole, const dt_pjrt_lie *lie, int n, dt_pjrt_buffer **out)
{
    const bool cut = dt_pjrt_is_cut(lie, whole->type.rank);
    dt_view part = { dt_pjrt_part_type(&whole->type, lie), whole->data };
    dt_status *s = cut ? room(&part.type, &part.data) : NULL;

    for (int i = 0; i < n; i++)
        out[i] = NULL;
    for (int i = 0; !s && i < n; i++) {
        if (cut)
            dt_pjrt_copy_part(whole, lie, i, &part, false);
        s = dt_pjrt_upload(d->client, d->ordinal[i], &part, &out[i]);
    }
    if (cut)
        free(part.data);
    if (s)
        dt_pjrt_drop(d, out, n);
    return s;
}

dt_status *dt_pjrt_collect(dt_pjrt_device *d, dt_pjrt_buffer *const *b, int n, const dt_pjrt_lie *lie, const dt_view *whole)
{
    const bool cut = dt_pjrt_is_cut(lie, whole->type.rank);
    dt_view part = { dt_pjrt_part_type(&whole->type, lie), whole->data };
    dt_status *s = cut ? room(&part.type, &part.data) : NULL;

    for (int i = 0; !s && i < (cut ? n : 1); i++) {
        void *ready = NULL;
        s = dt_pjrt_check_size(d->client, b[i], &part);
        if (!s)
            s = dt_pjrt_download(d->client, b[i], &part, &ready);
        if (!s)
            s = dt_pjrt_await(d->client, ready);
        if (!s && cut)
            dt_pjrt_copy_part(whole, lie, i, &part, true);
    }
    if (cut)
        free(part.data);
    return s;
}

void dt_pjrt_drop(const dt_pjrt_device *d, dt_pjrt_buffer **b, int n)
{
    for (int i = 0; i < n; i++) {
        dt_pjrt_buffer_destroy(d->client, b[i]);
        b[i] = NULL;
    }
}

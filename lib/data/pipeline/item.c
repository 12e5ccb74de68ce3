/* SPDX-License-Identifier: Apache-2.0 */
/* Items: counted arrays, one per component; cutting, stacking and joining them by rows. */
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipe.h"

/* ---- arrays ---- */

dt_status *dt_array_new(dt_array **out, const dt_type *type) {
    int64_t bytes = dt_type_bytes(type);
    void *data = bytes < INT64_MAX - 64 ? dt_try_alloc((size_t)bytes + 64) : NULL;
    if (!data)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: an element needs %lld bytes",
                       (long long)bytes);
    dt_array *a = dt_alloc(sizeof *a);
    a->refs = 1;
    a->type = *type;
    a->data = data;
    *out = a;
    return NULL;
}

dt_array *dt_array_ref(dt_array *a) {
    a->refs++;
    return a;
}

void dt_array_unref(dt_array *a) {
    if (!a || --a->refs > 0) return;
    free(a->data);
    free(a);
}

dt_status *dt_array_bytes(dt_array **out, const void *bytes, int64_t n) {
    const dt_type type = dt_type_of(DT_UINT8, 1, &n);
    DT_TRY(dt_array_new(out, &type));
    if (n > 0) memcpy((*out)->data, bytes, (size_t)n);
    return NULL;
}

/* ---- items ---- */

dt_item dt_item_make(int n) { return (dt_item){n, dt_alloc((size_t)n * sizeof(dt_array *))}; }

dt_item dt_item_ref(const dt_item *item) {
    dt_item copy = dt_item_make(item->n);
    for (int i = 0; i < item->n; i++) copy.array[i] = dt_array_ref(item->array[i]);
    return copy;
}

void dt_item_release(dt_item *item) {
    for (int i = 0; i < item->n; i++) dt_array_unref(item->array[i]);
    free(item->array);
    *item = (dt_item){0};
}

void dt_items_push(dt_items *list, dt_item *item) {
    DT_GROW(list->v, list->cap, list->n + 1);
    list->v[list->n++] = *item;
    *item = (dt_item){0};
}

void dt_items_clear(dt_items *list) {
    for (int i = 0; i < list->n; i++) dt_item_release(&list->v[i]);
    free(list->v);
    *list = (dt_items){0};
}

/* ---- rows ---- */

dt_status *dt_item_rows(const dt_item *item, int64_t *rows) {
    for (int i = 0; i < item->n; i++) {
        const dt_type *t = &item->array[i]->type;
        if (t->rank == 0)
            return dt_fail(DT_E_NOT_BATCHED, NULL,
                           "component %d of an element is a scalar, so the element has no rows", i);
        if (i > 0 && t->dim[0] != *rows)
            return dt_fail(DT_E_ELEMENT_SHAPE, NULL,
                           "the components of an element have %lld and %lld rows", (long long)*rows,
                           (long long)t->dim[0]);
        *rows = t->dim[0];
    }
    return NULL;
}

static int64_t row_bytes(const dt_type *t) {
    int64_t bytes = (int64_t)dt_dtype_size(t->dtype);
    for (int i = 1; i < t->rank; i++) bytes *= t->dim[i];
    return bytes;
}

static dt_type without_rows(const dt_type *t) {
    return dt_type_of(t->dtype, t->rank - 1, t->dim + 1);
}

static dt_type with_rows(const dt_type *t, int64_t rows) {
    dt_type out = *t;
    out.dim[0] = rows;
    return out;
}

/* (rows, shape) from (n, shape): `type` says how the part is seen. */
static dt_status *copy_rows(const dt_array *a, int64_t first, const dt_type *type, dt_array **out) {
    DT_TRY(dt_array_new(out, type));
    memcpy((*out)->data, (const char *)a->data + first * row_bytes(&a->type),
           (size_t)dt_type_bytes(type));
    return NULL;
}

dt_status *dt_item_row(const dt_item *item, int64_t row, dt_item *out) {
    dt_status *s = NULL;
    *out = dt_item_make(item->n);
    for (int i = 0; i < item->n && !s; i++) {
        const dt_type type = without_rows(&item->array[i]->type);
        s = copy_rows(item->array[i], row, &type, &out->array[i]);
    }
    if (s) dt_item_release(out);
    return s;
}

dt_status *dt_item_slice(const dt_item *item, int64_t first, int64_t n, dt_item *out) {
    dt_status *s = NULL;
    *out = dt_item_make(item->n);
    for (int i = 0; i < item->n && !s; i++) {
        const dt_type type = with_rows(&item->array[i]->type, n);
        s = copy_rows(item->array[i], first, &type, &out->array[i]);
    }
    if (s) dt_item_release(out);
    return s;
}

static dt_status *piece_of(const dt_array *a, int i, int64_t piece, int64_t n, dt_array **out) {
    if (a->type.rank == 0)
        return dt_fail(DT_E_NOT_BATCHED, NULL,
                       "component %d of an element is a scalar, so the element has no rows", i);
    int64_t rows = a->type.dim[0], size = rows / n + (rows % n != 0), first = piece * size,
            left = rows > first ? rows - first : 0;
    const dt_type type = with_rows(&a->type, left < size ? left : size);
    return copy_rows(a, left ? first : 0, &type, out);
}

dt_status *dt_item_piece(const dt_item *item, int64_t piece, int64_t n, dt_item *out) {
    dt_status *s = NULL;
    *out = dt_item_make(item->n);
    for (int i = 0; i < item->n && !s; i++)
        s = piece_of(item->array[i], i, piece, n, &out->array[i]);
    if (s) dt_item_release(out);
    return s;
}

/* ---- stacking ---- */

static dt_status *differ(const dt_type *a, const dt_type *b, const char *advice) {
    dt_str x = {0}, y = {0};
    dt_type_print(a, &x);
    dt_type_print(b, &y);
    dt_status *s = dt_fail(DT_E_ELEMENT_SHAPE, NULL, "elements of a batch differ: %s and %s%s",
                           dt_str_text(&x), dt_str_text(&y), advice);
    dt_str_release(&x);
    dt_str_release(&y);
    return s;
}

/* The smallest type that holds component k of all items. */
static dt_status *largest(const dt_item *items, int n, int k, bool padded, dt_type *out) {
    *out = items[0].array[k]->type;
    for (int i = 1; i < n; i++) {
        const dt_type *t = &items[i].array[k]->type;
        if (t->dtype != out->dtype || t->rank != out->rank || (!padded && !dt_type_equal(t, out)))
            return differ(out, t, padded ? "" : "; padded_batch makes them equal");
        for (int d = 0; d < t->rank; d++)
            if (t->dim[d] > out->dim[d]) out->dim[d] = t->dim[d];
    }
    return NULL;
}

/* Copies `in` into the corner of a zeroed array of type `to`, dimension d on. */
static void copy_corner(const dt_type *in, const char **from, const dt_type *to, char *into,
                        int d) {
    int64_t inner = (int64_t)dt_dtype_size(to->dtype);
    for (int i = d + 1; i < to->rank; i++) inner *= to->dim[i];
    if (d == in->rank) {
        memcpy(into, *from, dt_dtype_size(to->dtype));
        *from += dt_dtype_size(to->dtype);
        return;
    }
    for (int64_t i = 0; i < in->dim[d]; i++) copy_corner(in, from, to, into + i * inner, d + 1);
}

static dt_status *stack_component(const dt_item *items, int n, int k, bool padded, dt_array **out) {
    dt_type one, all;
    DT_TRY(largest(items, n, k, padded, &one));
    if (one.rank == DT_MAX_RANK)
        return dt_fail(
            DT_E_ELEMENT_SHAPE, NULL,
            "elements of %d dimensions cannot be batched: the limit is %d with the batch", one.rank,
            DT_MAX_RANK);
    all = (dt_type){.dtype = one.dtype, .rank = one.rank + 1, .dim = {n}};
    memcpy(all.dim + 1, one.dim, (size_t)one.rank * sizeof *one.dim);
    DT_TRY(dt_array_new(out, &all));
    char *to = (*out)->data;
    int64_t bytes = dt_type_bytes(&one);
    memset(to, 0, padded ? (size_t)dt_type_bytes(&all) : 0);
    for (int i = 0; i < n; i++, to += bytes) {
        const dt_array *a = items[i].array[k];
        const char *from = a->data;
        if (dt_type_equal(&a->type, &one)) memcpy(to, from, (size_t)bytes);
        else copy_corner(&a->type, &from, &one, to, 0);
    }
    return NULL;
}

dt_status *dt_items_stack(const dt_item *items, int n, bool padded, dt_item *out) {
    dt_status *s = NULL;
    *out = dt_item_make(items[0].n);
    for (int k = 0; k < out->n && !s; k++) s = stack_component(items, n, k, padded, &out->array[k]);
    if (s) dt_item_release(out);
    return s;
}

/* ---- joining ---- */

static dt_status *join_component(const dt_item *items, int n, int k, dt_array **out) {
    dt_type type = items[0].array[k]->type;
    for (int i = 1; i < n; i++) {
        const dt_type *t = &items[i].array[k]->type, same = with_rows(&type, t->dim[0]);
        if (!dt_type_equal(t, &same)) return differ(&type, t, "");
        type.dim[0] += t->dim[0];
    }
    DT_TRY(dt_array_new(out, &type));
    char *to = (*out)->data;
    for (int i = 0; i < n; i++) {
        const dt_array *a = items[i].array[k];
        memcpy(to, a->data, (size_t)dt_type_bytes(&a->type));
        to += dt_type_bytes(&a->type);
    }
    return NULL;
}

dt_status *dt_items_join(const dt_item *items, int n, dt_item *out) {
    dt_status *s = NULL;
    *out = dt_item_make(items[0].n);
    for (int k = 0; k < out->n && !s; k++) s = join_component(items, n, k, &out->array[k]);
    if (s) dt_item_release(out);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements what closure_values.h declares. Each value is a head, its name, and its elements:
 *
 *     name_bytes  dtype  rank  per_replica   int32 each
 *     dim[rank]                              int64 each
 *
 * A message may come from another program, so everything in it is checked.
 */
#include "strategy/closure_values.h"

#include <string.h>

enum { MOST_NAME = 4096 };

typedef struct head {
    int32_t name_bytes, dtype, rank, per_replica;
} head;

void dt_closure_value_write(const char *name, bool per_replica, const dt_view *x, dt_str *out) {
    const head h = {(int32_t)strlen(name), (int32_t)x->type.dtype, x->type.rank, per_replica};
    dt_str_add(out, (const char *)&h, sizeof h);
    dt_str_add(out, (const char *)x->type.dim, (size_t)h.rank * sizeof *x->type.dim);
    dt_str_add(out, name, (size_t)h.name_bytes);
    dt_str_add(out, x->data, (size_t)dt_type_bytes(&x->type));
}

void dt_closure_values_write(const dt_values *v, dt_str *out) {
    for (int i = 0; v && i < v->n; i++) {
        const dt_tensor *t = dt_entry_local(&v->entry[i], 0);
        dt_closure_value_write(v->entry[i].name, v->entry[i].per_replica,
                               &(dt_view){t->type, t->data}, out);
    }
}

static bool read_bytes(const char **from, size_t *n, void *to, size_t bytes) {
    if (bytes > *n) return false;
    memcpy(to, *from, bytes);
    *from += bytes;
    *n -= bytes;
    return true;
}

static dt_status *no_value(void) {
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                   "a message of a closure has no values where they were expected");
}

/* Reads and checks a head. After it, the name and the elements are known to lie within the
 * message. */
static dt_status *read_head(const char **from, size_t *n, head *h, dt_type *type) {
    int64_t dim[DT_MAX_RANK] = {0};
    if (!read_bytes(from, n, h, sizeof *h) || h->name_bytes <= 0 || h->name_bytes > MOST_NAME ||
        h->rank < 0 || h->rank > DT_MAX_RANK || (uint32_t)h->per_replica > 1 ||
        !read_bytes(from, n, dim, (size_t)h->rank * sizeof *dim))
        return no_value();
    dt_status *s = dt_tensor_check((dt_dtype)h->dtype, h->rank, dim);
    if (s) {
        dt_status_free(s);
        return no_value();
    }
    *type = dt_type_of((dt_dtype)h->dtype, h->rank, dim);
    return (size_t)h->name_bytes > *n || dt_type_bytes(type) > (int64_t)(*n - (size_t)h->name_bytes)
               ? no_value()
               : NULL;
}

/* Whether every element of a bool tensor is 0 or 1, which loops over bools rely on; true for other
 * types. */
static bool are_truths(const dt_tensor *t) {
    for (int64_t i = 0; t->type.dtype == DT_BOOL && i < dt_type_elements(&t->type); i++)
        if ((unsigned char)t->data[i] > 1) return false;
    return true;
}

static dt_status *read_value(const char **from, size_t *n, dt_values *into) {
    char name[MOST_NAME + 1] = "";
    dt_tensor *t = NULL;
    dt_type type;
    head h;
    DT_TRY(read_head(from, n, &h, &type));
    read_bytes(from, n, name, (size_t)h.name_bytes);
    if (strlen(name) != (size_t)h.name_bytes || dt_values_find(into, name)) return no_value();
    DT_TRY(dt_tensor_new(&t, &type));
    read_bytes(from, n, t->data, (size_t)dt_type_bytes(&type));
    dt_status *s = !are_truths(t)  ? no_value()
                   : h.per_replica ? dt_values_set_per_replica(into, name, &t, 1)
                                   : dt_values_set(into, name, t);
    dt_tensor_unref(t);
    return s;
}

dt_status *dt_closure_values_read(const char *from, size_t n, dt_values *into) {
    while (n > 0) DT_TRY(read_value(&from, &n, into));
    return NULL;
}

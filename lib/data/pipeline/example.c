/* SPDX-License-Identifier: Apache-2.0 */
/* Examples of pipelines, which have one tensor per component: cuts, stacks and joins them by
 * rows. */
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"

/* ---- examples ---- */

dt_example dt_example_make(int n) {
    return (dt_example){.n = n, .tensor = dt_alloc((size_t)n * sizeof(dt_tensor *))};
}

dt_status *dt_example_of_bytes(dt_example *out, const void *bytes, int64_t n) {
    const dt_type type = dt_type_of(DT_UINT8, 1, &n);
    *out = dt_example_make(1);
    DT_TRY(dt_tensor_new(&out->tensor[0], &type));
    if (n > 0) memcpy(out->tensor[0]->data, bytes, (size_t)n);
    return NULL;
}

dt_example dt_example_ref(const dt_example *example) {
    dt_example copy = *example;
    copy.tensor = dt_example_make(example->n).tensor;
    for (int i = 0; i < example->n; i++) copy.tensor[i] = dt_tensor_ref(example->tensor[i]);
    if (copy.offsets) dt_tensor_ref(copy.offsets);
    return copy;
}

void dt_example_release(dt_example *example) {
    for (int i = 0; i < example->n; i++) dt_tensor_unref(example->tensor[i]);
    dt_tensor_unref(example->offsets);
    free(example->tensor);
    *example = (dt_example){0};
}

void dt_example_list_push(dt_example_list *list, dt_example *example) {
    DT_GROW(list->v, list->cap, list->n + 1);
    list->v[list->n++] = *example;
    *example = (dt_example){0};
}

void dt_example_list_clear(dt_example_list *list) {
    for (int i = 0; i < list->n; i++) dt_example_release(&list->v[i]);
    free(list->v);
    *list = (dt_example_list){0};
}

/* ---- rows ---- */

static dt_status *no_rows(int component) {
    return dt_fail(DT_E_NOT_BATCHED, NULL,
                   "component %d of an element is a scalar, so the element has no rows", component);
}

dt_status *dt_example_rows(const dt_example *example, int64_t *rows) {
    for (int i = 0; i < example->n; i++) {
        const dt_type *t = &example->tensor[i]->type;
        if (t->rank == 0) return no_rows(i);
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

static dt_type with_rows(const dt_type *t, int64_t rows) {
    dt_type out = *t;
    out.dim[0] = rows;
    return out;
}

/* Copies rows of a tensor, from row `first` on, into a new one; its type says how many. */
static dt_status *copy_rows(const dt_tensor *t, int64_t first, const dt_type *type,
                            dt_tensor **out) {
    DT_TRY(dt_tensor_new(out, type));
    memcpy((*out)->data, t->data + first * row_bytes(&t->type), (size_t)dt_type_bytes(type));
    return NULL;
}

static dt_status *one_row(const dt_tensor *t, int64_t row, int64_t n, dt_tensor **out) {
    const dt_type type = dt_type_of(t->type.dtype, t->type.rank - 1, t->type.dim + 1);
    (void)n;
    return copy_rows(t, row, &type, out);
}

static dt_status *some_rows(const dt_tensor *t, int64_t first, int64_t n, dt_tensor **out) {
    const dt_type type = with_rows(&t->type, n);
    return copy_rows(t, first, &type, out);
}

static dt_status *one_piece(const dt_tensor *t, int64_t piece, int64_t n, dt_tensor **out) {
    int64_t rows = t->type.dim[0], size = rows / n + (rows % n != 0), first = piece * size,
            left = rows > first ? rows - first : 0;
    return some_rows(t, left ? first : 0, left < size ? left : size, out);
}

typedef dt_status *cutter(const dt_tensor *t, int64_t first, int64_t n, dt_tensor **out);

static dt_status *cut(const dt_example *example, cutter *of, int64_t first, int64_t n,
                      dt_example *out) {
    dt_status *s = NULL;
    *out = dt_example_make(example->n);
    for (int i = 0; i < example->n && !s; i++)
        s = of(example->tensor[i], first, n, &out->tensor[i]);
    if (s) dt_example_release(out);
    return s;
}

dt_status *dt_example_row(const dt_example *example, int64_t row, dt_example *out) {
    return cut(example, one_row, row, 1, out);
}

dt_status *dt_example_slice(const dt_example *example, int64_t first, int64_t n, dt_example *out) {
    return cut(example, some_rows, first, n, out);
}

dt_status *dt_example_piece(const dt_example *example, int64_t piece, int64_t n, dt_example *out) {
    for (int i = 0; i < example->n; i++)
        if (example->tensor[i]->type.rank == 0) return no_rows(i);
    return cut(example, one_piece, piece, n, out);
}

/* ---- stacking ---- */

static dt_status *differ(const dt_type *a, const dt_type *b, const char *advice) {
    return dt_fail(DT_E_ELEMENT_SHAPE, NULL, "elements of a batch differ: %s and %s%s",
                   dt_text_of(a).s, dt_text_of(b).s, advice);
}

/* Sets *out to the smallest type that holds component k of all examples. Unless padded, their types
 * must be equal. */
static dt_status *largest(const dt_example *examples, int n, int k, bool padded, dt_type *out) {
    *out = examples[0].tensor[k]->type;
    for (int i = 1; i < n; i++) {
        const dt_type *t = &examples[i].tensor[k]->type;
        if (t->dtype != out->dtype || t->rank != out->rank || (!padded && !dt_type_equal(t, out)))
            return differ(out, t, padded ? "" : "; padded_batch makes them equal");
        for (int d = 0; d < t->rank; d++)
            if (t->dim[d] > out->dim[d]) out->dim[d] = t->dim[d];
    }
    return NULL;
}

/* Copies the values at *from, which have the type `in`, into the corner of a zeroed tensor of type
 * `to`, and moves *from behind them; handles dimension d and, by recursion, those after it. */
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

static dt_status *stack_component(const dt_example *examples, int n, int k, bool padded,
                                  dt_tensor **out) {
    dt_type one, all;
    DT_TRY(largest(examples, n, k, padded, &one));
    if (one.rank == DT_MAX_RANK)
        return dt_fail(
            DT_E_ELEMENT_SHAPE, NULL,
            "elements of %d dimensions cannot be batched: the limit is %d with the batch", one.rank,
            DT_MAX_RANK);
    all = (dt_type){.dtype = one.dtype, .rank = one.rank + 1, .dim = {n}};
    memcpy(all.dim + 1, one.dim, (size_t)one.rank * sizeof *one.dim);
    DT_TRY(dt_tensor_new(out, &all));
    char *to = (*out)->data;
    int64_t bytes = dt_type_bytes(&one);
    memset(to, 0, padded ? (size_t)dt_type_bytes(&all) : 0);
    for (int i = 0; i < n; i++, to += bytes) {
        const dt_tensor *a = examples[i].tensor[k];
        const char *from = a->data;
        if (dt_type_equal(&a->type, &one)) memcpy(to, from, (size_t)bytes);
        else copy_corner(&a->type, &from, &one, to, 0);
    }
    return NULL;
}

dt_status *dt_examples_stack(const dt_example *examples, int n, bool padded, dt_example *out) {
    dt_status *s = NULL;
    *out = dt_example_make(examples[0].n);
    for (int k = 0; k < out->n && !s; k++)
        s = stack_component(examples, n, k, padded, &out->tensor[k]);
    if (s) dt_example_release(out);
    return s;
}

/* ---- joining ---- */

dt_status *dt_examples_join_one(const dt_example *examples, int n, int k, dt_tensor **out) {
    dt_type type = examples[0].tensor[k]->type;
    for (int i = 1; i < n; i++) {
        const dt_type *t = &examples[i].tensor[k]->type, same = with_rows(&type, t->dim[0]);
        if (!dt_type_equal(t, &same)) return differ(&type, t, "");
        type.dim[0] += t->dim[0];
    }
    DT_TRY(dt_tensor_new(out, &type));
    char *to = (*out)->data;
    for (int i = 0; i < n; i++) {
        const dt_tensor *a = examples[i].tensor[k];
        memcpy(to, a->data, (size_t)dt_type_bytes(&a->type));
        to += dt_type_bytes(&a->type);
    }
    return NULL;
}

dt_status *dt_examples_join(const dt_example *examples, int n, dt_example *out) {
    dt_status *s = NULL;
    *out = dt_example_make(examples[0].n);
    for (int k = 0; k < out->n && !s; k++)
        s = dt_examples_join_one(examples, n, k, &out->tensor[k]);
    if (s) dt_example_release(out);
    return s;
}

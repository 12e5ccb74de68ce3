/* SPDX-License-Identifier: Apache-2.0 */
/* Specs: the properties of all examples of a pipeline, known before any is read. */
#include <stdlib.h>
#include <string.h>

#include "data/map.h"

dt_example_spec dt_spec_make(int n) {
    return (dt_example_spec){n, dt_alloc((size_t)n * sizeof(dt_element_spec))};
}

dt_example_spec dt_spec_copy(const dt_example_spec *s) {
    dt_example_spec copy = dt_spec_make(s->n);
    for (int i = 0; i < s->n; i++)
        copy.c[i] = (dt_element_spec){.name = dt_strdup(s->c[i].name), .type = s->c[i].type};
    return copy;
}

dt_example_spec dt_spec_single(const char *name, const dt_type *type) {
    dt_example_spec s = dt_spec_make(1);
    s.c[0] = (dt_element_spec){.name = dt_strdup(name), .type = *type};
    return s;
}

void dt_spec_release(dt_example_spec *s) {
    for (int i = 0; i < s->n; i++) free((char *)s->c[i].name);
    free(s->c);
    *s = (dt_example_spec){0};
}

dt_status *dt_spec_batched(const dt_example_spec *in, int64_t rows, dt_example_spec *out) {
    for (int i = 0; i < in->n; i++)
        if (in->c[i].type.rank == DT_MAX_RANK)
            return dt_fail(DT_E_ELEMENT_SHAPE, NULL,
                           "'%s' has %d dimensions already: it cannot be batched", in->c[i].name,
                           DT_MAX_RANK);
    *out = dt_spec_copy(in);
    for (int i = 0; i < in->n; i++) {
        out->c[i].type = dt_map_batch_type(&in->c[i].type);
        out->c[i].type.dim[0] = rows;
    }
    return NULL;
}

dt_status *dt_spec_unbatched(const dt_example_spec *in, dt_example_spec *out) {
    for (int i = 0; i < in->n; i++)
        if (in->c[i].type.rank == 0)
            return dt_fail(DT_E_NOT_BATCHED, NULL, "'%s' is a scalar, so it has no rows to unbatch",
                           in->c[i].name);
    *out = dt_spec_copy(in);
    for (int i = 0; i < in->n; i++) {
        const dt_type *t = &in->c[i].type;
        out->c[i].type = dt_type_of(t->dtype, t->rank - 1, t->dim + 1);
    }
    return NULL;
}

dt_example_spec dt_spec_with_rows(const dt_example_spec *in, int64_t rows) {
    dt_example_spec out = dt_spec_copy(in);
    for (int i = 0; i < out.n; i++)
        if (out.c[i].type.rank > 0) out.c[i].type.dim[0] = rows;
    return out;
}

dt_status *dt_spec_common(const dt_example_spec *a, const dt_example_spec *b,
                          dt_example_spec *out) {
    if (a->n != b->n)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "elements of %d and %d components cannot be concatenated", a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        const dt_element_spec *x = &a->c[i], *y = &b->c[i];
        if (strcmp(x->name, y->name) != 0 || x->type.dtype != y->type.dtype ||
            x->type.rank != y->type.rank)
            return dt_fail(DT_E_PIPELINE, NULL,
                           "'%s' (%s, rank %d) cannot be followed by '%s' (%s, rank %d)", x->name,
                           dt_dtype_name(x->type.dtype), x->type.rank, y->name,
                           dt_dtype_name(y->type.dtype), y->type.rank);
    }
    *out = dt_spec_copy(a);
    for (int i = 0; i < a->n; i++)
        for (int d = 0; d < a->c[i].type.rank; d++)
            if (a->c[i].type.dim[d] != b->c[i].type.dim[d]) out->c[i].type.dim[d] = DT_UNKNOWN_DIM;
    return NULL;
}

dt_status *dt_spec_rows(const dt_example_spec *s, int64_t *rows) {
    for (int i = 0; i < s->n; i++)
        if (s->c[i].type.rank == 0)
            return dt_fail(
                DT_E_NOT_BATCHED, NULL,
                "elements have no batch dimension: '%s' is a scalar; call dt_dataset_batch first",
                s->c[i].name);
    *rows = s->c[0].type.dim[0];
    for (int i = 1; i < s->n; i++)
        if (s->c[i].type.dim[0] != *rows) *rows = DT_UNKNOWN_DIM;
    return NULL;
}

dt_status *dt_spec_divided(const dt_example_spec *in, int64_t n, dt_example_spec *out) {
    int64_t rows;
    DT_TRY(dt_spec_rows(in, &rows));
    *out = dt_spec_copy(in);
    for (int i = 0; i < out->n; i++) {
        rows = in->c[i].type.dim[0];
        out->c[i].type.dim[0] = rows >= 0 && rows % n == 0 ? rows / n : DT_UNKNOWN_DIM;
    }
    return NULL;
}

bool dt_spec_is_static(const dt_example_spec *s) {
    for (int i = 0; i < s->n; i++)
        if (dt_type_has_batch(&s->c[i].type)) return false;
    return true;
}

dt_status *dt_spec_empty_example(const dt_example_spec *s, dt_example *out) {
    dt_status *bad = NULL;
    *out = dt_example_make(s->n);
    for (int i = 0; i < s->n && !bad; i++) {
        dt_type t = s->c[i].type;
        for (int d = 0; d < t.rank; d++)
            if (d == 0 || t.dim[d] < 0) t.dim[d] = 0;
        bad = dt_tensor_new(&out->tensor[i], &t);
        /* only a scalar has bytes, because it has no dimension to be 0 */
        if (!bad && dt_type_bytes(&t) > 0)
            memset(out->tensor[i]->data, 0, (size_t)dt_type_bytes(&t));
    }
    if (bad) dt_example_release(out);
    return bad;
}

static bool fits(const dt_type *want, const dt_type *got) {
    bool ok = want->dtype == got->dtype && want->rank == got->rank;
    for (int d = 0; ok && d < want->rank; d++)
        ok = want->dim[d] == DT_UNKNOWN_DIM || want->dim[d] == got->dim[d];
    return ok;
}

dt_status *dt_spec_check(const dt_example_spec *s, const dt_example *example, const char *what) {
    for (int i = 0; i < s->n; i++) {
        const dt_type *want = &s->c[i].type, *got = &example->tensor[i]->type;
        if (fits(want, got)) continue;
        return dt_fail(DT_E_ELEMENT_SHAPE, NULL, "%s gave %s for '%s'; its spec says %s", what,
                       dt_text_of(got).s, s->c[i].name, dt_text_of(want).s);
    }
    return NULL;
}

void dt_spec_public(const char *name, const dt_type *type, dt_spec *out) {
    *out = (dt_spec){.name = name, .dtype = type->dtype, .rank = type->rank};
    for (int i = 0; i < type->rank; i++) out->shape[i] = type->dim[i];
}

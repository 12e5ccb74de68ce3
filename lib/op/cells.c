/* SPDX-License-Identifier: Apache-2.0 */
/* Cells and walks: see cells.h. Integers are added, subtracted and multiplied in uint64_t, where
 * overflow is defined to wrap. */
#include "op/cells.h"
#include "base/half.h"

#include <math.h>
#include <string.h>

double dt_cell_double(const dt_view *v, int64_t i) {
    switch (v->type.dtype) {
    case DT_FLOAT32: return (double)((const float *)v->data)[i];
    case DT_FLOAT64: return ((const double *)v->data)[i];
    case DT_FLOAT16: return dt_half_to_double(((const uint16_t *)v->data)[i]);
    case DT_BFLOAT16: return dt_bfloat_to_double(((const uint16_t *)v->data)[i]);
    case DT_UINT64: return (double)((const uint64_t *)v->data)[i];
    default: return (double)dt_cell_int(v, i);
    }
}

int64_t dt_cell_int(const dt_view *v, int64_t i) {
    switch (v->type.dtype) {
    case DT_BOOL: return ((const uint8_t *)v->data)[i] != 0;
    case DT_UINT8: return ((const uint8_t *)v->data)[i];
    case DT_INT8: return ((const int8_t *)v->data)[i];
    case DT_INT16: return ((const int16_t *)v->data)[i];
    case DT_INT32: return ((const int32_t *)v->data)[i];
    case DT_INT64: return ((const int64_t *)v->data)[i];
    case DT_UINT16: return ((const uint16_t *)v->data)[i];
    case DT_UINT32: return ((const uint32_t *)v->data)[i];
    case DT_UINT64: return (int64_t)((const uint64_t *)v->data)[i];
    case DT_FLOAT16:
    case DT_BFLOAT16:
    case DT_FLOAT32:
    /* the op `convert` reads floats as integers itself, since it defines the rounding */
    case DT_FLOAT64: break;
    }
    return 0;
}

void dt_cell_set_double(const dt_view *v, int64_t i, double x) {
    if (v->type.dtype == DT_FLOAT32) ((float *)v->data)[i] = (float)x;
    else if (v->type.dtype == DT_FLOAT16) ((uint16_t *)v->data)[i] = dt_half_of(x);
    else if (v->type.dtype == DT_BFLOAT16) ((uint16_t *)v->data)[i] = dt_bfloat_of(x);
    else ((double *)v->data)[i] = x;
}

void dt_cell_set_int(const dt_view *v, int64_t i, int64_t x) {
    switch (v->type.dtype) {
    case DT_BOOL: ((uint8_t *)v->data)[i] = x != 0; break;
    case DT_UINT8: ((uint8_t *)v->data)[i] = (uint8_t)x; break;
    case DT_INT8: ((int8_t *)v->data)[i] = (int8_t)x; break;
    case DT_INT16: ((int16_t *)v->data)[i] = (int16_t)x; break;
    case DT_INT32: ((int32_t *)v->data)[i] = (int32_t)x; break;
    case DT_INT64: ((int64_t *)v->data)[i] = x; break;
    case DT_UINT16: ((uint16_t *)v->data)[i] = (uint16_t)x; break;
    case DT_UINT32: ((uint32_t *)v->data)[i] = (uint32_t)x; break;
    case DT_UINT64: ((uint64_t *)v->data)[i] = (uint64_t)x; break;
    case DT_FLOAT16: ((uint16_t *)v->data)[i] = dt_half_of((double)x); break;
    case DT_BFLOAT16: ((uint16_t *)v->data)[i] = dt_bfloat_of((double)x); break;
    case DT_FLOAT32: ((float *)v->data)[i] = (float)x; break;
    case DT_FLOAT64: ((double *)v->data)[i] = (double)x; break;
    }
}

void dt_cell_copy(const dt_view *to, int64_t i, const dt_view *from, int64_t j) {
    size_t size = dt_dtype_size(to->type.dtype);
    memcpy((char *)to->data + (size_t)i * size, (const char *)from->data + (size_t)j * size, size);
}

void dt_eval_copy(const dt_call *c) {
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++)
        dt_cell_copy(&c->out, i, &c->in[0], i);
}

/* ---- numbers ---- */

int64_t dt_int_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

int64_t dt_int_subtract(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

int64_t dt_int_multiply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

static bool is_unsigned(dt_dtype d) {
    /* uint64 is treated as int64 here, so it is not listed */
    return d == DT_BOOL || d == DT_UINT8 || d == DT_UINT16 || d == DT_UINT32;
}

int64_t dt_int_highest(dt_dtype d) {
    if (d == DT_BOOL) return 1;
    return INT64_MAX >> (64 - 8 * dt_dtype_size(d) - is_unsigned(d));
}

int64_t dt_int_lowest(dt_dtype d) { return is_unsigned(d) ? 0 : -dt_int_highest(d) - 1; }

double dt_double_max(double a, double b) {
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return signbit(a) ? b : a;
    return a > b ? a : b;
}

double dt_double_min(double a, double b) {
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

/* ---- views ---- */

dt_view dt_view_rows(const dt_view *v, int64_t from, int64_t n) {
    dt_view out = *v;
    out.type.dim[0] = n;
    dt_type row = v->type;
    row.dim[0] = 1;
    if (from > 0) out.data = (char *)v->data + from * dt_type_bytes(&row);
    return out;
}

dt_view dt_view_entry(const dt_view *v, int64_t i) {
    dt_view rows = dt_view_rows(v, i, 1);
    return (dt_view){dt_type_of(v->type.dtype, v->type.rank - 1, v->type.dim + 1), rows.data};
}

/* ---- walks ---- */

void dt_strides(const dt_type *t, int64_t stride[DT_MAX_RANK]) {
    int64_t cells = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        stride[i] = cells;
        cells *= t->dim[i];
    }
}

void dt_walk_add(dt_walk *w, int64_t dim, int64_t stride0, int64_t stride1) {
    w->dim[w->rank] = dim;
    w->stride[0][w->rank] = stride0;
    w->stride[1][w->rank] = stride1;
    w->rank++;
}

int64_t dt_walk_count(const dt_walk *w) {
    int64_t n = 1;
    for (int i = 0; i < w->rank; i++) n *= w->dim[i];
    return n;
}

void dt_walk_next(dt_walk *w) {
    for (int d = w->rank - 1; d >= 0; d--) {
        bool wraps = ++w->index[d] == w->dim[d];
        int64_t steps = wraps ? 1 - w->dim[d] : 1;
        w->at[0] += steps * w->stride[0][d];
        w->at[1] += steps * w->stride[1][d];
        if (!wraps) return;
        w->index[d] = 0;
    }
}

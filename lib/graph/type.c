/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types: a data type and a shape. A size below zero stands for a multiple of the batch (-k: k *
 * B), so that one trace serves every batch. Counts saturate at INT64_MAX instead of overflowing:
 * types come from job files, and an allocation of that size is refused as too large.
 */
#include "graph/graph.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;    /* the name in job files and messages */
    const char *in_text; /* the name in graph text */
    size_t size;
} dtype_row;

static const dtype_row dtypes[] = {
    [DT_BOOL] = {"bool", "i1", 1},           [DT_UINT8] = {"uint8", "ui8", 1},
    [DT_INT8] = {"int8", "i8", 1},           [DT_INT16] = {"int16", "i16", 2},
    [DT_INT32] = {"int32", "i32", 4},        [DT_INT64] = {"int64", "i64", 8},
    [DT_FLOAT32] = {"float32", "f32", 4},    [DT_FLOAT64] = {"float64", "f64", 8},
    [DT_UINT16] = {"uint16", "ui16", 2},     [DT_UINT32] = {"uint32", "ui32", 4},
    [DT_UINT64] = {"uint64", "ui64", 8},     [DT_FLOAT16] = {"float16", "f16", 2},
    [DT_BFLOAT16] = {"bfloat16", "bf16", 2},
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

size_t dt_dtype_size(dt_dtype d) { return dtypes[d].size; }

const char *dt_dtype_name(dt_dtype d) { return dtypes[d].name; }

const char *dt_dtype_short(dt_dtype d) { return dtypes[d].in_text; }

bool dt_dtype_is_float(dt_dtype d) {
    return d == DT_FLOAT32 || d == DT_FLOAT64 || dt_dtype_is_narrow(d);
}

bool dt_dtype_is_narrow(dt_dtype d) { return d == DT_FLOAT16 || d == DT_BFLOAT16; }

bool dt_dtype_is_known(int64_t d) { return d >= 0 && d < N_DTYPES; }

bool dt_dtype_parse(const char *name, dt_dtype *out) {
    for (int i = 0; i < N_DTYPES; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            *out = (dt_dtype)i;
            return true;
        }
    return false;
}

dt_type dt_type_of(dt_dtype dtype, int rank, const int64_t *dim) {
    assert(rank >= 0 && rank <= DT_MAX_RANK);
    dt_type t = {.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++) t.dim[i] = dim[i];
    return t;
}

dt_type dt_scalar_type(dt_dtype dtype) { return dt_type_of(dtype, 0, NULL); }

bool dt_type_equal(const dt_type *a, const dt_type *b) { return memcmp(a, b, sizeof *a) == 0; }

bool dt_type_same_shape(const dt_type *a, const dt_type *b) {
    return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

bool dt_type_has_batch(const dt_type *t) {
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0) return true;
    return false;
}

/* Returns the product of two counts; INT64_MAX if that would overflow. */
static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return dt_mul_fits(a, b, &product) ? product : INT64_MAX;
}

dt_type dt_type_at(const dt_type *t, int64_t batch) {
    dt_type out = *t;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0) out.dim[i] = times(-t->dim[i], batch);
    return out;
}

int64_t dt_type_elements(const dt_type *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] == 0) return 0;
    for (int i = 0; i < t->rank; i++) n = times(n, t->dim[i] < 0 ? -t->dim[i] : t->dim[i]);
    return n;
}

int64_t dt_type_bytes(const dt_type *t) {
    return times(dt_type_elements(t), (int64_t)dt_dtype_size(t->dtype));
}

/* Prints the sizes of t, separated by `between`: 784, B, B*3. */
static void print_dims(const dt_type *t, const char *between, dt_str *out) {
    for (int i = 0; i < t->rank; i++) {
        if (i > 0) dt_str_puts(out, between);
        if (t->dim[i] == DT_BATCH) dt_str_putc(out, 'B');
        else if (t->dim[i] < 0) dt_str_printf(out, "B*%" PRId64, -t->dim[i]);
        else dt_str_printf(out, "%" PRId64, t->dim[i]);
    }
}

void dt_type_print(const dt_type *t, dt_str *out) {
    dt_str_puts(out, dt_dtype_short(t->dtype));
    dt_str_putc(out, '[');
    print_dims(t, ",", out);
    dt_str_putc(out, ']');
}

void dt_shape_print(const dt_type *t, dt_str *out) {
    dt_str_putc(out, '(');
    print_dims(t, ", ", out);
    dt_str_putc(out, ')');
}

dt_text dt_text_of(const dt_type *t) {
    dt_str s = {0};
    dt_type_print(t, &s);
    return dt_text_take(&s);
}

dt_text dt_text_of_shape(const dt_type *t) {
    dt_str s = {0};
    dt_shape_print(t, &s);
    return dt_text_take(&s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPY and IDX, from front to back: one array, for a model of one input; and NPZ, an archive with an array for each. Headers say how many rows there
 * are; what comes is held to it. In Fortran's order the first row ends where the array does: such an array is read whole and turned round.
 */
#include <stdlib.h>
#include <string.h>

#include "file/array.h"
#include "file/file.h"
#include "file/npz.h"

typedef struct array {
    dt_header header;
    dt_inflow *file;
    const char *path;
    int64_t values;  /* of a row */
    char *whole;     /* Fortran's order: all rows; NULL: not read yet */
} array;

typedef struct arrays {
    int n;
    bool archive;    /* files are its members; else the only one is the source's */
    array *array;    /* [n] as the inputs */
} arrays;

static dt_status *check_array(const array *a, const dt_type *t)
{
    int64_t values = 1, bytes;
    if (t->rank == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: holds a single value, not rows of examples", a->path);
    if (t->dim[0] == 0)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", a->path);
    for (int i = 1; i < t->rank; i++)
        if (!dt_mul_fits(values, t->dim[i], &values))
            values = 0;
    if (values == 0 || !dt_mul_fits(values, 8, &bytes) || bytes > (int64_t)1 << 40)
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: a row of no values, or of more than any memory holds", a->path);
    return NULL;
}

/* The array of input e, whose file is open. */
static dt_status *read_head(dt_row_source *s, int e, dt_header_reader *read_header, array *a)
{
    const dt_type *t = &a->header.type;
    DT_TRY(read_header(a->file, a->path, &a->header));
    DT_TRY(check_array(a, t));
    if (e > 0 && t->dim[0] != s->count)
        return dt_fail(DT_E_DATA_ROWS, NULL, "%s has %lld rows, %s has %lld", s->path, (long long)s->count, a->path, (long long)t->dim[0]);
    s->count = t->dim[0];
    s->element[e].stored = dt_type_of(t->dtype, t->rank - 1, t->dim + 1);
    a->values = dt_type_elements(&s->element[e].stored);
    return NULL;
}

dt_status *dt_array_source_open(dt_row_source *s, dt_header_reader *read_header, void **state)
{
    arrays *x = dt_arena_new(s->arena, arrays);
    if (s->n != 1)
        return dt_fail(DT_E_ELEMENTS, NULL, "%s: holds one array, the model has %d inputs; NPZ, CSV and JSON lines can hold several", s->path, s->n);
    x->n = 1;
    x->array = dt_arena_new(s->arena, array);
    *x->array = (array){.file = s->file, .path = s->path};
    *state = x;
    return read_head(s, 0, read_header, x->array);
}

/* ---- archives ---- */

void dt_array_source_close(void *state)
{
    arrays *x = state;
    for (int e = 0; e < x->n; e++) {
        if (x->archive)
            dt_inflow_close(x->array[e].file);
        free(x->array[e].whole);
    }
}

static dt_status *open_members(dt_row_source *s, arrays *x)
{
    x->archive = true;
    x->array = dt_arena_array(s->arena, array, s->n);
    x->n = s->n; /* of all, opened or not */
    for (int e = 0; e < s->n; e++) {
        array *a = &x->array[e];
        a->path = s->path;
        DT_TRY(dt_npz_open(s->arena, s->element[e].name, &a->path, &a->file));
    }
    for (int e = 0; e < s->n; e++)
        DT_TRY(read_head(s, e, dt_npy_header, &x->array[e]));
    return NULL;
}

/* An archive's table of contents stands at its end. */
dt_status *dt_array_source_npz(dt_row_source *s, void **state)
{
    arrays *x = dt_arena_new(s->arena, arrays);
    if (s->is_pipe)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: a ZIP archive (as NPZ files are) is read from a file, not from a pipe", s->path);
    dt_status *bad = open_members(s, x);
    if (bad)
        dt_array_source_close(x);
    *state = x;
    return bad;
}

/* ---- rows ---- */

/* Nothing may follow the last row: a file that is not what its header says is not believed in the rest either. */
static dt_status *check_end(const array *a)
{
    char byte;
    int64_t got;
    DT_TRY(dt_inflow_read(a->file, &byte, 1, &got));
    return got == 0 ? NULL : dt_fail(DT_E_DATA_SIZE, NULL, "%s: bytes after the end of the data", a->path);
}

/* The next n values, in our types. */
static dt_status *read_values(const dt_row_source *s, const array *a, int64_t n, void *out)
{
    int64_t size = dt_wire_size(a->header.type.dtype, a->header.wire), ours = (int64_t)dt_dtype_size(a->header.type.dtype);
    int64_t wanted = n * size, got, bad;
    DT_TRY(dt_inflow_read(a->file, (char *)out + n * (ours - size), wanted, &got));
    if (got < wanted)
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %lld of %lld rows present", a->path, (long long)(s->row + got / (a->values * size)), (long long)s->count);
    if (!dt_unwire(&a->header, out, n, &bad))
        return dt_fail(DT_E_DATA_TYPE, NULL, "%s: a value of row %lld does not fit int64", a->path,
                       (long long)(a->header.fortran ? bad % s->count : s->row));
    return NULL;
}

/* All rows, turned round. */
static dt_status *load(const dt_row_source *s, array *a)
{
    int64_t bytes;
    if (!dt_mul_fits(s->count, a->values * (int64_t)dt_dtype_size(a->header.type.dtype), &bytes) || bytes > DT_LARGEST_REORDERED)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: Fortran order, and more than %lld bytes", a->path, (long long)DT_LARGEST_REORDERED);
    char *read = dt_try_alloc((size_t)bytes);
    a->whole = dt_try_alloc((size_t)bytes);
    dt_status *bad = read && a->whole ? read_values(s, a, s->count * a->values, read)
                                      : dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory (wanted %lld bytes for its rows)", a->path, (long long)bytes);
    if (!bad)
        dt_reorder(&a->header.type, read, a->whole);
    free(read);
    return bad;
}

static dt_status *read_row(const dt_row_source *s, array *a, void *row)
{
    const size_t bytes = (size_t)a->values * dt_dtype_size(a->header.type.dtype);
    if (!a->header.fortran)
        return read_values(s, a, a->values, row);
    if (!a->whole)
        DT_TRY(load(s, a));
    memcpy(row, a->whole + (size_t)s->row * bytes, bytes);
    return NULL;
}

dt_status *dt_array_source_next(dt_row_source *s, void *state, void *const *row, bool *more)
{
    arrays *x = state;
    *more = s->row < s->count;
    for (int e = 0; e < x->n; e++)
        DT_TRY(*more ? read_row(s, &x->array[e], row[e]) : check_end(&x->array[e]));
    return NULL;
}

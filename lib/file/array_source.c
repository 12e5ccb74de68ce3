/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads NPY, IDX and NPZ from front to back. NPY and IDX have one array, for one element; NPZ is an
 * archive with an array for each element. The headers have the number of rows, which is checked
 * against the data. In Fortran order, the first row is complete only at the end of the array, so
 * such an array is loaded and reordered as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "file/array.h"
#include "file/file.h"
#include "file/npz.h"

typedef struct arrays {
    int n;
    /* the arrays' files are members of an archive; false: there is one array, in the source's
     * file */
    bool archive;
    dt_array_file *array; /* [n] in the order of the elements */
} arrays;

static dt_status *check_array(const dt_array_file *a, const dt_type *t) {
    int64_t values = 1, bytes;
    DT_TRY(dt_array_check_rows(a->path, t));
    for (int i = 1; i < t->rank; i++)
        if (!dt_mul_fits(values, t->dim[i], &values)) values = 0;
    if (values == 0 || !dt_mul_fits(values, 8, &bytes) || bytes > (int64_t)1 << 40)
        return dt_fail(DT_E_DATA_SIZE, NULL,
                       "%s: a row of no values, or of more than any memory holds", a->path);
    return NULL;
}

/* Reads the header of the array for element e, whose file is open. */
static dt_status *read_head(dt_row_source *s, int e, dt_header_reader *read_header,
                            dt_array_file *a) {
    const dt_type *t = &a->header.type;
    DT_TRY(read_header(a->file, a->path, &a->header));
    DT_TRY(check_array(a, t));
    if (e > 0 && t->dim[0] != s->count)
        return dt_fail(DT_E_DATA_ROWS, NULL, "%s has %lld rows, %s has %lld", s->path,
                       (long long)s->count, a->path, (long long)t->dim[0]);
    s->count = t->dim[0];
    s->element[e].type = dt_type_of(t->dtype, t->rank - 1, t->dim + 1);
    a->row_values = dt_type_elements(&s->element[e].type);
    return NULL;
}

static void close_arrays(dt_row_source *s) {
    arrays *x = s->state;
    for (int e = 0; e < x->n; e++) {
        if (x->archive) dt_inflow_close(x->array[e].file);
        free(x->array[e].rows);
    }
}

static dt_status *open_members(dt_row_source *s, arrays *x) {
    x->archive = true;
    x->array = dt_arena_array(s->arena, dt_array_file, s->n);
    /* Set before the members are opened: if one fails to open, close_arrays closes the others. */
    x->n = s->n;
    for (int e = 0; e < s->n; e++) {
        dt_array_file *a = &x->array[e];
        *a = (dt_array_file){.path = s->path, .streamed = true};
        DT_TRY(dt_npz_open(s->arena, s->element[e].name, &a->path, &a->file));
    }
    for (int e = 0; e < s->n; e++) DT_TRY(read_head(s, e, dt_npy_header, &x->array[e]));
    return NULL;
}

/* Checks that nothing follows the last row: if the header is wrong about the size, the values may
 * be wrong too. */
static dt_status *check_end(const dt_array_file *a) {
    char byte;
    int64_t got;
    DT_TRY(dt_inflow_read(a->file, &byte, 1, &got));
    return got == 0 ? NULL
                    : dt_fail(DT_E_DATA_SIZE, NULL, "%s: bytes after the end of the data", a->path);
}

/* Reads a row. In Fortran order a row is scattered over the file, so the first call loads the whole
 * file. */
static dt_status *read_row(const dt_row_source *s, dt_array_file *a, void *row) {
    const int64_t size = (int64_t)dt_dtype_size(a->header.type.dtype);
    int64_t bytes;
    if (!a->header.fortran) return dt_array_values(a, s->row * a->row_values, a->row_values, row);
    if (!dt_mul_fits(s->count, a->row_values * size, &bytes) || bytes > DT_LARGEST_REORDERED)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: Fortran order, and more than %lld bytes", a->path,
                       (long long)DT_LARGEST_REORDERED);
    if (!a->rows) DT_TRY(dt_array_load(a));
    memcpy(row, a->rows + s->row * a->row_values * size, (size_t)(a->row_values * size));
    return NULL;
}

static dt_status *next_row(dt_row_source *s, void *const *row, bool *more) {
    arrays *x = s->state;
    *more = s->row < s->count;
    for (int e = 0; e < x->n; e++)
        DT_TRY(*more ? read_row(s, &x->array[e], row[e]) : check_end(&x->array[e]));
    return NULL;
}

static const dt_row_reader reader = {.next = next_row, .close = close_arrays};

dt_status *dt_array_source_open(dt_row_source *s, dt_header_reader *read_header) {
    arrays *x = s->state = dt_arena_new(s->arena, arrays);
    if (s->n != 1)
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: holds one array, the model has %d inputs; NPZ, CSV and JSON lines can "
                       "hold several",
                       s->path, s->n);
    x->n = 1;
    x->array = dt_arena_new(s->arena, dt_array_file);
    *x->array = (dt_array_file){.file = s->file, .path = s->path, .streamed = true};
    DT_TRY(read_head(s, 0, read_header, x->array));
    s->reader = &reader;
    return NULL;
}

/* An archive has its table of contents at its end, so it cannot be read from a pipe. */
dt_status *dt_array_source_npz(dt_row_source *s) {
    arrays *x = s->state = dt_arena_new(s->arena, arrays);
    if (s->is_pipe)
        return dt_fail(DT_E_DATA_FILE, NULL,
                       "%s: a ZIP archive (as NPZ files are) is read from a file, not from a pipe",
                       s->path);
    dt_status *bad = open_members(s, x);
    if (bad) close_arrays(s);
    else s->reader = &reader;
    return bad;
}

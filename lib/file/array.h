/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Array files: a header, then rows of equal shape. IDX and NPY are such files; they differ in their
 * headers and share everything else: values are brought into this machine's types, byte order and
 * C's order of dimensions.
 */
#ifndef DT_FILE_ARRAY_H
#define DT_FILE_ARRAY_H

#include "file/gzip.h"
#include "graph/graph.h"

/* How a value of a file becomes one of ours. All but SAME and BOOL are wider here than there. */
typedef enum dt_wire {
    DT_WIRE_SAME,
    DT_WIRE_BOOL,
    DT_WIRE_U16,
    DT_WIRE_U32,
    DT_WIRE_U64,
    DT_WIRE_F16
} dt_wire;

/* The contents of a header. */
typedef struct dt_header {
    dt_type type; /* of the whole array: (rows, ...), in memory */
    dt_wire wire;
    bool swap;      /* the file's byte order is not this machine's */
    int64_t offset; /* where data begins */
    bool fortran;   /* the first dimension runs fastest, not the last */
} dt_header;

/* Bytes of a value in the file. */
int dt_wire_size(dt_dtype dtype, dt_wire wire);
/* Turns n values in place. They lie at the end of `values`, whose size is n of ours: widening goes
 * from the front and never overtakes itself. A value that does not fit is an error, counted from 0
 * in *bad. */
bool dt_unwire(const dt_header *h, void *values, int64_t n, int64_t *bad);

/* n values of that size into the other byte order, in place. */
void dt_swap_values(void *values, int64_t n, int size);

/* Reads a header from the front of a file; `path` is for messages. */
typedef dt_status *dt_header_reader(dt_inflow *f, const char *path, dt_header *out);
dt_header_reader dt_idx_header, dt_npy_header;
/* The next n bytes of a header, or "header cut at byte N of M"; *at counts bytes. */
dt_status *dt_header_bytes(dt_inflow *f, const char *path, void *buffer, int64_t n,
                           int64_t *at) DT_MUST_USE;
/* "x.npy: is an HDF5 file; dtrain reads idx, npy", or "not an NPY file (first bytes 01 02 03 04)".
 * `wanted`: "an NPY file". */
dt_status *dt_not_this_file(const char *path, const char *wanted, const unsigned char *first,
                            int64_t n) DT_MUST_USE;
/* of which a header leaves room for: as many digits as there can be */
#define DT_MOST_ROWS 9000000000000000000
/* The header of an NPY file of that type, in C's order; padded to `bytes` where that is more. */
void dt_npy_print_header(const dt_type *t, size_t bytes, dt_str *out);

/* ---- a file of one array ---- */

/* bytes of an array in Fortran's order, which is turned round in memory */
#define DT_LARGEST_REORDERED ((int64_t)256 << 20)

typedef struct dt_array_file {
    dt_header header;
    const char *path;
    dt_inflow *file;
    bool streamed;      /* values are read as they come; else those of a plain file in any order */
    int64_t row_values; /* of a row */
    char *rows;         /* all of them in C's order; NULL: not read */
} dt_array_file;

/* The shape is one of rows of examples. */
dt_status *dt_array_check_rows(const char *path, const dt_type *t) DT_MUST_USE;
/* Values [first, first + n), in the file's order of dimensions, as ours. `first` is for messages
 * where they are read as they come. */
dt_status *dt_array_values(const dt_array_file *a, int64_t first, int64_t n, void *out) DT_MUST_USE;
/* All rows into a->rows, which the caller frees. */
dt_status *dt_array_load(dt_array_file *a) DT_MUST_USE;

/* Array files as sources (file/file.h): a model of one input, or an archive with an array for
 * each. */
struct dt_row_source;
dt_status *dt_array_source_open(struct dt_row_source *s, dt_header_reader *read_header) DT_MUST_USE;
dt_status *dt_array_source_npz(struct dt_row_source *s) DT_MUST_USE;

#endif

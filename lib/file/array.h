/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Array files: a header, then rows of equal shape. IDX and NPY are array files with different
 * headers. Reading is otherwise shared: values are converted to dtypes of dtrain, to this machine's
 * byte order, and to C order of dimensions.
 */
#ifndef DT_FILE_ARRAY_H
#define DT_FILE_ARRAY_H

#include "file/gzip.h"
#include "graph/graph.h"

/* How values are stored in a file. SAME: as in memory, except for the byte order. U16, U32
 * and F16 become int32, int64 and float32. U64 becomes int64; larger values are an error. BOOL:
 * bytes; each nonzero byte becomes 1. */
typedef enum dt_wire {
    DT_WIRE_SAME,
    DT_WIRE_BOOL,
    DT_WIRE_U16,
    DT_WIRE_U32,
    DT_WIRE_U64,
    DT_WIRE_F16
} dt_wire;

/* The facts of a file's header that are needed for reading. */
typedef struct dt_header {
    dt_type type; /* type of the whole array in memory: (rows, ...) */
    dt_wire wire;
    bool swap;      /* the file's byte order differs from this machine's */
    int64_t offset; /* offset of the data in the file */
    bool fortran;   /* Fortran order: the first index runs fastest, not the last */
} dt_header;

/* Returns the size of a value in the file, in bytes. */
int dt_wire_size(dt_dtype dtype, dt_wire wire);

/* Reverses the byte order of n values of `size` bytes, in place. */
void dt_swap_values(void *values, int64_t n, int size);

/* Reads a header from the front of a file; `path` is for messages. */
typedef dt_status *dt_header_reader(dt_inflow *f, const char *path, dt_header *out);
dt_header_reader dt_idx_header, dt_npy_header;
/* Reads the next n bytes of a header and adds n to *at. Fails with "header cut at byte N of M" if
 * the file ends. */
dt_status *dt_header_bytes(dt_inflow *f, const char *path, void *buffer, int64_t n,
                           int64_t *at) DT_MUST_USE;
/* Returns an error that names the kind of file: "x.npy: is an HDF5 file, not an NPY file", or "not
 * an NPY file (first bytes 01 02 03 04)". `wanted` is the kind that was expected, such as "an NPY
 * file". */
dt_status *dt_not_this_file(const char *path, const char *wanted, const unsigned char *first,
                            int64_t n) DT_MUST_USE;
/* a number of rows with the most digits, 19; if the number is not known, an NPY header is written
 * with space for it */
#define DT_MOST_ROWS 9000000000000000000
/* Appends the header of an NPY file in C order. Its size is a multiple of 64 bytes, or `bytes` if
 * that is more. */
void dt_npy_print_header(const dt_type *t, size_t bytes, dt_str *out);

/* largest array in Fortran order, in bytes; it is reordered in memory */
#define DT_LARGEST_REORDERED ((int64_t)256 << 20)

typedef struct dt_array_file {
    dt_header header;
    const char *path;
    dt_inflow *file;
    /* values are read from front to back; false: at any offset, unless the file is compressed */
    bool streamed;
    int64_t row_values; /* number of values in a row */
    char *rows;         /* all rows in C order; NULL: not loaded */
} dt_array_file;

/* Fails unless the array has at least one dimension (DATA_FILE) and at least one row
 * (DATA_EMPTY). */
dt_status *dt_array_check_rows(const char *path, const dt_type *t) DT_MUST_USE;
/* Reads values [first, first + n), counted in the file's order of dimensions, and converts them. If
 * the file is streamed or compressed, it reads the next n values, and `first` is used only in
 * messages. */
dt_status *dt_array_values(const dt_array_file *a, int64_t first, int64_t n, void *out) DT_MUST_USE;
/* Loads all rows in C order into a->rows, which the caller frees. After an error a->rows is
 * unchanged. */
dt_status *dt_array_load(dt_array_file *a) DT_MUST_USE;

/* Open array files as sources (file/file.h). dt_array_source_open opens a file with one array; the
 * source must have one element. dt_array_source_npz opens an archive with an array for each
 * element. */
struct dt_row_source;
dt_status *dt_array_source_open(struct dt_row_source *s, dt_header_reader *read_header) DT_MUST_USE;
dt_status *dt_array_source_npz(struct dt_row_source *s) DT_MUST_USE;

#endif

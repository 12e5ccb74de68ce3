/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a data set: what the writers of formats share. A writer of arrays is given one element after the other, each in a pass of its own; a
 * writer of records is given whole batches once. Bytes are gathered and go through the write seam; a file gets its name when it is complete.
 */
#ifndef DT_DATA_CONVERT_H
#define DT_DATA_CONVERT_H

#include "data/inspect.h"

/* A file being written under its name with ".tmp". */
typedef struct dt_sink {
    dt_writer w;
    char *path;       /* its name in the end */
    dt_str buffer;
    int64_t written;  /* bytes, those in the buffer too */
    bool open;
} dt_sink;
dt_status *dt_sink_open(dt_sink *s, const char *path) DT_MUST_USE;
dt_status *dt_sink_put(dt_sink *s, const void *bytes, size_t n) DT_MUST_USE;
dt_status *dt_sink_commit(dt_sink *s) DT_MUST_USE;
void dt_sink_abandon(dt_sink *s); /* takes one that is committed or did not open */

/* n values into big-endian ones, or back. */
void dt_swap_values(void *values, int64_t n, int size);

/* A format that is written. One of the two is there. */
typedef struct dt_array_writer {
    /* What stands before the array of `type`, (examples, ...), in a file by itself; an error where the format has no such dtype. */
    dt_status *(*header)(const dt_type *type, dt_str *out);
    dt_dtype (*dtype)(dt_dtype d); /* in the file; NULL: the same */
    bool big_endian;
} dt_array_writer;
typedef struct dt_record_form {
    const dt_element *element; /* [n] */
    int n;
    const void *plan;          /* what the writer settled at the beginning */
} dt_record_form;
typedef struct dt_record_writer {
    dt_status *(*check)(const dt_element *elements, int n);                           /* what it cannot write; NULL: nothing */
    void *(*plan)(dt_arena *arena, const dt_record_form *f);                          /* NULL: nothing to settle */
    void (*header)(const dt_record_form *f, dt_str *out);                             /* of each file; NULL: none */
    void (*record)(const dt_record_form *f, const void *const *row, dt_str *out);     /* row[n]: an example's values */
} dt_record_writer;

typedef struct dt_output_format {
    const char *suffix;
    const dt_array_writer *array;
    const dt_record_writer *record;
    bool archive; /* arrays: all in one ZIP archive */
} dt_output_format;

extern const dt_array_writer dt_npy_writer, dt_idx_writer;
extern const dt_record_writer dt_csv_writer, dt_tfrecord_writer;

/* convert_arrays.c, convert_records.c (and convert_csv.c) */
dt_status *dt_convert_arrays(const dt_conversion *q, const dt_output_format *f, dt_str *files) DT_MUST_USE;
dt_status *dt_convert_records(const dt_conversion *q, const dt_output_format *f, dt_str *files) DT_MUST_USE;
/* A feed over the part, in order, and the bytes of an example of an element. */
dt_status *dt_convert_feed(const dt_conversion *q, dt_feed **out) DT_MUST_USE;
dt_type dt_row_type(const dt_element *e);

#endif

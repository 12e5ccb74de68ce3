/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a file of JSON: one value after the other, a line each or over several lines; or one
 * list around all of them, as exporters write it.
 *
 *     {"x": [1, 2]}                  [{"x": [1, 2]},            [1, 2]
 *     {"x": [3, 4]}                   {"x": [3, 4]}]            [3, 4]
 *
 * A value is cut out by its brackets and quotes alone; its reader finds its faults. Nothing
 * longer than 64 MiB is read.
 */
#ifndef DT_FILE_JSON_VALUES_H
#define DT_FILE_JSON_VALUES_H

#include "file/gzip.h"
#include "base/str.h"

typedef struct dt_json_values {
    dt_inflow *file;  /* the caller's */
    const char *path; /* lent */
    /* numbers and texts in a row that is a list, 0: any; -1: rows are objects, so a list is of
     * rows */
    int64_t values;
    dt_str window; /* what was read; from `at` on not yet handed out */
    size_t at;
    bool end;                              /* of the file, which is all in the window */
    int64_t line, col;                     /* of `at`, from 1, in characters */
    int64_t offset;                        /* the same in the decompressed file, from 0 */
    bool begun, list;                      /* something was read; inside the list of rows */
    int64_t items;                         /* rows so far */
    const char *text;                      /* the current row, lent until the next one */
    size_t size;                           /* of it */
    int64_t row_line, row_col, row_offset; /* where it begins */
} dt_json_values;

/* The next row. *more false: the end. */
dt_status *dt_json_values_next(dt_json_values *v, bool *more) DT_MUST_USE;
/* Whether a whole row has been read already. */
bool dt_json_values_hold(const dt_json_values *v);
/* "x.jsonl:4:7: " and the text; p: where in the current row, which begins at `line` and `col`. */
typedef struct dt_json_place {
    const char *path, *text;
    int64_t line, col;
} dt_json_place;
dt_status *dt_json_fail(const dt_json_place *row, const char *p, const char *format,
                        ...) DT_MUST_USE DT_PRINTF(3, 4);
void dt_json_values_release(dt_json_values *v); /* not the file */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a JSON file: one value after the other, each on a line or over several lines; or one
 * list of all rows, as exporters write it.
 *
 *     {"x": [1, 2]}                  [{"x": [1, 2]},            [1, 2]
 *     {"x": [3, 4]}                   {"x": [3, 4]}]            [3, 4]
 *
 * Only brackets and quotes determine where an object or list ends; the reader of the row finds
 * other faults. A row of much more than 64 MiB is an error.
 */
#ifndef DT_FILE_JSON_VALUES_H
#define DT_FILE_JSON_VALUES_H

#include "file/gzip.h"
#include "base/str.h"

typedef struct dt_json_values {
    dt_inflow *file;  /* owned by the caller */
    const char *path; /* lent */
    /* number of values (numbers, texts, true, false, null) in a row that is a list; 0: not known;
     * -1: rows are objects, so a list must be the list of rows */
    int64_t values;
    /* every line that is not blank is one row, unless the rows are in a list */
    bool lines;
    dt_str window; /* bytes that were read; those before `at` are used up */
    size_t at;
    bool end;          /* the file is read to its end; the window has the rest */
    int64_t line, col; /* location of `at`, from 1, in characters */
    int64_t offset;    /* position of `at` in the decompressed file, in bytes */
    bool begun, list; /* begun: the front of the file has been read; list: the rows are in a list */
    int64_t items;    /* number of rows so far */
    const char *text; /* the current row, lent until the next one */
    size_t size;      /* size of the current row in bytes */
    int64_t row_line, row_col, row_offset; /* location where the current row begins */
} dt_json_values;

/* Reads the next row: sets `text`, `size` and its location. *more false: the end. */
dt_status *dt_json_values_next(dt_json_values *v, bool *more) DT_MUST_USE;
/* Skips the rest of the line in which the current row ends, unless the row includes its line
 * end. */
dt_status *dt_json_values_skip_line(dt_json_values *v) DT_MUST_USE;
/* Whether a complete row is in the window. */
bool dt_json_values_hold(const dt_json_values *v);
/* The location of a row, for errors such as "x.jsonl:4:7: ..."; dt_json_fail's p points to the
 * fault in `text`, which begins at `line` and `col`. */
typedef struct dt_json_place {
    const char *path, *text;
    int64_t line, col;
} dt_json_place;
dt_status *dt_json_fail(const dt_json_place *row, const char *p, const char *format,
                        ...) DT_MUST_USE DT_PRINTF(3, 4);
/* Releases the memory, but does not close the file. */
void dt_json_values_release(dt_json_values *v);

#endif

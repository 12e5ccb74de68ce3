/* SPDX-License-Identifier: Apache-2.0 */
/* A row of JSON lines: what its keys name, and values of elements. */
#ifndef DT_FILE_JSONL_ROW_H
#define DT_FILE_JSONL_ROW_H

#include "file/file.h"
#include "file/json_text.h"
#include "file/json_values.h"

/* What keys of rows name. Of one element all targets follow one another. */
typedef struct dt_jsonl_target {
    const char *name;
    int element;
    int value; /* of it; -1: all of them */
    int same;  /* another target of that name; -1: none */
} dt_jsonl_target;

typedef struct dt_jsonl_names {
    dt_jsonl_target *target; /* [n] */
    int n;
} dt_jsonl_names;

/* What an element's columns, and its name, stand for. */
void dt_jsonl_names_make(const dt_row_source *s, dt_jsonl_names *out);

/* Reads rows one after the other; zeroed but for `names`. */
typedef struct dt_jsonl_row {
    const dt_row_source *s;
    const dt_jsonl_names *names;
    int *order; /* [names->n] the targets of the last row's keys, in order */
    bool *seen; /* [names->n] in the current row */
    void *const *out;
    dt_json_cursor c;
    dt_str key, text;
    const char *name; /* that is being read */
    bool alone;       /* one column of several of its element */
    dt_str why;       /* the fault of its value; empty: none */
    const char *at;   /* where */
} dt_jsonl_row;

void dt_jsonl_row_init(dt_jsonl_row *r, const dt_row_source *s, const dt_jsonl_names *names);
/* The values of every element, out[s->n], NULL: not wanted, of a row of `size` bytes. */
dt_status *dt_jsonl_row_read(dt_jsonl_row *r, const dt_json_place *row, size_t size,
                             void *const *out) DT_MUST_USE;
void dt_jsonl_row_release(dt_jsonl_row *r);

/* As dt_format has `survey` and `put`. */
dt_status *dt_jsonl_survey(const dt_survey_request *q) DT_MUST_USE;
dt_status *dt_jsonl_write_row(dt_output *o, const void *const *row) DT_MUST_USE;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a row of JSON lines: finds the elements that its keys name, and stores their values. */
#ifndef DT_FILE_JSONL_ROW_H
#define DT_FILE_JSONL_ROW_H

#include "file/file.h"
#include "file/json_text.h"
#include "file/json_values.h"

/* What a key of a row names: all values of an element, or one of them. */
typedef struct dt_jsonl_target {
    const char *name;
    int element;
    int value; /* index of the value in the element; -1: all values of the element */
    int same;  /* index of the previous target with the same name; -1: there is none */
} dt_jsonl_target;

typedef struct dt_jsonl_names {
    /* [n] the targets of all elements; those of one element are next to each other */
    dt_jsonl_target *target;
    int n;
} dt_jsonl_names;

/* Lists the targets of the names of all elements and of their columns. */
void dt_jsonl_names_make(const dt_row_source *s, dt_jsonl_names *out);

/* Reads rows one after the other; dt_jsonl_row_init prepares it. */
typedef struct dt_jsonl_row {
    const dt_row_source *s;
    const dt_jsonl_names *names;
    /* [names->n] order[k] is the index in names->target of the latest k-th key of a row; -1: there
     * was none so far, or it is not a target's name */
    int *order;
    /* [names->n] whether the current row has each target's name as a key; all true if the row is
     * not an object */
    bool *seen;
    void *const *out;
    dt_json_cursor c;
    dt_str key, text;
    const char *name; /* name of the key that is being read, or that is missing */
    bool omits;       /* whether the row lacks a value of an element with drop_missing */
    bool alone;       /* whether the key is one column of an element that has several columns */
    dt_str why;       /* the error in the key's value; empty: none */
    const char *at;   /* position of the error in the row; NULL: the row lacks a key */
} dt_jsonl_row;

void dt_jsonl_row_init(dt_jsonl_row *r, const dt_row_source *s, const dt_jsonl_names *names);
/* Reads the values of every element of a row with `size` bytes into out[s->n]; NULL: the element is
 * not needed. A row that lacks a value of an element that drops such rows is not an error, whatever
 * faults the values of its other elements have, if it is valid JSON: then r->omits is set, and the
 * values are undefined. */
dt_status *dt_jsonl_row_read(dt_jsonl_row *r, const dt_json_place *row, size_t size,
                             void *const *out) DT_MUST_USE;
void dt_jsonl_row_release(dt_jsonl_row *r);

/* Whether a string is a number in quotes, as in {"age": "30"}. Digits behind a leading zero are the
 * text of a code, such as 01234. */
bool dt_jsonl_is_number(const dt_str *text);

/* jsonl_survey.c: dt_format's `survey` for JSON lines. */
dt_status *dt_jsonl_survey(const dt_survey_request *q) DT_MUST_USE;

#endif

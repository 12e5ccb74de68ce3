/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comma-separated values (RFC 4180), record by record: fields in quotes may hold delimiters, line
 * ends and doubled quotes; lines end with LF or CRLF, the last one need not; a byte order mark is
 * passed over, and so are empty lines. Fields know their place, for messages.
 */
#ifndef DT_FILE_CSV_H
#define DT_FILE_CSV_H

#include "base/str.h"
#include "file/gzip.h"

typedef struct dt_csv_field {
    const char *text; /* NUL-terminated, without its quotes */
    size_t size;
    int64_t line; /* from 1; of the field's beginning */
    int64_t col;  /* from 1, in characters */
    bool quoted;
} dt_csv_field;

/* How files differ from RFC 4180. */
typedef struct dt_csv_style {
    char delimiter;     /* blanks: ' ' */
    bool is_given;      /* the job names it; else a first line "sep=;" may */
    bool blanks;        /* any number of blanks and tabs is a delimiter */
    char comment;       /* skipped to the end of the line; 0: there are none */
    char escape;        /* the next character is taken as it is; 0: there are none */
    int64_t skip_lines; /* before the header */
} dt_csv_style;

typedef struct dt_csv {
    dt_inflow *file;  /* NULL: the window has everything */
    const char *path; /* lent */
    dt_csv_style style;
    bool styled;   /* it has blanks, comments or escapes */
    dt_str window; /* what was read; from `at` on not yet handed out */
    size_t at;
    int64_t offset;                     /* of `at` in the decompressed file */
    int64_t line;                       /* the same, from 1 */
    int64_t record_offset, record_size; /* of the record handed out last, for reading it again */
    bool end;                           /* of the file, which is all in the window */
    dt_csv_field *field;                /* [n] of the record; valid until the next one */
    int n, cap;
    int64_t end_col; /* where the record's last line ends: a further field would stand there */
} dt_csv;

/* As dt_format has it. */
struct dt_survey_request;
dt_status *dt_csv_survey(const struct dt_survey_request *q) DT_MUST_USE;
dt_status *dt_csv_open(dt_csv *c, const char *path, const dt_csv_style *style) DT_MUST_USE;
/* Of a file that is open: closing takes it, too. */
dt_status *dt_csv_take(dt_csv *c, dt_inflow *file, const char *path,
                       const dt_csv_style *style) DT_MUST_USE;
/* A record by itself, which is copied. */
void dt_csv_hold(dt_csv *c, const char *path, const dt_csv_style *style, const void *bytes,
                 size_t n);
/* The next record. *more false: the end. */
dt_status *dt_csv_next(dt_csv *c, bool *more) DT_MUST_USE;
void dt_csv_close(dt_csv *c); /* takes one that did not open */
/* A field, in quotes where it must be; an empty one where it is said. */
void dt_csv_put(dt_str *out, const char *text, char delimiter, bool quotes_empty);
/* As dt_format has `begin` and `put`. */
struct dt_output;
dt_status *dt_csv_write_header(struct dt_output *o) DT_MUST_USE;
dt_status *dt_csv_write_row(struct dt_output *o, const void *const *row) DT_MUST_USE;
/* "x.csv:4:7: " and the text. */
dt_status *dt_csv_fail(const dt_csv *c, int64_t line, int64_t col, const char *format,
                       ...) DT_MUST_USE DT_PRINTF(4, 5);

#endif

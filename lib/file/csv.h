/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads comma-separated values (RFC 4180) record by record. Quoted fields may hold delimiters,
 * line ends and doubled quotes. Lines end with LF or CRLF, or all lines of a file with CR; the last
 * line may lack its end. A byte order mark and empty lines are skipped. Each field has its line and
 * column, for messages.
 */
#ifndef DT_FILE_CSV_H
#define DT_FILE_CSV_H

#include "base/str.h"
#include "file/gzip.h"

typedef struct dt_csv_field {
    const char *text; /* NUL-terminated, without its quotes */
    size_t size;
    int64_t line; /* line where the field begins, from 1 */
    int64_t col;  /* column in the line, from 1, in characters */
    bool quoted;
} dt_csv_field;

/* How a file differs from RFC 4180. */
typedef struct dt_csv_style {
    char delimiter;     /* character between fields; ' ' if `blanks` is set */
    bool is_given;      /* the job gives the delimiter; otherwise a first line "sep=;" may set it */
    bool blanks;        /* one or more spaces and tabs are a delimiter */
    char comment;       /* starts a comment, which goes to the end of the line; 0: no comments */
    char escape;        /* escapes the next character; 0: no escapes */
    int64_t skip_lines; /* number of lines that are still to be skipped before the header */
    /* Lines end with CR, as in files of old Macintosh programs; detected by the reader. */
    bool returns;
} dt_csv_style;

typedef struct dt_csv {
    dt_inflow *file;  /* NULL: all bytes are in the window */
    const char *path; /* lent */
    dt_csv_style style;
    bool styled;   /* the style has blanks, comments or escapes */
    dt_str window; /* bytes that were read; those before `at` are used up */
    size_t at;
    int64_t offset; /* position of `at` in the decompressed file, in bytes */
    int64_t line;   /* number of the line of `at`, from 1 */
    /* position and size of the last record, for reading it again */
    int64_t record_offset, record_size;
    bool end;            /* the file is read to its end; the window has the rest */
    dt_csv_field *field; /* [n] fields of the record; valid until the next record */
    int n, cap;
    /* column at which the record's last field ends; a missing field is reported there */
    int64_t end_col;
    /* the record lacks a value of an element of drop_missing, so it is left out; set by
     * dt_csv_values */
    bool omits;
} dt_csv;

/* The function `survey` of dt_format for CSV. */
struct dt_survey_request;
dt_status *dt_csv_survey(const struct dt_survey_request *q) DT_MUST_USE;
/* Opens a file. The path must live as long as the reader; the style is copied. */
dt_status *dt_csv_open(dt_csv *c, const char *path, const dt_csv_style *style) DT_MUST_USE;
/* Like dt_csv_open, for a file that is already open; dt_csv_close closes the file, too. */
dt_status *dt_csv_take(dt_csv *c, dt_inflow *file, const char *path,
                       const dt_csv_style *style) DT_MUST_USE;
/* Opens a single record, which is copied, instead of a file. */
void dt_csv_hold(dt_csv *c, const char *path, const dt_csv_style *style, const void *bytes,
                 size_t n);
/* Reads the next record. *more false: the end. */
dt_status *dt_csv_next(dt_csv *c, bool *more) DT_MUST_USE;
/* If the current record has one field too many or too few for `wanted`: drops an empty field after
 * its last delimiter, or, with open_end, adds an empty field for the last column, which has no
 * name. */
void dt_csv_even(dt_csv *c, int wanted, bool open_end);
void dt_csv_close(dt_csv *c); /* also closes a reader that failed to open */
/* Appends a field, quoted if necessary; quotes_empty: an empty field is quoted, too. */
void dt_csv_put(dt_str *out, const char *text, char delimiter, bool quotes_empty);
/* `begin` and `put` of dt_format_writer for CSV. */
struct dt_output;
dt_status *dt_csv_write_header(struct dt_output *o) DT_MUST_USE;
dt_status *dt_csv_write_row(struct dt_output *o, const void *const *row) DT_MUST_USE;
/* Returns an error that begins with its location: "x.csv:4:7: ", then the text. */
dt_status *dt_csv_fail(const dt_csv *c, int64_t line, int64_t col, const char *format,
                       ...) DT_MUST_USE DT_PRINTF(4, 5);

#endif

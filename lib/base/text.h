/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files that a user names: jobs, vocabularies, tables, JSON. One rule holds for all of them:
 *
 *     bytes of the file                       what a reader gets
 *     EF BB BF (UTF-8 byte order mark)        nothing: it is skipped
 *     UTF-8                                   the text; lines end with LF or CRLF
 *     UTF-16, UTF-32                          an error that names the encoding
 *     another byte (Latin-1), NUL             an error that names the byte, its line and its column
 *     Parquet, gzip, an HTML page, ...        an error that names the kind of file and
 *                                             how to convert it
 */
#ifndef DT_BASE_TEXT_H
#define DT_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* ---- kinds of files ---- */

/* The format of a file, recognized by its first bytes. */
typedef struct dt_file_sort {
    const char *what;   /* the format with its article: "a Parquet file" */
    const char *remedy; /* "convert it to CSV or NPY, ..."; NULL: nothing special */
    enum {
        /* Considered only if the bytes are not text, since a table may begin with a column named
         * ORC. */
        DT_SORT_BINARY,
        DT_SORT_SURE,
        DT_SORT_MARKUP, /* markup, such as XML */
    } as;
} dt_file_sort;
/* NULL: unknown. 16 bytes are enough for most formats, 512 for all. */
const dt_file_sort *dt_file_sort_of(const void *first, size_t n);

/* ---- text ---- */

typedef struct dt_text_file {
    const char *path;   /* path for messages; lent */
    const char *wanted; /* for messages, what the file should be: "a CSV file" */
    dt_error fault;     /* the error to report */
    bool any_text;      /* accept markup, such as XML, as text */
} dt_text_file;

/* Checks the first n bytes of a file: NULL if they may be text, else the error "x.csv: is a Parquet
 * file, not a CSV file". *skip: bytes of a byte order mark. */
dt_status *dt_text_look(const dt_text_file *f, const void *first, size_t n,
                        size_t *skip) DT_MUST_USE;
/* The number of bytes at the front that are UTF-8 without NUL: n, or the position of the first
 * invalid byte. */
size_t dt_text_valid(const char *text, size_t n);
/* NULL when all bytes are valid, else "x.csv:2:5: byte 0xe9 is not UTF-8". Lines count from `line`,
 * columns from 1, in characters. */
dt_status *dt_text_check(const dt_text_file *f, const char *text, size_t n,
                         int64_t line) DT_MUST_USE;
/* A whole file as checked text, without its byte order mark, in *out (which is cleared first). More
 * than `limit` bytes: TOO_LARGE. */
dt_status *dt_text_read(const dt_text_file *f, size_t limit, dt_str *out) DT_MUST_USE;

#endif

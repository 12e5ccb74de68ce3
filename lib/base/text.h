/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text files that a user names: jobs, vocabularies, tables, JSON. One rule holds for all of them:
 *
 *     bytes of the file                       what a reader gets
 *     EF BB BF (UTF-8 byte order mark)        nothing: it is skipped
 *     UTF-8                                   the text; lines end with LF or CRLF
 *     UTF-16; UTF-32 with a byte order mark   an error that names the encoding
 *     another byte (Latin-1), NUL             an error that names the byte, its line and its column
 *     Parquet, gzip, an HTML page, ...        an error that names the kind of file and,
 *                                             for most kinds, what to do with it
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
    const char *what; /* the format with its article: "a Parquet file" */
    /* what to do with the file: "decompress it with gunzip"; NULL: there is no advice */
    const char *remedy;
    enum {
        /* A format that is considered only if the bytes are not text, since a table may begin with
         * a column named ORC. */
        DT_SORT_BINARY,
        DT_SORT_SURE,
        DT_SORT_MARKUP, /* a format of markup, such as XML */
    } as;
} dt_file_sort;
/* Returns the format of a file that begins with these n bytes; NULL: it is unknown. 16 bytes are
 * enough for most formats; a tar archive needs 262. */
const dt_file_sort *dt_file_sort_of(const void *first, size_t n);

/* ---- text ---- */

typedef struct dt_text_file {
    const char *path;   /* the file's path for messages; lent */
    const char *wanted; /* what the file should be, for messages: "a CSV file" */
    dt_error fault;     /* the error to report if the file is not text */
    bool any_text;      /* whether to accept markup, such as XML, as text */
} dt_text_file;

/* Checks the first n bytes of a file. Returns NULL if they may be text, else an error such as
 * "x.csv: is a Parquet file, not a CSV file". Sets *skip to the number of bytes of a byte order
 * mark. */
dt_status *dt_text_look(const dt_text_file *f, const void *first, size_t n,
                        size_t *skip) DT_MUST_USE;
/* Returns how many bytes at the front are UTF-8 without NUL: n, or the position of the first byte
 * that is NUL or not UTF-8. */
size_t dt_text_valid(const char *text, size_t n);
/* Checks that all bytes are UTF-8 without NUL. Otherwise fails with f->fault at the first other
 * byte: "x.csv:2:5: byte 0xe9 is not UTF-8". Lines count from `line`, columns from 1, in
 * characters. */
dt_status *dt_text_check(const dt_text_file *f, const char *text, size_t n,
                         int64_t line) DT_MUST_USE;
/* Reads a whole file as checked text, without its byte order mark, into *out, which is cleared
 * first. Fails with TOO_LARGE if the file has more than `limit` bytes. */
dt_status *dt_text_read(const dt_text_file *f, size_t limit, dt_str *out) DT_MUST_USE;

#endif

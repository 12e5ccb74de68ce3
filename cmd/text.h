/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of text: numbers as people and as programs read them, names made fit for terminals, JSON
 * and shells. */
#ifndef CMD_TEXT_H
#define CMD_TEXT_H

#include "dtrain.h"

/* Pieces are put on a stream in memory; out of memory ends the program with 71, as there is nothing
 * to say it with. */
struct text {
    FILE *to;
    char *bytes;
    size_t size;
};
void text_open(struct text *t);
/* The bytes so far, ended by NUL; lent until text_close. */
const char *text_bytes(struct text *t);
void text_close(struct text *t);
/* A copy that the caller frees. */
char *text_copy(const char *text);
/* realloc, which ends the program likewise. */
void *grow(void *old, size_t size);

/* characters that dt_is_unseen and bytes that are not UTF-8 as \xNN or \uNNNN */
void put_shown(FILE *to, const char *text);
void put_shown_lines(FILE *to, const char *text); /* the same, but lines and tabs stay */
void put_word(FILE *to, const char *word);        /* quoted for a shell where it must be */
void put_grouped(FILE *to, int64_t n);            /* 60,000 */
void put_bytes(FILE *to, double bytes);           /* 1.6 MiB */
void put_value(FILE *to, double value);           /* a loss or a metric: 0.0713, 1.2e-05, n/a */
void put_time(FILE *to, double seconds);          /* 0:02, 1:02:03 */
void put_shortest(FILE *to, double value); /* the shortest decimal that reads back as value */
/* lines broken at blanks; what goes on stands below the line's last column */
void put_wrapped(FILE *to, const char *text, int columns);
/* wrap.c: a line for a terminal of so many columns, broken between words; what goes on is
 * indented. */
void put_broken(FILE *to, const char *line, int indent, int columns);
/* A line of a job file and the line of carets below it: the part that has room and has the
 * carets. */
void put_excerpt(FILE *to, const char *line, const char *below, int columns);
size_t text_bytes_of(const char *text, int columns); /* bytes of its first characters */
size_t text_columns(const char *text);               /* characters, UTF-8 counted once */
/* Bytes of the UTF-8 character at text and its code; 0 where there is none. */
size_t text_next(const char *text, uint32_t *code);

#endif

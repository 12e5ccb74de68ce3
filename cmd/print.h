/* SPDX-License-Identifier: Apache-2.0 */
/* Formats for terminals, shells and programs: words, values and times, broken lines, and JSON
 * Lines. base/str.h and base/json.h have the rest. */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "base/arena.h"
#include "base/json.h"
#include "out.h"

/* Appends a text. Bytes that are not UTF-8, and characters for which dt_is_unseen is true, are
 * written as \xNN, \uNNNN or \UNNNNNNNN. */
void put_shown(dt_str *to, const char *text);
/* Appends a text like put_shown, but keeps newlines and tabs. */
void put_shown_lines(dt_str *to, const char *text);
/* Appends a word, in quotes if a shell needs them. */
void put_word(dt_str *to, const char *word);
/* Appends a loss or a metric: 0.0713, or 1.200e-05 if its absolute value is below 0.001 or at least
 * 100000; 0 and infinities as 0.0000 and inf; n/a if it is NaN. */
void put_value(dt_str *to, double value);
/* Appends a duration in seconds as 0:02 or 1:02:03; -:-- if it is negative, NaN or at least 1e9. */
void put_time(dt_str *to, double seconds);

/* ---- lines that are wider than the terminal ---- */

int text_columns(const char *text); /* the number of characters of a UTF-8 text */
/* The number of bytes that the first `columns` characters of a text have. */
size_t text_bytes_of(const char *text, int columns);
/* Appends a text of several lines. Lines of prose that the writer has broken are joined; then lines
 * of more than `columns` characters are broken at blanks. Continuation lines begin where the
 * description begins in a line such as "  -q  print less", else at the line's indent. */
void put_wrapped(dt_str *to, const char *text, int columns);
/* Appends a line, broken between words at `columns` characters; continuation lines are indented by
 * `indent` blanks. Does not break it if `columns` is below 30. */
void put_broken(dt_str *to, const char *line, int indent, int columns);
/* Appends a line of a job file and the carets below it. If they are too wide, only the part around
 * the carets is written. */
void put_excerpt(dt_str *to, const char *line, const char *below, int columns);

/* ---- JSON Lines ---- */

/* A JSON line. It is built as a text and printed as a whole, so that a reader never sees a part of
 * one. */
struct json {
    dt_str line;
    dt_json to; /* the object so far, without its closing brace */
};

void json_open(struct json *j);
/* Begins an event: {"v":1,"event":EVENT, with the schema version and the event's name. */
void json_open_event(struct json *j, const char *event);
/* Ends the object and prints it as a line. */
void json_print(struct json *j, struct out *out);
/* Adds the members of an error: file, line, column, code, severity, message, suggestion. */
void json_error(dt_json *j, const dt_status *s);
/* Adds the members of a warning that has a file and a message. */
void json_warning(dt_json *j, const char *file, const char *message);

#endif

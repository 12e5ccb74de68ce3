/* SPDX-License-Identifier: Apache-2.0 */
/* Formats for terminals, shells and programs: words, values and times, broken lines, and JSON
 * Lines. base/str.h and base/json.h have the rest. */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "base/arena.h"
#include "base/json.h"
#include "out.h"

/* characters that dt_is_unseen and bytes that are not UTF-8 as \xNN or \uNNNN */
void put_shown(dt_str *to, const char *text);
void put_shown_lines(dt_str *to, const char *text); /* the same, but keeps newlines and tabs */
void put_word(dt_str *to, const char *word);        /* quoted for a shell where it must be */
void put_value(dt_str *to, double value);           /* a loss or a metric: 0.0713, 1.2e-05, n/a */
void put_time(dt_str *to, double seconds);          /* 0:02, 1:02:03 */

/* ---- wrap.c ---- */

int text_columns(const char *text);                  /* characters, UTF-8 counted once */
size_t text_bytes_of(const char *text, int columns); /* bytes of its first characters */
/* breaks lines at blanks; continuation lines begin at the column where `to` ends */
void put_wrapped(dt_str *to, const char *text, int columns);
/* Breaks a line between words at `columns`; continuation lines are indented. */
void put_broken(dt_str *to, const char *line, int indent, int columns);
/* A line of a job file and the carets below it, cut to the part around the carets that fits. */
void put_excerpt(dt_str *to, const char *line, const char *below, int columns);

/* ---- JSON Lines ---- */

/* A line is built in a text and printed as a whole, so that a reader never sees a part of one. */
struct json {
    dt_str line;
    dt_json to; /* line */
};

void json_open(struct json *j);
/* Opens {"v":1,"event":EVENT with the schema version and the name of the event. */
void json_open_event(struct json *j, const char *event);
/* Ends the object, prints it as a line. */
void json_print(struct json *j, struct out *out);
/* file, line, column, code, severity, message, suggestion of one error. */
void json_error(dt_json *j, const dt_status *s);
/* Adds the members of a warning that has a file and a message. */
void json_warning(dt_json *j, const char *file, const char *message);

#endif

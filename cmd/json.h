/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines on standard output. A line is built in a text and printed whole, so a reader never
 * sees half of one. */
#ifndef CMD_JSON_H
#define CMD_JSON_H

#include "out.h"
#include "text.h"

struct json {
    struct text text;
    bool comma;
};

void json_open(struct json *j);
/* Opens {"v":1,"event":EVENT: the schema version and what happened. */
void json_open_event(struct json *j, const char *event);
/* Ends the object, prints it as a line. */
void json_print(struct json *j, struct out *out);

void json_string(struct json *j, const char *key, const char *value); /* NULL: null */
void json_integer(struct json *j, const char *key, int64_t value);
void json_unsigned(struct json *j, const char *key, uint64_t value);
/* shortest that round-trips; null for what JSON lacks */
void json_number(struct json *j, const char *key, double value);
void json_integers(struct json *j, const char *key, const int64_t *value, int n);
void json_null(struct json *j, const char *key);
/* file, line, column, code, severity, message, suggestion of one error. */
void json_error(struct json *j, const dt_status *s);
/* The same members of a warning, which has a file and a message. */
void json_warning(struct json *j, const char *file, const char *message);

#endif

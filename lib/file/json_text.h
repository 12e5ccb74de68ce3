/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON read in place, from front to back (RFC 8259). There is no tree, so a hostile text takes no
 * more memory than its own bytes, and a fault has its exact location. Nesting is limited.
 */
#ifndef DT_FILE_JSON_TEXT_H
#define DT_FILE_JSON_TEXT_H

#include "base/str.h"

enum { DT_JSON_DEEPEST = 64, DT_JSON_LONGEST_NUMBER = 400 };

/* A position in a text of valid UTF-8. A copy of it reads the same once more. */
typedef struct dt_json_cursor {
    const char *at, *end;
    const char *fault; /* "expected ',' or '}'", at `at`; NULL: none so far */
} dt_json_cursor;

/* The character with which the next value begins, after blanks: { [ " - 0..9 t f n; anything else
 * is a fault. '\0': there is one. */
char dt_json_peek(dt_json_cursor *c);
/* Into the list or object that begins here. */
void dt_json_enter(dt_json_cursor *c);
/* Whether another item follows, in a list or object that ends with `close`, which is passed.
 * *first: true before the first one. */
bool dt_json_more(dt_json_cursor *c, char close, bool *first);
/* The string that begins here, decoded, in *out (cleared first); it may hold NUL. */
bool dt_json_read_text(dt_json_cursor *c, dt_str *out);
/* A string and the ':' behind it. */
bool dt_json_read_key(dt_json_cursor *c, dt_str *out);
/* The text of the number that begins here. */
bool dt_json_read_number(dt_json_cursor *c, char out[DT_JSON_LONGEST_NUMBER + 1]);
/* true, false or null. */
bool dt_json_read_word(dt_json_cursor *c);
/* A whole value, `depth` levels below the outermost. */
bool dt_json_skip(dt_json_cursor *c, int depth);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON in place, from front to back (RFC 8259). It builds no tree, so a hostile text takes
 * little memory beyond its own bytes, and a fault has its exact location. Nesting is limited. */
#ifndef DT_FILE_JSON_TEXT_H
#define DT_FILE_JSON_TEXT_H

#include "base/str.h"

enum { DT_JSON_DEEPEST = 64, DT_JSON_LONGEST_NUMBER = 400 };

/* A position in a text, which must be valid UTF-8. A copy of a cursor can read the same text
 * again. */
typedef struct dt_json_cursor {
    const char *at, *end;
    const char *fault; /* the fault at `at`, such as "expected ',' or '}'"; NULL: none so far */
} dt_json_cursor;

/* Skips blanks and returns the character with which the next value begins: { [ " - 0..9 t f n.
 * NaN, which Python writes for missing numbers, is the same as null. Anything else is a fault.
 * Returns '\0' if there is a fault. */
char dt_json_peek(dt_json_cursor *c);
/* Enters the list or object that begins at the cursor. */
void dt_json_enter(dt_json_cursor *c);
/* Whether another item follows in a list or object that ends with `close`. Skips the ',' before it,
 * or `close` at the end. Returns false after a fault, too. *first must be true before the first
 * call. */
bool dt_json_more(dt_json_cursor *c, char close, bool *first);
/* Reads and decodes the string that begins at the cursor into *out (cleared first); it may contain
 * NUL. This function and those below return false if they find a fault. */
bool dt_json_read_text(dt_json_cursor *c, dt_str *out);
/* Reads a string and the ':' after it. */
bool dt_json_read_key(dt_json_cursor *c, dt_str *out);
/* Copies the text of the number that begins at the cursor. */
bool dt_json_read_number(dt_json_cursor *c, char out[DT_JSON_LONGEST_NUMBER + 1]);
/* Skips true, false, null or NaN. */
bool dt_json_read_word(dt_json_cursor *c);
/* Skips a whole value that is `depth` levels below the outermost one. */
bool dt_json_skip(dt_json_cursor *c, int depth);

#endif

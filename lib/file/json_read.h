/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON from untrusted files: jansson, with limits on nesting and memory. */
#ifndef DT_FILE_JSON_READ_H
#define DT_FILE_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

#include "base/json.h"
#include "conf/conf.h"

/* A JSON text, and words for messages about it. */
typedef struct dt_json_text {
    const char *path; /* path of the file */
    const char *part; /* name of this part of the file, such as "header" */
    /* The kind of things that are keys of the outermost object, such as "tensor" */
    const char *member;
    const char *text; /* the text, which need not be NUL-terminated */
    size_t size;
    dt_error fault; /* the error to report for faults */
} dt_json_text;

/* Fails with t->fault if the text is nested deeper than 64 or needs, by an estimate, more than 192
 * MiB of jansson's memory. */
dt_status *dt_json_weigh(const dt_json_text *t) DT_MUST_USE;

/* Parses a JSON object; the caller releases *out with json_decref. Fails with t->fault if the text
 * is not a JSON object, has a key twice, is nested deeper than 64, or needs, by an estimate, more
 * than 192 MiB of jansson's memory. */
dt_status *dt_json_parse(const dt_json_text *t, json_t **out) DT_MUST_USE;

/* Gets the integer under `key`. Returns false, and leaves *out as it is, if it is missing or has
 * another type. */
bool dt_json_get_int(const json_t *object, const char *key, int64_t *out);
/* Reads what dt_json_members writes with the same table, except members that functions write.
 * Signed integers are counts and must not be negative. null stands for a number that JSON lacks or,
 * except in a member that is written `if_set`, for no text. Such a member may be missing; *out then
 * keeps its value. Texts and lists are copied into the arena. Returns NULL, or a message in the
 * arena, such as "'step' must be a count". */
const char *dt_json_members_read(dt_arena *arena, const json_t *object, const dt_json_member *table,
                                 void *out);
/* Like dt_json_members_read, but accepts what it can: a member that is missing or has another type
 * becomes 0, NULL or, for a double, NaN. Texts are lent by `object`. Lists of numbers are written
 * to memory that *out already points to, with room for m->most numbers. */
void dt_json_members_lend(const json_t *object, const dt_json_member *table, void *out);
/* Returns the value of an integer, limited to [0, 2^53], up to which doubles are exact; 0 if it is
 * not an integer. */
int64_t dt_json_count(const json_t *value);
/* Copies a list of texts into the arena; a missing list is empty. Returns false for any other
 * type. */
bool dt_json_texts(dt_arena *arena, const json_t *list, dt_texts *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON from untrusted files: jansson behind limits. */
#ifndef DT_FILE_JSON_READ_H
#define DT_FILE_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

#include "base/json_table.h"
#include "conf/conf.h"

/* A text and the words for messages about it. */
typedef struct dt_json_text {
    const char *path;   /* the file */
    const char *part;   /* "header": what of the file it is */
    const char *member; /* "tensor": what a key of the outermost object names */
    const char *text;   /* need not end in NUL */
    size_t size;
    dt_error fault; /* the error to report */
} dt_json_text;

/* Refused (t->fault): nesting deeper than 64, more values than fit into 192 MiB of jansson's
 * memory. Takes no memory. */
dt_status *dt_json_weigh(const dt_json_text *t) DT_MUST_USE;

/* *out is an object, which the caller gives to json_decref. Refused (t->fault): a text that is not
 * a JSON object, nesting deeper than 64, a key given twice, more values than fit into 192 MiB of
 * jansson's memory. */
dt_status *dt_json_parse(const dt_json_text *t, json_t **out) DT_MUST_USE;

/* The integer under `key`; false: absent, of another type. */
bool dt_json_get_int(const json_t *object, const char *key, int64_t *out);
/* Reads what dt_json_members writes by that table, except what functions of it write. Integers are
 * counts, none is negative; null stands for a number that JSON lacks, or for no text. A member that
 * is written `if_set` may be absent, and keeps what *out has. Texts and lists are copied into the
 * arena. Returns NULL, or the fault, in the arena: "'step' must be a count". */
const char *dt_json_members_read(dt_arena *arena, const json_t *object, const dt_json_member *table,
                                 void *out);
/* The same for files that are read as far as they make sense: what is missing or has another type
 * becomes 0, NULL or, as a double, NaN. Texts are lent by `object`. Numbers of a list are written
 * to the memory that *out has for them, of m->most numbers. */
void dt_json_members_lend(const json_t *object, const dt_json_member *table, void *out);
/* An integer as a count, at least 0 and at most 2^53, which a double can hold; else 0. */
int64_t dt_json_count(const json_t *value);
/* A list of texts, copied into the arena; absent: none. False: it is anything else. */
bool dt_json_texts(dt_arena *arena, const json_t *list, dt_texts *out);

#endif

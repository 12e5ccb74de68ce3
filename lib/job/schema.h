/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of the schema of job files: schema.c writes the structure, schema_value.c
 * the values. All functions write the contents of an object. */
#ifndef DT_JOB_SCHEMA_H
#define DT_JOB_SCHEMA_H

#include "base/json.h"
#include "job/keys.h"

/* Writes a type. With `words`, a text with a {word} is allowed in place of the value. With `null`,
 * the value may be null. */
void dt_schema_type(dt_json *j, const char *type, bool words, bool null);
/* Write an alternative in a list: a text with a {word}, and a field's value. */
void dt_schema_word(dt_json *j);
void dt_schema_form(dt_json *j, const dt_field *f);
/* Writes a mapping's keys. `others` has the forms of keys that are not in the table; NULL: there
 * are no such keys. */
void dt_schema_properties(dt_json *j, const dt_field *fields, const dt_field *others);
void dt_schema_fields(dt_json *j, const dt_field *fields);
void dt_schema_required(dt_json *j, const dt_field *fields);

#endif

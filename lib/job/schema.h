/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of the schema of job files: schema.c writes the structure, schema_value.c
 * the values. All functions write the contents of an object. */
#ifndef DT_JOB_SCHEMA_H
#define DT_JOB_SCHEMA_H

#include "base/json.h"
#include "job/keys.h"

/* `words`: a text with a {word} may stand for the value, too; null: the key may be left out. */
void dt_schema_type(dt_json *j, const char *type, bool words, bool null);
/* Writes objects in a list of alternatives: a text with a {word}; a field's value. */
void dt_schema_word(dt_json *j);
void dt_schema_form(dt_json *j, const dt_field *f);
/* Writes a mapping's keys; `others`: forms of keys that the table lacks, NULL: there are none. */
void dt_schema_properties(dt_json *j, const dt_field *fields, const dt_field *others);
void dt_schema_fields(dt_json *j, const dt_field *fields);
void dt_schema_required(dt_json *j, const dt_field *fields);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that job files are read by, as lists: the source of completions, manual pages, the
 * reference and the schema. Only for files in lib/job. */
#ifndef DT_JOB_KEYS_H
#define DT_JOB_KEYS_H

#include "base/json.h"
#include "job/job.h"

typedef struct dt_section {
    const char *name;
    const dt_field *(*fields)(void);
} dt_section;

/* Kinds that a job can choose by name, such as layers or losses. */
typedef struct dt_key_table {
    /* the word for all kinds of this table, such as "layer", by which forms of fields refer to the
     * table */
    const char *noun;
    /* the key whose value names the kind; NULL: the kinds' keys are listed only below `stem` */
    const char *key;
    /* path below which the keys of a kind are: STEM.KIND.key or, with `beside`, STEM.key */
    const char *stem;
    bool beside;
    const dt_kind *(*at)(int i); /* returns kind i; NULL: there are fewer kinds */
    /* returns the arguments that a kind's short form may have (dt_map_brief); NULL: no kind has a
     * short form */
    const char *const *(*brief)(const dt_kind *row, bool *list);
} dt_key_table;

const dt_section *dt_sections(int *n);
const dt_key_table *dt_key_tables(int *n);
const dt_key_table *dt_sort_named(const char *noun);
/* Returns a field's default as written in a job file; NULL: it has none. */
const char *dt_field_default(const dt_field *f);
bool dt_field_has_min(const dt_field *f);
bool dt_field_has_max(const dt_field *f);

/* ---- the schema of job files ---- */

/* Internal declarations of the schema of job files: schema.c writes the structure, schema_value.c
 * the values. All functions write the contents of an object, except dt_schema_word and
 * dt_schema_form, which write an item of a list. */

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

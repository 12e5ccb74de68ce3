/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that job files are read by, as lists: the source of completions, manual pages, the
 * reference and the schema. For this room only. */
#ifndef DT_JOB_KEYS_H
#define DT_JOB_KEYS_H

#include "job/job.h"

typedef struct dt_section {
    const char *name;
    const dt_field *(*fields)(void);
} dt_section;

/* A kind that a job file can name, such as a layer or a loss. A list of kinds ends with name
 * NULL. */
typedef struct dt_job_kind {
    const dt_kind *row;
    const char *name, *about;
    const dt_field *fields;
    const char *const *aliases; /* other names of the kind, ending with NULL; may be NULL */
} dt_job_kind;

typedef struct dt_key_table {
    /* what the kinds of this table are, such as "layer"; forms of fields refer to the table by this
     * word */
    const char *noun;
    /* the key whose value names the kind; NULL: the kinds' keys are listed only below `stem` */
    const char *key;
    /* path of the mapping that has the keys of a kind, below the kind's name; with `beside`,
     * directly */
    const char *stem;
    bool beside;
    dt_job_kind (*at)(int i);
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

#endif

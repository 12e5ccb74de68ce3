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

/* A kind that a job file can name. name NULL: the end of the list. */
typedef struct dt_job_kind {
    const dt_kind *row;
    const char *name, *about;
    const dt_field *fields;
    const char *const *aliases; /* may be NULL */
} dt_job_kind;

typedef struct dt_key_table {
    const char *noun; /* "layer": forms name a sort by it */
    /* the key whose value names the kind; NULL: the kind's keys are listed below `stem` alone */
    const char *key;
    const char
        *stem; /* where the keys of a kind are, below the kind's name; beside: not below its name */
    bool beside;
    dt_job_kind (*at)(int i);
    /* see dt_map_brief; NULL: no kind has such arguments */
    const char *const *(*brief)(const dt_kind *row, bool *list);
} dt_key_table;

const dt_section *dt_sections(int *n);
const dt_key_table *dt_key_tables(int *n);
const dt_key_table *dt_sort_named(const char *noun);
/* The default as written in a job file; NULL: there is none. */
const char *dt_field_default(const dt_field *f);
bool dt_field_has_min(const dt_field *f);
bool dt_field_has_max(const dt_field *f);

#endif

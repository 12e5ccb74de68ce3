/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of a CSV file: their names in the header, or their numbers from 0. A name that occurs
 * again, unless it is empty, becomes NAME.1, NAME.2, ... Elements choose columns by name, by
 * number, or by patterns, which are replaced by names when the first file is opened:
 *
 *     columns: [height, 7]               one by its name, one by its number
 *     columns: ["pixel*"]                those that match, in the file's order
 *     columns: [pixel0..pixel63]         from one to the other
 *     columns: {all_but: [id, label]}    all others
 */
#ifndef DT_FILE_CSV_HEADER_H
#define DT_FILE_CSV_HEADER_H

#include "file/csv_element.h"

typedef struct dt_csv_header {
    bool named; /* columns have names; false: they have only numbers */
    int n;
    /* [n] the name of each column, in file order; without a header its number, as text */
    const char **name;
    int *sorted; /* [n] column indices sorted by name; equal names in file order */
} dt_csv_header;

/* Reads the names from the current record, the header; without a header, counts its fields. */
void dt_csv_header_read(dt_arena *arena, const dt_csv *c, bool named, dt_csv_header *out);
/* Returns the index of the column that has this name; otherwise the name is read as a column number
 * from 0. -1: there is no such column. */
int dt_csv_header_find(const dt_csv_header *h, const char *name);
bool dt_csv_header_has(const dt_csv_header *h, const char *name);
/* Replaces an element's patterns, or the columns that it leaves out (all_but), by the names of
 * columns, by dt_csv_settle_columns. Does nothing if the element has plain names, or its patterns
 * have been replaced before. Fails if a pattern or a name matches no column, or as that does. */
dt_status *dt_csv_header_expand(dt_arena *arena, const dt_csv *c, const dt_csv_header *h,
                                dt_element_spec *e) DT_MUST_USE;
/* Sets to[i] to the position of the element's column i in a record. Fails, naming up to 20 columns,
 * if some are missing. */
dt_status *dt_csv_find_columns(const dt_csv *c, const dt_csv_header *h, const dt_element_spec *e,
                               int *to) DT_MUST_USE;

#endif

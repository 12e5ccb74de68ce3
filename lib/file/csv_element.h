/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of CSV files: which columns they are made of, and how a field becomes a value.
 *
 *     element:
 *       x:     {columns: [height, width], dtype: float32}
 *       label: {column: species, dtype: int32, vocabulary: [setosa, versicolor, virginica]}
 *       note:  {column: note, dtype: string}      # text, of which `map` makes numbers
 */
#ifndef DT_FILE_CSV_ELEMENT_H
#define DT_FILE_CSV_ELEMENT_H

#include "file/csv.h"
#include "file/file.h"

/* How files name values: by a header, by numbers from 0, or by keys of JSON, one of which may have
 * all values of an element. */
typedef enum dt_columns { DT_COLUMNS_NAMED, DT_COLUMNS_NUMBERED, DT_COLUMNS_KEYS } dt_columns;

/* The keys of an entry of `element`, of CSV and of JSON lines. */
extern const dt_field dt_csv_element_fields[], dt_jsonl_element_fields[];
/* One entry of `element`. */
dt_status *dt_csv_element_read(dt_arena *arena, const dt_entry *e, dt_columns columns,
                               dt_element_spec *out) DT_MUST_USE;
/* Sets the columns that the patterns of an element stand for, its type and its names; an error
 * where they are none, or not as many as the values of its shape. */
dt_status *dt_csv_settle_columns(dt_arena *arena, dt_element_spec *e,
                                 const dt_texts *columns) DT_MUST_USE;
enum { DT_CSV_LONGEST_NUMBER = 400 };
/* The field without blanks at its ends, NUL-terminated: its own text, or a copy in `room` where
 * blanks follow. NULL: too long for a number. */
const char *dt_csv_trim(const dt_csv_field *f, char room[DT_CSV_LONGEST_NUMBER + 1]);
/* Faults of rows by their kind, so that one run names all of them. Zeroed at first. */
typedef struct dt_csv_faults {
    struct dt_csv_fault {
        const char *column, *what; /* where and what: faults equal in both are one kind */
        int64_t times;
        dt_status *first;
    } * kind; /* [n] */
    int n, cap;
    int64_t others; /* faults of further kinds */
} dt_csv_faults;
/* Adds a fault, and takes the status. */
void dt_csv_faults_add(dt_csv_faults *f, const char *column, const char *what, dt_status *s);
/* Joins all faults and `last` in one status, and clears them; NULL: none. rows: rows read. */
dt_status *dt_csv_faults_take(dt_csv_faults *f, int64_t rows, dt_status *last) DT_MUST_USE;

/* All values of an element; `index` has the positions of their fields. faults: takes those of
 * values; NULL: the first one is returned. */
dt_status *dt_csv_values(const dt_csv *c, const dt_element_spec *e, const int *index, char *out,
                         dt_csv_faults *faults) DT_MUST_USE;
/* Checks that the current record has as many fields as the first one. */
dt_status *dt_csv_check_fields(const dt_csv *c, int wanted) DT_MUST_USE;

#endif

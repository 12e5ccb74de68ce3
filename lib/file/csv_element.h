/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of CSV files: their columns, and the conversion of fields to values.
 *
 *     element:
 *       x:     {columns: [height, width], dtype: float32}
 *       label: {column: species, dtype: int32, vocabulary: [setosa, versicolor, virginica]}
 *       note:  {column: note, dtype: string}      # text, which `map` turns into numbers
 */
#ifndef DT_FILE_CSV_ELEMENT_H
#define DT_FILE_CSV_ELEMENT_H

#include "file/csv.h"
#include "file/file.h"

/* How files identify values: by names in a header, by column numbers from 0, or by JSON keys, one
 * of which may hold all values of an element. */
typedef enum dt_columns { DT_COLUMNS_NAMED, DT_COLUMNS_NUMBERED, DT_COLUMNS_KEYS } dt_columns;

/* The tables of keys of an `element` entry, for CSV and for JSON lines. */
extern const dt_field dt_csv_element_fields[], dt_jsonl_element_fields[];
/* Reads one entry of `element`. */
dt_status *dt_csv_element_read(dt_arena *arena, const dt_entry *e, dt_columns columns,
                               dt_element_spec *out) DT_MUST_USE;
/* Gives an element `columns`, the columns that its patterns match. If the job gives no shape, sets
 * its type; several columns also become its names. Fails if there are no columns, or if their
 * number differs from the number of values in the element's shape. */
dt_status *dt_csv_settle_columns(dt_arena *arena, dt_element_spec *e,
                                 const dt_texts *columns) DT_MUST_USE;
enum { DT_CSV_LONGEST_NUMBER = 400 };
/* Returns the field's text without blanks at its ends, NUL-terminated. If blanks follow, the text
 * is copied to `room`. NULL: too long to be a number. */
const char *dt_csv_trim(const dt_csv_field *f, char room[DT_CSV_LONGEST_NUMBER + 1]);
/* Rewrites a number in the element's notation (`thousands`, `decimal`, `symbols`) for strtod, and
 * sets *symbol as dt_csv_bare does if the notation has symbols or blanks. Returns false if
 * dt_csv_bare does, or if the number has a point that is not the decimal point, a separator of
 * thousands after the decimal point, or a separator that is not followed by exactly three digits,
 * as in 1,5, where the comma is the decimal point of another notation. */
bool dt_csv_respell(const dt_element_spec *e, const char *text, char out[DT_CSV_LONGEST_NUMBER + 1],
                    uint32_t *symbol);
/* dt_csv_bare is the first half of dt_csv_respell: it copies a number without its symbol, if the
 * element has `symbols`, and without the blanks between groups of three digits, if its `thousands`
 * is a space. *symbol: the code of the currency sign or '%'; DT_CSV_PLAIN: the number has none.
 * Returns false if it has two symbols, or groups of another size. */
enum { DT_CSV_PLAIN = 1 };
bool dt_csv_bare(const dt_element_spec *e, const char *text, char out[DT_CSV_LONGEST_NUMBER + 1],
                 uint32_t *symbol);
/* Whether a number with `symbol` may stand in a column of which *seen is the symbol so far, if any
 * number had one, else DT_CSV_PLAIN; 0: no number so far, or only zeros without a symbol. Updates
 * *seen. Numbers without a symbol mix with those of one currency. Two currencies do not mix, nor do
 * percentages and other numbers: 12 % and 0.12 may or may not be the same. A 0 without a symbol
 * fits every column. */
bool dt_csv_symbol_agrees(uint32_t *seen, uint32_t symbol, double number);
/* Collects faults of rows by kind (see `kind`), so that one run reports up to 20 kinds. Zero it
 * before use. */
typedef struct dt_csv_faults {
    struct dt_csv_fault {
        const char *column, *what; /* faults are of one kind if both are equal */
        int64_t times;
        dt_status *first;
    } * kind; /* [n] the kinds of faults, in the order in which they occurred */
    int n, cap;
    int64_t others; /* number of faults whose kinds were not kept */
} dt_csv_faults;
/* Adds a fault, and takes ownership of the status. */
void dt_csv_faults_add(dt_csv_faults *f, const char *column, const char *what, dt_status *s);
/* Joins the faults and `last` into one status, and clears *f; NULL: there are none. rows: number of
 * rows read, for messages. */
dt_status *dt_csv_faults_take(dt_csv_faults *f, int64_t rows, dt_status *last) DT_MUST_USE;

/* Converts all values of an element; `index` has the positions of its fields. faults: collects
 * faults of values; NULL: the first fault is returned. */
dt_status *dt_csv_values(dt_csv *c, const dt_element_spec *e, const int *index, char *out,
                         dt_csv_faults *faults) DT_MUST_USE;
/* Checks that the current record has `wanted` fields, as many as the first record. */
dt_status *dt_csv_check_fields(const dt_csv *c, int wanted) DT_MUST_USE;

#endif

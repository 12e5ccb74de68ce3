/* SPDX-License-Identifier: Apache-2.0 */
/* Surveys the columns of a table that no job describes: integers, numbers, or texts. The vocabulary
 * of texts is what occurs in the file, in byte order. Missing values are only counted. */
#ifndef DT_FILE_COLUMN_SURVEY_H
#define DT_FILE_COLUMN_SURVEY_H

#include "file/file.h"

enum { DT_MOST_COLUMNS = 1000 }; /* limited because a mapping in a job has at most 10,000 nodes */

typedef struct dt_column_word {
    char *text;
    int64_t times;
} dt_column_word;

typedef struct dt_column {
    char *name;
    /* integers: all values so far are integers; numbers: all values so far are numbers. */
    bool integers, numbers;
    /* fields: number of values that are not missing; each number of a list counts. empty: number of
     * records without a value. */
    int64_t fields, empty;
    int64_t texts; /* number of values that are not numbers; `text` is the first of them */
    char *text;
    /* [words] up to 250 different values, sorted; needed if the column is text */
    dt_column_word *word;
    int words, cap;
    bool overflow; /* the column has more different values than `word` can hold */
    /* JSON: the shape of lists of numbers in the column; rank 0 if it has no lists. unfit: why the
     * column cannot be an element; NULL: it can */
    dt_type shape;
    const char *unfit;
    int64_t rows; /* number of records with a value that is not missing */
    /* Valid if `numbers` is set. least, most, sum: minimum, maximum and sum; middle, squares: mean,
     * and sum of squared differences from it, by Welford's method. Valid if `integers` is set.
     * least_int, most_int, last_int: exact minimum, maximum and last value; rises: each value is
     * larger than the one before; ascends: larger by exactly 1. */
    double least, most, sum, middle, squares;
    int64_t least_int, most_int, last_int;
    bool rises, ascends;
    /* for CSV: the currency sign or % of the column's numbers so far, see dt_csv_symbol_agrees */
    uint32_t symbol;
    bool dates; /* all values so far are dates */
    /* unclear: some date may have its day or its month first; proved: another one shows which */
    bool unclear, proved;
    /* number of words, separated by spaces, in all values; bytes of the longest value */
    int64_t tokens, longest;
    /* [seen_cap] hash table with the hashes of different values, 0: free slot; NULL: no value so
     * far */
    uint64_t *seen;
    int64_t distinct, seen_cap;
    bool many;    /* there are more than `distinct` different values */
    char **shown; /* [n_shown] texts of the first records, NULL: missing value */
    int n_shown, shown_cap;
} dt_column;

/* A value of a column: its text, and its number if it is one. */
typedef struct dt_column_value {
    const char *text;
    bool number, integer;
    double real;   /* the value, if `number` is set */
    int64_t whole; /* the exact value, if `integer` is set */
    /* for CSV: the currency sign or % of the number; DT_CSV_PLAIN (csv_element.h): it has none */
    uint32_t symbol;
} dt_column_value;

/* All columns of a table. */
typedef struct dt_table {
    dt_column *v; /* [n] the columns, in file order */
    int n;
    int64_t records;
    int64_t wanted; /* number of first records whose texts are kept in dt_column.shown */
    bool header;    /* CSV: the first line has the names of columns */
    /* for CSV: the character between fields; ' ': any number of blanks; 0: the format is not CSV */
    char delimiter;
    char comment; /* for CSV: the character that begins comments; 0: the files have none */
    /* for CSV: decimal point and separator of thousands in numbers; 0: a point, and no separator */
    char decimal, thousands;
    bool symbols; /* for CSV: numbers have currency signs or % */
} dt_table;

void dt_column_init(dt_column *c, const char *name);
/* Adds a value that is not missing to the facts of a column. */
void dt_column_note(dt_column *c, const dt_column_value *v);
/* Keeps the text of record `row`, from 0, for display. Of a text of more than 4,096 bytes, it keeps
 * the beginning and adds "...". */
void dt_column_show(dt_column *c, int64_t row, const char *text, size_t n);
/* Writes `element`, with the columns that can be elements, to g->j, and notes about the others and
 * about conversions to g->notes. Fails with DATA_FILE if no column can be an element; if g->table
 * is set, a column with too many different texts is enough, too. Afterwards moves *t to g->table,
 * if that is set. */
dt_status *dt_table_put(dt_table *t, const dt_survey_request *g) DT_MUST_USE;
void dt_table_release(dt_table *t); /* a zeroed table is allowed */

#endif

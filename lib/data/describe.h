/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each column of a table holds, and how a job would use it: a job normalizes numbers, looks
 * categories up in a vocabulary and encodes them with one_hot, and imputes missing values. The
 * facts describe the file alone; missing values are not part of the minimum, maximum or mean.
 */
#ifndef DT_DATA_DESCRIBE_H
#define DT_DATA_DESCRIBE_H

#include "conf/conf.h"
#include "data/guess.h"
#include "graph/graph.h"

typedef enum dt_column_kind {
    DT_COLUMN_NUMBER,
    /* texts with at most 250 different values, of which some occur again or there are fewer than
     * 20 */
    DT_COLUMN_CATEGORY,
    DT_COLUMN_TEXT, /* texts with more than 250 different values, or at least 20 that all differ */
    DT_COLUMN_COUNTER,  /* 20 or more integers, each 1 more than the one before; none is missing */
    DT_COLUMN_CONSTANT, /* the same value in all records, of which there are several */
    DT_COLUMN_EMPTY,
    DT_COLUMN_UNFIT, /* values that cannot be an element; `why` has the reason */
} dt_column_kind;
const char *dt_column_kind_name(dt_column_kind k);

typedef struct dt_column_facts {
    const char *name, *element; /* name of the column, and a non-empty name for its element */
    int number;                 /* position of the column, from 0 */
    dt_column_kind kind;
    bool integers; /* all of the column's numbers are integers */
    /* shape of the list of numbers that each record has in this column; rank 0 for single values */
    dt_type shape;
    int64_t count, missing; /* number of records with a value, and number of records without one */
    int64_t distinct;       /* number of distinct values; of lists, of the numbers in them */
    /* the column has more distinct values than `distinct`, which stops counting at a limit */
    bool many;
    /* of the numbers in a column of kind number, counter or constant; NaN if unknown */
    double min, mean, max;
    /* sample standard deviation of these numbers; NaN if unknown */
    double deviation;
    int64_t min_int, max_int; /* exact minimum and maximum, if `integers` */
    bool rises;               /* each integer is larger than the one before */
    /* number of records with the most frequent value; 0: more than 250 distinct values */
    int64_t usual;
    /* dates: all texts are dates; unclear: they do not show whether the day or the month comes
     * first */
    bool dates, unclear;
    double tokens;        /* average number of words, separated by spaces, in a value */
    int64_t longest;      /* length of the longest text in bytes */
    dt_texts words;       /* distinct texts of a category or a constant, in byte order */
    const int64_t *times; /* [words.n] number of records with each text */
    /* [examples.n] values of the first records, as written; NULL for a missing value */
    dt_texts examples;
    /* the first value that is not a number, if at least two thirds of the values are; else NULL */
    const char *odd;
    const char *why; /* reason why a job leaves the column out; NULL: a job reads it */
    /* the column's entry in dataset.element, such as "{column: age}"; NULL if it is left out */
    const char *entry;
    /* the steps of the column's element in dataset.map, such as "[{impute: median}, normalize]";
     * NULL if it is left out */
    const char *steps;
} dt_column_facts;
/* Appends that a column's values are numbers, except c->odd, which is not NULL. */
void dt_column_put_odd(dt_str *out, const dt_column_facts *c);

typedef struct dt_table_facts {
    const dt_column_facts *column; /* [n] the columns of the table */
    int n;
    int64_t records;
    /* `dataset` of a job that reads the table; comments name the columns left out */
    const char *lines;
} dt_table_facts;

/* Describes the table whose format and columns were guessed into g. All results are in the
 * arena. */
void dt_table_describe(dt_arena *arena, const dt_guess *g, dt_table_facts *out);
/* Appends the first lines of the `dataset` mapping of a job that reads the table: its format, its
 * files, and how its fields are written. */
void dt_guess_put_head(const dt_guess *g, dt_str *out);
/* Like dt_guess_put_head, for array files: appends the format and the files by element. */
void dt_guess_put_arrays(const dt_guess *g, dt_str *out);
/* Appends a text so that YAML reads it back, with quotes if needed. */
void dt_put_word(dt_str *out, const char *text);

#endif

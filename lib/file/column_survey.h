/* SPDX-License-Identifier: Apache-2.0 */
/* What files of rows hold of which nothing is said: columns of integers, of numbers, or of texts,
 * whose vocabulary is what occurs, in the order of bytes. */
#ifndef DT_FILE_COLUMN_SURVEY_H
#define DT_FILE_COLUMN_SURVEY_H

#include "file/file.h"

enum { DT_MOST_COLUMNS = 1000 }; /* a mapping has 10,000 nodes at most */

typedef struct dt_column {
    char *name;
    bool integers, numbers; /* so far */
    int64_t fields, empty;
    int64_t texts; /* fields that are not numbers; the first of them */
    char *text;
    char **word; /* [words] sorted; of columns of texts */
    int words, cap;
    bool overflow; /* there are more */
    /* JSON: the shape of its lists of numbers, rank 0: it has none; why it cannot be an element */
    dt_type shape;
    const char *unfit;
    int64_t rows; /* that have it, not null */
} dt_column;

void dt_column_init(dt_column *c, const char *name);
/* A field that is not empty. */
void dt_column_note(dt_column *c, const char *text, bool number, bool integer);
/* `element` of all columns, and what there is to be said of them. DATA_FILE: none can be one. */
dt_status *dt_columns_put(const dt_column *c, int n, const dt_survey_request *g) DT_MUST_USE;
void dt_columns_release(dt_column *c, int n); /* takes NULL */

#endif

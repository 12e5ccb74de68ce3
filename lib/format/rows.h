/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes rows of outputs to files: determines the scores of a row and the columns that they become
 * in a file format (file/file.h). Rows are written batch by batch; standard output is flushed after
 * each batch.
 */
#ifndef DT_FORMAT_ROWS_H
#define DT_FORMAT_ROWS_H

#include "file/file.h"
#include "graph/tensor.h"

/* A selected score of a row, and its index. */
typedef struct dt_ranked {
    int64_t index;
    double value;
} dt_ranked;

struct dt_row_writer {
    int refs;
    dt_row_writer_options options;
    const dt_format *kind; /* the format of the file; NULL: rows become masks in a folder */
    dt_output out;
    dt_arena *arena;         /* owns the arrays below, except `ranked` and `score` */
    dt_element_spec *column; /* [out.n] the columns of the file */
    const void **row;        /* [out.n] addresses of the values of the current row */
    union dt_row_cell *cell; /* [out.n] memory for values converted to the type of their column */
    int64_t most_top;        /* the largest result of dt_row_top for any output */
    double *largest;         /* [2 * outputs * most_top] memory for class numbers and scores */
    dt_ranked *ranked;       /* [most_top] the selected scores of the current row */
    /* [n_joined] two texts for each output: the classes of a row, and their scores. */
    dt_str *joined;
    int n_joined;
    /* [largest dt_row_scores of any output] scores of the current row, for the current output */
    double *score;
};

/* Returns the number of values in a row of output o, as the model returns them. */
int64_t dt_row_values(const dt_predicted_rows *p, int o);
/* Returns the number of scores of a row of output o: one for each of its values. An output that is
 * a single label has one value and two scores: the probability that the label does not apply, and
 * the probability that it does. */
int64_t dt_row_scores(const dt_predicted_rows *p, int o);
/* Computes the scores of a row into w->score. */
void dt_row_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row);
/* Returns the name of score i of output o, lent; NULL: it has none. */
const char *dt_row_class(const dt_predicted_rows *p, int o, int64_t i);
/* Whether options.threshold decides between the classes of output o: it is set, and the output has
 * exactly two classes or is a single label. */
bool dt_row_is_decided(const dt_row_writer *w, const dt_predicted_rows *p, int o);
/* Returns the largest number of scores of output o that are selected for a row: 1 if a threshold
 * decides, all of them if options.classes_above lists classes, else options.top, but at most as
 * many as there are. 0: none are selected, so all are written; options.top is 0, or the output is a
 * single number. */
int64_t dt_row_top(const dt_row_writer *w, const dt_predicted_rows *p, int o);
/* Computes the row's scores into w->score and selects some into w->ranked: the largest first, NaN
 * last, and of equal scores the one with the lower index first; or only the class on which
 * options.threshold decides. Returns how many are selected, which options.classes_above can make
 * smaller than dt_row_top. */
int dt_row_rank(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row);
/* Writes each row as a mask (rows_json.c): a file in the folder options.path. */
dt_status *dt_row_masks_put(dt_row_writer *w, const dt_predicted_rows *p) DT_MUST_USE;
/* Writes a row as a line of JSON (rows_json.c). */
void dt_row_json(dt_row_writer *w, const dt_predicted_rows *p, int64_t row);

#endif

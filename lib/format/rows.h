/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of outputs as files: what scores a row has, and which columns they make in a format
 * (file/file.h). Rows are written as they come, a batch at a time; what goes to standard output is
 * there as soon as its batch is done.
 */
#ifndef DT_FORMAT_ROWS_H
#define DT_FORMAT_ROWS_H

#include "file/file.h"
#include "graph/tensor.h"

/* One of a row's largest values. */
typedef struct dt_ranked {
    int64_t index;
    double value;
} dt_ranked;

/* A value of CSV. */
typedef union dt_row_cell {
    float f;
    double d;
    int32_t i;
    char text[16]; /* of a number */
} dt_row_cell;

struct dt_row_writer {
    int refs;
    dt_row_writer_options options;
    const dt_format *kind;
    dt_output out;
    dt_arena *arena;         /* of what follows */
    dt_element_spec *column; /* [out.n] */
    const void **row;        /* [out.n] */
    dt_row_cell *cell;       /* [out.n] */
    double *largest;   /* [2 * outputs * options.top] room for numbers of classes and scores */
    dt_ranked *ranked; /* [options.top] */
    double *score;     /* of a row of an output */
};

/* Values of a row of output o, as the model gives them. */
int64_t dt_row_values(const dt_predicted_rows *p, int o);
/* Scores of a row of output o, for readers: its values; of classes and labels their probabilities,
 * of a lone label those of no and yes. */
int64_t dt_row_scores(const dt_predicted_rows *p, int o);
/* Those of a row into w->score. */
void dt_row_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row);
/* The name of score i, lent; NULL: it has none. */
const char *dt_row_class(const dt_predicted_rows *p, int o, int64_t i);
/* How many of the largest scores of output o to write; 0: all, as of an output that is one number,
 * and of no class. */
int64_t dt_row_top(const dt_row_writer *w, const dt_predicted_rows *p, int o);
/* The row's scores into w->score, the largest into w->ranked, at most options.top; of equal ones
 * the first. Their number. */
int dt_row_rank(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row);
/* A row as a line of JSON (rows_json.c). */
void dt_row_json(dt_row_writer *w, const dt_predicted_rows *p, int64_t row);

#endif

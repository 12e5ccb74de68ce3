/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of outputs as files: CSV, NPY, NPZ, JSON lines; a file and a row in kinds.h each. Rows are written as they come, a batch at a time, through the
 * one seam for writing, and a file has its name only when it is whole; what goes to standard output is there as soon as its batch is done.
 */
#ifndef DT_FORMAT_ROWS_ROWS_H
#define DT_FORMAT_ROWS_ROWS_H

#include "base/file.h"
#include "strategy/values.h"

typedef struct dt_row_kind {
    const char *name, *suffix;     /* "jsonl", ".jsonl" */
    bool only_files;               /* standard output has no place to go back to */
    /* Before the first rows, whose types are known then. */
    dt_status *(*begin)(dt_row_writer *w, const dt_predicted_rows *p);
    void (*row)(dt_row_writer *w, const dt_predicted_rows *p, int64_t i);
    dt_status *(*flush)(dt_row_writer *w);  /* rows at hand to where they belong; NULL: they are w->text, which goes into the file */
    dt_status *(*finish)(dt_row_writer *w); /* NULL: nothing is left to do */
    void (*release)(dt_row_writer *w);      /* of w->state, if it was made; NULL: there is none */
} dt_row_kind;

/* One of a row's largest values. */
typedef struct dt_ranked {
    int64_t index;
    double value;
} dt_ranked;

struct dt_row_writer {
    int refs;
    const dt_row_kind *kind;
    dt_row_writer_options options;
    dt_writer file;
    char *path, *temporary;        /* NULL: standard output */
    bool begun;
    int64_t rows;
    dt_str text;                   /* of the batch at hand */
    dt_type type;                  /* NPY: of all */
    size_t head;                   /* NPY: bytes of the header */
    dt_ranked *ranked;             /* [options.top] */
    double *score;                 /* of a row of an output */
    void *state;                   /* NPZ: its arrays */
};

/* Values of a row of output o, as the model gives them. */
int64_t dt_row_values(const dt_predicted_rows *p, int o);
/* Scores of a row of output o, for readers: its values; of classes and labels their probabilities, of a lone label those of no and yes. */
int64_t dt_row_scores(const dt_predicted_rows *p, int o);
/* Those of a row into w->score. */
void dt_row_score(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row);
/* The name of score i, lent; NULL: it has none. */
const char *dt_row_class(const dt_predicted_rows *p, int o, int64_t i);
/* How many of the largest scores of output o to write; 0: all, as of an output that is one number, and of no class. */
int64_t dt_row_top(const dt_row_writer *w, const dt_predicted_rows *p, int o);
/* w->score[i] as decimal digits that read back as it is; `none` where it is not finite. */
void dt_row_print(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t i, const char *none);
/* The row's scores into w->score, the largest into w->ranked, at most options.top; of equal ones the first. Their number. */
int dt_row_rank(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row);

#endif

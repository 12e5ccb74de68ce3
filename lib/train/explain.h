/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explaining an evaluation (dt_evaluation): explain.c runs the examples through the model once
 * more, explain_collect.c counts them, explain_result.c makes scores and curves of the counts. The
 * first worker gets all examples in order, so the numbers do not depend on who computed them.
 *
 * Memory is bounded for any number of examples: see spread.h; per class three numbers, and at most
 * 1,048,576 pairs of confused classes (32 MiB).
 */
#ifndef DT_TRAIN_EXPLAIN_H
#define DT_TRAIN_EXPLAIN_H

#include "train/spread.h"
#include "train/train.h"

enum {
    DT_MOST_WORST = 10,
    DT_MOST_SHOWN = 20,   /* confusions; and classes whose matrix is given whole */
    DT_CALIBRATION = 10,  /* bins */
    DT_MOST_COLUMNS = 16, /* most columns of an output of values that are explained */
};

/* The number of examples of class key >> 32 that were taken for class key & 0xffffffff. */
typedef struct dt_pair_count {
    uint64_t key; /* plus 1; 0: empty */
    int64_t count;
} dt_pair_count;

typedef struct dt_tallied_class {
    int64_t support, predicted, hits;
} dt_tallied_class;

typedef struct dt_tallied_column {
    dt_spread errors;
    double error, absolute, squared;   /* sums over errors */
    double target_mean, target_spread; /* Welford's: of the squares about the mean */
} dt_tallied_column;

/* The counts of an output. */
typedef struct dt_explained_tally {
    bool is_open;
    dt_explained_as as;
    bool logits, pair; /* binary: scores before sigmoid; of a softmax of two */
    int loss, target;  /* indices of the loss and the target in the results; -1: none */
    int64_t width;     /* numbers of the output per example */
    bool one_hot;      /* targets have `width` numbers, too */
    bool ignores;      /* classes: the loss ignores the examples of class `ignored` */
    int64_t ignored;
    int64_t n_classes, examples, right;
    dt_tallied_class *class; /* [n_classes] */
    dt_pair_count *pair_count;
    int64_t n_pairs, n_slots;
    dt_spread scores; /* binary: of class 1, as the model gives them */
    double squares;   /* binary: of probability - class */
    struct {
        double sum;
        int64_t count, positive;
    } bin[DT_CALIBRATION];
    dt_tallied_column *column; /* [width] */
    int n_worst;
    dt_worst_example worst[DT_MOST_WORST];
} dt_explained_tally;

/* ---- explain_collect.c ---- */

/* Whether an output of this type, (B, ...), can be explained by targets of that one. */
bool dt_can_explain(const dt_type *output, const dt_type *target);
/* Decides from the meaning of the output what is counted. */
void dt_tally_open(dt_explained_tally *t, const dt_output_meaning *meaning, const dt_type *output,
                   const dt_type *target);
/* Counts rows: the output's and the target's values. losses NULL: there are none. */
typedef struct dt_explained_rows {
    int64_t first, n;
    const float *output, *target, *loss; /* (n, ...), (n, ...), (n) */
} dt_explained_rows;
dt_status *dt_tally_rows(dt_explained_tally *t, const dt_explained_rows *rows) DT_MUST_USE;
void dt_explained_tally_release(dt_explained_tally *t);

/* ---- explain_result.c ---- */

extern const double dt_error_quantiles[DT_ERROR_QUANTILES];

dt_status *dt_tally_explain(dt_explained_tally *t, const dt_texts *names, dt_threshold_score best,
                            dt_arena *arena, dt_output_explained *out) DT_MUST_USE;

#endif

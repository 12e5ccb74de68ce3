/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explaining an evaluation (dt_evaluation): explain.c runs the examples through the model once
 * more and counts them, explain_result.c makes scores and curves of the counts. The
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
    /* at most this many confused pairs are listed; with more classes the matrix is left out */
    DT_MOST_SHOWN = 20,
    DT_CALIBRATION = 10,  /* number of intervals of probability for which calibration is computed */
    DT_MOST_COLUMNS = 16, /* an output of values with more columns is not explained */
};

/* The number of examples of class key >> 32 that were taken for class key & 0xffffffff. */
typedef struct dt_pair_count {
    uint64_t key; /* the pair plus 1; 0: this place of the table is empty */
    int64_t count;
} dt_pair_count;

typedef struct dt_tallied_class {
    int64_t support, predicted, hits;
} dt_tallied_class;

typedef struct dt_tallied_column {
    dt_spread errors;
    double error, absolute, squared;   /* sums of errors, absolute errors and squared errors */
    double target_mean, target_spread; /* mean, and sum of squares about it, by Welford's method */
} dt_tallied_column;

/* The counts of an output. */
typedef struct dt_explained_tally {
    bool is_open;
    dt_explained_as as;
    /* binary outputs: the scores are before the sigmoid; the output is a softmax of two values */
    bool logits, pair;
    int loss, target; /* indices of the loss and the target in the results; -1: none */
    int64_t width;    /* numbers of the output per example */
    bool one_hot;     /* the targets are one-hot, with `width` numbers, too */
    bool ignores;     /* outputs of classes: the loss ignores the examples of class `ignored` */
    int64_t ignored;
    int64_t n_classes, examples, right;
    dt_tallied_class *class; /* [n_classes] the counts of each class */
    dt_pair_count *pair_count;
    int64_t n_pairs, n_slots;
    dt_spread scores; /* binary outputs: the scores of class 1 as the model returns them */
    double squares;   /* binary outputs: sum of squares of probability minus class */
    struct {
        double sum;
        int64_t count, positive;
    } bin[DT_CALIBRATION];
    dt_tallied_column *column; /* [width] outputs of values */
    int n_worst;
    dt_worst_example worst[DT_MOST_WORST];
} dt_explained_tally;

/* explain_result.c: makes scores and curves of the counts, in the arena. */
dt_status *dt_tally_explain(dt_explained_tally *t, const dt_texts *names, dt_threshold_score best,
                            dt_arena *arena, dt_output_explained *out) DT_MUST_USE;

#endif

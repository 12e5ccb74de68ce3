/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explaining an evaluation (dt_evaluation): explain.c runs the examples through the model once more
 * and counts them, explain_result.c computes scores and curves from the counts. The first worker
 * gets the outputs of all examples in order, so the counts do not depend on which worker computed
 * an output.
 *
 * Memory is bounded for any number of examples: distributions of scores and errors are (spread.h),
 * each class takes three numbers, and at most 1,048,576 pairs of a true and a predicted class are
 * counted (32 MiB).
 */
#ifndef DT_TRAIN_EXPLAIN_H
#define DT_TRAIN_EXPLAIN_H

#include "train/spread.h"
#include "train/train.h"

enum {
    DT_MOST_WORST = 10,
    /* At most this many pairs of confused classes are listed. With more classes than this, the
     * confusion matrix is left out. */
    DT_MOST_SHOWN = 20,
    DT_CALIBRATION = 10,  /* number of intervals of probability for which calibration is computed */
    DT_MOST_COLUMNS = 16, /* an output of values with more columns is not explained */
};

/* The number of examples with this pair of a true and a predicted class, which may be equal. The
 * pair is `key` - 1: the true class in the upper 32 bits, the predicted one in the lower. */
typedef struct dt_pair_count {
    uint64_t key; /* the pair of classes, plus 1; 0: this entry of the hash table is empty */
    int64_t count;
} dt_pair_count;

typedef struct dt_tallied_class {
    int64_t support, predicted, hits;
} dt_tallied_class;

typedef struct dt_tallied_column {
    dt_spread errors;
    double error, absolute, squared; /* sums of errors, absolute errors and squared errors */
    /* mean of the targets, and the sum of squared differences from it (Welford's method) */
    double target_mean, target_spread;
} dt_tallied_column;

/* The counts of one output, from which its scores are computed. */
typedef struct dt_explained_tally {
    bool is_open;
    dt_explained_as as;
    /* logits: scores are before the sigmoid or softmax. pair: the output has two classes and a
     * value for each, those of a softmax, not a single value. */
    bool logits, pair;
    /* loss, target: indices of the output's loss and target among the results of the step; -1:
     * none */
    int loss, target;
    int64_t width; /* number of values of the output per example */
    /* whether a target is a vector of `width` > 1 numbers; for classes, it is one-hot */
    bool one_hot;
    /* for outputs of classes: whether the loss ignores the examples of class `ignored` */
    bool ignores;
    int64_t ignored;
    int64_t n_classes, examples, right;
    dt_tallied_class *class; /* [n_classes] the counts of each class */
    dt_pair_count *pair_count;
    int64_t n_pairs, n_slots;
    /* for outputs of two classes: the score of each example, which grows with the probability of
     * class 1 (binary_score) */
    dt_spread scores;
    /* for outputs of two classes: the sum of (probability of class 1 - class)^2, for the Brier
     * score */
    double squares;
    struct {
        double sum;
        int64_t count, positive;
    } bin[DT_CALIBRATION];
    dt_tallied_column *column; /* [width] for outputs of values: the counts of each column */
    int n_worst;
    dt_worst_example worst[DT_MOST_WORST];
} dt_explained_tally;

/* explain_result.c: computes scores and curves from the counts, in the arena. */
dt_status *dt_tally_explain(dt_explained_tally *t, const dt_texts *names, dt_threshold_score best,
                            dt_arena *arena, dt_output_explained *out) DT_MUST_USE;

#endif

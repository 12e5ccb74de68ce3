/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of right and wrong decisions at each of T thresholds, over outputs of all examples, times
 * their weights:
 *
 *     true positives [T], false positives [T], true negatives [T], false negatives [T]
 *
 * An output above the threshold counts as 1, and so does a label that is not 0. With by_class each
 * of these is [T][C].
 */
#ifndef DT_MODEL_METRIC_CONFUSION_H
#define DT_MODEL_METRIC_CONFUSION_H

#include "model/model.h"

typedef struct dt_confusion_plan {
    int n; /* number of thresholds */
    const double *threshold;
    int64_t top_k;    /* only the k largest of a sample's outputs can count as 1; 0: no limit */
    int64_t class_id; /* the only class that is counted; -1: all classes are */
    /* whether each class of predictions (B, C) is counted by itself, instead of all together; then
     * class_id is checked, but selects nothing */
    bool by_class;
    const double *class_weight; /* [C]: how much each output of a class counts; NULL: 1 */
} dt_confusion_plan;

/* Adds four parts to the metric: true positives, false positives, true negatives and false
 * negatives. The trace fails if class_id is not a class. */
void dt_confusion_emit(const dt_confusion_plan *plan, dt_metric_parts *m);
/* Returns n thresholds from 0 to 1, in equal steps; n 1: only 0.5. The array is in `arena`. */
double *dt_confusion_even(dt_arena *arena, int n);
dt_value dt_in_one_row(dt_value x);  /* Reshapes x to one dimension, (N). */
double dt_ratio(double a, double b); /* a / b, or 0 if b is 0 */

#endif

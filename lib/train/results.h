/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the results of steps to the numbers of an epoch. Every number is a function of sums over
 * examples. They are added up in double, so that a number depends on how the data is divided into
 * batches only by rounding, or if a loss is one number for a batch or compares its examples. An
 * array has all sums, in this order:
 *
 *   for each output with a loss   the sum of losses, and the sum that divides it; a loss of
 *                                 the whole batch counts once for each example
 *   for all outputs together      the penalty of the weights, once for each example, and the
 *                                 sum of the losses that layers add
 *   for each metric               a mean: a sum, and what it is divided by; other metrics: their
 *                                 parts, one after the other
 *
 * If a step does not return a divisor, the number of examples is used.
 */
#ifndef DT_TRAIN_RESULTS_H
#define DT_TRAIN_RESULTS_H

#include "train/train.h"

#define DT_NO_SLOT (-1)

typedef struct dt_sum_layout {
    /* n: number of all sums; n_losses: number of the sums of losses, which come first */
    int n, n_losses;
    /* index of the first sum of each output's loss; DT_NO_SLOT: the output has no loss */
    int loss[DT_MAX_OUTPUTS];
    int penalty;
    /* metric: index of each metric's first sum; width: number of the metric's sums */
    int metric[DT_MAX_METRICS], width[DT_MAX_METRICS];
} dt_sum_layout;

/* The sums to which the results of a step are added. */
typedef struct dt_tally {
    /* slot: [n] index of the first sum of each result; DT_NO_SLOT: the result is not added to a
     * sum */
    int n, *slot;
    /* [n] whether the result is one number for the batch, which counts once per example */
    bool *repeats;
    int n_counted, *counted; /* counted: [n_counted] indices of the sums that count examples */
} dt_tally;

/* Names of a step's results, valid as long as `arena`. k: the number of a metric's part, or
 * DT_DIVISOR for the divisor of a mean. */
enum { DT_DIVISOR = -1 };
const char *dt_loss_result(dt_arena *arena, const dt_compile_spec *c, int output);
/* Returns the name of the result for a loss that is computed over the whole batch. */
const char *dt_whole_result(dt_arena *arena, const dt_compile_spec *c, int output);
const char *dt_weight_result(dt_arena *arena, const dt_compile_spec *c, int output);
const char *dt_metric_result(dt_arena *arena, const dt_compile_spec *c, int metric, int k);
/* Returns the name of the result with the targets of an output as float32. */
const char *dt_target_result(dt_arena *arena, int output);
#define DT_PENALTY_RESULT "penalty" /* name of the result with the regularization of weights */
/* name of the result with the penalties on outputs and the losses that layers add, summed over
 * examples */
#define DT_ACTIVITY_RESULT "activity"

/* Lays out the sums for the results of `step`. */
void dt_sum_layout_make(dt_sum_layout *l, dt_arena *arena, const dt_compile_spec *c,
                        const dt_graph *step);
void dt_tally_make(dt_tally *t, dt_arena *arena, const dt_sum_layout *l, const dt_compile_spec *c,
                   const dt_graph *step);
/* Adds the results of a batch of `rows` rows to the sums whose index is below `most`. */
void dt_tally_add(const dt_tally *t, const dt_view *result, int64_t rows, int most, double *sum);
/* Returns an error, located at the metric, if the metric cannot be computed from such sums. */
dt_status *dt_sum_layout_check(const dt_sum_layout *l, const dt_compile_spec *c,
                               const double *sum) DT_MUST_USE;
/* Returns the sum of penalties and of layers' losses / examples plus, for each output with a loss,
 * the output's loss weight * the sum of its losses / its divisor. A quotient whose divisor is 0
 * counts as 0. */
double dt_sum_layout_loss(const dt_sum_layout *l, const dt_compile_spec *c, const double *sum,
                          double examples);
/* Writes the losses and the metrics to `out`, in the order of dt_compile_keys. Returns their
 * number. */
int dt_sum_layout_values(const dt_sum_layout *l, const dt_compile_spec *c, const dt_sums *s,
                         double *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the results of steps to the numbers of an epoch. Every number is a function of sums over
 * examples, added up in double, so none depends on how data divides into batches. The sums are in
 * one row:
 *
 *     of each output with a loss   sum of the losses, what they are divided by; a loss of the whole
 *                                  batch counts once for each example
 *     of all                       what is added to the loss, once for each example
 *     of each metric               a mean: sum, what it is divided by; else its parts, one after
 *                                  the other
 *
 * What a step does not return of divisors is the number of examples.
 */
#ifndef DT_TRAIN_RESULTS_H
#define DT_TRAIN_RESULTS_H

#include "train/train.h"

#define DT_NO_SLOT (-1)

typedef struct dt_sum_layout {
    int n, n_losses;          /* number of all sums; of sums of losses, which come first */
    int loss[DT_MAX_OUTPUTS]; /* the first sum of an output's loss; DT_NO_SLOT: it has none */
    int penalty;
    /* the first sum of a metric, and the number of its sums */
    int metric[DT_MAX_METRICS], width[DT_MAX_METRICS];
} dt_sum_layout;

/* The sums to which a step's results are added. */
typedef struct dt_tally {
    int n, *slot;            /* [n] the first sum of each result; DT_NO_SLOT: not a sum */
    bool *repeats;           /* [n] the result is added once per example */
    int n_counted, *counted; /* sums that count examples */
} dt_tally;

/* Names of a step's results, in `arena`. k: the number of a metric's part, or DT_DIVISOR. */
enum { DT_DIVISOR = -1 };
const char *dt_loss_result(dt_arena *arena, const dt_compile_spec *c, int output);
/* The result of a loss that is computed over the whole batch. */
const char *dt_whole_result(dt_arena *arena, const dt_compile_spec *c, int output);
const char *dt_weight_result(dt_arena *arena, const dt_compile_spec *c, int output);
const char *dt_metric_result(dt_arena *arena, const dt_compile_spec *c, int metric, int k);
/* The result with the targets of an output as float32. */
const char *dt_target_result(dt_arena *arena, int output);
#define DT_PENALTY_RESULT "penalty"   /* the regularization of weights */
#define DT_ACTIVITY_RESULT "activity" /* the regularization of activities, summed over examples */

/* Lays out the sums for the results of `step`. */
void dt_sum_layout_make(dt_sum_layout *l, dt_arena *arena, const dt_compile_spec *c,
                        const dt_graph *step);
void dt_tally_make(dt_tally *t, dt_arena *arena, const dt_sum_layout *l, const dt_compile_spec *c,
                   const dt_graph *step);
/* Adds a batch's results to the first `most` sums. */
void dt_tally_add(const dt_tally *t, const dt_view *result, int64_t rows, int most, double *sum);
/* An error, located at the metric, where the metric's row refuses the sums. */
dt_status *dt_sum_layout_check(const dt_sum_layout *l, const dt_compile_spec *c,
                               const double *sum) DT_MUST_USE;
/* The loss computed from the sums. */
double dt_sum_layout_loss(const dt_sum_layout *l, const dt_compile_spec *c, const double *sum,
                          double examples);
/* Writes all values to `out`, in the order of dt_compile_keys. Returns their number. */
int dt_sum_layout_values(const dt_sum_layout *l, const dt_compile_spec *c, const dt_sums *s,
                         double *out);

#endif

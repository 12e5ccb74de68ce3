/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the results of steps to the numbers of an epoch. Every number is a function of sums over
 * examples, added up in double, so none depends on how data divides into batches. The sums are in
 * one row:
 *
 *     of each output with a loss   sum of the losses, what they are divided by; a loss of the whole batch counts once for each example
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
    int n, n_losses;          /* sums in all; those of losses, which come first */
    int loss[DT_MAX_OUTPUTS]; /* the first sum of an output's loss; DT_NO_SLOT: it has none */
    int penalty;
    int metric[DT_MAX_METRICS], width[DT_MAX_METRICS]; /* the first sum, and how many */
} dt_sum_layout;

/* Where the results of one step go. */
typedef struct dt_tally {
    int n, *slot;            /* [n] of each result its first sum; DT_NO_SLOT: it is none */
    bool *repeats;           /* [n] the result counts for each example */
    int n_counted, *counted; /* sums that count examples */
} dt_tally;

/* Names of results, in `arena`. k: of a metric's parts, or its divisor. */
enum { DT_DIVISOR = -1 };
const char *dt_loss_result(dt_arena *arena, const dt_compile_spec *c, int output);
/* of a loss that is one number for the batch */
const char *dt_whole_result(dt_arena *arena, const dt_compile_spec *c, int output);
const char *dt_weight_result(dt_arena *arena, const dt_compile_spec *c, int output);
const char *dt_metric_result(dt_arena *arena, const dt_compile_spec *c, int metric, int k);
#define DT_PENALTY_RESULT "penalty"   /* what weights add to the loss */
#define DT_ACTIVITY_RESULT "activity" /* what values of layers add, a sum over examples */

/* The sums of a step of these results. */
void dt_sum_layout_make(dt_sum_layout *l, dt_arena *arena, const dt_compile_spec *c,
                        const dt_graph *step);
void dt_tally_make(dt_tally *t, dt_arena *arena, const dt_sum_layout *l, const dt_compile_spec *c,
                   const dt_graph *step);
/* Adds a batch's results to the first `most` sums. */
void dt_tally_add(const dt_tally *t, const dt_view *result, int64_t rows, int most, double *sum);
/* What a metric's row says is wrong with its sums, at the metric's place. */
dt_status *dt_sum_layout_check(const dt_sum_layout *l, const dt_compile_spec *c,
                               const double *sum) DT_MUST_USE;
/* The loss that sums say. */
double dt_sum_layout_loss(const dt_sum_layout *l, const dt_compile_spec *c, const double *sum,
                          double examples);
/* All values, in the order of dt_compile_keys; their number. */
int dt_sum_layout_values(const dt_sum_layout *l, const dt_compile_spec *c, const dt_sums *s,
                         double *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a step: forward.c computes the outputs, step_results.c losses and metrics, step.c
 * gradients. */
#ifndef DT_TRAIN_FORWARD_H
#define DT_TRAIN_FORWARD_H

#include "train/trainer.h"

/* Of one output. */
typedef struct dt_term {
    dt_value target, prediction;
    dt_value counts; /* what examples, or their samples, count; no trace: each 1 */
    /* bools, of the predictions without their last dimension: samples that count at all; no
     * trace: all */
    dt_value mask;
    /* (B): one loss per example, times what it counts; no trace: the output has no loss */
    dt_value rows;
    /* (B): what the sum of rows is divided by the sum of; no trace: each counts 1 */
    dt_value divisor;
    /* a scalar, the same on all replicas: the loss of the whole batch; the sum of rows then has
     * its gradient, not its value */
    dt_value whole;
} dt_term;

/* A term for each output, and one more for what values of layers add to the loss: rows alone. */
typedef struct dt_forward {
    int n;
    dt_term of[DT_MAX_OUTPUTS + 1];
    dt_value penalty; /* of the weights: a scalar, the same on all replicas; no trace: none */
} dt_forward;

/* training: as fit has it; else as evaluate. */
dt_forward dt_forward_emit(dt_trace *trace, const dt_trainer *t, bool training);

/* What there is of each example, before anything is summed over replicas. */
void dt_return_rows(dt_trace *trace, const dt_trainer *t, const dt_forward *f);

/* Sums over all replicas: losses, metrics, and what both are divided by. */
void dt_return_sums(dt_trace *trace, const dt_trainer *t, const dt_forward *f);

/* a + b; a may be no value yet. */
dt_value dt_plus(dt_value a, dt_value b);

#endif

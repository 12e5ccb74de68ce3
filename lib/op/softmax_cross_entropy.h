/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that softmax_cross_entropy and its gradient share. */
#ifndef DT_OP_SOFTMAX_CROSS_ENTROPY_H
#define DT_OP_SOFTMAX_CROSS_ENTROPY_H

#include "op/partition.h"

/* Checks constraints (C1) to (C3); *row is the type of a value with one number for each row of
 * logits. */
dt_status *dt_xent_infer(const dt_infer *q, dt_type *row) DT_MUST_USE;

/* One row of logits, with the numbers that both ops need. */
typedef struct dt_xent_row {
    const dt_view *logits;
    int64_t at, classes; /* offset of the row's first cell, and number of its cells */
    double max, sum;     /* maximum of the logits; sum of e^(z - max) */
} dt_xent_row;
dt_xent_row dt_xent_row_at(const dt_view *logits, int64_t row);
/* Returns the target's y for class j of row `row`. An integer target is 1 for its class, else 0; if
 * it is outside [0, classes), the result is NaN for all j. */
double dt_xent_target(const dt_view *target, const dt_xent_row *r, int64_t row, int64_t j);

/* How softmax_cross_entropy and its gradient are divided over devices (op/partition.h). */
extern const dt_partition_row dt_xent_over_devices, dt_xent_grad_over_devices;
dt_value dt_xent_grad_decompose(dt_partition_call *c);

#endif

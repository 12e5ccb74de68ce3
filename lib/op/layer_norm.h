/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that layer_norm and its gradients share. */
#ifndef DT_OP_LAYER_NORM_H
#define DT_OP_LAYER_NORM_H

#include "op/partition.h"

/* Checks constraints (C1) and (C2): x has rows of a fixed number of features, and input `vector`
 * (-1: none) has one number for each feature. */
dt_status *dt_norm_check(const dt_infer *q, int vector) DT_MUST_USE;
/* Sets one factor for each dimension of x, which is input 0, except the last. */
void dt_norm_rule_rows(const dt_type *x, int8_t *factors);
void dt_norm_print(const void *attr, dt_str *out);

/* The statistics of a row of x. */
typedef struct dt_norm_row {
    int64_t at, n;        /* offset of the row's first cell, and number of its cells */
    double mean, inverse; /* mean of the row; inverse: 1 / sqrt(variance + epsilon) */
} dt_norm_row;
dt_norm_row dt_norm_row_of(const dt_view *x, int64_t row, double epsilon);
/* Returns feature i of the row, minus the mean, times `inverse`. */
double dt_norm_cell(const dt_view *x, const dt_norm_row *r, int64_t i);

/* Emits layer_norm(x, 1, 0). */
dt_value dt_norm_plain(dt_value x, double epsilon);

/* How layer_norm, the gradient of its x and those of its scale are divided over devices
 * (op/partition.h). */
extern const dt_partition_row dt_norm_over_devices, dt_norm_grad_over_devices,
    dt_norm_scale_grad_over_devices;
dt_value dt_norm_grad_decompose(dt_partition_call *c);
dt_value dt_norm_scale_grad_decompose(dt_partition_call *c);

#endif

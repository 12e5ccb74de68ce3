/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that estimate the time of a kernel. */
#ifndef DT_COST_CORE_IMPL_H
#define DT_COST_CORE_IMPL_H

#include "cost/cost.h"

#define DT_FIRST_BYTES 2e6 /* bytes of operands that must be read before a product can begin */
#define DT_LAST_BYTES 1e6  /* bytes of results that are written after a product has ended */

/* The cycles that a product needs on a device, if its matrix units run at their full rate. */
typedef struct dt_product_cycles {
    double matrix, result;
} dt_product_cycles;
dt_product_cycles dt_core_product(const dt_core *c, const dt_matrix_work *p);

/* Returns the bytes of a kernel whose transfer does not overlap with computing. */
double dt_core_fill_bytes(double bytes);
/* Returns the time of three parts that run in parallel: that of the longest part, and somewhat more
 * if two of them take similar times. */
double dt_core_norm(double a, double b, double c);

#endif

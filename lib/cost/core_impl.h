/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that price a kernel. */
#ifndef DT_COST_CORE_IMPL_H
#define DT_COST_CORE_IMPL_H

#include "cost/cost.h"

#define DT_FIRST_BYTES 2e6 /* bytes of operands that must arrive before a product can begin */
#define DT_LAST_BYTES 1e6  /* bytes of results that leave after it has ended */

/* Cycles of a device, at all of the matrix units' rate. */
typedef struct dt_product_cycles {
    double matrix, result;
} dt_product_cycles;
dt_product_cycles dt_core_product(const dt_core *c, const dt_matrix_work *p);

/* The bytes of a kernel whose transfer is not hidden behind computation. */
double dt_core_fill_bytes(double bytes);
/* The time of three parts that run side by side: the longest, and somewhat more where two are
 * similar. */
double dt_core_norm(double a, double b, double c);

#endif

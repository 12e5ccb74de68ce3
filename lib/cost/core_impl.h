/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a kernel's price share. */
#ifndef DT_COST_CORE_IMPL_H
#define DT_COST_CORE_IMPL_H

#include "cost/cost.h"

#define DT_FIRST_BYTES 2e6 /* of operands, which arrive before a product can begin */
#define DT_LAST_BYTES 1e6  /* of results, which leave when it is done */

/* Cycles of a device, at all of the matrix units' rate. */
typedef struct dt_product_cycles {
    double matrix, result;
} dt_product_cycles;
dt_product_cycles dt_core_product(const dt_core *c, const dt_matrix_work *p);

/* Of the bytes of a kernel, those that nothing hides. */
double dt_core_fill_bytes(double bytes);
/* What runs side by side: the longest, and somewhat more where two are alike. */
double dt_core_norm(double a, double b, double c);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that convolution, segment_convolution and the kernel of the executor share. */
#ifndef DT_OP_CONVOLUTION_H
#define DT_OP_CONVOLUTION_H

#include "op/partition.h"
#include "op/stablehlo.h"

void dt_convolution_rule(const dt_type *in, const dt_convolution_attr *a, dt_rule *rule);
/* Evaluates a convolution by its definition. All views are concrete. */
void dt_convolution_eval(const dt_convolution_attr *a, const dt_view *lhs, const dt_view *rhs,
                         const dt_view *out);

/* ---- over devices (convolution_split.c) ---- */

extern const dt_partition_row dt_convolution_over_devices;
/* Exchanges the elements that windows of a device need from its neighbours and sets c->in[0]. `out`
 * is the type of the whole result. Returns the attributes of the device's own convolution. */
dt_convolution_attr dt_convolution_split(dt_partition_call *c, const dt_convolution_attr *a,
                                         const dt_type *out);

#endif

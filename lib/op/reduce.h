/* SPDX-License-Identifier: Apache-2.0 */
/* What reduce and segment_reduce share. `x` and `y` are concrete. */
#ifndef DT_OP_REDUCE_H
#define DT_OP_REDUCE_H

#include "op/op.h"

/* Constraints (C1) and (C2) of reduce; *out is the type of the result. */
dt_status *dt_reduce_infer(const dt_infer *q, const dt_reduce_attr *a, dt_type *out) DT_MUST_USE;
void dt_reduce_eval(const dt_reduce_attr *a, const dt_view *x, const dt_view *y);
void dt_reduce_cost(const dt_call *c, dt_cost *cost);
void dt_reduce_print(const dt_reduce_attr *a, dt_str *out); /* "sum dims=[0,2]" */

#endif

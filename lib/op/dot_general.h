/* SPDX-License-Identifier: Apache-2.0 */
/* What dot_general and segment_dot_general share. Views are concrete. */
#ifndef DT_OP_DOT_GENERAL_H
#define DT_OP_DOT_GENERAL_H

#include "op/op.h"
#include "op/stablehlo.h"

/* Constraints (C1) to (C3) of dot_general; *out is the type of the result, whose rank may be too
 * large still. */
dt_status *dt_dot_infer(const dt_infer *q, const dt_dot_attr *d, dt_type *out) DT_MUST_USE;
void dt_dot_rule(const dt_type *in, const dt_dot_attr *d, dt_rule *rule);
void dt_dot_eval(const dt_dot_attr *d, const dt_view *a, const dt_view *b, const dt_view *y);
void dt_dot_cost(const dt_dot_attr *d, const dt_call *c, dt_cost *cost);
void dt_dot_print(const dt_dot_attr *d, dt_str *out); /* "contracting [1]x[0]" */
dt_hlo_value dt_dot_hlo(dt_hlo *h, const dt_dot_attr *d, const dt_hlo_value in[2],
                        const dt_type *type);

/* dot_general's gradient (dot_general_grad.c). */
void dt_dot_grad(dt_grad *g);

/* The dimensions of an operand that are neither batch nor contracted, in order; their count. */
int dt_dot_free(const dt_type *t, const dt_dot_attr *d, bool is_rhs, int8_t list[DT_MAX_RANK]);

#endif

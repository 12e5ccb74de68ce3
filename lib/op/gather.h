/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that gather and its form over devices share. */
#ifndef DT_OP_GATHER_H
#define DT_OP_GATHER_H

#include "op/partition.h"

/* Checks constraints (C1) and (C2) for inputs 0 and 1. Sets *out to the type of the result, which
 * may break (C3). */
dt_status *dt_gather_infer(const dt_infer *q, dt_type *out) DT_MUST_USE;
void dt_gather_rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);
/* Evaluates gather, where in[0] holds the rows from index `first` on of a table of `rows` rows.
 * Rows of the table that in[0] lacks are 0. A number outside [0, rows) gives NaN, or 0 for
 * integers, and is reported in c->env->refusal, if there is one. */
void dt_gather_eval(const dt_call *c, int64_t first, int64_t rows);
void dt_gather_cost(const dt_call *c, dt_cost *cost);

#endif

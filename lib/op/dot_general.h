/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of dot_general. */
#ifndef DT_OP_DOT_GENERAL_H
#define DT_OP_DOT_GENERAL_H

#include "op/op.h"
#include "op/stablehlo.h"

/* The StableHLO form of dot_general (dot_stablehlo.c). */
dt_hlo_value dt_dot_stablehlo(const dt_hlo_call *c);

/* The dimensions of an operand that are neither batch nor contracted, in order; their count. */
int dt_dot_free(const dt_type *t, const dt_dot_attr *d, bool is_rhs, int8_t list[DT_MAX_RANK]);

#endif

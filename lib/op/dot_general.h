/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of dot_general share. */
#ifndef DT_OP_DOT_GENERAL_H
#define DT_OP_DOT_GENERAL_H

#include "op/op.h"
#include "op/stablehlo.h"

/* The StableHLO form of dot_general (dot_stablehlo.c). */
dt_hlo_value dt_dot_stablehlo(const dt_hlo_call *c);

/* Lists the dimensions of an operand that are neither batch nor contracted, in order; returns their
 * number. */
int dt_dot_free(const dt_type *t, const dt_dot_attr *d, bool is_rhs, int8_t list[DT_MAX_RANK]);

/* For each dimension of an operand, the dimension of the result that it becomes; -1 if it is
 * contracted, and beyond the operand's rank. */
typedef struct dt_dot_places {
    int8_t lhs[DT_MAX_RANK], rhs[DT_MAX_RANK];
} dt_dot_places;
dt_dot_places dt_dot_places_of(const dt_type *a, const dt_type *b, const dt_dot_attr *d);
/* Returns the type of the result of an op with in_order, but in StableHLO's order. Sets perm[i] to
 * the dimension of that type which becomes dimension i of the op's result, of type `out`. */
dt_type dt_dot_plain(const dt_type *a, const dt_type *b, const dt_dot_attr *d, const dt_type *out,
                     int8_t perm[DT_MAX_RANK]);

#endif

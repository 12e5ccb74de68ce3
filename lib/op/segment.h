/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segment ops: ops that are applied to each segment of a folded batch. A cut divides the examples
 * of the batch into `count` segments; a value with k rows for each example (dimension 0 is k * B)
 * is cut at k times the borders.
 */
#ifndef DT_OP_SEGMENT_H
#define DT_OP_SEGMENT_H

#include "op/op.h"

bool dt_is_segment_op(const dt_op *op);
/* Returns the cut of a segment op, a dt_cut; -1 for other ops. */
int dt_cut_of(const dt_node *n);
int dt_segment_count(const dt_node *n);
/* Computes the examples [*lo, *hi) of segment number s of a batch that is cut into pieces of equal
 * sizes, or sizes that differ by 1. */
void dt_segment_piece(int64_t batch, int count, int s, int64_t *lo, int64_t *hi);
/* Returns the number of examples before segment s; for s = count, the number of all examples. */
int64_t dt_segment_border(const dt_call *c, int s);
/* Returns attributes for a cut (a dt_cut) into `count` segments; all other members are 0. */
dt_segment_attr dt_segment_attr_of(int cut, int count);
/* The `segment` function of base ops such as reduce: emits the segment op that applies the base op
 * to each segment. */
dt_value dt_segment_each(const dt_fold_call *c);

#endif

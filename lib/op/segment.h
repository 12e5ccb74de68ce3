/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the segment ops share: the borders of a cut. A cut divides the examples of a folded batch
 * into `count` segments; a value with k rows for each example (dimension 0 is k * B) is cut at k
 * times the borders.
 */
#ifndef DT_OP_SEGMENT_H
#define DT_OP_SEGMENT_H

#include "op/partition.h"

/* Checks constraint number c: the cut is one of the three and has at least one segment. */
dt_status *dt_segment_check(const dt_infer *q, int c) DT_MUST_USE;
/* Constraint `c`: dimension 0 of t is the batch. */
dt_status *dt_segment_wants_batch(const dt_infer *q, const dt_type *t, int c) DT_MUST_USE;
/* The attribute for the segments that `c` asks for, the rest zero. */
dt_segment_attr dt_segment_attr_of(const dt_fold_call *c);
/* The cut of a segment op; -1 for others. */
int dt_cut_of(const dt_node *n);
int dt_segment_count(const dt_node *n);
/* Examples [*lo, *hi) of piece s of a batch. */
void dt_segment_piece(int64_t batch, int count, int s, int64_t *lo, int64_t *hi);
/* Examples before segment s; s = count: all. */
int64_t dt_segment_border(const dt_call *c, int s);
/* The rows of x that belong to segment s. */
dt_view dt_segment_rows(const dt_call *c, const dt_view *x, int s);
/* From the rule of an op that sums over rows, makes the rule of the op for each segment: rows
 * stay whole, and results get a leading dimension. */
void dt_segment_stack_rule(const dt_type *out, dt_rule *rule);
/* Over devices, replicas being an axis of the mesh: each device has the rows of its replicas, and
 * their segments (op/partition.h). Adds the factor that stands for replicas to dimension 0 of the
 * result and of n_in inputs. */
void dt_segment_replica_factor(dt_rule *rule, int n_in);
bool dt_segment_can(const dt_partition_call *c);
dt_value dt_segment_emit(dt_partition_call *c);
/* In StableHLO: the row of x, which has rows for each example, at which segment s begins.
 * Replicas have equal numbers of rows, unless dt_hlo.offsets is set. */
int64_t dt_segment_hlo_border(const struct dt_hlo_call *c, const dt_type *x, int s);
/* Whether all segments have the same number of rows in the text. */
bool dt_segment_hlo_is_even(const struct dt_hlo_call *c);
void dt_segment_print(const dt_segment_attr *a, dt_str *out); /* "replicas 8" */

#endif

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
/* Checks constraint number c: dimension 0 of t is the batch. */
dt_status *dt_segment_wants_batch(const dt_infer *q, const dt_type *t, int c) DT_MUST_USE;
/* The attributes for the segments that `c` describes; all other members are 0. */
dt_segment_attr dt_segment_attr_of(const dt_fold_call *c);
/* The cut of a segment op; -1 for others. */
int dt_cut_of(const dt_node *n);
int dt_segment_count(const dt_node *n);
/* Computes the examples [*lo, *hi) of piece number s. */
void dt_segment_piece(int64_t batch, int count, int s, int64_t *lo, int64_t *hi);
/* The number of examples before segment s; all examples for s = count. */
int64_t dt_segment_border(const dt_call *c, int s);
/* The rows of x that belong to segment s. */
dt_view dt_segment_rows(const dt_call *c, const dt_view *x, int s);
/* Changes the rule of an op that sums over rows into the rule of the op for each segment: rows stay
 * whole, and results get a leading dimension. */
void dt_segment_stack_rule(const dt_type *out, dt_rule *rule);
/* For meshes in which replicas are an axis, so that each device has the rows and the segments of
 * its replicas (op/partition.h): adds the factor that stands for replicas to dimension 0 of the
 * result and of n_in inputs. */
void dt_segment_replica_factor(dt_rule *rule, int n_in);
bool dt_segment_can(const dt_partition_call *c);
dt_value dt_segment_emit(dt_partition_call *c);
/* The row of x at which segment s begins in StableHLO text; x has one or more rows for each
 * example. Replicas have equal numbers of rows unless dt_hlo.offsets is set. */
int64_t dt_segment_hlo_border(const struct dt_hlo_call *c, const dt_type *x, int s);
/* Whether all segments have the same number of rows in StableHLO text. */
bool dt_segment_hlo_is_even(const struct dt_hlo_call *c);
void dt_segment_print(const dt_segment_attr *a, dt_str *out); /* prints "replicas 8" */

#endif

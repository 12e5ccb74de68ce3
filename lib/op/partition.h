/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an op is split over the devices of a mesh. Most rows say it with `rule` alone: a factor is
 * cut by the same axes wherever a dimension names it, each device applies the op to what it holds,
 * and a factor that the result lacks leaves partial sums. A row with more to say points at a
 * dt_partition_row: windows that reach into a neighbour's part, sums over split classes, parts of a
 * table.
 */
#ifndef DT_OP_PARTITION_H
#define DT_OP_PARTITION_H

#include "op/across.h"

enum { DT_MAX_FACTORS = 32 };

/* One op to be emitted as what each device does. */
typedef struct dt_partition_call {
    dt_trace *trace;
    const dt_node *node; /* in the whole graph */
    const dt_mesh *mesh;
    int64_t batch, parts;    /* B of the whole; -k in local types is k * B / parts */
    dt_type type[DT_MAX_IN]; /* of the whole inputs, in the whole graph's terms */
    /* what a device holds of them, laid out as in_layout says, which is as the factors say */
    dt_value in[DT_MAX_IN];
    dt_layout in_layout[DT_MAX_IN];
    dt_mesh_axes factor[DT_MAX_FACTORS]; /* axes that cut each factor of the rule */
    /* what the result will have by the factors, partial over those it lacks; emit may change it
     * (a sum that it made itself) */
    dt_layout out;
} dt_partition_call;

typedef struct dt_partition_row {
    /* A rule with more factors than the op's own; NULL: that one. */
    void (*rule)(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);
    /* Whether the factors can be cut like that (sizes divide, that is known); asked with in[] unset
     * and concrete types. NULL: always. */
    bool (*can)(const dt_partition_call *c);
    /* What each device does; NULL: the op itself. */
    dt_value (*emit)(dt_partition_call *c);
} dt_partition_row;

/* The rule to split by, over devices. */
void dt_partition_rule(const dt_node *n, const dt_type *in, dt_rule *rule);
/* The op itself on what a device holds, its attributes' result type made local. */
dt_value dt_partition_same(dt_partition_call *c);
/* The type of what a device holds of the result, in local terms. */
dt_type dt_partition_type(const dt_partition_call *c);
/* An attribute for a collective over `axes`. */
dt_across_attr dt_partition_across(const dt_partition_call *c, dt_mesh_axes axes);
/* all_reduce over `axes`. */
dt_value dt_partition_reduce(const dt_partition_call *c, dt_value x, dt_reduce_kind kind,
                             dt_mesh_axes axes);
/* x (.., n) reduced over its last dimension, which `axes` cut: (..). */
dt_value dt_partition_reduce_last(const dt_partition_call *c, dt_value x, dt_reduce_kind kind,
                                  dt_mesh_axes axes);
/* Where the own part begins of a dimension of which a device holds `own` elements: an int64. */
dt_value dt_partition_start(const dt_partition_call *c, int64_t own, dt_mesh_axes axes);
/* iota along dimension `axis` of the local type, which `axes` cut, as the whole counts; int64. */
dt_value dt_partition_iota(const dt_partition_call *c, const dt_type *type, int axis,
                           dt_mesh_axes axes);

#endif

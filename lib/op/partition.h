/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an op is split over the devices of a mesh. For most ops `rule` is enough: a factor is cut by
 * the same axes wherever a dimension names it, each device applies the op to its parts, and a
 * factor that the result lacks leaves partial sums. Other ops have a dt_partition_row, such as
 * windows that reach into a neighbour's part, softmax over classes that are divided, and gather
 * from a divided table.
 */
#ifndef DT_OP_PARTITION_H
#define DT_OP_PARTITION_H

#include "op/across.h"

enum { DT_MAX_FACTORS = 32 };

/* A node of the whole graph, for which the computation of each device, or without axes its
 * decomposition, is to be emitted. */
typedef struct dt_partition_call {
    dt_trace *trace;
    const dt_node *node; /* the node in the whole graph */
    const dt_mesh *mesh;
    /* batch: the batch size B of the whole program. A size -k in the type of a device's part stands
     * for k * B / parts. */
    int64_t batch, parts;
    dt_type type[DT_MAX_IN]; /* types of the whole inputs, as in the graph before partitioning */
    /* the parts of the inputs that a device has, with the layouts in_layout, which agree with the
     * factors */
    dt_value in[DT_MAX_IN];
    dt_layout in_layout[DT_MAX_IN];
    /* the axes of the mesh that cut each factor of the op's rule */
    dt_mesh_axes factor[DT_MAX_FACTORS];
    /* layout of the result as its factors give it, partial over the factors that the result lacks.
     * emit may change this layout, for example if it sums over devices itself. */
    dt_layout out;
} dt_partition_call;

typedef struct dt_partition_row {
    /* A rule with more factors than the op's `rule`. NULL: `rule` is used. */
    void (*rule)(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);
    /* Whether the op can be divided by the axes of c->factor, in which only one factor has axes;
     * that its sizes are divisible has been checked. trace, in[], in_layout[] and out are not set.
     * NULL: the op can always be divided. */
    bool (*can)(const dt_partition_call *c);
    /* Emits what each device computes. NULL: the op itself is emitted on the devices' parts. */
    dt_value (*emit)(dt_partition_call *c);
} dt_partition_row;

/* Fills in the rule by which a node is split over devices. */
void dt_partition_rule(const dt_node *n, const dt_type *in, dt_rule *rule);
/* Emits the op itself on a device's parts. The result type in its attributes becomes that of the
 * part. */
dt_value dt_partition_same(dt_partition_call *c);
/* Returns the type of a device's part of the result. */
dt_type dt_partition_type(const dt_partition_call *c);
/* Returns attributes for a collective over `axes`, with the mesh set; other members are 0. */
dt_across_attr dt_partition_across(const dt_partition_call *c, dt_mesh_axes axes);
/* Emits an all_reduce over `axes`. Returns x if `axes` is empty. */
dt_value dt_partition_reduce(const dt_partition_call *c, dt_value x, dt_reduce_kind kind,
                             dt_mesh_axes axes);
/* Reduces x, (.., n), over its last dimension, which is divided by `axes`. The result is (..). */
dt_value dt_partition_reduce_last(const dt_partition_call *c, dt_value x, dt_reduce_kind kind,
                                  dt_mesh_axes axes);
/* Emits the index at which a device's part of a dimension begins, an int64: the device's rank along
 * `axes` times `own`, the elements of a part; 0 if `axes` is empty. */
dt_value dt_partition_start(const dt_partition_call *c, int64_t own, dt_mesh_axes axes);
/* Emits iota of int64 along dimension `axis` of a device's part, which `axes` divide. Its elements
 * are indices in the whole value. */
dt_value dt_partition_iota(const dt_partition_call *c, const dt_type *type, int axis,
                           dt_mesh_axes axes);

#endif

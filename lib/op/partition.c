/* SPDX-License-Identifier: Apache-2.0 */
/* Shared code for splitting ops over devices: see partition.h. */
#include "op/partition.h"

#include <string.h>

void dt_partition_rule(const dt_node *n, const dt_type *in, dt_rule *rule) {
    const dt_partition_row *row = n->op->over_devices;
    dt_rule_whole(rule);
    (row && row->rule ? row->rule : n->op->rule)(in, &n->type, n->attr, rule);
}

dt_type dt_partition_type(const dt_partition_call *c) {
    return dt_layout_type(&c->node->type, &c->out, c->mesh, c->parts);
}

dt_value dt_partition_same(dt_partition_call *c) {
    const dt_op *op = c->node->op;
    void *attr = op->attr.size
                     ? dt_arena_copy(dt_trace_arena(c->trace), c->node->attr, op->attr.size)
                     : NULL;
    dt_type type = dt_partition_type(c);
    if (op->attr.type) memcpy((char *)attr + op->attr.type - 1, &type, sizeof type);
    return dt_emit(c->trace, op, c->in, op->n_in, attr);
}

dt_value dt_partition_reduce(const dt_partition_call *c, dt_value x, dt_reduce_kind kind,
                             dt_mesh_axes axes) {
    dt_across_attr attr = dt_partition_across(c, axes);
    attr.kind = kind;
    return dt_across(x, &dt_op_across_all_reduce, &attr);
}

dt_value dt_partition_reduce_last(const dt_partition_call *c, dt_value x, dt_reduce_kind kind,
                                  dt_mesh_axes axes) {
    return dt_partition_reduce(c, dt_reduce(x, kind, 1u << (dt_type_of_value(x).rank - 1)), kind,
                               axes);
}

dt_value dt_partition_start(const dt_partition_call *c, int64_t own, dt_mesh_axes axes) {
    dt_across_attr attr = dt_partition_across(c, axes);
    attr.low = own;
    return axes ? dt_emit(c->trace, &dt_op_across_own_start, NULL, 0, &attr)
                : dt_scalar(c->trace, DT_INT64, 0);
}

dt_value dt_partition_iota(const dt_partition_call *c, const dt_type *type, int axis,
                           dt_mesh_axes axes) {
    dt_type numbers = *type, at = dt_type_at(type, c->batch / c->parts);
    numbers.dtype = DT_INT64;
    dt_value own = dt_iota(c->trace, &numbers, axis);
    return axes ? dt_add(own, dt_partition_start(c, at.dim[axis], axes)) : own;
}

dt_across_attr dt_partition_across(const dt_partition_call *c, dt_mesh_axes axes) {
    return (dt_across_attr){.mesh = *c->mesh, .axes = axes};
}

/* What the splitting of ops over devices shares: see partition.h. */
#include "op/partition.h"

#include <string.h>

void dt_partition_rule(const dt_node *n, const dt_type *in, dt_rule *rule)
{
    const dt_partition_row *row = n->op->over_devices;
    dt_rule_whole(rule);
    (row && row->rule ? row->rule : n->op->rule)(in, &n->type, n->attr, rule);
}

dt_type dt_partition_type(const dt_partition_call *c)
{
    return dt_layout_type(&c->node->type, &c->out, c->mesh, c->parts);
}

dt_value dt_partition_same(dt_partition_call *c)
{
    const dt_op *op = c->node->op;
    void *attr = op->attr_size ? dt_arena_copy(dt_trace_arena(c->trace), c->node->attr, op->attr_size) : NULL;
    dt_type type = dt_partition_type(c);
    if (op->result_type)
        memcpy((char *)attr + op->result_type - 1, &type, sizeof type);
    return dt_emit(c->trace, op, c->in, op->n_in, attr);
}

dt_across_attr dt_partition_across(const dt_partition_call *c, dt_mesh_axes axes)
{
    return (dt_across_attr){ .mesh = *c->mesh, .axes = axes };
}

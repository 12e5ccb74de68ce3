/* SPDX-License-Identifier: Apache-2.0 */
/* The placement of ops: see placement.h. */
#include "op/placement.h"

#include <stdlib.h>

#include "graph/trace.h"

/* Whether an op is placed with its input b, rather than with input a before it. */
static bool wins(dt_placement b, dt_placement a) {
    if (a.device == DT_ANYWHERE || b.device == DT_ANYWHERE || b.moved != a.moved)
        return b.device != DT_ANYWHERE && (a.device == DT_ANYWHERE || b.moved);
    return b.size >= a.size;
}

static dt_placement of_inputs(const dt_placement *in, int n) {
    dt_placement at = {.device = DT_ANYWHERE};
    for (int k = 0; k < n; k++) {
        if (in[k].device == DT_EVERYWHERE) return in[k];
        at = wins(in[k], at) ? in[k] : at;
    }
    return at;
}

dt_placement dt_placement_of(const dt_node *n, const dt_placement *in) {
    dt_placement at = of_inputs(in, n->n_in);
    const dt_sharding_attr *note = n->op->role == DT_ROLE_NOTE ? n->attr : NULL;
    if (note)
        at = (dt_placement){.device = note->kind == DT_SHARDING_MAXIMAL ? (int32_t)note->device
                                                                        : DT_EVERYWHERE,
                            .moved = true};
    else if (n->op->role == DT_ROLE_ARGUMENT) at = (dt_placement){.device = 0};
    else if (n->op->role == DT_ROLE_SIZE) at = (dt_placement){.device = DT_ANYWHERE};
    at.size = n->op->role == DT_ROLE_REPEAT ? in[0].size : dt_type_elements(&n->type);
    return at;
}

dt_placement dt_placement_of_value(dt_value x) {
    dt_placement at = {.device = 0};
    if (!dt_node_of(x)) return at;
    int n = dt_trace_count(x.trace), *order = dt_alloc((size_t)n * sizeof *order);
    DT_LOCAL dt_placement *where = dt_alloc((size_t)n * sizeof *where);
    int needed = dt_trace_order(x.trace, &x.node, 1, order);
    for (int i = 0; i < needed; i++) {
        const dt_node *node = dt_trace_node(x.trace, order[i]);
        dt_placement in[DT_MAX_IN];
        for (int k = 0; k < node->n_in; k++) in[k] = where[node->in[k]];
        where[order[i]] = dt_placement_of(node, in);
    }
    at = where[x.node];
    free(order);
    return at;
}

dt_value dt_move_to(dt_value x, int device) {
    return dt_annotate(x, &(dt_sharding_attr){.kind = DT_SHARDING_MAXIMAL, .device = device});
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A node for pricing: its type on one device, and the cost of its op alone. */
#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

static const dt_node *node_of(const dt_priced_program *r, int i) {
    return &r->program->local->node[i];
}

dt_type dt_priced_type(const dt_priced_program *r, int i) {
    const dt_graph *g = r->program->local;
    dt_type t = dt_type_at(&g->node[i].type, r->program->batch / g->batch_parts);
    if (r->dtype) t.dtype = (dt_dtype)r->dtype[i];
    return t;
}

double dt_priced_times(const dt_priced_program *r, int i) { return r->times ? r->times[i] : 1; }

dt_cost dt_priced_cost(const dt_priced_program *r, int i) {
    dt_node at = *node_of(r, i);
    dt_view in[DT_MAX_IN];

    at.type = dt_priced_type(r, i);
    for (int k = 0; k < at.n_in; k++) in[k] = (dt_view){.type = dt_priced_type(r, at.in[k])};
    const dt_call call = {.node = &at, .in = in, .out = {.type = at.type}};
    return dt_cost_of(&call);
}

int dt_priced_source(const dt_priced_program *r, int i) {
    for (;;) {
        if (node_of(r, i)->op->traits.read_through) i = node_of(r, i)->in[0];
        else if (r->made_of && r->made_of[i] >= 0) i = r->made_of[i];
        else return i;
    }
}

bool dt_priced_lies_there(const dt_priced_program *r, int i) {
    const dt_node *n = node_of(r, i);
    return n->n_in > 0 ? n->op->role != DT_ROLE_SIZE
                       : n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE;
}

bool *dt_priced_forward(const dt_priced_program *r, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    bool *forward = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < r->program->local->n_results; i++) forward[g->result[i].node] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; forward[i] && k < g->node[i].n_in; k++) forward[g->node[i].in[k]] = true;
    return forward;
}

bool dt_priced_is_gathered_weight(const dt_priced_program *r, int i) {
    const dt_node *n = node_of(r, i);
    return dt_across_kind_of(n) == DT_ACROSS_ALL_GATHER &&
           node_of(r, dt_priced_source(r, n->in[0]))->op->role == DT_ROLE_STATE;
}

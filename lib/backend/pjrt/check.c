/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row numbers that a table has no row for. On cpu `gather` refuses them while it runs; a plug-in takes the nearest row and says nothing. They nearly always come
 * straight from the data, so they are looked at before they are uploaded. Numbers that the step computes itself are not.
 */
#include <stdio.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"
#include "op/cells.h"

/* The argument whose elements, in their order, a node has; -1: it is computed. */
static int argument_of(const dt_graph *g, int node)
{
    const dt_node *n = &g->node[node];
    while (n->op->role == DT_ROLE_NAME || n->op->role == DT_ROLE_CONVERT || n->op->role == DT_ROLE_NOTE)
        n = &g->node[n->in[0]];
    for (int i = 0; n->op->role == DT_ROLE_ARGUMENT && i < g->n_args; i++)
        if (&g->node[g->arg[i].node] == n)
            return dt_dtype_is_float(n->type.dtype) ? -1 : i;
    return -1;
}

int dt_pjrt_checks_of(const dt_graph *g, dt_arena *arena, dt_pjrt_check **out)
{
    int n = 0;
    *out = dt_arena_array(arena, dt_pjrt_check, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *node = &g->node[i];
        int argument = node->op == &dt_op_gather ? argument_of(g, node->in[1]) : -1;
        if (argument >= 0)
            (*out)[n++] = (dt_pjrt_check){ argument, g->node[node->in[0]].type.dim[0], node->path };
    }
    return n;
}

void dt_pjrt_check_rows(const dt_pjrt_check *c, const dt_view *x, dt_refusal *refusal)
{
    for (int64_t i = 0, n = dt_type_elements(&x->type); i < n && refusal->finders == 0; i++) {
        const int64_t number = dt_cell_int(x, i);
        if (number >= 0 && number < c->rows)
            continue;
        refusal->finders = 1;
        refusal->number = number;
        refusal->rows = c->rows;
        refusal->rank = x->type.rank;
        snprintf(refusal->layer, sizeof refusal->layer, "%s", c->layer);
        for (int d = x->type.rank - 1; d >= 0; i /= x->type.dim[d--])
            refusal->at[d] = i % x->type.dim[d];
        return;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Decomposes composite ops: a rewriter that uses each op's row. */
#include "op/partition.h"
#include "stablehlo/stablehlo.h"

static dt_value take_apart(const dt_rewrite_call *c)
{
    static const dt_mesh nobody = { 0 };
    const dt_node *n = &c->graph->node[c->node];
    dt_partition_call call = { .trace = c->trace, .node = n, .mesh = &nobody, .batch = 1, .parts = 1 };

    if (!n->op->decompose)
        return dt_emit_like(c->trace, c->graph, c->node, c->in);
    for (int k = 0; k < n->n_in; k++) {
        call.type[k] = c->graph->node[n->in[k]].type;
        call.in[k] = c->in[k];
    }
    return n->op->decompose(&call);
}

static bool has_composites(const dt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op->decompose)
            return true;
    return false;
}

/* A composite may be made of others. */
dt_status *dt_decompose(const dt_graph *g, dt_graph **out)
{
    dt_graph *now = NULL;
    DT_TRY(dt_rewrite(g, take_apart, NULL, &now));
    while (has_composites(now)) {
        dt_graph *next = NULL;
        dt_status *bad = dt_rewrite(now, take_apart, NULL, &next);
        dt_graph_destroy(now);
        DT_TRY(bad);
        now = next;
    }
    *out = now;
    return NULL;
}

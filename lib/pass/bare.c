/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bare: a graph without its annotations. How a replica's values lie on its logical devices is for whoever computes with several of them; one
 * memory space computes a replica as one, and reads through the notes at no cost.
 */
#include "pass/pass.h"

static bool is_annotated(const dt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op == &dt_op_sharding)
            return true;
    return false;
}

static dt_value read_through(const dt_rewrite_call *c)
{
    return c->graph->node[c->node].op == &dt_op_sharding ? c->in[0] : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_bare(const dt_graph *g, dt_graph **out)
{
    *out = NULL;
    return is_annotated(g) ? dt_rewrite(g, read_through, NULL, out) : NULL;
}

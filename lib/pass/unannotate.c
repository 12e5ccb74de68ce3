/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the sharding annotations of a graph. These describe how a replica's values are divided
 * over its logical devices. A single memory space computes a replica as a whole and does not need
 * them.
 */
#include "pass/pass.h"

static bool is_annotated(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op->role == DT_ROLE_NOTE) return true;
    return false;
}

static dt_value read_through(const dt_rewrite_call *c) {
    return c->graph->node[c->node].op->role == DT_ROLE_NOTE
               ? c->in[0]
               : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_unannotate(const dt_graph *g, dt_graph **out) {
    *out = NULL;
    return is_annotated(g) ? dt_rewrite(g, read_through, NULL, out) : NULL;
}

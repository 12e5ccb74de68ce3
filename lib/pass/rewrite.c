/* SPDX-License-Identifier: Apache-2.0 */
/* Rewriting: copies a graph node by node, in order. A pass supplies only the function that replaces
 * a node. */
#include "pass/pass.h"

dt_status *dt_rewrite(const dt_graph *g, dt_rewriter *rewriter, const void *user, dt_graph **out) {
    dt_trace *t = dt_trace_create(g->name);
    DT_LOCAL dt_value *map = dt_alloc(dt_size_mul((size_t)g->n_nodes + 1, sizeof *map));

    dt_trace_import(t, g, map);
    for (int i = 0; i < g->n_nodes; i++) {
        dt_value in[DT_MAX_IN];
        if (map[i].trace) continue;
        for (int k = 0; k < g->node[i].n_in; k++) in[k] = map[g->node[i].in[k]];
        const char *path = dt_trace_path(t, g->node[i].path);
        map[i] = rewriter(&(dt_rewrite_call){
            .trace = t, .graph = g, .node = i, .in = in, .map = map, .user = user});
        dt_trace_path(t, path);
    }
    dt_trace_export(t, g, map);
    return dt_trace_end(t, out);
}

/* ---- annotations ---- */

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

/*
 * Removes the sharding annotations of a graph. These describe how a replica's values are divided
 * over its logical devices. A single memory space computes a replica as a whole and does not need
 * them.
 */
dt_status *dt_unannotate(const dt_graph *g, dt_graph **out) {
    *out = NULL;
    return is_annotated(g) ? dt_rewrite(g, read_through, NULL, out) : NULL;
}

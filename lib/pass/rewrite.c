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

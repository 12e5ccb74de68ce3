/* SPDX-License-Identifier: Apache-2.0 */
/* Rewriting: copies a graph node by node, in order. A pass supplies only the function that replaces
 * a node. */
#include "op/shapes.h"
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

/* ---- sums of weights ---- */

/* sums of fewer elements are left to one thread */
enum { LEAST_ELEMENTS = 100000 };

/* Whether a node sums all elements of a large value without a batch dimension, such as the norm of
 * a gradient. */
static bool is_large_sum(const dt_graph *g, int i) {
    const dt_reduce_attr *a = dt_reduce_of(&g->node[i]);
    if (!a || a->kind != DT_REDUCE_SUM) return false;
    const dt_type *t = &g->node[g->node[i].in[0]].type;
    return t->rank > 1 && a->dims == dt_all_dims(t->rank) && !dt_type_has_batch(t) &&
           dt_type_elements(t) >= LEAST_ELEMENTS;
}

static dt_value rows_first(const dt_rewrite_call *c) {
    if (!is_large_sum(c->graph, c->node)) return dt_emit_like(c->trace, c->graph, c->node, c->in);
    const uint32_t all = dt_all_dims(dt_type_of_value(c->in[0]).rank);
    return dt_reduce(dt_reduce(c->in[0], DT_REDUCE_SUM, all & ~1u), DT_REDUCE_SUM, 1u);
}

dt_status *dt_split_sums(const dt_graph *g, dt_graph **out) {
    bool any = false;
    for (int i = 0; i < g->n_nodes; i++) any |= is_large_sum(g, i);
    *out = NULL;
    return any ? dt_rewrite(g, rows_first, NULL, out) : NULL;
}

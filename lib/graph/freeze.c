/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a finished trace into a graph: drops unused nodes and stores the others in one array, in
 * the order of order.c.
 */
#include "graph/trace.h"

#include <string.h>

/* Lists the nodes that the graph must keep; arguments and variables come first. Returns their
 * number. */
static int list_roots(const dt_trace *t, int *root) {
    int n = 0;
    for (int i = 0; i < t->n_args; i++) root[n++] = t->arg[i].node;
    for (int i = 0; i < t->n_states; i++) root[n++] = t->state[i].node;
    for (int i = 0; i < t->n_results; i++) root[n++] = t->result[i].node;
    for (int i = t->n_states - 1; i >= 0; i--) root[n++] = t->state[i].now;
    return n;
}

/* Inserts the nodes of t->early that are needed before results and updates. Returns the number of
 * roots. order[]: room for all nodes, overwritten. */
static int put_early(const dt_trace *t, int *root, int n, int *order) {
    int leaves = t->n_args + t->n_states, first = 0, needed = dt_trace_order(t, root, n, order);
    DT_LOCAL bool *is_needed = dt_alloc((size_t)t->n_nodes + 1);
    DT_LOCAL int *rest = dt_alloc(dt_size_mul((size_t)n + 1, sizeof *rest));
    for (int i = 0; i < needed; i++) is_needed[order[i]] = true;
    memcpy(rest, root + leaves, (size_t)(n - leaves) * sizeof *rest);
    for (int i = 0; i < t->n_early; i++)
        if (is_needed[t->early[i]]) root[leaves + first++] = t->early[i];
    memcpy(root + leaves + first, rest, (size_t)(n - leaves) * sizeof *rest);
    return n + first;
}

/* ---- the graph's arrays; became[] maps the trace's numbers to the graph's ---- */

static const dt_node *freeze_nodes(const dt_trace *t, const int *order, int n, const int *became) {
    dt_node *node = dt_arena_array(t->arena, dt_node, n);
    for (int i = 0; i < n; i++) {
        node[i] = *t->node[order[i]];
        for (int k = 0; k < node[i].n_in; k++) node[i].in[k] = became[node[i].in[k]];
    }
    return node;
}

static const dt_named_node *freeze_named(const dt_trace *t, const dt_named_node *from, int n,
                                         const int *became) {
    dt_named_node *list = dt_arena_array(t->arena, dt_named_node, n);
    for (int i = 0; i < n; i++) list[i] = (dt_named_node){from[i].name, became[from[i].node]};
    return list;
}

static const dt_state *freeze_states(const dt_trace *t, const int *became) {
    dt_state *list = dt_arena_array(t->arena, dt_state, t->n_states);
    for (int i = 0; i < t->n_states; i++) {
        const dt_trace_state *s = &t->state[i];
        list[i] = (dt_state){s->variable, became[s->node], s->now == s->node ? -1 : became[s->now]};
    }
    return list;
}

static dt_graph *freeze(dt_trace *t) {
    DT_LOCAL int *root = dt_alloc(dt_size_mul((size_t)t->n_args + (size_t)t->n_early +
                                                  (size_t)t->n_results + 2 * (size_t)t->n_states,
                                              sizeof *root));
    DT_LOCAL int *order = dt_alloc(dt_size_mul((size_t)t->n_nodes, sizeof *order));
    int n_roots = list_roots(t, root);
    if (t->n_early > 0) n_roots = put_early(t, root, n_roots, order);
    int n = dt_trace_order_updates(t, root, n_roots, order);
    int *became = dt_arena_array(t->arena, int, t->n_nodes);
    for (int i = 0; i < t->n_nodes; i++) became[i] = -1;
    for (int i = 0; i < n; i++) became[order[i]] = i;
    dt_graph *g = dt_arena_new(t->arena, dt_graph);
    *g = (dt_graph){
        .arena = t->arena,
        .name = t->name,
        .n_nodes = n,
        .n_args = t->n_args,
        .n_states = t->n_states,
        .n_results = t->n_results,
        .node = freeze_nodes(t, order, n, became),
        .arg = freeze_named(t, t->arg, t->n_args, became),
        .state = freeze_states(t, became),
        .result = freeze_named(t, t->result, t->n_results, became),
        .batch_parts = t->batch_parts,
        .n_values = t->n_nodes,
        .became = became,
    };
    t->arena = NULL;
    t->n_states = 0; /* the graph owns the variables now */
    return g;
}

dt_status *dt_trace_end(dt_trace *t, dt_graph **out) {
    *out = NULL;
    dt_status *s = t->error;
    t->error = NULL;
    if (!s) {
        *out = freeze(t);
        s = dt_graph_verify(*out);
    }
    if (s) {
        dt_graph_destroy(*out);
        *out = NULL;
    }
    dt_trace_destroy(t);
    return s;
}

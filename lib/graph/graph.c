/* SPDX-License-Identifier: Apache-2.0 */
/* Finished graphs: destroying and verifying them, counting the uses of nodes, and the rule for ops
 * that cannot be split. */
#include "graph/graph.h"

#include <string.h>

void dt_graph_destroy(dt_graph *g) {
    if (!g) return;
    for (int i = 0; i < g->n_states; i++) dt_variable_unref(g->state[i].variable);
    dt_arena_destroy(g->arena); /* the graph itself is allocated in its arena */
}

static int find(const dt_named_node *list, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return i;
    return -1;
}

int dt_graph_find_argument(const dt_graph *g, const char *name) {
    return find(g->arg, g->n_args, name);
}

int dt_graph_find_result(const dt_graph *g, const char *name) {
    return find(g->result, g->n_results, name);
}

int *dt_graph_uses(const dt_graph *g, dt_arena *arena) {
    int *uses = dt_arena_array(arena, int, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) uses[g->node[i].in[k]]++;
    for (int i = 0; i < g->n_results; i++) uses[g->result[i].node]++;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) uses[g->state[i].update]++;
    return uses;
}

void dt_rule_whole(dt_rule *rule) {
    *rule = (dt_rule){.shared_out = 0};
    memset(rule->in, -1, sizeof rule->in);
    memset(rule->out, -1, sizeof rule->out);
}

/* ---- the verifier ---- */

static dt_status *verify_inputs(const dt_graph *g, int i) {
    const dt_node *n = &g->node[i];
    if (n->n_in != n->op->n_in)
        return dt_fail(DT_E_INTERNAL, NULL, "node %%%d of graph '%s' has %d inputs, %s has %d", i,
                       g->name, n->n_in, n->op->name, n->op->n_in);
    for (int k = 0; k < n->n_in; k++)
        if (n->in[k] < 0 || n->in[k] >= i)
            return dt_fail(DT_E_INTERNAL, NULL,
                           "node %%%d (%s) of graph '%s' reads %%%d, which does not come before it",
                           i, n->op->name, g->name, n->in[k]);
    return NULL;
}

static dt_status *verify_named(const dt_graph *g, const char *what, const dt_named_node *list,
                               int n) {
    for (int i = 0; i < n; i++)
        if (list[i].node < 0 || list[i].node >= g->n_nodes)
            return dt_fail(DT_E_INTERNAL, NULL, "%s '%s' of graph '%s' is %%%d of %d nodes", what,
                           list[i].name, g->name, list[i].node, g->n_nodes);
    return NULL;
}

static dt_status *verify_state(const dt_graph *g, const dt_state *s) {
    const dt_type *type = &s->variable->type;
    if (s->node < 0 || s->node >= g->n_nodes || s->update >= g->n_nodes)
        return dt_fail(DT_E_INTERNAL, NULL,
                       "variable '%s' of graph '%s' refers to a node that does not exist",
                       s->variable->path, g->name);
    if (!dt_type_equal(&g->node[s->node].type, type))
        return dt_fail(DT_E_INTERNAL, NULL,
                       "the type of node %%%d of graph '%s' differs from that of its variable '%s'",
                       s->node, g->name, s->variable->path);
    if (s->update >= 0 && !dt_type_equal(&g->node[s->update].type, type))
        return dt_fail(DT_E_INTERNAL, NULL,
                       "node %%%d of graph '%s' cannot update '%s', whose type differs", s->update,
                       g->name, s->variable->path);
    return NULL;
}

dt_status *dt_graph_verify(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++) DT_TRY(verify_inputs(g, i));
    DT_TRY(verify_named(g, "argument", g->arg, g->n_args));
    DT_TRY(verify_named(g, "result", g->result, g->n_results));
    for (int i = 0; i < g->n_states; i++) DT_TRY(verify_state(g, &g->state[i]));
    return NULL;
}

dt_status *dt_refusal_status(const dt_refusal *r) {
    dt_local_str at = {0};
    if (r->finders == 0) return NULL;
    for (int d = 0; d < r->rank; d++)
        dt_str_printf(&at, "%s%lld", d ? ", " : "", (long long)r->at[d]);
    dt_status *s = dt_fail(DT_E_ROW_NUMBER, NULL, "row number %lld at [%s] is not in [0, %lld)",
                           (long long)r->number, dt_str_text(&at), (long long)r->rows);
    return *r->layer ? dt_note(s, "in layer '%s'", r->layer) : s;
}

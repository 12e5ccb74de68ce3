/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces ops that a format lacks by other ops, with the function `decompose` of their rows in the
 * table of ops. Another function removes barriers that are useless for a compiler, and adds some
 * that save memory. */
#include "op/partition.h"
#include "export/stablehlo/blocks.h"

typedef struct target {
    bool (*has_form)(const dt_op *op);
    /* the sizes that decide which composites are kept, to be computed piece by piece
     * (dt_hlo_pieces_of); NULL: none are kept */
    const dt_hlo_sizes *sizes;
} target;

static bool is_lacking(const target *to, const dt_graph *g, int i) {
    dt_hlo_pieces p;
    const dt_op *op = g->node[i].op;
    return op->forms.decompose && !to->has_form(op) &&
           !(to->sizes && dt_hlo_pieces_of(g, i, to->sizes, &p));
}

static dt_value take_apart(const dt_rewrite_call *c) {
    static const dt_mesh nobody = {0};
    const dt_node *n = &c->graph->node[c->node];
    dt_partition_call call = {
        .trace = c->trace, .node = n, .mesh = &nobody, .batch = 1, .parts = 1};

    if (!is_lacking(c->user, c->graph, c->node))
        return dt_emit_like(c->trace, c->graph, c->node, c->in);
    for (int k = 0; k < n->n_in; k++) {
        call.type[k] = c->graph->node[n->in[k]].type;
        call.in[k] = c->in[k];
    }
    return n->op->forms.decompose(&call);
}

static bool lacks_any(const target *to, const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if (is_lacking(to, g, i)) return true;
    return false;
}

/* Decomposes until nothing changes, since a composite may consist of other composites. */
static dt_status *decompose(const dt_graph *g, target to, dt_graph **out) {
    dt_graph *now = NULL;
    DT_TRY(dt_rewrite(g, take_apart, &to, &now));
    while (lacks_any(&to, now)) {
        dt_graph *next = NULL;
        dt_status *bad = dt_rewrite(now, take_apart, &to, &next);
        dt_graph_destroy(now);
        DT_TRY(bad);
        now = next;
    }
    *out = now;
    return NULL;
}

dt_status *dt_decompose(const dt_graph *g, bool (*has_form)(const dt_op *op), dt_graph **out) {
    return decompose(g, (target){has_form, NULL}, out);
}

dt_status *dt_decompose_but_pieces(const dt_graph *g, const dt_hlo_sizes *sizes, dt_graph **out) {
    return decompose(g, (target){dt_hlo_has_form, sizes}, out);
}

/* ---- barriers ---- */

typedef struct examples {
    const bool *follows; /* [nodes] whether the node depends on arguments */
    bool scores_again;
} examples;

/* Emits a gradient of attention with queries that wait for dy, the gradient of attention's result.
 * So a compiler cannot merge its scores with those of the forward pass. */
static dt_value behind_gradient(const dt_rewrite_call *c) {
    enum { QUERY = 0, DY = 3 };
    dt_value in[DT_MAX_IN];
    for (int k = 0; k < c->graph->node[c->node].n_in; k++) in[k] = c->in[k];
    in[QUERY] = dt_emit(c->trace, &dt_op_optimization_barrier,
                        (const dt_value[]){c->in[QUERY], c->in[DY]}, 2, NULL);
    return dt_emit_like(c->trace, c->graph, c->node, in);
}

/* Rewrites a node. Removes a barrier of pass/remat.c if it waits for nothing, or if it delays
 * values that do not depend on arguments, such as positions. With scores_again, adds a barrier
 * before each gradient of attention. Copies all other nodes. */
static dt_value with_barriers(const dt_rewrite_call *c) {
    const examples *e = c->user;
    const dt_node *n = &c->graph->node[c->node];
    bool waits = n->op->role == DT_ROLE_NAME && n->n_in == 2,
         idle = waits && (n->in[0] == n->in[1] || !e->follows[n->in[0]]);
    if (e->scores_again && n->op == &dt_op_attention_grad) return behind_gradient(c);
    return idle ? c->in[0] : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_hlo_set_barriers(const dt_graph *g, bool scores_again, dt_graph **out) {
    DT_LOCAL bool *follows = dt_alloc((size_t)g->n_nodes + 1);
    examples e = {follows, scores_again};
    for (int i = 0; i < g->n_nodes; i++) {
        follows[i] = g->node[i].op->role == DT_ROLE_ARGUMENT;
        for (int k = 0; k < g->node[i].n_in; k++) follows[i] |= follows[g->node[i].in[k]];
    }
    return dt_rewrite(g, with_barriers, &e, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that a format lacks, in other ops: a rewriter that uses each op's row. */
#include "op/partition.h"
#include "stablehlo/stablehlo.h"

typedef struct target {
    bool (*has_form)(const dt_op *op);
} target;

static bool is_lacking(const target *to, const dt_op *op)
{
    return op->decompose && !to->has_form(op);
}

static dt_value take_apart(const dt_rewrite_call *c)
{
    static const dt_mesh nobody = { 0 };
    const dt_node *n = &c->graph->node[c->node];
    dt_partition_call call = { .trace = c->trace, .node = n, .mesh = &nobody, .batch = 1, .parts = 1 };

    if (!is_lacking(c->user, n->op))
        return dt_emit_like(c->trace, c->graph, c->node, c->in);
    for (int k = 0; k < n->n_in; k++) {
        call.type[k] = c->graph->node[n->in[k]].type;
        call.in[k] = c->in[k];
    }
    return n->op->decompose(&call);
}

static bool lacks_any(const target *to, const dt_graph *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (is_lacking(to, g->node[i].op))
            return true;
    return false;
}

/* A composite may be made of others. */
dt_status *dt_decompose(const dt_graph *g, bool (*has_form)(const dt_op *op), dt_graph **out)
{
    target to = { has_form };
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

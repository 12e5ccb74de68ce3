/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reproducible shards: the global batch is divided into V shards by the numbers of examples, for
 * any number of replicas, workers and threads. Every sum over the batch becomes V partial sums and
 * one fixed tree over them:
 *
 *     dot_general(x', dy)   ->   tree_sum(segment_dot_general(x', dy))       (V, m, n) -> (m, n)
 *
 * A maximum needs no shards, because it does not depend on the order of values.
 */
#include "pass/workers_split.h"

bool dt_sums_batch(const dt_graph *g, const dt_node *n) {
    if (!n->op->segment || dt_type_has_batch(&n->type)) return false;
    if (dt_reduce_kind_of(n) != DT_REDUCE_SUM) return false;
    for (int k = 0; k < n->n_in; k++)
        if (!dt_type_has_batch(&g->node[n->in[k]].type)) return false;
    return n->n_in > 0;
}

dt_value dt_sum_shards(const dt_rewrite_call *c, int shards) {
    const dt_node *n = &c->graph->node[c->node];
    return n->op->segment(&(dt_fold_call){
        .trace = c->trace, .node = n, .in = c->in, .segments = shards, .cut = DT_CUT_SHARDS});
}

static dt_value add_by_tree(const dt_rewrite_call *c) {
    if (!dt_sums_batch(c->graph, &c->graph->node[c->node]))
        return dt_emit_like(c->trace, c->graph, c->node, c->in);
    dt_value partial = dt_sum_shards(c, *(const int *)c->user);
    return dt_emit(c->trace, &dt_op_tree_sum, &partial, 1, NULL);
}

dt_status *dt_shards(const dt_graph *g, int shards, dt_graph **out) {
    return dt_rewrite(g, add_by_tree, &shards, out);
}

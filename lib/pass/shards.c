/*
 * Reproducible shards: the global batch is cut into V shards by example number, whatever the replicas, workers and threads.
 * Every sum over the batch becomes V partial sums and one fixed tree over them:
 *
 *     dot_general(x', dy)   ->   tree_sum(segment_dot_general(x', dy))       (V, m, n) -> (m, n)
 *
 * A maximum needs no shards: it does not depend on the order.
 */
#include <stdlib.h>

#include "pass/pass.h"

static bool sums_batch(const dt_graph *g, const dt_node *n)
{
    if (!n->op->segment || dt_type_has_batch(&n->type))
        return false;
    if (n->op == &dt_op_reduce && ((const dt_reduce_attr *)n->attr)->kind != DT_REDUCE_SUM)
        return false;
    for (int k = 0; k < n->n_in; k++)
        if (!dt_type_has_batch(&g->node[n->in[k]].type))
            return false;
    return n->n_in > 0;
}

static dt_value emit_sharded(dt_trace *t, const dt_node *n, const dt_value *in, int shards)
{
    dt_value partial = n->op->segment(&(dt_fold_call){ .trace = t, .node = n, .in = in, .segments = shards, .cut = DT_CUT_SHARDS });
    return dt_emit(t, &dt_op_tree_sum, &partial, 1, NULL);
}

dt_status *dt_shards(const dt_graph *g, int shards, dt_graph **out)
{
    dt_trace *t = dt_trace_create(g->name);
    dt_value *map = dt_alloc(dt_size_mul((size_t)g->n_nodes + 1, sizeof *map));

    dt_trace_import(t, g, map);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        dt_value in[DT_MAX_IN];
        if (map[i].trace)
            continue;
        for (int k = 0; k < n->n_in; k++)
            in[k] = map[n->in[k]];
        const char *path = dt_trace_path(t, n->path);
        map[i] = sums_batch(g, n) ? emit_sharded(t, n, in, shards) : dt_emit_like(t, g, i, in);
        dt_trace_path(t, path);
    }
    dt_trace_export(t, g, map);
    free(map);
    return dt_trace_end(t, out);
}

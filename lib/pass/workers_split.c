/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the program of one memory space into that of one worker, which has some rows of the batch.
 * Rows of several workers are combined in sums over the batch only. These are divided into shards
 * as dt_shards does: a worker adds its own shards, and tree_join adds the sums of all workers.
 *
 *     dot_general(x', dy)      ->   tree_join(tree_part(segment_dot_general(x', dy))):
 *                                   (own shards, m, n) -> (m, nodes * n) -> (m, n)
 *     get_dimension_size(x)    ->   a number: the rows of all
 *     iota along the batch     ->   example_id, which begins at the worker's first row
 *     segment_reduce(x)        ->   worker_rows(segment_reduce(x)), of own replicas: one value for
 *                                   each replica, then of all
 *     segment_broadcast(v)     ->   segment_broadcast(own replicas' part of v)
 *
 * All other ops work row by row, or on values that are the same on all workers; any others are
 * refused. Joins are in the order of nodes. This is the same on all workers, since their graphs
 * differ only in sizes.
 */
#include "pass/workers_split.h"

#include <string.h>

#include "op/segment.h"
#include "op/shapes.h"

/* ---- what can be split ---- */

static bool counts_rows(const dt_node *n) {
    return n->op->role == DT_ROLE_COUNTER && n->n_in == 0 && n->type.rank > 0 &&
           n->type.dim[0] == -1;
}

static bool measures_batch(const dt_graph *g, const dt_node *n) {
    return n->op->role == DT_ROLE_SIZE && dt_type_has_batch(&g->node[n->in[0]].type);
}

/* Whether the op works row by row: every dimension of an input that has rows is such a dimension of
 * the result, and vice versa. */
static bool goes_by_rows(const dt_graph *g, const dt_node *n) {
    dt_type in[DT_MAX_IN];
    dt_rule rule;
    for (int k = 0; k < n->n_in; k++) in[k] = g->node[n->in[k]].type;
    dt_rule_whole(&rule);
    n->op->rule(in, &n->type, n->attr, &rule);
    for (int k = 0; k < n->n_in; k++)
        for (int d = 0; d < in[k].rank; d++) {
            bool kept = !dt_is_batch(&in[k], d);
            for (int o = 0; !kept && o < n->type.rank; o++)
                kept = dt_is_batch(&n->type, o) && rule.out[o] >= 0 && rule.out[o] == rule.in[k][d];
            if (!kept) return false;
        }
    for (int o = 0; o < n->type.rank; o++)
        if (dt_is_batch(&n->type, o) && rule.out[o] < 0) return false;
    return true;
}

static bool touches_rows(const dt_graph *g, const dt_node *n) {
    bool touches = dt_type_has_batch(&n->type);
    for (int k = 0; k < n->n_in; k++) touches |= dt_type_has_batch(&g->node[n->in[k]].type);
    return touches || dt_cut_of(n) >= 0;
}

/* Whether the node converts between one value for each replica and the rows of replicas. */
static bool goes_by_replicas(const dt_node *n, const dt_worker_share *share) {
    return share->replicas && dt_cut_of(n) == DT_CUT_REPLICAS &&
           dt_segment_count(n) == share->replicas * share->workers;
}

static bool can_split(const dt_graph *g, int i, const dt_worker_share *share) {
    const dt_node *n = &g->node[i];
    if (goes_by_replicas(n, share)) return true;
    if (n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE ||
        n->op->role == DT_ROLE_CONSTANT || !touches_rows(g, n))
        return true;
    return dt_cut_of(n) < 0 &&
           (dt_sums_batch(g, n) || counts_rows(n) || measures_batch(g, n) || goes_by_rows(g, n));
}

static dt_status *refuse(const dt_node *n) {
    const bool by_replica = dt_cut_of(n) == DT_CUT_REPLICAS;
    dt_status *s = dt_fail(DT_E_NOT_YET, NULL,
                           "layer '%s' %s, which workers in separate processes cannot do yet (%s)",
                           n->path[0] ? n->path : "loss",
                           by_replica ? "treats the rows of each replica by themselves"
                                      : "joins rows of the batch in another way than by a sum",
                           n->op->name);
    return by_replica ? dt_suggest(s, "BatchNormalization: write synchronized: true")
                      : dt_suggest(s, "train in one process");
}

static dt_status *check(const dt_graph *g, const dt_worker_share *share) {
    if (share->shards < share->workers)
        return dt_fail(
            DT_E_REPLICAS, NULL,
            "reproducible.shards: %d are fewer than the %d workers, each of which needs one",
            (int)share->shards, share->workers);
    dt_status *s = NULL;
    for (int i = 0; !s && i < g->n_nodes; i++)
        if (!can_split(g, i, share)) s = refuse(&g->node[i]);
    for (int i = 0; !s && !share->replicas && i < g->n_results; i++)
        if (dt_type_has_batch(&g->node[g->result[i].node].type))
            s = refuse(&g->node[g->result[i].node]);
    return s;
}

/* ---- splitting ---- */

static dt_value count_from_first(const dt_rewrite_call *c) {
    const dt_type *t = &c->graph->node[c->node].type;
    dt_value numbers = dt_convert(dt_example_id(c->trace), t->dtype);
    return t->rank > 1 ? dt_broadcast_rows(numbers, t) : numbers;
}

static dt_value size_of_all(const dt_rewrite_call *c, int64_t batch) {
    const dt_node *n = &c->graph->node[c->node];
    const dt_axis_attr *a = n->attr;
    const dt_type whole = dt_type_at(&c->graph->node[n->in[0]].type, batch);
    return dt_splat(c->trace, &n->type, (double)whole.dim[a->axis]);
}

/* Sums this worker's rows in the op's own order, in the form of a tree with a single node. */
static dt_value sum_plainly(const dt_rewrite_call *c) {
    const dt_type *t = &c->graph->node[c->node].type;
    const int64_t rows = t->rank ? t->dim[0] : 1;
    dt_value sum = dt_emit_like(c->trace, c->graph, c->node, c->in);
    return dt_reshape(sum, t->rank ? 2 : 1,
                      (int64_t[]){rows, rows ? dt_type_elements(t) / rows : 0});
}

static dt_value sum_by_shards(const dt_rewrite_call *c, const dt_shard_range *own) {
    dt_value shards = dt_sum_shards(c, own->count);
    return dt_emit(c->trace, &dt_op_tree_part, &shards, 1, own);
}

static dt_value join(const dt_rewrite_call *c, const dt_worker_share *share,
                     const dt_shard_range *own) {
    dt_tree_node node[DT_TREE_NODES];
    dt_tree_join_attr a;
    memset(&a, 0,
           sizeof a); /* clears the padding as well, since attributes are compared with memcmp */
    a.type = c->graph->node[c->node].type;
    a.shards = own->shards;
    a.nodes = dt_tree_nodes(own, node);
    dt_value part = share->plain && own->count == 1 ? sum_plainly(c) : sum_by_shards(c, own);
    return dt_emit(c->trace, &dt_op_tree_join, &part, 1, &a);
}

static dt_value by_replicas(const dt_rewrite_call *c, const dt_worker_share *share) {
    const dt_node *n = &c->graph->node[c->node];
    dt_segment_attr own = *(const dt_segment_attr *)n->attr;
    dt_value in[DT_MAX_IN];
    own.count = share->replicas;
    for (int k = 0; k < n->n_in; k++)
        in[k] = dt_type_has_batch(&c->graph->node[n->in[k]].type)
                    ? c->in[k]
                    : dt_slice_axis(c->in[k], 0, (int64_t)share->rank * share->replicas,
                                    share->replicas, 1);
    dt_value part = dt_emit(c->trace, n->op, in, n->n_in, &own);
    if (dt_type_has_batch(&n->type)) return part;
    dt_worker_rows_attr a;
    memset(&a, 0,
           sizeof a); /* clears the padding as well, since attributes are compared with memcmp */
    a.type = n->type;
    a.workers = share->workers;
    a.rank = share->rank;
    return dt_emit(c->trace, &dt_op_worker_rows, &part, 1, &a);
}

static dt_value split(const dt_rewrite_call *c) {
    const dt_worker_share *share = c->user;
    const dt_node *n = &c->graph->node[c->node];
    const dt_shard_range own = dt_shards_of_worker(share->shards, share->workers, share->rank);
    if (goes_by_replicas(n, share)) return by_replicas(c, share);
    if (dt_sums_batch(c->graph, n)) return join(c, share, &own);
    if (measures_batch(c->graph, n)) return size_of_all(c, share->batch);
    return counts_rows(n) && n->type.rank > 0 && !goes_by_rows(c->graph, n)
               ? count_from_first(c)
               : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_workers_split(const dt_graph *g, const dt_worker_share *share, dt_graph **out) {
    DT_TRY(check(g, share));
    return dt_rewrite(g, split, share, out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the program of one memory space into that of one worker, which has some rows of the batch.
 * Rows of several workers are combined in sums over the batch only. These are divided into shards
 * as dt_shards does: a worker adds its own shards, and tree_join adds the sums of all workers.
 *
 *     dot_general(x', dy)      ->   tree_join(tree_part(segment_dot_general(x', dy))):
 *                                   (own shards, m, n) -> (m, nodes * n) -> (m, n)
 *     get_dimension_size(x)    ->   a number: the size for the rows of all workers
 *     iota along the batch     ->   example_id, which begins at the worker's first row
 *     segment_reduce(x)        ->   worker_rows(segment_reduce(x)): one value for each replica of
 *                                   this worker, then the values of all workers
 *     segment_broadcast(v)     ->   segment_broadcast(own replicas' part of v)
 *
 * All other ops must work row by row, or on values that are the same on all workers; otherwise the
 * graph is refused. Joins are in the order of nodes. This is the same on all workers, since their
 * graphs differ only in sizes.
 */
#include "pass/workers_split.h"

#include <string.h>

#include "base/arena.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/workers.h"

/* ---- reproducible shards ---- */

/*
 * Reproducible shards: the global batch is divided into V shards, whose borders depend on the
 * number of examples alone, not on the number of replicas, workers or threads. Every sum over the
 * batch becomes V partial sums and one fixed tree over them:
 *
 *     dot_general(x', dy)   ->   tree_sum(segment_dot_general(x', dy))       (V, m, n) -> (m, n)
 *
 * A maximum needs no shards, because it does not depend on the order of values.
 */

/* Whether a node sums over the batch and its op has a form that sums over segments of the batch. */
static bool sums_batch(const dt_graph *g, const dt_node *n) {
    if (!n->op->segment || dt_type_has_batch(&n->type)) return false;
    if (dt_reduce_kind_of(n) != DT_REDUCE_SUM) return false;
    for (int k = 0; k < n->n_in; k++)
        if (!dt_type_has_batch(&g->node[n->in[k]].type)) return false;
    return n->n_in > 0;
}

/* Returns a node's sums over each shard of the batch, (shards, ...), which replace the node. */
static dt_value sum_shards(const dt_rewrite_call *c, int shards) {
    const dt_node *n = &c->graph->node[c->node];
    return n->op->segment(&(dt_fold_call){
        .trace = c->trace, .node = n, .in = c->in, .segments = shards, .cut = DT_CUT_SHARDS});
}

static dt_value add_by_tree(const dt_rewrite_call *c) {
    if (!sums_batch(c->graph, &c->graph->node[c->node]))
        return dt_emit_like(c->trace, c->graph, c->node, c->in);
    dt_value partial = sum_shards(c, *(const int *)c->user);
    return dt_emit(c->trace, &dt_op_tree_sum, &partial, 1, NULL);
}

dt_status *dt_shards(const dt_graph *g, int shards, dt_graph **out) {
    return dt_rewrite(g, add_by_tree, &shards, out);
}

/* ---- what can be split ---- */

static bool counts_rows(const dt_node *n) {
    return n->op->role == DT_ROLE_COUNTER && n->n_in == 0 && n->type.rank > 0 &&
           n->type.dim[0] == -1;
}

static bool measures_batch(const dt_graph *g, const dt_node *n) {
    return n->op->role == DT_ROLE_SIZE && dt_type_has_batch(&g->node[n->in[0]].type);
}

/* Whether the op works row by row: inputs have rows in the dimension in which the result has them,
 * and in no other. */
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
           (sums_batch(g, n) || counts_rows(n) || measures_batch(g, n) || goes_by_rows(g, n));
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
    dt_value shards = sum_shards(c, own->count);
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
    if (sums_batch(c->graph, n)) return join(c, share, &own);
    if (measures_batch(c->graph, n)) return size_of_all(c, share->batch);
    return counts_rows(n) && n->type.rank > 0 && !goes_by_rows(c->graph, n)
               ? count_from_first(c)
               : dt_emit_like(c->trace, c->graph, c->node, c->in);
}

dt_status *dt_workers_split(const dt_graph *g, const dt_worker_share *share, dt_graph **out) {
    DT_TRY(check(g, share));
    return dt_rewrite(g, split, share, out);
}

/* ---- dividing updates over workers ---- */

/*
 * Makes the program of a worker that keeps only some rows (of dimension 0) of the optimizer's
 * state, and possibly of the weights. Element-wise results of these are computed for these rows
 * only. Values that are needed whole, such as the new weights, are gathered:
 *
 *     m' = b * m + (1 - b) * g          ->   own rows of g, of m and of m'
 *     w' = w - rate * m'                ->   worker_rows(own rows of w - rate * own rows of m')
 *
 * The update of a divided weight is computed for the worker's rows only. Each product that reads
 * the whole weight, forwards or backwards, gathers it when its other operand has been computed and
 * frees it afterwards, so few weights are whole at a time:
 *
 *     y = x W        ->   x worker_rows(barrier(own rows of W, x))
 *     dx = dy W'     ->   dy worker_rows(barrier(own rows of W, dy))'
 *
 * Every element is computed by the same operations as before, so its bits are the same.
 */

typedef struct dividing {
    const dt_graph *g;
    const dt_worker_share *share;
    const dt_worker_parts *parts;
    dt_trace *t;
    bool *local; /* [nodes] whether this worker computes only some rows of the node */
    /* [nodes] whole: the whole value; own: this worker's rows. A value without a trace was not
     * emitted yet */
    dt_value *whole, *own;
} dividing;

static dt_value local_rows(dividing *d, int i);

static dt_value put_together(dividing *d, int i, dt_value own) {
    dt_worker_rows_attr a;
    memset(&a, 0,
           sizeof a); /* clears the padding as well, since attributes are compared with memcmp */
    a.type = d->g->node[i].type;
    a.workers = d->share->workers;
    a.rank = d->share->rank;
    const char *path = dt_trace_path(d->t, d->g->node[i].path);
    dt_value whole = dt_emit(d->t, &dt_op_worker_rows, &own, 1, &a);
    dt_trace_path(d->t, path);
    return whole;
}

static dt_value whole_of(dividing *d, int i) {
    if (!d->whole[i].trace) d->whole[i] = put_together(d, i, local_rows(d, i));
    return d->whole[i];
}

/* Whether all elements of the node are one number: a constant, or a scalar that is repeated. */
static bool is_repeated(const dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    return n->op->role == DT_ROLE_CONSTANT ||
           (n->op->role == DT_ROLE_REPEAT && d->g->node[n->in[0]].type.rank == 0);
}

static dt_value repeat(dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    const dt_type own = dt_worker_rows_type(&n->type, d->share->workers, d->share->rank);
    const int8_t none[DT_MAX_RANK] = {0};
    if (n->op->role == DT_ROLE_CONSTANT)
        return dt_splat(d->t, &own, ((const dt_constant_attr *)n->attr)->value);
    return dt_broadcast_in_dim(whole_of(d, n->in[0]), &own, none);
}

static dt_value cut(dividing *d, int i) {
    const int64_t rows = d->g->node[i].type.dim[0],
                  begin = dt_worker_rows_begin(rows, d->share->workers, d->share->rank);
    return dt_slice_axis(whole_of(d, i), 0, begin,
                         dt_worker_rows_begin(rows, d->share->workers, d->share->rank + 1) - begin,
                         1);
}

static bool is_by_element(const dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    for (int k = 0; k < n->n_in; k++)
        if (d->g->node[n->in[k]].type.rank > 0 &&
            (d->g->node[n->in[k]].type.rank != n->type.rank ||
             d->g->node[n->in[k]].type.dim[0] != n->type.dim[0]))
            return false;
    return dt_is_elementwise(n->op) && n->type.rank > 0 && n->n_in > 0 &&
           !dt_type_has_batch(&n->type);
}

/* Returns this worker's rows of the value of node i. The element-wise ops from which it is computed
 * are emitted for these rows only. */
static dt_value local_rows(dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    dt_value in[DT_MAX_IN];
    if (d->own[i].trace) return d->own[i];
    if (is_repeated(d, i)) return d->own[i] = repeat(d, i);
    if (!is_by_element(d, i)) return d->own[i] = cut(d, i);
    for (int k = 0; k < n->n_in; k++)
        in[k] =
            d->g->node[n->in[k]].type.rank == 0 ? whole_of(d, n->in[k]) : local_rows(d, n->in[k]);
    const char *path = dt_trace_path(d->t, n->path);
    d->own[i] = dt_emit_like(d->t, d->g, i, in);
    dt_trace_path(d->t, path);
    return d->own[i];
}

static void import(dividing *d) {
    dt_trace_set_batch_parts(d->t, d->g->batch_parts);
    for (int i = 0; i < d->g->n_args; i++)
        d->whole[d->g->arg[i].node] =
            dt_trace_declare(d->t, d->g->arg[i].name, &d->g->node[d->g->arg[i].node].type);
    for (int i = 0; i < d->g->n_states; i++) {
        const dt_state *s = &d->g->state[i];
        dt_variable *part = d->parts->of(d->parts->user, s->variable);
        d->local[s->node] = part != NULL;
        *(part ? &d->own[s->node] : &d->whole[s->node]) = dt_read(d->t, part ? part : s->variable);
    }
}

/* Returns the whole value of node i, of which this worker has some rows, gathered only when a
 * reader's other operand, `rows`, has been computed. */
static dt_value whole_late(dividing *d, int i, dt_value rows) {
    const dt_value in[] = {local_rows(d, i), rows};
    dt_value own = dt_emit(d->t, &dt_op_optimization_barrier, in, 2, NULL);
    return put_together(d, i, own);
}

static int rows_beside(const dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    for (int k = 0; k < n->n_in; k++)
        if (dt_type_has_batch(&d->g->node[n->in[k]].type)) return n->in[k];
    return -1;
}

static void copy(dividing *d, int i) {
    const dt_node *n = &d->g->node[i];
    const int beside = rows_beside(d, i);
    dt_value in[DT_MAX_IN];
    for (int k = 0; k < n->n_in; k++) d->local[i] |= d->local[n->in[k]] && is_by_element(d, i);
    if (d->local[i]) {
        local_rows(d, i);
        return;
    }
    for (int k = 0; k < n->n_in; k++)
        in[k] = beside >= 0 && d->local[n->in[k]] ? whole_late(d, n->in[k], whole_of(d, beside))
                                                  : whole_of(d, n->in[k]);
    const char *path = dt_trace_path(d->t, n->path);
    d->whole[i] = dt_emit_like(d->t, d->g, i, in);
    dt_trace_path(d->t, path);
}

static void export(dividing *d) {
    for (int i = 0; i < d->g->n_results; i++)
        dt_return(d->t, d->g->result[i].name, whole_of(d, d->g->result[i].node));
    for (int i = 0; i < d->g->n_states; i++) {
        const dt_state *s = &d->g->state[i];
        dt_variable *part = d->parts->of(d->parts->user, s->variable);
        if (s->update >= 0)
            dt_assign(d->t, part ? part : s->variable,
                      part ? local_rows(d, s->update) : whole_of(d, s->update));
    }
}

dt_status *dt_workers_divide(const dt_graph *g, const dt_worker_share *share,
                             const dt_worker_parts *parts, dt_graph **out) {
    dt_local_arena arena = dt_arena_create();
    dividing d = {.g = g,
                  .share = share,
                  .parts = parts,
                  .t = dt_trace_create(g->name),
                  .local = dt_arena_array(arena, bool, g->n_nodes + 1),
                  .whole = dt_arena_array(arena, dt_value, g->n_nodes + 1),
                  .own = dt_arena_array(arena, dt_value, g->n_nodes + 1)};
    import(&d);
    for (int i = 0; i < g->n_nodes; i++)
        if (!d.whole[i].trace && !d.own[i].trace) copy(&d, i);
    export(&d);
    return dt_trace_end(d.t, out);
}

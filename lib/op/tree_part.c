/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_part: the values of the largest nodes in tree_sum's tree over V shards whose shards all lie
 * in a given range: see op/workers.h.
 *
 *     x   (count, m, rest...)     y   (m, nodes * rest)        x   (count)     y   (nodes)
 *
 * Row i of y contains row i of each node, so that the op can be divided by rows like tree_sum.
 */
#include <stdlib.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"
#include "op/workers.h"

void dt_tree_leaves(int32_t shards, dt_tree_node n, int32_t *from, int32_t *to) {
    const int64_t end = ((int64_t)n.index + 1) << n.level;
    *from = (int32_t)((int64_t)n.index << n.level);
    *to = end < shards ? (int32_t)end : shards;
}

int dt_tree_nodes(const dt_shard_range *r, dt_tree_node out[DT_TREE_NODES]) {
    const int32_t end = r->first + r->count;
    int n = 0;
    for (int32_t at = r->first, to; at < end; at = to) {
        dt_tree_node best = {0, at};
        dt_tree_leaves(r->shards, best, &at, &to);
        for (int32_t level = 1; level < 31 && at % (INT64_C(1) << level) == 0; level++) {
            int32_t from, reaches;
            dt_tree_leaves(r->shards, (dt_tree_node){level, at >> level}, &from, &reaches);
            if (reaches > end) break;
            best = (dt_tree_node){level, at >> level};
            to = reaches;
            if (to == r->shards && from == 0) break;
        }
        out[n++] = best;
    }
    return n;
}

dt_shard_range dt_shards_of_worker(int32_t shards, int workers, int rank) {
    const int32_t first = (int32_t)((int64_t)shards * rank / workers),
                  end = (int32_t)((int64_t)shards * (rank + 1) / workers);
    return (dt_shard_range){.shards = shards, .first = first, .count = end - first};
}

static int nodes_of(const dt_shard_range *r) {
    dt_tree_node node[DT_TREE_NODES];
    return dt_tree_nodes(r, node);
}

int dt_tree_results(const dt_node *n) {
    return n->op == &dt_op_tree_sum ? 1 : n->op == &dt_op_tree_part ? nodes_of(n->attr) : 0;
}

const dt_shard_range *dt_shard_range_of(const dt_node *n) {
    return n->op == &dt_op_tree_part ? n->attr : NULL;
}

static dt_status *infer(dt_infer *q) {
    const dt_shard_range *r = q->attr;
    const dt_type *x = &q->in[0];
    const int nodes = nodes_of(r);
    int64_t rest = 1;
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_NUMBERS));
    if (x->rank < 1 || x->dim[0] != r->count || r->count < 1)
        return dt_bad_shape(q, "expected %d shards as dimension 0, got %s", (int)r->count,
                            dt_text_of(x).s);
    for (int d = 2; d < x->rank; d++) rest *= x->dim[d];
    q->out = x->rank == 1 ? dt_type_of(x->dtype, 1, (int64_t[]){nodes})
                          : dt_type_of(x->dtype, 2, (int64_t[]){x->dim[1], nodes * rest});
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out, (void)attr;
    dt_rule_whole(rule);
    if (in[0].rank > 1) rule->in[0][1] = rule->out[0] = 0;
}

static void eval(const dt_call *c) {
    const dt_shard_range *r = c->node->attr;
    const dt_view *x = &c->in[0];
    dt_tree_node node[DT_TREE_NODES];
    const int nodes = dt_tree_nodes(r, node);
    const int64_t each = dt_type_elements(&x->type) / r->count,
                  rows = x->type.rank > 1 ? x->type.dim[1] : 1, width = each / (rows ? rows : 1);
    dt_view one = {.type = x->type,
                   .data = dt_alloc(dt_size_mul((size_t)each + 1, dt_dtype_size(x->type.dtype)))};
    dt_node sum = {.op = &dt_op_tree_sum};
    for (int d = 1; d < x->type.rank; d++) one.type.dim[d - 1] = x->type.dim[d];
    one.type.rank--;
    for (int k = 0; k < nodes; k++) {
        int32_t from, to;
        dt_tree_leaves(r->shards, node[k], &from, &to);
        dt_view part = dt_view_rows(x, from - r->first, to - from);
        dt_op_tree_sum.eval(&(dt_call){.node = &sum, .in = &part, .out = one});
        for (int64_t i = 0; i < each; i++)
            dt_cell_copy(&c->out, (i / width * nodes + k) * width + i % width, &one, i);
    }
    free(one.data);
}

static void print(const void *attr, dt_str *out) {
    const dt_shard_range *r = attr;
    dt_str_printf(out, "shards %d to %d of %d", (int)r->first, (int)(r->first + r->count - 1),
                  (int)r->shards);
}

/* Writes the sum of entries [from, from + n) of dimension 0, added in the order of tree_sum. */
static dt_hlo_value sum_of(const dt_hlo_call *c, int64_t from, int64_t n) {
    const dt_hlo_value x = c->in[0];
    if (n == 1)
        return dt_hlo_reshape(c->hlo, dt_hlo_slice(c->hlo, x, 0, from, 1), x.type.rank - 1,
                              x.type.dim + 1);
    const int64_t left = dt_tree_left(n);
    dt_hlo_value a = sum_of(c, from, left), b = sum_of(c, from + left, n - left);
    return dt_hlo_binary(c->hlo, "add", a, b);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_shard_range *r = c->node->attr;
    dt_hlo_value part[DT_TREE_NODES];
    dt_tree_node node[DT_TREE_NODES];
    const int nodes = dt_tree_nodes(r, node);
    for (int k = 0; k < nodes; k++) {
        int32_t from, to;
        dt_tree_leaves(r->shards, node[k], &from, &to);
        part[k] = sum_of(c, from - r->first, to - from);
        part[k] =
            dt_hlo_reshape(c->hlo, part[k], c->type.rank,
                           c->type.rank == 1 ? (int64_t[]){1}
                                             : (int64_t[]){c->type.dim[0], c->type.dim[1] / nodes});
    }
    return dt_hlo_concatenate(c->hlo, part, nodes, c->type.rank - 1);
}

const dt_op dt_op_tree_part = {
    .name = "tree_part",
    .n_in = 1,
    .role = DT_ROLE_REDUCE,
    .attr = {.size = sizeof(dt_shard_range), .print = print},
    .infer = infer,
    .rule = rule,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding step by step. A language model's graph computes all T positions of a text at once. If
 * each position depends on earlier ones only through the keys and values of causal attention, the
 * next position needs no more than its own token and those keys and values:
 *
 *     whole   tokens (B, T)                          -> scores (B, T, V), cache/0 (B, T, K, H), ...
 *     step    token (B, 1), position, cache/0, ...   -> scores (B, 1, V), row/0 (B, 1, K, H), ...
 *
 * The ops' rules (dt_rule) show which dimension of a value counts positions. Along it every op of
 * the step computes a single position: a table of positions is read at `position`, and a query
 * attends to the cache after its own row has been put there. If another op mixes positions (a
 * convolution, a recurrent layer, attention in both directions, a mask), there is no such step.
 */
#include <string.h>

#include "op/op.h"
#include "pass/pass.h"

typedef struct decoder {
    const dt_graph *g;
    dt_trace *t; /* the trace that emits the graph of one position */
    int64_t length;
    /* [nodes] the dimension of the node's value that counts positions of the text; -1: the node
     * does not depend on tokens */
    int *along;
    /* [nodes] `whole`: the value at all positions; `one`: the value at the next position only */
    dt_value *whole, *one;
    int *one_of;
    /* [n_cached] nodes whose values at earlier positions are kept in the cache */
    int *cached, n_cached;
    dt_value position;
} decoder;

/* ---- which dimension counts positions ---- */

static const dt_node *node_at(const decoder *d, int i) { return &d->g->node[i]; }

static void rule_of(const decoder *d, const dt_node *n, dt_rule *rule) {
    dt_type in[DT_MAX_IN];
    for (int k = 0; k < n->n_in; k++) in[k] = node_at(d, n->in[k])->type;
    dt_rule_whole(rule);
    n->op->rule(in, &n->type, n->attr, rule);
}

static int dimension_of(const int8_t dims[DT_MAX_RANK], int factor) {
    for (int i = 0; factor >= 0 && i < DT_MAX_RANK; i++)
        if (dims[i] == factor) return i;
    return -1;
}

/* Whether input k of node n holds keys or values that later positions read again and the cache
 * keeps: those of causal attention without sinks, of queries at positions 0, 1, ... */
static bool is_cached(const decoder *d, const dt_node *n, int k) {
    if (n->op != &dt_op_attention || (k != 1 && k != 2)) return false;
    const dt_attention_attr *a = n->attr;
    const dt_node *query = node_at(d, n->in[0]), *at = node_at(d, n->in[3]);
    const int steps = query->type.rank - 3;
    return a->causal && a->sinks == 0 && d->along[n->in[0]] == steps &&
           d->along[n->in[k]] == steps && at->op == &dt_op_iota &&
           ((const dt_iota_attr *)at->attr)->axis == steps;
}

/* Sets along[i], the dimension of node i that counts positions. Returns false if the op mixes
 * positions in another way than causal attention. */
static bool follow(decoder *d, int i) {
    const dt_node *n = node_at(d, i);
    dt_rule rule;
    bool depends = false;
    d->along[i] = n->op->role == DT_ROLE_ARGUMENT ? 1 : -1;
    rule_of(d, n, &rule);
    for (int k = 0; k < n->n_in; k++) {
        const int from = d->along[n->in[k]];
        if (from < 0) continue;
        depends = true;
        if (is_cached(d, n, k)) continue;
        const int to =
            n->op->role == DT_ROLE_NOTE ? from : dimension_of(rule.out, rule.in[k][from]);
        if (to < 0 || n->type.dim[to] != d->length || (d->along[i] >= 0 && d->along[i] != to))
            return false;
        d->along[i] = to;
    }
    return !depends || d->along[i] >= 0;
}

/* Returns the first node that mixes values of several positions, or the result if its dimension 1
 * does not count positions; -1: there is no such node. */
static int find_mixing(decoder *d) {
    for (int i = 0; i < d->g->n_nodes; i++)
        if (!follow(d, i)) return i;
    return d->along[d->g->result[0].node] == 1 ? -1 : d->g->result[0].node;
}

/* ---- the step, and the pass ---- */

static dt_value whole_of(decoder *d, int i) {
    const dt_node *n = node_at(d, i);
    dt_value in[DT_MAX_IN];
    if (d->whole[i].trace) return d->whole[i];
    for (int k = 0; k < n->n_in; k++) in[k] = whole_of(d, n->in[k]);
    return d->whole[i] = dt_emit_like(d->t, d->g, i, in);
}

/* Returns the part of x that has the index d->position in dimension `along`. The dimension stays,
 * with size 1. */
static dt_value pick(decoder *d, dt_value x, int along) {
    int perm[DT_MAX_RANK];
    const int rank = dt_type_of_value(x).rank;
    const int64_t one = 1;
    for (int i = 0; i < rank; i++) perm[i] = i == 0 ? along : i == along ? 0 : i;
    dt_value rows = along ? dt_transpose(x, perm) : x;
    rows = dt_gather(rows, dt_reshape(d->position, 1, &one));
    return along ? dt_transpose(rows, perm) : rows;
}

static dt_value one_of(decoder *d, int i, int along);

/* Emits the op of node n for one position, with inputs `in` for it. Dimension `along` of its
 * result, which counts positions, then has size 1. */
static dt_value emit(decoder *d, const dt_node *n, const dt_value *in, int along) {
    const dt_op *op = n->op;
    void *attr = op->attr.size ? dt_arena_copy(dt_trace_arena(d->t), n->attr, op->attr.size) : NULL;
    if (op->attr.type) {
        dt_type type = n->type;
        type.dim[along] = 1;
        memcpy((char *)attr + op->attr.type - 1, &type, sizeof type);
    }
    if (op == &dt_op_slice) ((dt_slice_attr *)attr)->dim[along].size = 1;
    return dt_emit(d->t, op, in, n->n_in, attr);
}

static int cache_of(decoder *d, int i) {
    for (int c = 0; c < d->n_cached; c++)
        if (d->cached[c] == i) return c;
    d->cached[d->n_cached] = i;
    return d->n_cached++;
}

/* Returns the keys or values so far, with those of this position put in their place. The cache is
 * float32, which can represent every value of a narrower type. */
static dt_value cached(decoder *d, int i) {
    const dt_type type = node_at(d, i)->type;
    const int along = d->along[i];
    dt_type kept = type, number = type;
    kept.dtype = DT_FLOAT32;
    number.dtype = DT_INT32;
    dt_value before = dt_trace_declare(
        d->t, dt_arena_printf(dt_trace_arena(d->t), "cache/%d", cache_of(d, i)), &kept);
    dt_value is_here =
        dt_compare(dt_iota(d->t, &number, along), dt_broadcast_to(d->position, &number), DT_EQ);
    return dt_select(is_here, dt_broadcast_to(one_of(d, i, along), &type),
                     dt_convert(before, type.dtype));
}

static dt_value compute(decoder *d, int i, int along) {
    const dt_node *n = node_at(d, i);
    dt_type type = n->type;
    dt_rule rule;
    dt_value in[DT_MAX_IN];
    rule_of(d, n, &rule);
    type.dim[along] = 1;
    if (n->op->role == DT_ROLE_NOTE) return one_of(d, n->in[0], along);
    if (n->op == &dt_op_iota && ((const dt_iota_attr *)n->attr)->axis == along)
        return dt_broadcast_to(dt_convert(d->position, type.dtype), &type);
    if (n->op->role == DT_ROLE_STATE || rule.out[along] < 0) return pick(d, whole_of(d, i), along);
    for (int k = 0; k < n->n_in; k++) {
        const int from = dimension_of(rule.in[k], rule.out[along]);
        in[k] = is_cached(d, n, k) ? cached(d, n->in[k])
                : from >= 0        ? one_of(d, n->in[k], from)
                                   : whole_of(d, n->in[k]);
    }
    return emit(d, n, in, along);
}

/* Returns node i at one position. The dimension that counts positions then has size 1. */
static dt_value one_of(decoder *d, int i, int along) {
    if (d->one[i].trace && d->one_of[i] == along) return d->one[i];
    const char *path = dt_trace_path(d->t, node_at(d, i)->path);
    d->one[i] = compute(d, i, along);
    d->one_of[i] = along;
    dt_trace_path(d->t, path);
    return d->one[i];
}

static void declare(decoder *d) {
    const dt_named_node *tokens = &d->g->arg[0];
    dt_type type = node_at(d, tokens->node)->type, number = {.dtype = DT_INT32};
    type.dim[1] = 1;
    d->one[tokens->node] = dt_trace_declare(d->t, tokens->name, &type);
    d->one_of[tokens->node] = 1;
    d->position = dt_trace_declare(d->t, "position", &number);
    for (int i = 0; i < d->g->n_states; i++)
        d->whole[d->g->state[i].node] = dt_read(d->t, d->g->state[i].variable);
}

static dt_status *make_step(decoder *d, dt_graph **out) {
    d->t = dt_trace_create("decode");
    declare(d);
    /* Nodes are emitted in their order. If the last one came first, the recursion would be as deep
     * as the graph. */
    for (int i = 0; i < d->g->n_nodes; i++)
        if (d->along[i] >= 0) one_of(d, i, d->along[i]);
    dt_return(d->t, d->g->result[0].name, one_of(d, d->g->result[0].node, 1));
    for (int c = 0; c < d->n_cached; c++)
        dt_return(d->t, dt_arena_printf(dt_trace_arena(d->t), "row/%d", c),
                  dt_convert(d->one[d->cached[c]], DT_FLOAT32));
    return dt_trace_end(d->t, out);
}

/* Makes the graph that computes all positions. Its results include the values for the cache. */
static dt_status *make_whole(const decoder *d, dt_graph **out) {
    dt_trace *t = dt_trace_create(d->g->name);
    DT_LOCAL dt_value *map = dt_alloc(dt_size_mul((size_t)d->g->n_nodes + 1, sizeof *map));
    dt_value in[DT_MAX_IN];
    dt_trace_import(t, d->g, map);
    for (int i = 0; i < d->g->n_nodes; i++) {
        if (map[i].trace) continue;
        for (int k = 0; k < node_at(d, i)->n_in; k++) in[k] = map[node_at(d, i)->in[k]];
        map[i] = dt_emit_like(t, d->g, i, in);
    }
    dt_trace_export(t, d->g, map);
    for (int c = 0; c < d->n_cached; c++)
        dt_return(t, dt_arena_printf(dt_trace_arena(t), "cache/%d", c),
                  dt_convert(map[d->cached[c]], DT_FLOAT32));
    return dt_trace_end(t, out);
}

dt_status *dt_decode(const dt_graph *g, dt_decoding *out) {
    dt_local_arena arena = dt_arena_create();
    const int n = g->n_nodes + 1;
    decoder d = {.g = g,
                 .length = g->node[g->arg[0].node].type.dim[1],
                 .along = dt_arena_array(arena, int, n),
                 .whole = dt_arena_array(arena, dt_value, n),
                 .one = dt_arena_array(arena, dt_value, n),
                 .one_of = dt_arena_array(arena, int, n),
                 .cached = dt_arena_array(arena, int, n)};
    *out = (dt_decoding){.mixing = find_mixing(&d)};
    dt_status *s = out->mixing < 0 ? make_step(&d, &out->step) : NULL;
    if (!s && out->step) s = make_whole(&d, &out->whole);
    if (s) {
        dt_graph_destroy(out->step);
        out->step = NULL;
    }
    return s;
}

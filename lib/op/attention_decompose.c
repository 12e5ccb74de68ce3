/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention and its gradients in the ops that they are composites of: products head by head, (B..,
 * N, T, S) scores, exponentials. The three gradients have nodes of the trace in common.
 */
#include "op/attention.h"

/* In all values the leading dimensions are 0 .. lead - 1; in the scores heads, queries and keys
 * follow. Query heads that share a head of keys are consecutive: where several do, queries are
 * (B.., T, K, groups, H), and the scores (B.., K, T, groups, S). Repeating the keys instead would
 * copy them, in compiled code once for every part of the queries. */
typedef struct parts {
    const dt_attention_attr *attr;
    int lead;
    int64_t groups; /* number of query heads per head of keys */
    int last;       /* the dimension that follows: features of queries, keys of scores */
    dt_value query, key, value, position;
} parts;

/* Reshapes (B.., T, K * groups, H) to (B.., T, K, groups, H). */
static dt_value grouped(const parts *p, dt_value x) {
    dt_type t = dt_type_of_value(x);
    if (p->groups == 1) return x;
    t.dim[p->lead + 3] = t.dim[p->lead + 2];
    t.dim[p->lead + 1] /= p->groups;
    t.dim[p->lead + 2] = p->groups;
    return dt_reshape(x, t.rank + 1, t.dim);
}

/* The inverse of grouped(). */
static dt_value ungrouped(const parts *p, dt_value x) {
    dt_type t = dt_type_of_value(x);
    if (p->groups == 1) return x;
    t.dim[p->lead + 1] *= p->groups;
    t.dim[p->lead + 2] = t.dim[p->lead + 3];
    return dt_reshape(x, t.rank - 1, t.dim);
}

static parts parts_of(const dt_partition_call *c, int position) {
    int lead = c->type[0].rank - 3;
    parts p = {.attr = c->node->attr,
               .lead = lead,
               .groups = c->type[0].dim[lead + 1] / c->type[1].dim[lead + 1],
               .key = c->in[1],
               .value = c->in[2],
               .position = c->in[position]};
    p.last = lead + (p.groups == 1 ? 2 : 3);
    p.query = grouped(&p, c->in[0]);
    return p;
}

/* Transposes (B.., N, x, y) to (B.., x, N, y). */
static dt_value heads_inside(const parts *p, dt_value x) {
    int perm[DT_MAX_RANK];
    for (int i = 0; i < DT_MAX_RANK; i++) perm[i] = i;
    perm[p->lead] = p->lead + 1;
    perm[p->lead + 1] = p->lead;
    return dt_transpose(x, perm);
}

static dt_dot_attr in_step(const parts *p, int heads) {
    dt_dot_attr d = {.n_batch = (int8_t)(p->lead + 1), .n_contract = 1};
    for (int i = 0; i < p->lead; i++) d.lhs_batch[i] = d.rhs_batch[i] = (int8_t)i;
    d.lhs_batch[p->lead] = (int8_t)heads;
    d.rhs_batch[p->lead] = (int8_t)(p->lead + 1);
    return d;
}

/* The product of queries (or their gradients) with keys or values, summed over features. The result
 * has the shape of the scores. */
static dt_value by_feature(const parts *p, dt_value queries, dt_value keys) {
    dt_dot_attr d = in_step(p, p->lead + 1);
    d.lhs_contract[0] = (int8_t)p->last;
    d.rhs_contract[0] = (int8_t)(p->lead + 2);
    return dt_dot_general(queries, keys, &d);
}

/* The product of scores (or values of their shape) with keys or values, summed over keys: (B.., T,
 * N, H). */
static dt_value by_key(const parts *p, dt_value scores, dt_value keys) {
    dt_dot_attr d = in_step(p, p->lead);
    d.lhs_contract[0] = (int8_t)p->last;
    d.rhs_contract[0] = (int8_t)p->lead;
    return ungrouped(p, heads_inside(p, dt_dot_general(scores, keys, &d)));
}

/* The product of scores (or values of their shape) with queries, summed over queries and over the
 * heads that share keys: (B.., S, K, H). */
static dt_value by_query(const parts *p, dt_value scores, dt_value queries) {
    dt_dot_attr d = in_step(p, p->lead);
    d.n_contract = p->groups == 1 ? 1 : 2;
    d.lhs_contract[0] = (int8_t)(p->lead + 1);
    d.rhs_contract[0] = (int8_t)p->lead;
    d.lhs_contract[1] = d.rhs_contract[1] = (int8_t)(d.n_contract > 1 ? p->lead + 2 : 0);
    return heads_inside(p, dt_dot_general(scores, queries, &d));
}

/* Which queries may attend to which keys, as bools of the scores' shape. */
static dt_value looks(const parts *p, dt_value scores) {
    dt_type t = dt_type_of_value(scores), at = dt_type_of_value(p->position);
    int8_t dims[DT_MAX_RANK] = {0};
    t.dtype = at.dtype;
    for (int i = 0; i < p->lead; i++) dims[i] = (int8_t)i;
    dims[p->lead] = (int8_t)(p->lead + 1);
    dt_value asks = dt_broadcast_in_dim(p->position, &t, dims),
             asked = dt_iota(scores.trace, &t, p->last);
    dt_value behind = dt_compare(asked, asks, DT_LE),
             near_by = dt_compare(dt_abs(dt_subtract(asks, asked)),
                                  dt_like(asks, (double)p->attr->window), DT_LT);
    if (!p->attr->causal) return near_by;
    return p->attr->window > 0 ? dt_select(behind, near_by, behind) : behind;
}

/* Repeats x, (B.., N, T), for every key. */
static dt_value spread(dt_value x, dt_value scores) {
    dt_type t = dt_type_of_value(scores);
    return dt_broadcast_rows(x, &t);
}

static dt_value over_keys(const parts *p, dt_value x, dt_reduce_kind kind) {
    return dt_reduce(x, kind, 1u << p->last);
}

/* (B.., N, T, S): the weights. Their sum before dividing is at least 1 if a query attends to any
 * key, since the greatest power is 1. If it attends to none, all weights are 0. */
static dt_value shares(const parts *p) {
    bool masked = p->attr->causal || p->attr->window > 0;
    dt_value scores = by_feature(p, p->query, p->key), may, zero;
    scores = dt_multiply(scores, dt_like(scores, p->attr->scale));
    if (!masked) return dt_softmax(scores);
    may = looks(p, scores);
    zero = dt_like(scores, 0);
    scores = dt_select(may, scores, dt_like(scores, -1e30));
    dt_value power =
        dt_exponential(dt_subtract(scores, spread(over_keys(p, scores, DT_REDUCE_MAX), scores)));
    power = dt_select(may, power, zero);
    dt_value sum = over_keys(p, power, DT_REDUCE_SUM);
    return dt_divide(power, spread(dt_maximum(sum, dt_like(sum, 1)), scores));
}

dt_value dt_attention_decompose(dt_partition_call *c) {
    parts p = parts_of(c, 3);
    return by_key(&p, shares(&p), p.value);
}

dt_value dt_attention_grad_decompose(dt_partition_call *c) {
    enum { OF_QUERY, OF_KEY, OF_VALUE };
    parts p = parts_of(c, 4);
    dt_value share = shares(&p), dy = grouped(&p, c->in[3]);
    if (p.attr->of == OF_VALUE) return by_query(&p, share, dy);
    dt_value dp = by_feature(&p, dy, p.value);
    dt_value mean = over_keys(&p, dt_multiply(share, dp), DT_REDUCE_SUM);
    dt_value ds = dt_multiply(share, dt_subtract(dp, spread(mean, share)));
    ds = dt_multiply(ds, dt_like(ds, p.attr->scale));
    if (p.attr->of == OF_QUERY) return by_key(&p, ds, p.key);
    return by_query(&p, ds, p.query);
}

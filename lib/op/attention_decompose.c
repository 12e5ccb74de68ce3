/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention and its gradients in the ops that they are composites of: products head by head, (B.., N, T, S) scores, exponentials. What the three
 * gradients share is the same nodes of the trace.
 */
#include "op/attention.h"

/* Leading dimensions are 0 .. lead - 1 everywhere; the scores have heads, queries, keys behind them. */
typedef struct parts {
    const dt_attention_attr *attr;
    int lead;
    int64_t groups;  /* heads of queries for one of keys */
    dt_value query, key, value, position; /* with as many heads of queries as of keys: T and N are those from here on */
} parts;

/* (B.., T, K * groups, H) as (B.., T * groups, K, H), or back (`apart`): the heads that ask one head of keys become queries of one head. Repeating the keys instead
 * would cost a copy of them, which a compiler makes anew for every piece of the queries. */
static dt_value asked_by_one(const parts *p, dt_value x, bool apart)
{
    const int at = p->lead;
    dt_type t = dt_type_of_value(x), wide = t;
    int perm[DT_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    if (p->groups == 1)
        return x;
    wide.rank++;
    wide.dim[at + 3] = t.dim[at + 2];
    wide.dim[at] = apart ? t.dim[at] / p->groups : t.dim[at];
    wide.dim[at + 1] = apart ? p->groups : t.dim[at + 1] / p->groups;
    wide.dim[at + 2] = apart ? t.dim[at + 1] : p->groups;
    perm[at + 1] = at + 2;
    perm[at + 2] = at + 1;
    t.dim[at] = apart ? t.dim[at] / p->groups : t.dim[at] * p->groups;
    t.dim[at + 1] = apart ? t.dim[at + 1] * p->groups : t.dim[at + 1] / p->groups;
    return dt_reshape(dt_transpose(dt_reshape(x, wide.rank, wide.dim), perm), t.rank, t.dim);
}

/* (B.., T) as (B.., T * groups). */
static dt_value positions(const parts *p, dt_value x)
{
    const int8_t dims[DT_MAX_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    dt_type t = dt_type_of_value(x), wide = t;
    wide.dim[wide.rank++] = p->groups;
    t.dim[p->lead] *= p->groups;
    return p->groups == 1 ? x : dt_reshape(dt_broadcast_in_dim(x, &wide, dims), t.rank, t.dim);
}

static parts parts_of(const dt_partition_call *c, int position)
{
    int lead = c->type[0].rank - 3;
    parts p = { .attr = c->node->attr, .lead = lead, .groups = c->type[0].dim[lead + 1] / c->type[1].dim[lead + 1], .key = c->in[1], .value = c->in[2] };
    p.query = asked_by_one(&p, c->in[0], false);
    p.position = positions(&p, c->in[position]);
    return p;
}

/* a (B.., x, N, y) or (B.., N, x, y) with b (B.., z, N, w): leading dimensions and heads in step, one dimension of each contracted. */
static dt_value product(const parts *p, dt_value a, dt_value b, bool a_is_scores, int a_contracts, int b_contracts)
{
    dt_dot_attr d = { .n_batch = (int8_t)(p->lead + 1), .n_contract = 1 };
    for (int i = 0; i < p->lead; i++)
        d.lhs_batch[i] = d.rhs_batch[i] = (int8_t)i;
    d.lhs_batch[p->lead] = (int8_t)(p->lead + (a_is_scores ? 0 : 1));
    d.rhs_batch[p->lead] = (int8_t)(p->lead + 1);
    d.lhs_contract[0] = (int8_t)(p->lead + a_contracts);
    d.rhs_contract[0] = (int8_t)(p->lead + b_contracts);
    return dt_dot_general(a, b, &d);
}

/* (B.., N, x, y) as (B.., x, N, y). */
static dt_value heads_inside(const parts *p, dt_value x)
{
    int perm[DT_MAX_RANK];
    for (int i = 0; i < DT_MAX_RANK; i++)
        perm[i] = i;
    perm[p->lead] = p->lead + 1;
    perm[p->lead + 1] = p->lead;
    return dt_transpose(x, perm);
}

/* Which queries look at which keys: bools like the scores. */
static dt_value looks(const parts *p, dt_value scores)
{
    dt_type t = dt_type_of_value(scores), at = dt_type_of_value(p->position);
    int8_t dims[DT_MAX_RANK] = { 0 };
    t.dtype = at.dtype;
    for (int i = 0; i < p->lead; i++)
        dims[i] = (int8_t)i;
    dims[p->lead] = (int8_t)(p->lead + 1);
    dt_value asks = dt_broadcast_in_dim(p->position, &t, dims), asked = dt_iota(scores.trace, &t, p->lead + 2);
    dt_value behind = dt_compare(asked, asks, DT_LE), near_by = dt_compare(dt_abs(dt_subtract(asks, asked)), dt_like(asks, (double)p->attr->window), DT_LT);
    if (!p->attr->causal)
        return near_by;
    return p->attr->window > 0 ? dt_select(behind, near_by, behind) : behind;
}

/* x (B.., N, T) at every key. */
static dt_value spread(dt_value x, dt_value scores)
{
    dt_type t = dt_type_of_value(scores);
    return dt_broadcast_rows(x, &t);
}

static dt_value over_keys(const parts *p, dt_value x, dt_reduce_kind kind)
{
    return dt_reduce(x, kind, 1u << (p->lead + 2));
}

/* (B.., N, T, S). The sum is at least 1 where a query looks at any key: the greatest power is. Where it looks at none, all shares are 0. */
static dt_value shares(const parts *p)
{
    bool masked = p->attr->causal || p->attr->window > 0;
    dt_value scores = product(p, p->query, p->key, false, 2, 2), may, zero;
    scores = dt_multiply(scores, dt_like(scores, p->attr->scale));
    if (!masked)
        return dt_softmax(scores);
    may = looks(p, scores);
    zero = dt_like(scores, 0);
    scores = dt_select(may, scores, dt_like(scores, -1e30));
    dt_value power = dt_exponential(dt_subtract(scores, spread(over_keys(p, scores, DT_REDUCE_MAX), scores)));
    power = dt_select(may, power, zero);
    dt_value sum = over_keys(p, power, DT_REDUCE_SUM);
    return dt_divide(power, spread(dt_maximum(sum, dt_like(sum, 1)), scores));
}

dt_value dt_attention_decompose(dt_partition_call *c)
{
    parts p = parts_of(c, 3);
    return asked_by_one(&p, heads_inside(&p, product(&p, shares(&p), p.value, true, 2, 0)), true);
}

dt_value dt_attention_grad_decompose(dt_partition_call *c)
{
    enum { OF_QUERY, OF_KEY, OF_VALUE };
    parts p = parts_of(c, 4);
    dt_value share = shares(&p), dy = asked_by_one(&p, c->in[3], false);
    if (p.attr->of == OF_VALUE)
        return heads_inside(&p, product(&p, share, dy, true, 1, 0));
    dt_value dp = product(&p, dy, p.value, false, 2, 2);
    dt_value mean = over_keys(&p, dt_multiply(share, dp), DT_REDUCE_SUM);
    dt_value ds = dt_multiply(share, dt_subtract(dp, spread(mean, share)));
    ds = dt_multiply(ds, dt_like(ds, p.attr->scale));
    if (p.attr->of == OF_QUERY)
        return asked_by_one(&p, heads_inside(&p, product(&p, ds, p.key, true, 2, 0)), true);
    return heads_inside(&p, product(&p, ds, p.query, true, 1, 0));
}

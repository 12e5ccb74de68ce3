/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention: for every query, the mean of the values, weighted by how well their keys match the
 * query, for each head:
 *
 *     query     (B.., T, N, H)       p[t, s] = softmax over s of
 *                                              scale * sum over h of query[t, h] key[s, h]
 *     key       (B.., S, K, H)       y[t, v] = sum over s of p[t, s] value[s, v]
 *     value     (B.., S, K, V)
 *     position  (B.., T)             the index of the key at the query's position
 *     y         (B.., T, N, V)
 *
 * N is a multiple of K: each head of keys and values serves N / K consecutive heads of queries.
 * Usually K = N; with a smaller K it is grouped-query attention (J. Ainslie et al., GQA, 2023).
 *
 * If it is causal, a query at position p attends to keys s <= p only; with a window (0: none) to
 * keys with |s - p| < window only. All queries attend to the first `sinks` keys. The result is 0
 * for a query that may not attend to any key.
 *
 * (C1) Query, key and value hold floats of one dtype, position holds integers.
 * (C2) They have these shapes, with the same leading dimensions B..; the batch can only be one of
 * the leading dimensions.
 * (C3) There is at least one key.
 *
 * A composite of dot_general and softmax, kept as one op so that a back end need not store the
 * scores, (B.., N, T, S).
 *
 * Splitting: along all leading dimensions, queries (positions with them), heads, and features of
 * values. Heads of keys are split into fewer parts than heads of queries if a part's queries share
 * one head of keys. Every query needs all keys.
 *
 * A. Vaswani et al., Attention Is All You Need (2017).
 */
#include "op/attention.h"

#include <math.h>
#include <string.h>

#include "base/elementary.h"
#include "base/half.h"
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"

/* ---- shapes and splitting ---- */

/* Whether the leading dimensions of `t` are those of the query, followed by `rest` more. */
static bool leads(const dt_type *query, const dt_type *t, int rest) {
    int lead = query->rank - 3;
    return t->rank == lead + rest && memcmp(query->dim, t->dim, (size_t)lead * sizeof *t->dim) == 0;
}

/* Whether queries' heads can be divided into groups that share a head of keys. False if there are
 * heads of queries and none of keys. */
static bool are_groups(int64_t heads, int64_t key_heads) {
    return heads == key_heads || (key_heads > 0 && heads % key_heads == 0);
}

static bool agree(const dt_type *query, const dt_type *key, const dt_type *value,
                  const dt_type *position) {
    int t = query->rank - 3;
    return t >= 0 && leads(query, key, 3) && leads(query, value, 3) && leads(query, position, 1) &&
           position->dim[t] == query->dim[t] && value->dim[t] == key->dim[t] &&
           are_groups(query->dim[t + 1], key->dim[t + 1]) && value->dim[t + 1] == key->dim[t + 1] &&
           key->dim[t + 2] == query->dim[t + 2];
}

static bool has_fixed_rest(const dt_type *t, int from) {
    for (int d = from; d < t->rank; d++)
        if (dt_is_batch(t, d)) return false;
    return true;
}

dt_status *dt_attention_check(const dt_infer *q, int position, dt_type *out) {
    const dt_type *query = &q->in[0], *key = &q->in[1], *value = &q->in[2], *at = &q->in[position];
    int t = query->rank - 3;
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (key->dtype != query->dtype || value->dtype != query->dtype ||
        dt_dtype_is_float(at->dtype) || at->dtype == DT_BOOL)
        return dt_bad_shape(
            q, "(C1) expected floats of one dtype and integers, got %s, %s, %s and %s",
            dt_text_of(query).s, dt_text_of(key).s, dt_text_of(value).s, dt_text_of(at).s);
    if (!agree(query, key, value, at) || !has_fixed_rest(query, t) || !has_fixed_rest(key, t) ||
        !has_fixed_rest(value, t))
        return dt_bad_shape(q, "(C2) cannot join queries %s, keys %s, values %s and positions %s",
                            dt_text_of(query).s, dt_text_of(key).s, dt_text_of(value).s,
                            dt_text_of(at).s);
    if (key->dim[t] < 1)
        return dt_bad_shape(q, "(C3) expected keys to look at, got %s", dt_text_of(key).s);
    *out = *query;
    out->dim[t + 2] = value->dim[t + 2];
    return NULL;
}

static dt_status *infer(dt_infer *q) { return dt_attention_check(q, 3, &q->out); }

void dt_attention_rule_inputs(const dt_type *in, int position, dt_rule *rule) {
    int t = in[0].rank - 3;
    dt_rule_whole(rule);
    for (int d = 0; d < t; d++)
        for (int i = 0; i <= position; i++) rule->in[i][d] = (int8_t)d;
    rule->in[0][t] = rule->in[position][t] = (int8_t)t;
    for (int i = 0; i < 3; i++) rule->in[i][t + 1] = (int8_t)(t + 1);
    for (int i = 1; i < 3 && in[i].dim[t + 1] < in[0].dim[t + 1]; i++)
        rule->shared_in[i] = (uint8_t)(1 << (t + 1));
    rule->in[2][t + 2] = (int8_t)(t + 2);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)attr;
    dt_attention_rule_inputs(in, 3, rule);
    for (int d = 0; d < out->rank; d++) rule->out[d] = (int8_t)d;
}

/* ---- gradient ---- */

static void grad(dt_grad *g) {
    dt_value in[] = {g->in[0], g->in[1], g->in[2], g->dout, g->in[3]};
    dt_attention_attr a = *(const dt_attention_attr *)g->node->attr;
    for (a.of = 0; a.of < 3; a.of++)
        if (g->wants[a.of]) g->din[a.of] = dt_emit(g->trace, &dt_op_attention_grad, in, 5, &a);
}

/* ---- the definition, cost and text ---- */

dt_attending dt_attention_of(const dt_call *c, int position) {
    const dt_type *q = &c->in[0].type, *v = &c->in[2].type;
    int t = q->rank - 3;
    dt_attending a = {.attr = c->node->attr,
                      .query = &c->in[0],
                      .key = &c->in[1],
                      .value = &c->in[2],
                      .position = &c->in[position],
                      .examples = 1,
                      .queries = q->dim[t],
                      .keys = v->dim[t],
                      .heads = q->dim[t + 1],
                      .key_heads = v->dim[t + 1],
                      .key_size = q->dim[t + 2],
                      .value_size = v->dim[t + 2]};
    for (int d = 0; d < t; d++) a.examples *= q->dim[d];
    return a;
}

int64_t dt_attention_at(const dt_attending *a, const dt_view *v, int64_t example, int64_t row,
                        int64_t head) {
    const dt_type *t = &v->type;
    int64_t heads = t->dim[t->rank - 2];
    return ((example * t->dim[t->rank - 3] + row) * heads + head * heads / a->heads) *
           t->dim[t->rank - 1];
}

static bool looks_at(const dt_attending *a, int64_t position, int64_t key) {
    int64_t apart = key > position ? key - position : position - key;
    if (key < a->attr->sinks) return true;
    return !(a->attr->causal && key > position) &&
           !(a->attr->window > 0 && apart >= a->attr->window);
}

static double score(const dt_attending *a, int64_t query_at, int64_t key_at) {
    double sum = 0;
    for (int64_t h = 0; h < a->key_size; h++)
        sum += dt_cell_double(a->query, query_at + h) * dt_cell_double(a->key, key_at + h);
    return a->attr->scale * sum;
}

void dt_attention_shares(const dt_attending *a, int64_t example, int64_t query, int64_t head,
                         double *p) {
    int64_t position = dt_cell_int(a->position, example * a->queries + query),
            from = dt_attention_at(a, a->query, example, query, head);
    double max = -INFINITY, sum = 0;
    for (int64_t s = 0; s < a->keys; s++) {
        p[s] = looks_at(a, position, s)
                   ? score(a, from, dt_attention_at(a, a->key, example, s, head))
                   : -INFINITY;
        max = dt_double_max(max, p[s]);
    }
    for (int64_t s = 0; s < a->keys; s++)
        sum += p[s] = max == -INFINITY ? 0 : dt_portable_exp(p[s] - max);
    for (int64_t s = 0; s < a->keys && sum != 0; s++) p[s] /= sum;
}

double dt_attention_multiplied(const dt_attending *a, double x) {
    return a->attr->rounded ? (double)dt_float_rounded((float)x, 7) : x;
}

static void eval_query(const dt_call *c, const dt_attending *a, int64_t example, int64_t query,
                       int64_t head, double *p) {
    int64_t to = dt_attention_at(a, &c->out, example, query, head);
    dt_attention_shares(a, example, query, head, p);
    for (int64_t s = 0; s < a->keys; s++) p[s] = dt_attention_multiplied(a, p[s]);
    for (int64_t v = 0; v < a->value_size; v++) {
        double sum = 0;
        for (int64_t s = 0; s < a->keys; s++)
            sum += p[s] == 0
                       ? 0
                       : p[s] * dt_cell_double(a->value,
                                               dt_attention_at(a, a->value, example, s, head) + v);
        dt_cell_set_double(&c->out, to + v, sum);
    }
}

static void eval(const dt_call *c) {
    dt_attending a = dt_attention_of(c, 3);
    DT_LOCAL double *p = dt_alloc(dt_size_mul((size_t)a.keys, sizeof *p));
    for (int64_t i = 0; i < a.examples; i++)
        for (int64_t t = 0; t < a.queries; t++)
            for (int64_t n = 0; n < a.heads; n++) eval_query(c, &a, i, t, n, p);
}

/* Returns the number of pairs of a query and a key, over all examples and heads, that a kernel
 * computes in blocks of BLOCK queries and keys. It skips the blocks of keys after the queries if
 * attention is causal, and the blocks before the queries' windows, except the first block if that
 * has sinks. Positions are not known here, so query i is taken to be at position i. */
static double pairs_of(const dt_attending *a) {
    /* the number of rows, and of columns, of a block of scores, like "block_q" and "block_kv" of
     * JAX's splash attention for TPUs */
    enum { BLOCK = 512 };
    double seen = 0;
    for (int64_t i = 0; i < a->queries; i += BLOCK) {
        int64_t behind = i + BLOCK < a->queries ? i + BLOCK : a->queries;
        int64_t end = a->attr->causal && behind < a->keys ? behind : a->keys;
        int64_t reach = i - a->attr->window + 1,
                begin = a->attr->window > 0 && reach > 0 ? reach / BLOCK * BLOCK : 0;
        int64_t first = a->attr->sinks > 0 && begin > 0 ? BLOCK : 0;
        seen += (double)(behind - i) * (double)(end > begin ? end - begin + first : first);
    }
    return seen * (double)(a->examples * a->heads);
}

dt_cost dt_attention_cost(const dt_call *c, int position, dt_attention_work work) {
    dt_attending a = dt_attention_of(c, position);
    double pairs = pairs_of(&a),
           share = a.queries > 0 && a.keys > 0 ? pairs / ((double)a.queries * (double)a.keys) : 0;
    dt_matrix_work p[] = {
        {.count = work.scores * share, .m = a.queries, .k = a.key_size, .n = a.keys, .stays = true},
        {.count = work.taken * share,
         .m = a.queries,
         .k = a.keys,
         .n = a.value_size,
         .stays = true}};
    dt_cost cost = dt_cost_products(c, p, 2);
    cost.vector = (work.vector + work.exponentials * dt_op_exponential.operations) * pairs;
    return cost;
}

/* The cost of a kernel that works in blocks and never stores the scores: two products and, for each
 * pair of a query and a key, an exponential and 7 other vector operations, such as scale, mask,
 * maximum, difference and sum. The exponential and the vector operations are counted alike for all
 * dtypes, since they are computed with 32 bits; the products have the first input's dtype. */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_attention_cost(
        c, 3, (dt_attention_work){.scores = 1, .taken = 1, .vector = 7, .exponentials = 1});
}

void dt_attention_print(const void *attr, dt_str *out) {
    const dt_attention_attr *a = attr;
    dt_str_printf(out, "scale=%g%s", a->scale, a->causal ? " causal" : "");
    if (a->window > 0) dt_str_printf(out, " window=%lld", (long long)a->window);
    if (a->sinks > 0) dt_str_printf(out, " sinks=%lld", (long long)a->sinks);
    if (a->rounded) dt_str_puts(out, " rounded");
}

/* ---- attention expressed in other ops ---- */

/*
 * attention and its gradients expressed in other ops: products head by head, (B.., N, T, S) scores,
 * exponentials. The three gradients have nodes of the trace in common.
 */

/* In all values the leading dimensions are 0 .. lead - 1; in the scores heads, queries and keys
 * follow. Query heads that share a head of keys are consecutive: where several do, queries are
 * (B.., T, K, groups, H), and the scores (B.., K, T, groups, S). Repeating the keys instead would
 * copy them, in compiled code once for every part of the queries. */
typedef struct parts {
    const dt_attention_attr *attr;
    int lead;
    int64_t groups; /* number of consecutive query heads that share a head of keys */
    int last;       /* index of the last dimension: the features in queries, the keys in scores */
    dt_value query, key, value, position;
} parts;

/* Reshapes (B.., T, K * groups, H) to (B.., T, K, groups, H). Returns x if groups is 1. */
static dt_value grouped(const parts *p, dt_value x) {
    dt_type t = dt_type_of_value(x);
    if (p->groups == 1) return x;
    t.dim[p->lead + 3] = t.dim[p->lead + 2];
    t.dim[p->lead + 1] /= p->groups;
    t.dim[p->lead + 2] = p->groups;
    return dt_reshape(x, t.rank + 1, t.dim);
}

/* Reshapes (B.., T, K, groups, H) back to (B.., T, K * groups, H). Returns x if groups is 1. */
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

/* Transposes (B.., N, x, ..) to (B.., x, N, ..). */
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

/* Emits the product of queries (or dy) with keys or values, summed over features. The result has
 * the shape of the scores. */
static dt_value by_feature(const parts *p, dt_value queries, dt_value keys) {
    dt_dot_attr d = in_step(p, p->lead + 1);
    d.lhs_contract[0] = (int8_t)p->last;
    d.rhs_contract[0] = (int8_t)(p->lead + 2);
    return dt_dot_general(queries, keys, &d);
}

/* Emits the product of scores (or values of their shape) with keys or values, summed over keys:
 * (B.., T, N, features). */
static dt_value by_key(const parts *p, dt_value scores, dt_value keys) {
    dt_dot_attr d = in_step(p, p->lead);
    d.lhs_contract[0] = (int8_t)p->last;
    d.rhs_contract[0] = (int8_t)p->lead;
    return ungrouped(p, heads_inside(p, dt_dot_general(scores, keys, &d)));
}

/* Emits the product of scores (or values of their shape) with queries, summed over queries and over
 * the heads that share keys: (B.., S, K, features). */
static dt_value by_query(const parts *p, dt_value scores, dt_value queries) {
    dt_dot_attr d = in_step(p, p->lead);
    d.n_contract = p->groups == 1 ? 1 : 2;
    d.lhs_contract[0] = (int8_t)(p->lead + 1);
    d.rhs_contract[0] = (int8_t)p->lead;
    d.lhs_contract[1] = d.rhs_contract[1] = (int8_t)(d.n_contract > 1 ? p->lead + 2 : 0);
    return heads_inside(p, dt_dot_general(scores, queries, &d));
}

/* Emits which queries may attend to which keys, as bools of the scores' shape. */
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
    dt_value may = !p->attr->causal      ? near_by
                   : p->attr->window > 0 ? dt_select(behind, near_by, behind)
                                         : behind;
    if (p->attr->sinks == 0) return may;
    dt_value first = dt_compare(asked, dt_like(asked, (double)p->attr->sinks), DT_LT);
    return dt_select(first, first, may);
}

/* Repeats x, of the scores' shape without the keys, for every key. */
static dt_value spread(dt_value x, dt_value scores) {
    dt_type t = dt_type_of_value(scores);
    return dt_broadcast_rows(x, &t);
}

static dt_value over_keys(const parts *p, dt_value x, dt_reduce_kind kind) {
    return dt_reduce(x, kind, 1u << p->last);
}

/* Emits the weights, of the scores' shape. With a mask, the exponentials of a query are divided by
 * their sum, or by 1 if that is more: the sum is at least 1 if the query attends to any key, since
 * the greatest exponential is 1, and 0 if it attends to none; all weights are then 0. */
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

/* Expresses attention as products and a softmax. */
static dt_value decompose(dt_partition_call *c) {
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

/* ---- the row ---- */

const dt_op dt_op_attention = {
    .name = "attention",
    .n_in = 4,
    .attr = {.size = sizeof(dt_attention_attr),
             .rounds = 1 + offsetof(dt_attention_attr, rounded),
             .print = dt_attention_print},
    .linear = 4,
    .multiplied = 7,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = dt_stack_same,
    .forms.decompose = decompose,
};

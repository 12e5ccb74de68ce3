/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_grad: the gradient of attention with respect to input `of`: 0 query, 1 key, 2 value.
 * With p as defined in attention.c, and dy of the type of y:
 *
 *     dp[t, s] = sum over v of dy[t, v] value[s, v]
 *     ds[t, s] = p[t, s] (dp[t, s] - sum over s' of p[t, s'] dp[t, s'])
 *
 *     dquery[t, h] = scale * sum over s of ds[t, s] key[s, h]
 *     dkey[s, h]   = scale * sum over t of ds[t, s] query[t, h]
 *     dvalue[s, v] =         sum over t of  p[t, s] dy[t, v]
 *
 * dkey and dvalue are summed over all query heads that share the head of keys.
 *
 * (C1), (C2), (C3) of attention.
 * (C4) dy has the type of attention's result; `of` is 0, 1 or 2.
 *
 * Inputs are query, key, value, dy, position. Three nodes with the same inputs need the same p, and
 * those of the query and the key the same ds: a back end may compute all three at once.
 *
 * Splitting: as attention. Parts of the queries, and of the heads that share a head of keys, make
 * partial dkey and dvalue; parts of the values' features make partial dquery and dkey.
 */
#include <stdlib.h>

#include "op/attention.h"
#include "op/cells.h"
#include "op/shapes.h"

enum { OF_QUERY, OF_KEY, OF_VALUE, DY, POSITION };

static dt_status *infer(dt_infer *q) {
    const dt_attention_attr *a = q->attr;
    dt_type y;
    DT_TRY(dt_attention_check(q, POSITION, &y));
    if (!dt_type_equal(&q->in[DY], &y) || a->of < OF_QUERY || a->of > OF_VALUE)
        return dt_bad_shape(q, "(C4) expected dy %s, got %s", dt_text_of(&y).s,
                            dt_text_of(&q->in[DY]).s);
    q->out = q->in[a->of];
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_attention_attr *a = attr;
    dt_attention_rule_inputs(in, POSITION, rule);
    for (int d = 0; d < in[DY].rank; d++) rule->in[DY][d] = (int8_t)d;
    for (int d = 0; d < out->rank; d++) rule->out[d] = rule->in[a->of][d];
    rule->shared_out = rule->shared_in[a->of];
}

typedef struct gradients {
    const dt_call *c;
    dt_attending a;
    double *p, *ds; /* [keys] attention weights of one query, and the gradients of its scores */
    /* sums of rows for one head: [keys * features] for the gradient of keys or values, [features]
     * for that of one query */
    double *sum;
} gradients;

/* Computes ds from p and dy of one query. */
static void find_ds(const gradients *g, int64_t example, int64_t query, int64_t head) {
    const dt_attending *a = &g->a;
    int64_t dy = dt_attention_at(a, &g->c->in[DY], example, query, head);
    double mean = 0;
    for (int64_t s = 0; s < a->keys; s++) {
        int64_t value = dt_attention_at(a, a->value, example, s, head);
        g->ds[s] = 0;
        for (int64_t v = 0; v < a->value_size && g->p[s] != 0; v++)
            g->ds[s] += dt_cell_double(&g->c->in[DY], dy + v) * dt_cell_double(a->value, value + v);
        mean += g->p[s] * g->ds[s];
    }
    for (int64_t s = 0; s < a->keys; s++) g->ds[s] = g->p[s] * (g->ds[s] - mean);
}

static void add_scaled(double *to, double by, const dt_view *v, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n && by != 0; i++) to[i] += by * dt_cell_double(v, at + i);
}

/* Adds what one query contributes to the sums of gradients. */
static void add_query(const gradients *g, int64_t example, int64_t query, int64_t head) {
    const dt_attending *a = &g->a;
    dt_attention_shares(a, example, query, head, g->p);
    if (a->attr->of != OF_VALUE) find_ds(g, example, query, head);
    for (int64_t s = 0; s < a->keys; s++) switch (a->attr->of) {
        case OF_QUERY:
            add_scaled(g->sum, dt_attention_multiplied(a, a->attr->scale * g->ds[s]), a->key,
                       dt_attention_at(a, a->key, example, s, head), a->key_size);
            break;
        case OF_KEY:
            add_scaled(g->sum + s * a->key_size,
                       dt_attention_multiplied(a, a->attr->scale * g->ds[s]), a->query,
                       dt_attention_at(a, a->query, example, query, head), a->key_size);
            break;
        default:
            add_scaled(g->sum + s * a->value_size, dt_attention_multiplied(a, g->p[s]),
                       &g->c->in[DY], dt_attention_at(a, &g->c->in[DY], example, query, head),
                       a->value_size);
        }
}

/* Stores the sums as `rows` rows of the result from `row` on, and resets them. */
static void store(const gradients *g, int64_t example, int64_t row, int64_t rows, int64_t head) {
    const dt_view *out = &g->c->out;
    int64_t n = out->type.dim[out->type.rank - 1];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++) {
            dt_cell_set_double(out, dt_attention_at(&g->a, out, example, row + r, head) + i,
                               g->sum[r * n + i]);
            g->sum[r * n + i] = 0;
        }
}

/* Whether this is the last of the query heads that share a head of keys. */
static bool ends_group(const dt_attending *a, int64_t head) {
    return (head + 1) % (a->heads / a->key_heads) == 0;
}

static void eval_head(const gradients *g, int64_t example, int64_t head) {
    bool by_query = g->a.attr->of == OF_QUERY;
    for (int64_t t = 0; t < g->a.queries; t++) {
        add_query(g, example, t, head);
        if (by_query) store(g, example, t, 1, head);
    }
    if (!by_query && ends_group(&g->a, head)) store(g, example, 0, g->a.keys, head);
}

static void eval(const dt_call *c) {
    gradients g = {.c = c, .a = dt_attention_of(c, POSITION)};
    size_t keys = (size_t)g.a.keys, features = (size_t)c->out.type.dim[c->out.type.rank - 1];
    g.p = dt_alloc(dt_size_mul(keys, sizeof *g.p));
    g.ds = dt_alloc(dt_size_mul(keys, sizeof *g.ds));
    g.sum = dt_alloc(dt_size_mul(keys * features + 1, sizeof *g.sum));
    for (int64_t i = 0; i < g.a.examples; i++)
        for (int64_t n = 0; n < g.a.heads; n++) eval_head(&g, i, n);
    free(g.p);
    free(g.ds);
    free(g.sum);
}

/* A kernel computes the three gradients at once, in blocks: scores and weights again, dp, ds, then
 * the three products. Work that they share is counted for the gradient of the query. */
static void cost(const dt_call *c, dt_cost *cost) {
    const dt_attention_attr *a = c->node->attr;
    dt_attention_work own = {.taken = 1},
                      shared = {.scores = 2, .taken = 1, .vector = 10, .exponentials = 1};
    *cost = dt_attention_cost(c, POSITION, a->of == OF_QUERY ? shared : own);
}

static void print(const void *attr, dt_str *out) {
    static const char *const names[] = {"query ", "key ", "value "};
    dt_str_puts(out, names[((const dt_attention_attr *)attr)->of]);
    dt_attention_print(attr, out);
}

const dt_op dt_op_attention_grad = {
    .name = "attention_grad",
    .n_in = 5,
    .attr = {.size = sizeof(dt_attention_attr),
             .rounds = 1 + offsetof(dt_attention_attr, rounded),
             .print = print},
    .linear = 8,
    .multiplied = 15,
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = dt_stack_same,
    .forms.decompose = dt_attention_grad_decompose,
};

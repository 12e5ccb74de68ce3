/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of a sequence to itself: see heads.h. */
#include <string.h>

#include "model/layer/heads.h"

/* ---- weights ---- */

/* A projection: its kernel, which sums over the dimensions before `first_out`, and a bias with
 * the dimensions from there on. */
typedef struct projection {
    const char *kernel, *bias;
    dt_type type;
    int first_out;
} projection;

static dt_status *add_projection(dt_layer_build *b, const dt_heads *h, const projection *p) {
    dt_weight_request kernel = {.name = p->kernel,
                                .dtype = b->in.dtype,
                                .rank = p->type.rank,
                                .initializer = h->kernel_initializer,
                                .preset = "glorot_uniform",
                                .n_inputs = p->first_out};
    dt_weight_request bias = {.name = p->bias,
                              .dtype = b->in.dtype,
                              .rank = p->type.rank - p->first_out,
                              .initializer = h->bias_initializer,
                              .preset = "zeros"};
    memcpy(kernel.dim, p->type.dim, sizeof kernel.dim);
    memcpy(bias.dim, p->type.dim + p->first_out, (size_t)bias.rank * sizeof *bias.dim);
    DT_TRY(dt_layer_weight(b, &kernel));
    return h->use_bias ? dt_layer_weight(b, &bias) : NULL;
}

/* Adds a projection from a step to heads. */
static dt_status *add_heads(dt_layer_build *b, const dt_heads *h, const char *kernel,
                            const char *bias, int64_t heads, int64_t size) {
    const int64_t dim[] = {b->in.dim[2], heads, size};
    return add_projection(b, h, &(projection){kernel, bias, dt_type_of(b->in.dtype, 3, dim), 1});
}

/* Adds the projection from heads to a step, which is the layer's result. */
static dt_status *add_output(dt_layer_build *b, const dt_heads *h) {
    projection p = {"attention_output/kernel", "attention_output/bias",
                    dt_type_of(b->in.dtype, 2, (int64_t[]){h->query_heads, h->value_dim}), 2};
    b->out = dt_type_of(b->in.dtype, 2, b->in.dim);
    if (h->output.n > DT_MAX_RANK - 2)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "output_shape has %d dimensions; at most %d are possible", h->output.n,
                       DT_MAX_RANK - 2);
    for (int i = 0; i == 0 || i < h->output.n; i++)
        p.type.dim[p.type.rank++] = b->out.dim[b->out.rank++] =
            h->output.n ? h->output.v[i] : b->in.dim[2];
    return add_projection(b, h, &p);
}

static dt_status *check_groups(const dt_layer_build *b, const dt_heads *h) {
    if (h->query_heads % h->key_heads == 0) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "the number of query heads must be divisible by that of key and value heads, "
                   "got %lld and %lld",
                   (long long)h->query_heads, (long long)h->key_heads);
}

dt_status *dt_heads_build(dt_layer_build *b, const dt_heads *h) {
    int64_t n = h->query_heads, m = h->key_heads, k = h->key_dim, v = h->value_dim;
    DT_TRY(check_groups(b, h));
    DT_TRY(add_heads(b, h, "query/kernel", "query/bias", n, k));
    DT_TRY(add_heads(b, h, "key/kernel", "key/bias", m, k));
    if (h->use_gate) DT_TRY(add_heads(b, h, "gate/kernel", "gate/bias", n, v));
    DT_TRY(add_heads(b, h, "value/kernel", "value/bias", m, v));
    DT_TRY(add_output(b, h));
    b->made = dt_arena_copy(b->arena, h, sizeof *h);
    return h->dropout > 0 ? dt_noise_weight(b, NULL) : NULL;
}

/* ---- graph ---- */

/* x times the next kernel, plus its bias; advances *weight. The last `contract` dimensions of x
 * are contracted with the first ones of the kernel. */
static dt_value project(const dt_heads *h, dt_value x, int contract, const dt_value **weight) {
    int rank = dt_type_of_value(x).rank;
    dt_dot_attr dot = {.n_contract = (int8_t)contract};
    for (int i = 0; i < contract; i++) {
        dot.lhs_contract[i] = (int8_t)(rank - contract + i);
        dot.rhs_contract[i] = (int8_t)i;
    }
    dt_value y = dt_dot_general(x, *(*weight)++, &dot);
    return h->use_bias ? dt_add(y, *(*weight)++) : y;
}

/* Projects the layer's input and names the result, such as "self_attention/query". */
static dt_value project_input(const dt_layer_call *c, const char *name, const dt_value **weight) {
    return dt_layer_value(c, dt_arena_printf(dt_trace_arena(c->trace), "%s/%s", c->name, name),
                          project(c->made, c->x, 1, weight));
}

/* ---- with a mask ---- */

/* Bools (B, N, T, S): step s of the keys may be looked at by step t. mask: (B, S), S = T. */
static dt_value allowed(const dt_heads *h, dt_value mask, const dt_type *scores) {
    dt_type bools = *scores, one = dt_type_of(DT_INT32, 2, scores->dim + 2); /* (T, S) */
    bools.dtype = DT_BOOL;
    dt_value may = dt_broadcast_in_dim(mask, &bools, (int8_t[]){0, 3});
    dt_value asks = dt_iota(mask.trace, &one, 0), asked = dt_iota(mask.trace, &one, 1);
    if (!h->masks_keys_alone)
        may = dt_minimum(may, dt_broadcast_in_dim(mask, &bools, (int8_t[]){0, 2}));
    if (h->causal) may = dt_minimum(may, dt_broadcast_to(dt_compare(asked, asks, DT_LE), &bools));
    if (h->window)
        may = dt_minimum(may, dt_broadcast_to(dt_compare(dt_abs(dt_subtract(asks, asked)),
                                                         dt_like(asks, (double)h->window), DT_LT),
                                              &bools));
    return may;
}

/* (B, N, T, S) of queries (B, T, N, k) and keys (B, S, N, k) */
static dt_value scores_of(const dt_heads *h, dt_value query, dt_value key) {
    static const dt_dot_attr by_head = {.n_batch = 2,
                                        .lhs_batch = {0, 2},
                                        .rhs_batch = {0, 2},
                                        .n_contract = 1,
                                        .lhs_contract = {3},
                                        .rhs_contract = {3}};
    dt_value scaled = dt_multiply(query, dt_like(query, 1 / sqrt((double)h->key_dim)));
    return dt_dot_general(scaled, key, &by_head);
}

/* Lowers the scores of masked steps so much that softmax gives them 0. */
static dt_value mask_scores(const dt_heads *h, dt_value scores) {
    dt_type t = dt_type_of_value(scores), one = dt_type_of(DT_INT32, 2, t.dim + 2); /* (T, S) */
    dt_value asks = dt_iota(scores.trace, &one, 0), asked = dt_iota(scores.trace, &one, 1);
    dt_value low = dt_like(scores, -1e9), nothing = dt_like(scores, 0), masked = scores;
    dt_type bools = t;
    bools.dtype = DT_BOOL;
    if (h->causal)
        masked = dt_add(masked, dt_select(dt_broadcast_to(dt_compare(asked, asks, DT_LE), &bools),
                                          nothing, low));
    if (h->window) {
        dt_value near =
            dt_compare(dt_abs(dt_subtract(asks, asked)), dt_like(asks, (double)h->window), DT_LT);
        masked = dt_add(masked, dt_select(dt_broadcast_to(near, &bools), nothing, low));
    }
    return masked;
}

/* (B, T, N, v) of scores (B, N, T, S) and values (B, S, N, v) */
static dt_value take_values(dt_value scores, dt_value value) {
    static const dt_dot_attr by_head = {.n_batch = 2,
                                        .lhs_batch = {0, 1},
                                        .rhs_batch = {0, 2},
                                        .n_contract = 1,
                                        .lhs_contract = {3},
                                        .rhs_contract = {1}};
    return dt_transpose(dt_dot_general(scores, value, &by_head), (const int[]){0, 2, 1, 3});
}

/* (B, S, K, k) to (B, S, N, k): repeats each head for its group of queries. */
static dt_value repeat_heads(const dt_heads *h, dt_value x) {
    dt_type t = dt_type_of_value(x), wide = t;
    if (h->key_heads == h->query_heads || t.rank != 4) return x;
    wide.rank = 5;
    wide.dim[3] = h->query_heads / h->key_heads;
    wide.dim[4] = t.dim[3];
    t.dim[2] = h->query_heads;
    return dt_reshape(dt_broadcast_in_dim(x, &wide, (int8_t[]){0, 1, 2, 4}), 4, t.dim);
}

/* Applies dropout, whose counter is the weight after the output's projection; `weight` is that
 * projection's kernel. */
static dt_value drop(const dt_layer_call *c, dt_value x, const dt_value *weight) {
    const dt_heads *h = c->made;
    dt_type type = dt_type_of_value(x);
    dt_noise noise = h->noise;
    noise.counter = (int)(weight - c->weight) + 1 + h->use_bias;
    return dt_noise_drop(c, &noise, x, h->dropout, &type);
}

/* Scores that are dropped must be there: written out. */
static dt_value take_by_scores(const dt_layer_call *c, const dt_value *qkv, const dt_value *weight,
                               bool drops) {
    const dt_heads *h = c->made;
    dt_value scores = dt_softmax(mask_scores(h, scores_of(h, qkv[0], repeat_heads(h, qkv[1]))));
    return take_values(drops ? drop(c, scores, weight) : scores, repeat_heads(h, qkv[2]));
}

/* A step whose keys are all masked attends to all keys equally, as in Keras. */
static dt_value take_masked(const dt_layer_call *c, const dt_value *qkv, const dt_value *weight,
                            bool drops) {
    const dt_heads *h = c->made;
    dt_value scores = dt_to_float32(scores_of(h, qkv[0], repeat_heads(h, qkv[1])));
    dt_type type = dt_type_of_value(scores);
    dt_value low = dt_like(scores, -1e9),
             shares = dt_softmax(dt_select(allowed(h, c->masks[0], &type), scores, low));
    shares = dt_convert(shares, dt_type_of_value(qkv[2]).dtype);
    return take_values(drops ? drop(c, shares, weight) : shares, repeat_heads(h, qkv[2]));
}

/* Else they are nowhere. */
static dt_value take(const dt_heads *h, const dt_value *qkv) {
    return dt_attention(qkv[0], qkv[1], qkv[2],
                        &(dt_attention_how){.scale = 1 / sqrt((double)h->key_dim),
                                            .causal = h->causal,
                                            .window = h->window});
}

static dt_value turn(const dt_heads *h, dt_value x) {
    return h->rotation ? dt_rotate(h->rotation, x) : x;
}

dt_value dt_heads_call(const dt_layer_call *c) {
    const dt_heads *h = c->made;
    const dt_value *weight = c->weight;
    bool drops = c->training && h->dropout > 0;
    dt_value qkv[3], gate = {0};
    qkv[0] = turn(h, project_input(c, "query", &weight));
    qkv[1] = turn(h, project_input(c, "key", &weight));
    if (h->use_gate) gate = dt_logistic(project_input(c, "gate", &weight));
    qkv[2] = project_input(c, "value", &weight);
    bool drops_scores = drops && !h->drops_taken;
    dt_value taken = c->masks[0].trace ? take_masked(c, qkv, weight, drops_scores)
                     : drops_scores || c->model->spec.no_flash_attention
                         ? take_by_scores(c, qkv, weight, drops_scores)
                         : take(h, qkv);
    taken = drops && h->drops_taken ? drop(c, taken, weight) : taken;
    return project(h, h->use_gate ? dt_multiply(taken, gate) : taken, 2, &weight);
}

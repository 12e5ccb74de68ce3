/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention and AdditiveAttention: every step of the query yields a mean of the values, weighted by
 * the softmax of scores over the steps of the keys. `inputs` are [query, value] or [query, value,
 * key]; without a key the value is the key.
 *
 *     query (B, T, D), value (B, S, V), key (B, S, D)   (B, T, V)
 *
 *     Attention, dot        scale * sum over d of q k
 *     Attention, concat     weight * sum over d of tanh(scale * (q + k))
 *     AdditiveAttention     sum over d of scale[d] * tanh(q + k)
 *
 * With return_attention_scores the weights of the means, (B, T, S), after dropout, are a further
 * output, attention_scores.
 *
 * scale and weight are trained; without use_scale there is no scale. Masked steps of the value get
 * no weight if any step is not masked; where the query is masked the output is 0.
 *
 * M.-T. Luong et al. (2015); D. Bahdanau et al. (2014).
 */
#include "model/layer/noise.h"

static const char *const modes[] = {"dot", "concat", NULL};
enum { DOT, CONCAT };

struct attention {
    dt_layer_head head;
    dt_noise noise;
    bool use_scale, use_causal_mask, return_attention_scores;
    int score_mode;
    double dropout;
};

#define COMMON_FIELDS                                                                              \
    DT_REAL(struct attention, dropout, .min = 0, .max = 1,                                         \
            .help = "dropout rate of the attention scores"),                                       \
        DT_FLAG(struct attention, use_causal_mask,                                                 \
                .help = "causal: positions do not attend to later ones"),                          \
        DT_FLAG(struct attention, return_attention_scores,                                         \
                .help = "also output the attention scores, (B, T, S): NAME/attention_scores"),     \
        DT_NOISE_FIELD(struct attention), DT_LAYER_FIELDS(struct attention),                       \
        DT_NOT_YET("activity_regularizer")

static const dt_field fields[] = {
    DT_FLAG(struct attention, use_scale, .help = "multiply by a trained number"),
    DT_ENUM(struct attention, score_mode, modes,
            .help = "how scores are computed: dot (product) or concat (sum of tanh)"),
    COMMON_FIELDS, DT_END};

static const dt_field additive_fields[] = {
    DT_FLAG(struct attention, use_scale, .preset = "true",
            .help = "multiply by a trained number for each feature"),
    COMMON_FIELDS, DT_END};

enum { QUERY, VALUE };

/* Returns the index of the input that holds the keys. */
static int key_of(int n_in) { return n_in > 2 ? 2 : VALUE; }

static dt_status *check_inputs(const dt_layer_build *b) {
    const char *kind = b->row->kind.name;
    const int key = key_of(b->n_in);
    DT_TRY(dt_layer_wants_exactly(b, kind, 3, "(B, steps, features)"));
    for (int i = 1; i < b->n_in; i++) {
        const dt_type *t = &b->ins[i], *value = &b->ins[VALUE];
        if (t->rank != 3 || t->dtype != b->in.dtype || t->dim[0] != b->in.dim[0] ||
            (i == key && t->dim[2] != b->in.dim[2]))
            return dt_layer_cannot_join(b, kind, QUERY, i);
        if (t->dim[1] != value->dim[1]) return dt_layer_cannot_join(b, kind, VALUE, i);
    }
    return NULL;
}

static dt_status *add_number(dt_layer_build *b, const char *name) {
    return dt_layer_weight(
        b, &(dt_weight_request){.name = name, .dtype = b->in.dtype, .preset = "ones"});
}

/* Does what `build` of both layers has in common: shapes, and with dropout its seed counter as the
 * last weight. */
static dt_status *build_rest(dt_layer_build *b) {
    const struct attention *a = b->args;
    int *counter = dt_arena_array(b->arena, int, 1);
    *counter = b->n_weights;
    b->made = counter;
    b->out = b->in;
    b->out.dim[2] = b->ins[VALUE].dim[1];
    if (a->return_attention_scores) dt_layer_further(b, "attention_scores", &b->out);
    b->out.dim[2] = b->ins[VALUE].dim[2];
    return a->dropout > 0 ? dt_noise_weight(b, NULL) : NULL;
}

static dt_status *build(dt_layer_build *b) {
    const struct attention *a = b->args;
    DT_TRY(check_inputs(b));
    if (a->use_scale) DT_TRY(add_number(b, "scale"));
    if (a->score_mode == CONCAT) DT_TRY(add_number(b, "concat_score_weight"));
    return build_rest(b);
}

static dt_status *build_additive(dt_layer_build *b) {
    const struct attention *a = b->args;
    const dt_weight_request scale = {.name = "scale",
                                     .dtype = b->in.dtype,
                                     .rank = 1,
                                     .dim = {b->in.dim[2]},
                                     .preset = "glorot_uniform"};
    DT_TRY(check_inputs(b));
    if (a->use_scale) DT_TRY(dt_layer_weight(b, &scale));
    return build_rest(b);
}

static dt_value dot_scores(const dt_layer_call *c) {
    static const dt_dot_attr dot = {
        .n_batch = 1, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    const struct attention *a = c->args;
    dt_value scores = dt_dot_general(c->x, c->xs[key_of(c->n_in)], &dot);
    return a->use_scale ? dt_multiply(scores, c->weight[0]) : scores;
}

/* Emits query + key for all pairs of steps, (B, T, S, D). */
static dt_value pairs(const dt_layer_call *c) {
    const dt_value key = c->xs[key_of(c->n_in)];
    const dt_type q = dt_type_of_value(c->x), k = dt_type_of_value(key);
    const dt_type all = dt_type_of(q.dtype, 4, (int64_t[]){q.dim[0], q.dim[1], k.dim[1], q.dim[2]});
    return dt_add(dt_broadcast_in_dim(c->x, &all, (int8_t[]){0, 1, 3}),
                  dt_broadcast_in_dim(key, &all, (int8_t[]){0, 2, 3}));
}

static dt_value concat_scores(const dt_layer_call *c) {
    const struct attention *a = c->args;
    dt_value x = pairs(c);
    if (a->use_scale) x = dt_multiply(x, c->weight[0]);
    return dt_multiply(dt_reduce(dt_tanh(x), DT_REDUCE_SUM, 1u << 3), c->weight[a->use_scale]);
}

static dt_value additive_scores(const dt_layer_call *c) {
    const struct attention *a = c->args;
    dt_value x = dt_tanh(pairs(c));
    return dt_reduce(a->use_scale ? dt_multiply(x, c->weight[0]) : x, DT_REDUCE_SUM, 1u << 3);
}

/* Lowers the scores of keys that a query may not attend to by 1e9 (float16: 65504), as Keras does:
 * masked steps, later ones with use_causal_mask, and steps of other documents. */
static dt_value hide(const dt_layer_call *c, dt_value scores) {
    const struct attention *a = c->args;
    dt_type bools = dt_type_of_value(scores), one = dt_type_of(DT_INT32, 2, bools.dim + 1);
    const double low = bools.dtype == DT_FLOAT16 ? 65504 : 1e9;
    dt_value may = {0}, before;
    bools.dtype = DT_BOOL;
    if (c->masks[VALUE].trace) may = dt_broadcast_in_dim(c->masks[VALUE], &bools, (int8_t[]){0, 2});
    if (a->use_causal_mask) {
        before = dt_compare(dt_iota(c->trace, &one, 1), dt_iota(c->trace, &one, 0), DT_LE);
        before = dt_broadcast_to(before, &bools);
        may = may.trace ? dt_minimum(may, before) : before;
    }
    if (c->document.trace && c->model->spec.documents.masked) {
        before = dt_layer_same_document(c, bools.dim[1], bools.dim[2]);
        may = may.trace ? dt_minimum(may, before) : before;
    }
    if (!may.trace) return scores;
    return dt_select(may, scores, dt_subtract(scores, dt_like(scores, low)));
}

static dt_value weigh_values(const dt_layer_call *c, dt_value scores) {
    static const dt_dot_attr dot = {
        .n_batch = 1, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {1}};
    const struct attention *a = c->args;
    dt_noise noise = a->noise;
    noise.counter = *(const int *)c->made;
    dt_value shares = dt_softmax(hide(c, scores));
    const dt_type type = dt_type_of_value(shares);
    if (c->training) shares = dt_noise_drop(c, &noise, shares, a->dropout, &type);
    if (a->return_attention_scores) c->further[0] = shares;
    dt_value y = dt_dot_general(shares, c->xs[VALUE], &dot);
    if (!c->masks[QUERY].trace) return y;
    return dt_select(dt_mask_along(c->masks[QUERY], y), y, dt_like(y, 0));
}

static dt_value call(const dt_layer_call *c) {
    const struct attention *a = c->args;
    return weigh_values(c, a->score_mode == CONCAT ? concat_scores(c) : dot_scores(c));
}

static dt_value call_additive(const dt_layer_call *c) {
    return weigh_values(c, additive_scores(c));
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const bool plain = l->n_in > VALUE && ((const struct attention *)l->args)->dropout == 0;
    dt_yield y = above[l->from[plain ? VALUE : QUERY]];
    y.range = plain ? dt_range_between(y.range) : DT_RANGE_UNKNOWN;
    return y;
}

#define ROW(name, kind_, about, fields_, build_, call_)                                            \
    const dt_layer dt_layer_##name = {                                                             \
        .kind = {kind_, about, fields_, sizeof(struct attention), NULL},                           \
        .least = 2,                                                                                \
        .most = 3,                                                                                 \
        .supports_masking = true,                                                                  \
        .build = build_,                                                                           \
        .call = call_,                                                                             \
        .yields = yields,                                                                          \
    };
ROW(attention, "Attention", "attention by dot products, without projections", fields, build, call)
ROW(additive_attention, "AdditiveAttention", "attention by sums of tanh, without projections",
    additive_fields, build_additive, call_additive)

/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of a sequence to itself or to another one: see heads.h. */
#include <string.h>

#include "base/size.h"
#include "model/layer/axes.h"
#include "model/layer/heads.h"

enum { QUERY, VALUE, KEY }; /* the order of the inputs */

const char *const dt_qk_norms[] = {"none", "rms_norm", "rms_norm_across_heads", NULL};

/* Returns the index of the input that provides `what`: QUERY, VALUE or KEY. */
static int source(const dt_heads *h, int n_in, int what) {
    int n = n_in - h->takes_mask;
    return what < n ? what : n > 1 ? VALUE : QUERY;
}

static const dt_type *source_type(const dt_layer_build *b, const dt_heads *h, int what) {
    return b->n_in > 1 ? &b->ins[source(h, b->n_in, what)] : &b->in;
}

/* ---- inputs ---- */

static bool is_sequence_of(const dt_type *t, const dt_type *query) {
    return t->rank == 3 && t->dtype == query->dtype && t->dim[0] == query->dim[0];
}

static bool is_mask_of(const dt_type *t, const dt_type *query, int64_t keys) {
    return t->rank == 3 && t->dim[0] == query->dim[0] &&
           (t->dim[1] == query->dim[1] || t->dim[1] == 1) && t->dim[2] == keys;
}

static dt_status *check_sources(const dt_layer_build *b, const dt_heads *h) {
    int n = b->n_in - h->takes_mask;
    const dt_type *value = source_type(b, h, VALUE);
    if (b->n_in > 0 && (n < 1 || n > 3))
        return dt_fail(DT_E_MODEL_INPUTS, &b->at,
                       "%s takes a query, a value and a key%s, got %d inputs", b->row->kind.name,
                       h->takes_mask ? ", and an attention mask" : "", b->n_in);
    for (int i = 1; i < n; i++)
        if (!is_sequence_of(&b->ins[i], &b->in) || b->ins[i].dim[1] != value->dim[1])
            return dt_layer_cannot_join(b, b->row->kind.name, i == 2 ? VALUE : QUERY, i);
    if (h->takes_mask && !is_mask_of(&b->ins[n], &b->in, value->dim[1]))
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "the attention mask '%s' is %s; expected (B, %lld, %lld): queries by keys",
                       b->from[n], dt_text_of_shape(&b->ins[n]).s, (long long)b->in.dim[1],
                       (long long)value->dim[1]);
    return NULL;
}

/* ---- weights ---- */

/* The weights that project a value to heads or back: a kernel, contracted over the dimensions
 * before `first_out`, and a bias that has the other dimensions. */
typedef struct projection {
    const char *kernel, *bias;
    dt_type type;
    int first_out;
} projection;

static dt_status *add_projection(dt_layer_build *b, const dt_heads *h, const projection *p,
                                 bool biased) {
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
    return biased ? dt_layer_weight(b, &bias) : NULL;
}

/* The request for the projection of an input to heads. */
typedef struct to_heads {
    const char *kernel, *bias, *norm;
    int from; /* the input that is projected: QUERY, VALUE or KEY */
    int64_t heads, size;
} to_heads;

/* Adds the numbers by which normalized queries or keys are multiplied, if h has a qk_norm. */
static dt_status *add_norm(dt_layer_build *b, const dt_heads *h, const to_heads *p) {
    const bool of_all = h->qk_norm == DT_QK_NORM_OF_ALL;
    if (!h->qk_norm || !p->norm) return NULL;
    return dt_layer_weight(b, &(dt_weight_request){.name = p->norm,
                                                   .dtype = b->in.dtype,
                                                   .rank = of_all ? 2 : 1,
                                                   .dim = {of_all ? p->heads : p->size, p->size},
                                                   .preset = "ones"});
}

static dt_status *add_heads(dt_layer_build *b, const dt_heads *h, const to_heads *p) {
    const int64_t dim[] = {source_type(b, h, p->from)->dim[2], p->heads, p->size};
    DT_TRY(add_projection(b, h,
                          &(projection){p->kernel, p->bias, dt_type_of(b->in.dtype, 3, dim), 1},
                          h->use_bias && !(p->from == KEY && h->no_key_bias)));
    return add_norm(b, h, p);
}

/* Adds the weight `sinks`, (N): the score of each head's sink (see heads.h). */
static dt_status *add_sinks(dt_layer_build *b, const dt_heads *h) {
    if (!h->sink) return NULL;
    return dt_layer_weight(b, &(dt_weight_request){.name = "sinks",
                                                   .dtype = b->in.dtype,
                                                   .rank = 1,
                                                   .dim = {h->query_heads},
                                                   .preset = "zeros"});
}

/* Adds the projection from the heads to a step of the layer's result. */
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
    return add_projection(b, h, &p, h->use_output_bias);
}

static dt_status *check_groups(const dt_layer_build *b, const dt_heads *h) {
    if (h->query_heads % h->key_heads == 0) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "the number of query heads must be divisible by that of key and value heads, "
                   "got %lld and %lld",
                   (long long)h->query_heads, (long long)h->key_heads);
}

/* Refuses an epsilon other than the default without qk_norm. Layers without that field leave it
 * 0. */
static dt_status *check_norm(const dt_layer_build *b, const dt_heads *h) {
    if (h->qk_norm || h->norm_epsilon == 0 || h->norm_epsilon == DT_QK_NORM_EPSILON) return NULL;
    return dt_suggest(dt_fail(DT_E_RANGE, &b->at, "layer_norm_epsilon needs qk_norm"),
                      "add qk_norm: rms_norm, or leave it out");
}

dt_status *dt_heads_build(dt_layer_build *b, const dt_heads *h) {
    int64_t n = h->query_heads, m = h->key_heads, k = h->key_dim, v = h->value_dim;
    const to_heads all[] = {{"query/kernel", "query/bias", "query_norm/scale", QUERY, n, k},
                            {"key/kernel", "key/bias", "key_norm/scale", KEY, m, k},
                            {"gate/kernel", "gate/bias", NULL, QUERY, n, v},
                            {"value/kernel", "value/bias", NULL, VALUE, m, v}};
    DT_TRY(check_groups(b, h));
    DT_TRY(check_sources(b, h));
    DT_TRY(check_norm(b, h));
    for (int i = 0; i < 4; i++)
        if (i != 2 || h->use_gate) DT_TRY(add_heads(b, h, &all[i]));
    DT_TRY(add_output(b, h));
    DT_TRY(add_sinks(b, h));
    dt_heads *made = dt_arena_copy(b->arena, h, sizeof *h);
    const int64_t steps = b->in.dim[1], keys = source_type(b, h, KEY)->dim[1];
    /* A window or chunk that covers all steps has no effect. */
    if (h->window >= dt_max(steps, keys)) made->window = 0;
    if (h->chunk >= dt_max(steps, keys)) made->chunk = 0;
    b->made = made;
    const dt_type scores = dt_type_of(b->in.dtype, 4, (int64_t[]){b->in.dim[0], n, steps, keys});
    if (h->returns_scores) dt_layer_further(b, "attention_scores", &scores);
    return h->dropout > 0 ? dt_noise_weight(b, NULL) : NULL;
}

/* ---- graph ---- */

/* Emits x times the next kernel, plus the bias that follows it if `biased`. The last `contract`
 * dimensions of x are contracted with the first ones of the kernel. *weight advances past what is
 * used. */
static dt_value project(dt_value x, int contract, const dt_value **weight, bool biased) {
    int rank = dt_type_of_value(x).rank;
    dt_dot_attr dot = {.n_contract = (int8_t)contract};
    for (int i = 0; i < contract; i++) {
        dot.lhs_contract[i] = (int8_t)(rank - contract + i);
        dot.rhs_contract[i] = (int8_t)i;
    }
    dt_value y = dt_dot_general(x, *(*weight)++, &dot);
    return biased ? dt_add(y, *(*weight)++) : y;
}

/* Projects an input and names the result, such as "self_attention/query". */
static dt_value project_input(const dt_layer_call *c, const char *name, int what,
                              const dt_value **weight) {
    const dt_heads *h = c->made;
    const bool biased = h->use_bias && !(what == KEY && h->no_key_bias);
    return dt_layer_value(c, dt_arena_printf(dt_trace_arena(c->trace), "%s/%s", c->name, name),
                          project(c->xs[source(h, c->n_in, what)], 1, weight, biased));
}

/* Combines two masks: both must allow a key. An absent mask allows all keys. */
static dt_value both(dt_value a, dt_value b) {
    return !a.trace ? b : !b.trace ? a : dt_minimum(a, b);
}

/* Returns the mask of input i in the shape of the scores, `bools`; no value: the input has no mask.
 * The mask is bools (B, T) or (B, S); `along` is the index of its dimension 1 in the scores. */
static dt_value allowed_by_mask(const dt_layer_call *c, int i, const dt_type *bools, int along) {
    if (!c->masks[i].trace) return (dt_value){0};
    return dt_broadcast_in_dim(c->masks[i], bools, (int8_t[]){0, (int8_t)along});
}

/* Emits bools for the keys that a mask given as an input, (B, T, S) or (B, 1, S), allows. */
static dt_value allowed_by_input(dt_value mask, const dt_type *bools) {
    const dt_type t = dt_type_of_value(mask);
    if (t.dtype != DT_BOOL) mask = dt_compare(mask, dt_like(mask, 0), DT_NE);
    const dt_type one = dt_type_of(DT_BOOL, 3, (int64_t[]){t.dim[0], bools->dim[2], t.dim[2]});
    return dt_broadcast_in_dim(dt_broadcast_to(mask, &one), bools, (int8_t[]){0, 2, 3});
}

/* Emits whether step `asks` of the query and step `asked` of the key are in the same chunk. */
static dt_value is_near(const dt_heads *h, dt_value asks, dt_value asked) {
    const dt_value size = dt_like(asks, (double)h->chunk);
    return dt_compare(dt_divide(asks, size), dt_divide(asked, size), DT_EQ);
}

/* Emits bools for the keys that the order of steps allows: causal attention, a window and chunks
 * exclude others. No value: none of the three is set. */
static dt_value allowed_by_order(const dt_heads *h, dt_trace *t, const dt_type *bools) {
    dt_type one = dt_type_of(DT_INT32, 2, bools->dim + 2); /* shape (T, S) */
    dt_value asks = dt_iota(t, &one, 0), asked = dt_iota(t, &one, 1), may = {0};
    if (h->causal) may = dt_broadcast_to(dt_compare(asked, asks, DT_LE), bools);
    if (h->chunk) may = both(may, dt_broadcast_to(is_near(h, asks, asked), bools));
    if (!h->window) return may;
    dt_value apart = dt_abs(dt_subtract(asks, asked));
    return both(may,
                dt_broadcast_to(dt_compare(apart, dt_like(asks, (double)h->window), DT_LT), bools));
}

/* Whether the last steps of the query have no keys in their windows. */
static bool is_beyond(const dt_layer_call *c) {
    const dt_heads *h = c->made;
    const dt_type query = dt_type_of_value(c->x),
                  value = dt_type_of_value(c->xs[source(h, c->n_in, VALUE)]);
    return h->window > 0 && query.dim[1] - value.dim[1] >= h->window;
}

static bool masks_documents(const dt_layer_call *c) {
    return c->document.trace && c->model->spec.documents.masked;
}

/* Whether some step may not attend to some key because of a mask or of documents, whether a step
 * may have no keys in its window, or whether the last chunk is shorter than the others, or chunks
 * have a sink. fused_attention computes none of these. */
static bool is_masked(const dt_layer_call *c) {
    const dt_heads *h = c->made;
    const int64_t steps = dt_type_of_value(c->x).dim[1];
    bool masked = h->takes_mask || is_beyond(c) || masks_documents(c) ||
                  (h->chunk && (steps % h->chunk || h->sink));
    for (int what = QUERY; what <= KEY; what++)
        masked |= c->masks[source(h, c->n_in, what)].trace != NULL;
    return masked;
}

/* Emits bools (B, N, T, S): whether step t may attend to step s of the keys. */
static dt_value allowed(const dt_layer_call *c, const dt_type *scores) {
    const dt_heads *h = c->made;
    const int value = source(h, c->n_in, VALUE), key = source(h, c->n_in, KEY);
    dt_type bools = *scores;
    bools.dtype = DT_BOOL;
    dt_value may = allowed_by_mask(c, value, &bools, 3);
    if (key != value) may = both(may, allowed_by_mask(c, key, &bools, 3));
    if (!h->masks_keys_alone) may = both(may, allowed_by_mask(c, QUERY, &bools, 2));
    if (h->takes_mask) may = both(may, allowed_by_input(c->xs[c->n_in - 1], &bools));
    if (masks_documents(c))
        may = both(may, dt_broadcast_in_dim(dt_layer_same_document(c, bools.dim[2], bools.dim[3]),
                                            &bools, (int8_t[]){0, 2, 3}));
    return both(may, allowed_by_order(h, c->trace, &bools));
}

/* Emits the scores (B, N, T, S) of queries (B, T, N, k) and keys (B, S, N, k). */
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

/* Lowers the scores of keys that causal attention, the window or chunks exclude so much that
 * softmax gives them 0. */
static dt_value mask_scores(const dt_heads *h, dt_value scores) {
    /* `one` has the shape (T, S) */
    dt_type t = dt_type_of_value(scores), one = dt_type_of(DT_INT32, 2, t.dim + 2);
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
    if (h->chunk)
        masked = dt_add(masked,
                        dt_select(dt_broadcast_to(is_near(h, asks, asked), &bools), nothing, low));
    return masked;
}

/* Emits the means (B, T, N, v) of values (B, S, N, v) with weights (B, N, T, S). */
static dt_value take_values(dt_value scores, dt_value value) {
    static const dt_dot_attr by_head = {.n_batch = 2,
                                        .lhs_batch = {0, 1},
                                        .rhs_batch = {0, 2},
                                        .n_contract = 1,
                                        .lhs_contract = {3},
                                        .rhs_contract = {1}};
    return dt_transpose(dt_dot_general(scores, value, &by_head), (const int[]){0, 2, 1, 3});
}

/* Repeats each head of (B, S, K, k) for the group of query heads that share it: (B, S, N, k). */
static dt_value repeat_heads(const dt_heads *h, dt_value x) {
    dt_type t = dt_type_of_value(x), wide = t;
    if (h->key_heads == h->query_heads || t.rank != 4) return x;
    wide.rank = 5;
    wide.dim[3] = h->query_heads / h->key_heads;
    wide.dim[4] = t.dim[3];
    t.dim[2] = h->query_heads;
    return dt_reshape(dt_broadcast_in_dim(x, &wide, (int8_t[]){0, 1, 2, 4}), 4, t.dim);
}

/* Applies dropout, whose counter is the weight after the output projection and the sinks. `weight`
 * is the kernel of that projection. */
static dt_value drop(const dt_layer_call *c, dt_value x, const dt_value *weight) {
    const dt_heads *h = c->made;
    dt_type type = dt_type_of_value(x);
    dt_noise noise = h->noise;
    noise.counter = (int)(weight - c->weight) + 1 + h->use_output_bias + h->sink;
    return dt_noise_drop(c, &noise, x, h->dropout, &type);
}

/* Returns the logits of the heads' sinks, (N). `weight` is the kernel of the output projection. */
static dt_value sinks(const dt_heads *h, const dt_value *weight) {
    return weight[1 + h->use_output_bias];
}

/* Emits the weights (B, N, T, S) of scores. A sink is the score of a further key, whose weight is
 * left out. */
static dt_value shares_of(const dt_heads *h, dt_value scores, const dt_value *weight) {
    const dt_type t = dt_type_of_value(scores);
    dt_type one = t;
    if (!h->sink || t.rank != 4) return dt_softmax(scores);
    one.dim[3] = 1;
    dt_value sink = dt_convert(sinks(h, weight), t.dtype);
    sink = dt_broadcast_in_dim(sink, &one, (int8_t[]){1});
    return dt_slice_axis(dt_softmax(dt_concatenate((dt_value[]){scores, sink}, 2, 3)), 3, 0,
                         t.dim[3], 1);
}

/* Emits the means of the values, weighted by the attention weights, and makes the weights the
 * further output if the layer returns scores. dropped_by: the kernel of the output projection, for
 * dropout of the weights; NULL: none. */
static dt_value take_shares(const dt_layer_call *c, dt_value shares, dt_value value,
                            const dt_value *dropped_by) {
    const dt_heads *h = c->made;
    if (h->returns_scores) c->further[0] = shares;
    return take_values(dropped_by ? drop(c, shares, dropped_by) : shares, repeat_heads(h, value));
}

/* Emits attention as products and softmax, so that scores are values of their own. Dropout of
 * attention weights, an output of scores, and scores that the job wants stored need that. drops:
 * with dropout of the weights. */
static dt_value take_by_scores(const dt_layer_call *c, const dt_value *qkv, const dt_value *weight,
                               bool drops) {
    const dt_heads *h = c->made;
    dt_value scores = mask_scores(h, scores_of(h, qkv[0], repeat_heads(h, qkv[1])));
    scores = shares_of(h, scores, weight);
    return take_shares(c, scores, qkv[2], drops ? weight : NULL);
}

/* Emits attention with masks, like take_by_scores. A step whose keys are all masked attends to all
 * keys equally; to none if scores are returned or the layer has a sink. */
static dt_value take_masked(const dt_layer_call *c, const dt_value *qkv, const dt_value *weight,
                            bool drops) {
    const dt_heads *h = c->made;
    dt_value scores = dt_to_float32(scores_of(h, qkv[0], repeat_heads(h, qkv[1])));
    dt_type type = dt_type_of_value(scores);
    dt_value low = dt_like(scores, -1e9),
             shares = shares_of(h, dt_select(allowed(c, &type), scores, low), weight);
    if (h->returns_scores) shares = dt_select(allowed(c, &type), shares, dt_like(shares, 0));
    shares = dt_convert(shares, dt_type_of_value(qkv[2]).dtype);
    return take_shares(c, shares, qkv[2], drops ? weight : NULL);
}

/* Reshapes x (B, T, N, H) to (B, chunks, steps of a chunk, N, H). */
static dt_value in_chunks(const dt_heads *h, dt_value x) {
    const dt_type t = dt_type_of_value(x);
    if (t.rank != 4) return x; /* x has another rank only if the trace has failed */
    return dt_reshape(x, 5,
                      (int64_t[]){t.dim[0], t.dim[1] / h->chunk, h->chunk, t.dim[2], t.dim[3]});
}

/* Emits x (B, T, N, H) with one more step before the others, of zeros. */
static dt_value after_zeros(dt_value x) {
    dt_pad_attr a;
    memset(&a, 0, sizeof a);
    a.dim[1].low = 1;
    return dt_pad(x, &a);
}

/* Emits x (B, T, N, H) with one more feature. */
static dt_value with_feature(dt_value x, dt_value feature) {
    return dt_concatenate((dt_value[]){x, feature}, 2, 3);
}

static dt_type feature_of(dt_value x) {
    dt_type t = dt_type_of_value(x);
    t.dim[3] = 1;
    return t;
}

/* Emits attention with a sink: a first key is added, with the value 0. In an added feature this key
 * is 1, all other keys are 0, and queries have the logit divided by the scale of the scores. */
static dt_value attend_with_sink(const dt_heads *h, const dt_value *qkv, dt_attention_how *how,
                                 const dt_value *weight) {
    dt_value logit = sinks(h, weight), key = after_zeros(qkv[1]);
    const dt_type of_query = feature_of(qkv[0]), of_key = feature_of(key);
    dt_type number = of_key;
    logit = dt_multiply(logit, dt_like(logit, 1 / how->scale));
    logit = dt_broadcast_in_dim(logit, &of_query, (int8_t[]){2});
    number.dtype = DT_INT32;
    dt_value step = dt_iota(key.trace, &number, 1),
             is_first = dt_convert(dt_compare(step, dt_like(step, 0), DT_EQ), of_key.dtype);
    how->sinks = 1;
    how->position = dt_positions(qkv[0]);
    how->position = dt_add(how->position, dt_like(how->position, 1));
    return dt_attention(with_feature(qkv[0], logit), with_feature(key, is_first),
                        after_zeros(qkv[2]), how);
}

/* Emits attention as one op, so that scores need not be stored. */
static dt_value fused_attention(const dt_heads *h, const dt_value *qkv, const dt_value *weight) {
    dt_value in[3];
    dt_attention_how how = {
        .scale = 1 / sqrt((double)h->key_dim), .causal = h->causal, .window = h->window};
    if (h->sink) return attend_with_sink(h, qkv, &how, weight);
    for (int i = 0; i < 3; i++) in[i] = h->chunk ? in_chunks(h, qkv[i]) : qkv[i];
    dt_value y = dt_attention(in[0], in[1], in[2], &how);
    const dt_type t = dt_type_of_value(qkv[0]);
    if (!h->chunk) return y;
    return dt_reshape(y, 4, (int64_t[]){t.dim[0], t.dim[1], t.dim[2], h->value_dim});
}

dt_value dt_heads_norm(dt_value x, dt_value scale, double epsilon) {
    const dt_type type = dt_type_of_value(x);
    const int rank = dt_type_of_value(scale).rank;
    uint32_t dims = 0;
    int8_t along[DT_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        along[i] = (int8_t)(type.rank - rank + i);
        dims |= 1u << along[i];
    }
    dt_value wide = dt_to_float32(x), square = dt_mean_over(dt_multiply(wide, wide), dims);
    dt_value inverse = dt_rsqrt(dt_add(square, dt_like(square, epsilon)));
    const dt_type all = dt_type_of_value(wide);
    wide = dt_multiply(wide, dt_broadcast_rows(inverse, &all));
    return dt_multiply(dt_convert(wide, type.dtype), dt_broadcast_in_dim(scale, &type, along));
}

/* Emits queries or keys, normalized and rotated if the layer does that. *weight advances. */
static dt_value project_turned(const dt_layer_call *c, const char *name, int what,
                               const dt_value **weight) {
    const dt_heads *h = c->made;
    dt_value x = project_input(c, name, what, weight);
    if (h->qk_norm) x = dt_heads_norm(x, *(*weight)++, h->norm_epsilon);
    return h->rotation ? dt_rotate(h->rotation, x) : x;
}

/* Whether the job wants the scores of queries (B.., T, N, H) for keys (B.., S, K, H) stored. */
static bool stores_scores(const dt_layer_call *c, const dt_value *qkv) {
    const dt_type q = dt_type_of_value(qkv[0]), k = dt_type_of_value(qkv[1]);
    return q.dim[q.rank - 3] < c->model->spec.scores_below ||
           k.dim[k.rank - 3] < c->model->spec.scores_below;
}

/* Emits attention of queries, keys and values. `weight` begins with the kernel that projects the
 * heads' outputs to the features of a step. */
static dt_value take_values_of(const dt_layer_call *c, const dt_value *qkv,
                               const dt_value *weight) {
    const dt_heads *h = c->made;
    const bool drops = c->training && h->dropout > 0, drops_scores = drops && !h->drops_taken;
    dt_value taken = is_masked(c) ? take_masked(c, qkv, weight, drops_scores)
                     : drops_scores || h->returns_scores || stores_scores(c, qkv)
                         ? take_by_scores(c, qkv, weight, drops_scores)
                         : fused_attention(h, qkv, weight);
    return drops && h->drops_taken ? drop(c, taken, weight) : taken;
}

dt_value dt_heads_attend(const dt_layer_call *c, const dt_value *qkv, const dt_value *weight) {
    const dt_heads *h = c->made;
    return project(take_values_of(c, qkv, weight), 2, &weight, h->use_output_bias);
}

dt_value dt_heads_call(const dt_layer_call *c) {
    const dt_heads *h = c->made;
    const dt_value *weight = c->weight;
    dt_value qkv[3], gate = {0};
    qkv[0] = project_turned(c, "query", QUERY, &weight);
    qkv[1] = project_turned(c, "key", KEY, &weight);
    if (h->use_gate) gate = dt_logistic(project_input(c, "gate", QUERY, &weight));
    qkv[2] = project_input(c, "value", VALUE, &weight);
    dt_value taken = take_values_of(c, qkv, weight);
    return project(h->use_gate ? dt_multiply(taken, gate) : taken, 2, &weight, h->use_output_bias);
}

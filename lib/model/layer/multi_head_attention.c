/*
 * MultiHeadAttention over itself: every step of a sequence takes from the steps (with `use_causal_mask` from those up to itself) what their
 * keys say fits its query, head by head:
 *
 *     query, key     (B, T, N, key_dim)     x times (D, N, key_dim)
 *     value          (B, T, N, value_dim)   x times (D, N, value_dim)
 *     scores         (B, N, T, S)           query * key / sqrt(key_dim), softmax over S
 *     y              (B, T, output)         the values weighed by the scores, times (N, value_dim, output)
 *
 * A. Vaswani et al., Attention Is All You Need (2017). N heads, T steps that ask and S = T that are asked.
 */
#include "model/layer/noise.h"

struct attention {
    dt_layer_head head;
    dt_noise noise;
    int64_t num_heads, key_dim, value_dim;
    double dropout;
    bool use_bias, use_gate, use_causal_mask;
    int64_t sliding_window;
    const dt_tree *output_shape, *kernel_initializer, *bias_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct attention, num_heads, .min = 1, .max = INFINITY, .required = true, .help = "heads"),
    DT_INT(struct attention, key_dim, .min = 1, .max = INFINITY, .required = true, .help = "length of a query or key"),
    DT_INT(struct attention, value_dim, .min = 1, .max = INFINITY, .help = "length of a value; default key_dim"),
    DT_REAL(struct attention, dropout, .min = 0, .max = 1, .help = "share of the scores that are 0 while training"),
    DT_FLAG(struct attention, use_bias, .preset = "true", .help = "adds vectors to queries, keys, values and the output"),
    DT_FLAG(struct attention, use_gate, .help = "multiplies what each head gives by a sigmoid of x"),
    DT_FLAG(struct attention, use_causal_mask, .help = "no step takes from later ones"),
    DT_INT(struct attention, sliding_window, .min = 1, .max = INFINITY, .help = "steps take from those alone that are less than this many away"),
    DT_TREE(struct attention, output_shape, .help = "length of y; default that of x"),
    DT_TREE(struct attention, kernel_initializer, .help = "default glorot_uniform"),
    DT_TREE(struct attention, bias_initializer, .help = "default zeros"),
    DT_NOISE_FIELD(struct attention),
    DT_LAYER_FIELDS(struct attention),
    DT_ONLY("attention_axes", "[1]"), DT_ONLY("flash_attention", "false"),
    DT_NOT_YET("kernel_regularizer"), DT_NOT_YET("bias_regularizer"), DT_NOT_YET("activity_regularizer"), DT_NOT_YET("kernel_constraint"),
    DT_NOT_YET("bias_constraint"),
    DT_END
};

static int64_t value_dim_of(const struct attention *a)
{
    return a->value_dim ? a->value_dim : a->key_dim;
}

/* ---- weights ---- */

/* A projection NAME: its kernel, and a bias of the kernel's dimensions from `first_out` on. */
typedef struct projection {
    const char *kernel, *bias;
    int64_t dim[3];
    int first_out;
} projection;

static dt_status *add_projection(dt_layer_build *b, const projection *p)
{
    const struct attention *a = b->args;
    DT_TRY(dt_layer_weight(b, &(dt_weight_request){
        .name = p->kernel, .dtype = b->in.dtype, .rank = 3, .dim = { p->dim[0], p->dim[1], p->dim[2] },
        .initializer = a->kernel_initializer, .preset = "glorot_uniform",
    }));
    if (!a->use_bias)
        return NULL;
    return dt_layer_weight(b, &(dt_weight_request){
        .name = p->bias, .dtype = b->in.dtype, .rank = 3 - p->first_out,
        .dim = { p->dim[p->first_out], p->first_out == 1 ? p->dim[2] : 0 },
        .initializer = a->bias_initializer, .preset = "zeros",
    });
}

static dt_status *read_output(const dt_layer_build *b, const dt_tree *shape, int64_t *out)
{
    *out = b->in.dim[2];
    if (!shape)
        return NULL;
    if (shape->kind == DT_TREE_LIST && shape->n != 1)
        return dt_fail(DT_E_NOT_YET, &shape->at, "output_shape of %d dimensions is not implemented yet; it is one number", shape->n);
    return dt_tree_int(shape->kind == DT_TREE_LIST ? shape->item[0] : shape, "output_shape", 1, 0x1p53, out);
}

static dt_status *build(dt_layer_build *b)
{
    const struct attention *a = b->args;
    int64_t d, n = a->num_heads, k = a->key_dim, v = value_dim_of(a), out;
    DT_TRY(dt_layer_wants_exactly(b, "MultiHeadAttention", 3, "(B, steps, features)"));
    DT_TRY(read_output(b, a->output_shape, &out));
    d = b->in.dim[2];
    DT_TRY(add_projection(b, &(projection){ "query/kernel", "query/bias", { d, n, k }, 1 }));
    DT_TRY(add_projection(b, &(projection){ "key/kernel", "key/bias", { d, n, k }, 1 }));
    if (a->use_gate)
        DT_TRY(add_projection(b, &(projection){ "gate/kernel", "gate/bias", { d, n, v }, 1 }));
    DT_TRY(add_projection(b, &(projection){ "value/kernel", "value/bias", { d, n, v }, 1 }));
    DT_TRY(add_projection(b, &(projection){ "attention_output/kernel", "attention_output/bias", { n, v, out }, 2 }));
    b->out = b->in;
    b->out.dim[2] = out;
    return a->dropout > 0 ? dt_noise_weight(b) : NULL;
}

/* ---- graph ---- */

/* x times the next kernel, plus its bias: *weight goes on. The last `contract` dimensions of x meet the first ones of the kernel. */
static dt_value project(const struct attention *a, dt_value x, int contract, const dt_value **weight)
{
    int rank = dt_type_of_value(x).rank;
    dt_dot_attr dot = { .n_contract = (int8_t)contract };
    for (int i = 0; i < contract; i++) {
        dot.lhs_contract[i] = (int8_t)(rank - contract + i);
        dot.rhs_contract[i] = (int8_t)i;
    }
    dt_value y = dt_dot_general(x, *(*weight)++, &dot);
    return a->use_bias ? dt_add(y, *(*weight)++) : y;
}

/* Those of the layer's input are values with names: "self_attention/query". */
static dt_value project_input(const dt_layer_call *c, const char *name, const dt_value **weight)
{
    return dt_layer_value(c, dt_arena_printf(dt_trace_arena(c->trace), "%s/%s", c->name, name), project(c->args, c->x, 1, weight));
}

/* (B, N, T, S) of queries (B, T, N, k) and keys (B, S, N, k) */
static dt_value scores_of(const struct attention *a, dt_value query, dt_value key)
{
    static const dt_dot_attr by_head = { .n_batch = 2, .lhs_batch = { 0, 2 }, .rhs_batch = { 0, 2 },
                                         .n_contract = 1, .lhs_contract = { 3 }, .rhs_contract = { 3 } };
    dt_value scaled = dt_multiply(query, dt_like(query, 1 / sqrt((double)a->key_dim)));
    return dt_dot_general(scaled, key, &by_head);
}

/* Scores of steps that may not be looked at become so low that softmax gives them 0. */
static dt_value mask_scores(const struct attention *a, dt_value scores)
{
    dt_type t = dt_type_of_value(scores), one = dt_type_of(DT_INT32, 2, t.dim + 2); /* (T, S) */
    dt_value asks = dt_iota(scores.trace, &one, 0), asked = dt_iota(scores.trace, &one, 1);
    dt_value low = dt_like(scores, -1e9), nothing = dt_like(scores, 0), masked = scores;
    dt_type bools = t;
    bools.dtype = DT_BOOL;
    if (a->use_causal_mask)
        masked = dt_add(masked, dt_select(dt_broadcast_to(dt_compare(asked, asks, DT_LE), &bools), nothing, low));
    if (a->sliding_window) {
        dt_value near = dt_compare(dt_abs(dt_subtract(asks, asked)), dt_like(asks, (double)a->sliding_window), DT_LT);
        masked = dt_add(masked, dt_select(dt_broadcast_to(near, &bools), nothing, low));
    }
    return masked;
}

/* (B, T, N, v) of scores (B, N, T, S) and values (B, S, N, v) */
static dt_value take_values(dt_value scores, dt_value value)
{
    static const dt_dot_attr by_head = { .n_batch = 2, .lhs_batch = { 0, 1 }, .rhs_batch = { 0, 2 },
                                         .n_contract = 1, .lhs_contract = { 3 }, .rhs_contract = { 1 } };
    return dt_transpose(dt_dot_general(scores, value, &by_head), (const int[]){ 0, 2, 1, 3 });
}

/* Scores that are dropped must be there: written out. `weight` is the next one. */
static dt_value take_with_dropout(const dt_layer_call *c, dt_value query, dt_value key, dt_value value, const dt_value *weight)
{
    const struct attention *a = c->args;
    dt_value scores = dt_softmax(mask_scores(a, scores_of(a, query, key)));
    dt_type type = dt_type_of_value(scores);
    dt_noise noise = a->noise;
    noise.counter = (int)(weight - c->weight) + 1 + a->use_bias; /* behind the output's projection */
    return take_values(dt_noise_drop(c, &noise, scores, a->dropout, &type), value);
}

/* Else they are nowhere. */
static dt_value take(const dt_layer_call *c, dt_value query, dt_value key, dt_value value)
{
    const struct attention *a = c->args;
    return dt_attention(query, key, value, &(dt_attention_how){ .scale = 1 / sqrt((double)a->key_dim), .causal = a->use_causal_mask,
                                                                .window = a->sliding_window });
}

static dt_value call(const dt_layer_call *c)
{
    const struct attention *a = c->args;
    const dt_value *weight = c->weight;
    dt_value query = project_input(c, "query", &weight), key = project_input(c, "key", &weight);
    dt_value gate = a->use_gate ? dt_logistic(project_input(c, "gate", &weight)) : (dt_value){ 0 };
    dt_value value = project_input(c, "value", &weight);
    bool drops = c->training && a->dropout > 0;
    dt_value taken = drops ? take_with_dropout(c, query, key, value, weight) : take(c, query, key, value);
    return project(a, a->use_gate ? dt_multiply(taken, gate) : taken, 2, &weight);
}

const dt_layer dt_layer_multi_head_attention = {
    .kind = { "MultiHeadAttention", "steps of a sequence take from one another", fields, sizeof(struct attention), NULL },
    .build = build,
    .call = call,
};

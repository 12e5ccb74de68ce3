/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MixtureOfExperts: several feed-forward networks, of which each step uses the `top_k` that a
 * router prefers. KerasHub's MixtralSparseMoeBlock; A. Jiang et al., Mixtral of Experts (2024).
 *
 *     p = softmax(x router)                               a probability for each expert
 *     gate = p of the top_k largest, divided by their sum; 0 for the others
 *     y = sum over experts e of gate[e] * (f(x G[e]) * (x U[e])) D[e]
 *
 * DeepSeek-V3 and Llama 4 score experts by `scoring_func: sigmoid`, p = sigmoid(x router), and
 * DeepSeek multiplies gates by `routed_scaling_factor`. In gpt-oss the router and the experts have
 * biases, and experts compute, with g = x G and u = x U, both clipped by `swiglu_limit`
 *
 *     (g * sigmoid(1.702 g) * (u + 1)) D        g at most the limit, u between - and + the limit
 *
 * With `norm_topk_prob: false` gates are not divided by their sum. Of equal probabilities the
 * expert with the lower index is taken. There are two ways to compute y:
 *
 *     all         every expert computes every step, and gates of 0 remove what is not used. No
 *                 step is dropped, but the work is num_experts / top_k times as much.
 *     capacity    each expert has a number of slots for the steps of an example: steps * top_k /
 *                 num_experts * capacity_factor, as in MaxText, rounded down, but at least 1 and at
 *                 most one for each step. A step goes to the next free slot of its experts; if
 *                 there is none, it is dropped there. Slots are filled for each example separately,
 *                 so results do not depend on how the batch is divided.
 *
 * In training the layer adds a loss that grows if experts are used unevenly: router_aux_loss_coef *
 * num_experts * sum over e of share[e] * mean(p[e]), where share[e] is e's share of the choices. W.
 * Fedus et al., Switch Transformers (2021), equation 4. Both are means over the steps of the global
 * batch that are not masked; sigmoids are divided by their sum first. Since shares have no
 * gradient, the loss is a sum over examples, as other losses are.
 */
#include <string.h>

#include "model/model.h"
#include "op/shapes.h"

struct mixture {
    dt_layer_head head;
    int64_t intermediate_dim, num_experts, top_k;
    int activation, scoring_func;
    bool gated, norm_topk_prob, use_bias;
    double swiglu_limit, capacity_factor, router_aux_loss_coef, routed_scaling_factor;
    const dt_tree *kernel_initializer;
};

enum { SOFTMAX, SIGMOID };
static const char *const scoring_funcs[] = {"softmax", "sigmoid", NULL};

static const dt_field fields[] = {
    DT_INT(struct mixture, intermediate_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "size of the hidden layer of an expert"),
    DT_INT(struct mixture, num_experts, .min = 1, .max = 65536, .required = true,
           .help = "number of experts"),
    DT_INT(struct mixture, top_k, .preset = "2", .min = 1, .max = 64,
           .help = "number of experts that compute a step"),
    DT_ENUM(struct mixture, activation, dt_activations, .preset = "silu",
            .help = "activation function of the gate of an expert"),
    DT_FLAG(struct mixture, gated, .preset = "true", .help = "use gated experts"),
    DT_FLAG(struct mixture, use_bias, .help = "add biases in the router and the experts"),
    DT_REAL(struct mixture, swiglu_limit, .above_min = true, .max = INFINITY,
            .help = "clip gates and hidden features, and multiply these plus 1 by gpt-oss' "
                    "activation of the gate, gate * sigmoid(1.702 gate); 7 in gpt-oss"),
    DT_FLAG(struct mixture, norm_topk_prob, .preset = "true",
            .help = "divide the probabilities of the chosen experts by their sum"),
    DT_ENUM(struct mixture, scoring_func, scoring_funcs, .preset = "softmax",
            .help = "how the router scores experts: probabilities of all, or each by itself"),
    DT_REAL(struct mixture, routed_scaling_factor, .preset = "1", .above_min = true,
            .max = INFINITY, .help = "factor of the outputs of the chosen experts"),
    DT_REAL(struct mixture, capacity_factor, .above_min = true, .max = INFINITY,
            .help = "slots of an expert, as a multiple of its share of an example's steps; steps "
                    "beyond are dropped. Default: drop nothing, every expert computes every step"),
    DT_REAL(struct mixture, router_aux_loss_coef, .preset = "0.02", .min = 0, .max = INFINITY,
            .help = "weight of the loss that balances the experts in training"),
    DT_INITIALIZER(struct mixture, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_LAYER_FIELDS(struct mixture),
    DT_INSTEAD("num_experts_per_tok", "write 'top_k'"),
    DT_INSTEAD("load_balance_loss_weight", "write 'router_aux_loss_coef'"),
    DT_NOT_YET("router_jitter_noise"),
    DT_END};

/* The kernels of the layer, in their order. */
enum { ROUTER, GATE, UP, DOWN };

/* Adds a kernel, (E, inputs, outputs) or, for the router, (D, E), and with use_bias a bias, (E,
 * outputs) or (E). */
static dt_status *add_weights(dt_layer_build *b, const char *kernel, const char *bias, int rank,
                              const int64_t *dim) {
    const struct mixture *m = b->args;
    dt_weight_request w = {.name = kernel,
                           .dtype = b->in.dtype,
                           .rank = rank,
                           .initializer = m->kernel_initializer,
                           .preset = "glorot_uniform"};
    for (int i = 0; i < rank; i++) w.dim[i] = dim[i];
    DT_TRY(dt_layer_weight(b, &w));
    if (!m->use_bias) return NULL;
    w = (dt_weight_request){
        .name = bias, .dtype = b->in.dtype, .rank = rank - 1, .preset = "zeros"};
    w.dim[0] = rank == 3 ? dim[0] : dim[1];
    w.dim[1] = dim[rank - 1];
    return dt_layer_weight(b, &w);
}

static dt_status *check(const dt_layer_build *b) {
    const struct mixture *m = b->args;
    DT_TRY(dt_layer_wants(b, "MixtureOfExperts", 2));
    if (m->top_k > m->num_experts)
        return dt_fail(DT_E_RANGE, &b->at, "top_k %lld is larger than num_experts %lld",
                       (long long)m->top_k, (long long)m->num_experts);
    if (m->swiglu_limit > 0 && !m->gated)
        return dt_fail(DT_E_RANGE, &b->at, "swiglu_limit needs gated experts");
    if (m->swiglu_limit > 0 && strcmp(dt_activations[m->activation], "silu") != 0)
        return dt_fail(DT_E_RANGE, &b->at,
                       "with swiglu_limit, experts have gpt-oss' activation; leave out activation");
    if (m->capacity_factor > 0 && b->in.rank < 3)
        return dt_suggest(dt_fail(DT_E_MODEL_SHAPE, &b->at,
                                  "capacity_factor needs an input (B, steps, features), got %s",
                                  dt_text_of_shape(&b->in).s),
                          "an example has one step only; leave capacity_factor out");
    return NULL;
}

static int64_t capacity_of(const struct mixture *m, int64_t steps) {
    double slots = (double)(steps * m->top_k) / (double)m->num_experts * m->capacity_factor;
    return slots < 1 ? 1 : slots > (double)steps ? steps : (int64_t)slots;
}

static int64_t steps_of(const dt_type *t) {
    int64_t steps = 1;
    for (int i = 1; i < t->rank - 1; i++) steps *= t->dim[i];
    return steps;
}

/* Returns the error MODEL_SIZE if a value of the layer for an example is too large: with
 * capacity_factor that of slots, (T, C, E), otherwise that of hidden layers, (T, E, F). */
static dt_status *check_size(const dt_layer_build *b) {
    const struct mixture *m = b->args;
    const int64_t steps = steps_of(&b->in),
                  each = m->capacity_factor > 0 ? capacity_of(m, steps) : m->intermediate_dim;
    const double bytes =
        (double)dt_dtype_size(b->in.dtype) * (double)steps * (double)each * (double)m->num_experts;
    if (bytes <= DT_MAX_EXAMPLE_BYTES) return NULL;
    return dt_fail(DT_E_MODEL_SIZE, &b->at,
                   "the experts need %s for an example; it may take at most 256 GiB",
                   dt_text_of_bytes(bytes).s);
}

static dt_status *build(dt_layer_build *b) {
    const struct mixture *m = b->args;
    DT_TRY(check(b));
    DT_TRY(check_size(b));
    const int64_t n = m->num_experts, d = b->in.dim[b->in.rank - 1], f = m->intermediate_dim;
    DT_TRY(add_weights(b, "sparse_feedforward_gate_dense/kernel",
                       "sparse_feedforward_gate_dense/bias", 2, (int64_t[]){d, n}));
    if (m->gated)
        DT_TRY(add_weights(b, "experts/expert_feedforward_gate_dense",
                           "experts/expert_feedforward_gate_bias", 3, (int64_t[]){n, d, f}));
    DT_TRY(add_weights(b, "experts/expert_feedforward_intermediate_dense",
                       "experts/expert_feedforward_intermediate_bias", 3, (int64_t[]){n, d, f}));
    DT_TRY(add_weights(b, "experts/expert_feedforward_output_dense",
                       "experts/expert_feedforward_output_bias", 3, (int64_t[]){n, f, d}));
    b->out = b->in;
    return NULL;
}

/* Returns the index of a kernel among the weights; its bias, if there are biases, follows it. */
static int place_of(const struct mixture *m, int which) {
    return (which - (which > GATE && !m->gated)) * (m->use_bias ? 2 : 1);
}

static dt_value weight(const dt_layer_call *c, int which) {
    return c->weight[place_of(c->args, which)];
}

/* Emits y plus the bias of a kernel, if there are biases. The bias has the last dimensions of y. */
static dt_value biased(const dt_layer_call *c, int which, dt_value y) {
    const struct mixture *m = c->args;
    return m->use_bias ? dt_add(y, c->weight[place_of(m, which) + 1]) : y;
}

/* Emits the hidden features of experts from x G and x U; without gates the first is not used. */
static dt_value hidden(const struct mixture *m, dt_value gate, dt_value up) {
    if (!m->gated) return dt_activate(m->activation, up);
    if (m->swiglu_limit == 0) return dt_multiply(dt_activate(m->activation, gate), up);
    const dt_value limit = dt_like(gate, m->swiglu_limit);
    gate = dt_minimum(gate, limit);
    up = dt_maximum(dt_minimum(up, limit), dt_like(up, -m->swiglu_limit));
    gate = dt_multiply(gate, dt_logistic(dt_multiply(gate, dt_like(gate, 1.702))));
    return dt_multiply(dt_add(up, dt_like(up, 1)), gate);
}

/* ---- the router ---- */

/* Emits 1 for the k largest elements of the last dimension of p (B, T, E), the first of equal ones;
 * 0 for the others. No element of p is negative. */
static dt_value choose(dt_value p, int64_t k) {
    const int64_t n = dt_type_of_value(p).dim[2];
    dt_value chosen = {0}, left = p;
    for (int64_t i = 0; i < k; i++) {
        dt_value one = dt_one_hot(dt_argmax(left, 2), n, dt_type_of_value(p).dtype);
        chosen = chosen.trace ? dt_add(chosen, one) : one;
        left = dt_select(dt_compare(one, dt_like(one, 0), DT_NE), dt_like(p, -1), left);
    }
    return chosen;
}

/* Emits x (B, T) or (B, T, E), repeated over the dimensions of `type` that follow. */
static dt_value along(dt_value x, const dt_type *type) { return dt_broadcast_rows(x, type); }

/* Emits x (B, T, E), divided by its sum for each step. Sigmoids can all be 0, so 1e-20 is added to
 * their sum, as in DeepSeek. */
static dt_value normalized(const struct mixture *m, dt_value x) {
    const dt_type type = dt_type_of_value(x);
    dt_value sum = dt_reduce(x, DT_REDUCE_SUM, 1u << 2);
    if (m->scoring_func == SIGMOID) sum = dt_add(sum, dt_like(sum, 1e-20));
    return dt_divide(x, along(sum, &type));
}

static dt_value gates_of(const struct mixture *m, dt_value p, dt_value chosen) {
    dt_value gates = dt_multiply(p, chosen);
    if (m->norm_topk_prob) gates = normalized(m, gates);
    if (m->routed_scaling_factor == 1) return gates;
    return dt_multiply(gates, dt_like(gates, m->routed_scaling_factor));
}

/* Emits the score of each expert for each step, (B, T, E). */
static dt_value scores_of(const struct mixture *m, dt_value logits) {
    return m->scoring_func == SIGMOID ? dt_logistic(logits) : dt_softmax(logits);
}

/* Emits scores as shares that add up to 1 for each step: scores from a sigmoid are divided by their
 * sum. */
static dt_value shares_of(const struct mixture *m, dt_value p) {
    return m->scoring_func == SOFTMAX ? p : normalized(m, p);
}

/* ---- the loss of balance ---- */

static dt_value sum_of_all(dt_value x, uint32_t dims) {
    return dt_all_reduce(DT_SUM, dt_reduce(x, DT_REDUCE_SUM, dims));
}

/* Emits x, set to 0 where the mask (B, T) is not set; x if there is no mask. */
static dt_value masked(dt_value mask, dt_value x) {
    dt_type type = dt_type_of_value(x);
    return mask.trace ? dt_multiply(x, along(dt_convert(mask, type.dtype), &type)) : x;
}

/* In training, adds the loss that balances experts. The loss is a sum over all examples. Each term
 * is multiplied by the number of examples, because losses are divided by that number later. */
static void add_balance(const dt_layer_call *c, dt_value mask, dt_value p, dt_value chosen) {
    const struct mixture *m = c->args;
    dt_type type = dt_type_of_value(p);
    if (!c->training || m->router_aux_loss_coef == 0) return;
    dt_value count = sum_of_all(masked(mask, chosen), 1u << 0 | 1u << 1); /* shape (E) */
    dt_value choices = dt_reduce_sum(count, DT_NO_AXIS);
    choices = dt_maximum(choices, dt_like(choices, 1));
    dt_value examples = dt_convert(dt_all_reduce(DT_SUM, dt_dim_value(p, 0)), type.dtype);
    dt_value scale = dt_multiply(
        dt_like(choices, m->router_aux_loss_coef * (double)m->num_experts * (double)m->top_k),
        dt_divide(examples, dt_multiply(choices, choices)));
    dt_value used = dt_stop_gradient(dt_multiply(count, scale));
    dt_value mean = dt_reduce(masked(mask, p), DT_REDUCE_SUM, 1u << 1); /* shape (B, E) */
    dt_layer_add_loss(c, dt_reduce(dt_multiply(mean, used), DT_REDUCE_SUM, 1u << 1));
}

/* ---- every expert computes every step ---- */

/* Emits x (B, T, D) times the kernels of all experts (E, D, F): (B, T, E, F), since each expert has
 * its own F features. */
static dt_value widen(dt_value x, dt_value kernel) {
    static const int inputs_first[] = {1, 0, 2};
    const dt_type k = dt_type_of_value(kernel), in = dt_type_of_value(x);
    kernel = dt_transpose(kernel, inputs_first);
    x = dt_matmul(x, dt_reshape(kernel, 2, (int64_t[]){k.dim[1], k.dim[0] * k.dim[2]}));
    return dt_reshape(x, 4, (int64_t[]){in.dim[0], in.dim[1], k.dim[0], k.dim[2]});
}

static dt_value by_all(const dt_layer_call *c, dt_value x, dt_value gates) {
    const struct mixture *m = c->args;
    const dt_type down = dt_type_of_value(weight(c, DOWN)), in = dt_type_of_value(x),
                  wide = dt_type_of(in.dtype, 4,
                                    (int64_t[]){in.dim[0], in.dim[1], down.dim[0], down.dim[1]});
    const int64_t joined = down.dim[0] * down.dim[1];
    dt_value gate = {0}, up = biased(c, UP, widen(x, weight(c, UP)));
    if (m->gated) gate = biased(c, GATE, widen(x, weight(c, GATE)));
    dt_value h = dt_multiply(hidden(m, gate, up), along(gates, &wide));
    dt_value y = dt_matmul(dt_reshape(h, 3, (int64_t[]){in.dim[0], in.dim[1], joined}),
                           dt_reshape(weight(c, DOWN), 2, (int64_t[]){joined, down.dim[2]}));
    if (!m->use_bias) return y;
    return dt_add(y, dt_matmul(gates, c->weight[place_of(m, DOWN) + 1]));
}

/* ---- slots ---- */

/* Emits x (B, T, E), shifted by `steps` along T. The first steps become 0. */
static dt_value moved(dt_value x, int64_t steps) {
    dt_pad_attr a;
    memset(&a, 0, sizeof a);
    a.dim[1].low = steps;
    a.dim[1].high = -steps;
    return dt_pad(x, &a);
}

/* Emits for each step the sum of x (B, T, E) over all earlier steps, in about log2(T) additions.
 * The sums are integers, which float32 represents exactly. */
static dt_value sum_before(dt_value x) {
    const int64_t steps = dt_type_of_value(x).dim[1];
    dt_value sum = moved(x, 1);
    for (int64_t s = 1; s < steps; s *= 2) sum = dt_add(sum, moved(sum, s));
    return sum;
}

/* Emits a value (B, T, C, E): 1 where step t has slot c of expert e, else 0. */
static dt_value slots_of(dt_value chosen, int64_t capacity) {
    dt_type type = dt_type_of_value(chosen);
    const dt_type number = dt_type_of(DT_INT32, 1, &capacity);
    type = dt_type_of(type.dtype, 4, (int64_t[]){type.dim[0], type.dim[1], capacity, type.dim[2]});
    const int8_t dims[] = {0, 1, 3}, slots[] = {2};
    dt_value place = dt_broadcast_in_dim(sum_before(chosen), &type, dims),
             slot = dt_convert(dt_iota(chosen.trace, &number, 0), type.dtype);
    slot = dt_broadcast_in_dim(slot, &type, slots);
    return dt_multiply(dt_convert(dt_compare(place, slot, DT_EQ), type.dtype),
                       dt_broadcast_in_dim(chosen, &type, dims));
}

/* Emits x (B, C, E, n) times kernels (E, n, k), each expert with its own kernel: (B, C, E, k). */
static dt_value by_expert(dt_value x, dt_value kernel) {
    static const dt_dot_attr each = {.in_order = 1,
                                     .n_batch = 1,
                                     .lhs_batch = {2},
                                     .n_contract = 1,
                                     .lhs_contract = {3},
                                     .rhs_contract = {1}};
    return dt_dot_general(x, kernel, &each);
}

static dt_value feed_forward(const dt_layer_call *c, dt_value x) {
    const struct mixture *m = c->args;
    dt_value gate = {0}, up = biased(c, UP, by_expert(x, weight(c, UP)));
    if (m->gated) gate = biased(c, GATE, by_expert(x, weight(c, GATE)));
    return biased(c, DOWN, by_expert(hidden(m, gate, up), weight(c, DOWN)));
}

static dt_value by_capacity(const dt_layer_call *c, dt_value x, dt_value chosen, dt_value gates) {
    const struct mixture *m = c->args;
    static const dt_dot_attr
        fetch = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}},
        put = {.n_batch = 1, .n_contract = 2, .lhs_contract = {2, 3}, .rhs_contract = {1, 2}};
    static const int8_t dims[] = {0, 1, 3};
    const dt_type in = dt_type_of_value(x);
    dt_value to = slots_of(chosen, capacity_of(m, in.dim[1]));
    dt_type type = dt_type_of_value(to);
    dt_value from = dt_multiply(to, dt_broadcast_in_dim(gates, &type, dims));
    x = dt_dot_general(dt_convert(to, in.dtype), x, &fetch); /* shape (B, C, E, D) */
    return dt_dot_general(dt_convert(from, in.dtype), feed_forward(c, x), &put);
}

/* ---- call ---- */

static dt_value call(const dt_layer_call *c) {
    const struct mixture *m = c->args;
    const dt_type in = dt_type_of_value(c->x);
    const int64_t steps = steps_of(&in);
    dt_value x = dt_reshape(c->x, 3, (int64_t[]){in.dim[0], steps, in.dim[in.rank - 1]});
    dt_value mask = c->masks[0];
    if (mask.trace) mask = dt_reshape(mask, 2, (int64_t[]){in.dim[0], steps});
    dt_value p = biased(c, ROUTER, dt_matmul(x, weight(c, ROUTER)));
    p = scores_of(m, dt_to_float32(p)); /* shape (B, T, E) */
    dt_value chosen = choose(p, m->top_k), gates = gates_of(m, p, chosen);
    add_balance(c, mask, shares_of(m, p), chosen);
    dt_value y = m->capacity_factor > 0 ? by_capacity(c, x, chosen, gates)
                                        : by_all(c, x, dt_convert(gates, in.dtype));
    return dt_reshape(y, in.rank, in.dim);
}

const dt_layer dt_layer_mixture_of_experts = {
    .kind = {"MixtureOfExperts", "feed-forward networks, of which a router chooses for each step",
             fields, sizeof(struct mixture), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};

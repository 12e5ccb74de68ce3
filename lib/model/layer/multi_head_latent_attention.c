/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiHeadLatentAttention: causal attention whose keys and values are made from a few features of
 * a step, the latent ones, so that inference need only keep these and the rotated ones, r. It is
 * the attention of DeepSeek:
 *
 *     q = norm(x query_down) query            without q_lora_rank: x query
 *     c, r = x key_value_down                 kv_lora_rank latent features, qk_rope_head_dim others
 *     k = norm(c) key, rotate(r)              r is the same for all heads
 *     v = norm(c) value
 *     y = attend(q, k, v) attention_output
 *
 * The last qk_rope_head_dim features of a head's query are rotated, too. norm is RMSNormalization.
 * The arguments q_lora_rank, kv_lora_rank and ..._head_dim have the names of DeepSeek's
 * configurations. Pairs of features that are rotated together are in the two halves of the rotated
 * ones, as in RotaryEmbedding.
 *
 * DeepSeek-AI, DeepSeek-V2 (2024), section 2.1.
 */
#include "model/layer/heads.h"

struct latent {
    dt_layer_head head;
    dt_rotation rope;
    int64_t num_heads, q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
    double layer_norm_epsilon;
    const dt_tree *kernel_initializer;
};

#define SIZE(name_, help_)                                                                         \
    DT_INT(struct latent, name_, .min = 1, .max = INFINITY, .required = true, .help = help_)

static const dt_field fields[] = {
    SIZE(num_heads, "number of attention heads"),
    DT_INT(struct latent, q_lora_rank, .min = 1, .max = INFINITY,
           .help = "latent features that queries are made from; default: they are made from the "
                   "input"),
    SIZE(kv_lora_rank, "latent features that keys and values are made from"),
    SIZE(qk_nope_head_dim, "features of a head's query and key that are not rotated"),
    SIZE(qk_rope_head_dim, "features of a head's query and key that are rotated; even"),
    SIZE(v_head_dim, "dimension of a value"),
    DT_KEY(REAL, "rope_max_wavelength", struct latent, rope.max_wavelength, .preset = "10000",
           .min = 1, .max = INFINITY, .help = "of RotaryEmbedding"),
    DT_KEY(REAL, "rope_position_scaling_factor", struct latent, rope.scaling_factor, .preset = "1",
           .above_min = true, .max = INFINITY, .help = "positions are divided by this factor"),
    DT_REAL(struct latent, layer_norm_epsilon, .preset = "1e-6", .max = INFINITY,
            .help = "added to avoid division by 0"),
    DT_INITIALIZER(struct latent, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_LAYER_FIELDS(struct latent),
    DT_END};

/* ---- build ---- */

static dt_status *add(dt_layer_build *b, const char *name, int n_inputs, int rank,
                      const int64_t *dim) {
    const struct latent *l = b->args;
    dt_weight_request w = {.name = name,
                           .dtype = b->in.dtype,
                           .rank = rank,
                           .initializer = rank == 1 ? NULL : l->kernel_initializer,
                           .preset = rank == 1 ? "ones" : "glorot_uniform",
                           .n_inputs = n_inputs};
    for (int i = 0; i < rank; i++) w.dim[i] = dim[i];
    return dt_layer_weight(b, &w);
}

static dt_status *add_weights(dt_layer_build *b) {
    const struct latent *l = b->args;
    const int64_t d = b->in.dim[2], n = l->num_heads, q = l->q_lora_rank, kv = l->kv_lora_rank,
                  flat = l->qk_nope_head_dim, turned = l->qk_rope_head_dim, v = l->v_head_dim;
    if (q) {
        DT_TRY(add(b, "query_down/kernel", 1, 2, (int64_t[]){d, q}));
        DT_TRY(add(b, "query_norm/scale", 0, 1, &q));
    }
    DT_TRY(add(b, "query/kernel", 1, 3, (int64_t[]){q ? q : d, n, flat + turned}));
    DT_TRY(add(b, "key_value_down/kernel", 1, 2, (int64_t[]){d, kv + turned}));
    DT_TRY(add(b, "key_value_norm/scale", 0, 1, &kv));
    DT_TRY(add(b, "key/kernel", 1, 3, (int64_t[]){kv, n, flat}));
    DT_TRY(add(b, "value/kernel", 1, 3, (int64_t[]){kv, n, v}));
    return add(b, "attention_output/kernel", 2, 3, (int64_t[]){n, v, d});
}

static dt_status *build(dt_layer_build *b) {
    const struct latent *l = b->args;
    DT_TRY(dt_layer_wants_exactly(b, "MultiHeadLatentAttention", 3, "(B, steps, features)"));
    DT_TRY(dt_rotation_check(b, "MultiHeadLatentAttention", l->qk_rope_head_dim));
    DT_TRY(add_weights(b));
    const dt_heads heads = {.query_heads = l->num_heads,
                            .key_heads = l->num_heads,
                            .key_dim = l->qk_nope_head_dim + l->qk_rope_head_dim,
                            .value_dim = l->v_head_dim,
                            .masks_keys_alone = true,
                            .causal = true};
    b->made = dt_arena_copy(b->arena, &heads, sizeof heads);
    b->out = b->in;
    return NULL;
}

/* ---- call ---- */

/* Emits x (B, T, n) times a kernel (n, heads, size). The product gets the name by which policies of
 * rematerialization know it. */
static dt_value by_heads(const dt_layer_call *c, const char *name, dt_value x, dt_value kernel) {
    static const dt_dot_attr last = {.n_contract = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    return dt_layer_value(c, dt_arena_printf(dt_trace_arena(c->trace), "%s/%s", c->name, name),
                          dt_dot_general(x, kernel, &last));
}

static dt_value part(dt_value x, int64_t from, int64_t n) {
    return dt_slice_axis(x, dt_type_of_value(x).rank - 1, from, n, 1);
}

/* Emits queries of N heads, (B, T, N, H). The last qk_rope_head_dim of the H features are rotated.
 * *weight: the first weight; set to the one behind those of the queries. */
static dt_value query_of(const dt_layer_call *c, const dt_value **weight) {
    const struct latent *l = c->args;
    dt_value x = c->x;
    if (l->q_lora_rank) {
        x = dt_matmul(x, *(*weight)++);
        x = dt_heads_norm(x, *(*weight)++, l->layer_norm_epsilon);
    }
    x = by_heads(c, "query", x, *(*weight)++);
    const int64_t flat = l->qk_nope_head_dim, turned = l->qk_rope_head_dim;
    return dt_concatenate(
        (dt_value[]){part(x, 0, flat), dt_rotate(&l->rope, part(x, flat, turned))}, 2, 3);
}

/* Emits the keys of all heads: features of each head, then rotated features, which all heads
 * share. */
static dt_value key_of(const dt_layer_call *c, dt_value latent, dt_value shared, dt_value kernel) {
    const struct latent *l = c->args;
    dt_type type = dt_type_of_value(shared);
    type.rank = 4;
    type.dim[2] = l->num_heads;
    type.dim[3] = l->qk_rope_head_dim;
    shared = dt_broadcast_in_dim(dt_rotate(&l->rope, shared), &type, (int8_t[]){0, 1, 3});
    return dt_concatenate((dt_value[]){by_heads(c, "key", latent, kernel), shared}, 2, 3);
}

static dt_value call(const dt_layer_call *c) {
    const struct latent *l = c->args;
    const dt_value *weight = c->weight;
    dt_value qkv[3] = {query_of(c, &weight)};
    dt_value down = dt_matmul(c->x, *weight++),
             latent =
                 dt_heads_norm(part(down, 0, l->kv_lora_rank), *weight++, l->layer_norm_epsilon);
    dt_value shared = part(down, l->kv_lora_rank, l->qk_rope_head_dim);
    qkv[1] = key_of(c, latent, shared, *weight++);
    qkv[2] = by_heads(c, "value", latent, *weight++);
    return dt_heads_attend(c, qkv, weight);
}

const dt_layer dt_layer_multi_head_latent_attention = {
    .kind = {"MultiHeadLatentAttention",
             "causal attention whose keys and values are made from a few latent features", fields,
             sizeof(struct latent), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MultiHeadAttention: in each head, every step of the query yields a mean of the values of all
 * steps (with `use_causal_mask` of those up to itself), weighted by how well their keys match its
 * query. Each head has separate keys and values. See heads.h.
 *
 *     inputs: x                                      self-attention
 *     inputs: [query, value]                         cross attention; the value is also the key
 *     inputs: [query, value, key]
 *     inputs: [.., mask], use_attention_mask: true   (B, T, S); 0: step t may not attend to step s
 *
 * A. Vaswani et al., Attention Is All You Need (2017).
 */
#include "model/layer/heads.h"

struct attention {
    dt_layer_head head;
    dt_noise noise;
    int64_t num_heads, key_dim, value_dim;
    double dropout;
    bool use_bias, use_key_bias, use_output_bias, use_gate, use_causal_mask, use_attention_mask,
        return_attention_scores;
    int64_t sliding_window;
    int qk_norm;
    double layer_norm_epsilon;
    dt_ints output_shape;
    const dt_tree *kernel_initializer, *bias_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct attention, num_heads, .min = 1, .max = INFINITY, .required = true,
           .help = "number of attention heads"),
    DT_INT(struct attention, key_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "dimension of queries and keys"),
    DT_INT(struct attention, value_dim, .min = 1, .max = INFINITY,
           .help = "dimension of a value; default key_dim"),
    DT_REAL(struct attention, dropout, .min = 0, .max = 1,
            .help = "dropout rate of the attention scores"),
    DT_FLAG(struct attention, use_bias, .preset = "true",
            .help = "add biases to queries, keys, values and output"),
    DT_FLAG(struct attention, use_key_bias, .preset = "true",
            .help = "with use_bias, add biases to keys, too; Whisper does not"),
    DT_FLAG(struct attention, use_output_bias,
            .help = "add a bias to the output even without use_bias, as diffusion U-Nets do"),
    DT_FLAG(struct attention, use_gate,
            .help = "gate each head's output by a sigmoid of the input"),
    DT_FLAG(struct attention, use_causal_mask,
            .help = "causal: positions do not attend to later ones"),
    DT_FLAG(struct attention, use_attention_mask,
            .help = "the last input is Keras' attention_mask, (B, T, S): queries do not attend to "
                    "keys where it is 0"),
    DT_FLAG(struct attention, return_attention_scores,
            .help = "also output the attention scores, (B, heads, T, S): NAME/attention_scores"),
    DT_INT(struct attention, sliding_window, .min = 1, .max = INFINITY,
           .help = "size of the attention window: positions attend only to closer ones"),
    DT_QK_NORM(struct attention),
    DT_INTS(struct attention, output_shape, .lone = true, .min = 1, .max = INFINITY,
            .help = "shape of the output; default: that of the input"),
    DT_INITIALIZER(struct attention, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_INITIALIZER(struct attention, bias_initializer, .help = "initializer; default: zeros"),
    DT_NOISE_FIELD(struct attention),
    DT_LAYER_FIELDS(struct attention),
    DT_ONLY("attention_axes", "[1]"),
    DT_ONLY("flash_attention", "false"),
    DT_REGULARIZER(struct attention, KERNEL, "kernel_regularizer"),
    DT_REGULARIZER(struct attention, BIAS, "bias_regularizer"),
    DT_NOT_YET("activity_regularizer"),
    DT_CONSTRAINT(struct attention, KERNEL, "kernel_constraint"),
    DT_CONSTRAINT(struct attention, BIAS, "bias_constraint"),
    DT_END};

static dt_status *build_heads(dt_layer_build *b, bool masks_keys_alone) {
    const struct attention *a = b->args;
    DT_TRY(dt_layer_wants_exactly(b, "MultiHeadAttention", 3, "(B, steps, features)"));
    return dt_heads_build(b, &(dt_heads){
                                 .query_heads = a->num_heads,
                                 .key_heads = a->num_heads,
                                 .key_dim = a->key_dim,
                                 .value_dim = a->value_dim ? a->value_dim : a->key_dim,
                                 .dropout = a->dropout,
                                 .use_bias = a->use_bias,
                                 .no_key_bias = !a->use_key_bias,
                                 .use_output_bias = a->use_bias || a->use_output_bias,
                                 .use_gate = a->use_gate,
                                 .causal = a->use_causal_mask,
                                 .window = a->sliding_window,
                                 .qk_norm = a->qk_norm,
                                 .norm_epsilon = a->layer_norm_epsilon,
                                 .masks_keys_alone = masks_keys_alone,
                                 .takes_mask = a->use_attention_mask,
                                 .returns_scores = a->return_attention_scores,
                                 .output = a->output_shape,
                                 .noise = a->noise,
                                 .kernel_initializer = a->kernel_initializer,
                                 .bias_initializer = a->bias_initializer,
                             });
}

static dt_status *build(dt_layer_build *b) { return build_heads(b, false); }

static dt_status *build_of_decoder(dt_layer_build *b) { return build_heads(b, true); }

const dt_layer dt_layer_multi_head_attention = {
    .kind = {"MultiHeadAttention", "attention between steps of sequences", fields,
             sizeof(struct attention), NULL},
    .least = 1,
    .most = 4,
    .supports_masking = true,
    .build = build,
    .call = dt_heads_call,
    .yields = dt_yields_real,
};

/* The layer that KerasHub's decoders contain. A job cannot name it. */
const dt_layer dt_layer_cached_multi_head_attention = {
    .kind = {"CachedMultiHeadAttention",
             "MultiHeadAttention whose mask hides steps from others alone", fields,
             sizeof(struct attention), NULL},
    .supports_masking = true,
    .build = build_of_decoder,
    .call = dt_heads_call,
    .yields = dt_yields_real,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GroupQueryAttention of a sequence to itself: MultiHeadAttention in which num_query_heads /
 * num_key_value_heads neighbouring heads share keys and values, so that fewer of these are computed
 * and stored. See heads.h.
 *
 * J. Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
 * Checkpoints (2023).
 */
#include "model/layer/heads.h"

struct attention {
    dt_layer_head head;
    dt_noise noise;
    int64_t head_dim, num_query_heads, num_key_value_heads;
    double dropout;
    bool use_bias, use_gate, use_causal_mask, return_attention_scores;
    int64_t sliding_window;
    const dt_tree *kernel_initializer, *bias_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct attention, head_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "dimension of a head"),
    DT_INT(struct attention, num_query_heads, .min = 1, .max = INFINITY, .required = true,
           .help = "number of query heads"),
    DT_INT(struct attention, num_key_value_heads, .min = 1, .max = INFINITY, .required = true,
           .help = "number of key and value heads; must divide num_query_heads"),
    DT_REAL(struct attention, dropout, .min = 0, .max = 1,
            .help = "dropout rate of the attention scores"),
    DT_FLAG(struct attention, use_bias, .preset = "true",
            .help = "add biases to queries, keys, values and output"),
    DT_FLAG(struct attention, use_gate,
            .help = "gate each head's output by a sigmoid of the input"),
    DT_FLAG(struct attention, use_causal_mask,
            .help = "causal: positions do not attend to later ones"),
    DT_FLAG(struct attention, return_attention_scores,
            .help = "also output the attention scores, (B, heads, T, T): NAME/attention_scores"),
    DT_INT(struct attention, sliding_window, .min = 1, .max = INFINITY,
           .help = "size of the attention window: positions attend only to closer ones"),
    DT_INITIALIZER(struct attention, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_INITIALIZER(struct attention, bias_initializer, .help = "initializer; default: zeros"),
    DT_NOISE_FIELD(struct attention),
    DT_LAYER_FIELDS(struct attention),
    DT_ONLY("flash_attention", "false"),
    DT_REGULARIZER(struct attention, KERNEL, "kernel_regularizer"),
    DT_REGULARIZER(struct attention, BIAS, "bias_regularizer"),
    DT_NOT_YET("activity_regularizer"),
    DT_CONSTRAINT(struct attention, KERNEL, "kernel_constraint"),
    DT_CONSTRAINT(struct attention, BIAS, "bias_constraint"),
    DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct attention *a = b->args;
    DT_TRY(dt_layer_wants_exactly(b, "GroupQueryAttention", 3, "(B, steps, features)"));
    return dt_heads_build(b, &(dt_heads){
                                 .query_heads = a->num_query_heads,
                                 .key_heads = a->num_key_value_heads,
                                 .key_dim = a->head_dim,
                                 .value_dim = a->head_dim,
                                 .dropout = a->dropout,
                                 .use_bias = a->use_bias,
                                 .use_output_bias = a->use_bias,
                                 .use_gate = a->use_gate,
                                 .causal = a->use_causal_mask,
                                 .window = a->sliding_window,
                                 .returns_scores = a->return_attention_scores,
                                 .noise = a->noise,
                                 .kernel_initializer = a->kernel_initializer,
                                 .bias_initializer = a->bias_initializer,
                             });
}

const dt_layer dt_layer_group_query_attention = {
    .kind = {"GroupQueryAttention", "attention in which groups of heads share keys and values",
             fields, sizeof(struct attention), NULL},
    .supports_masking = true,
    .build = build,
    .call = dt_heads_call,
    .yields = dt_yields_real,
};

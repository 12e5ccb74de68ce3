/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by attention layers. For each head, every step of a sequence averages the values of all
 * steps, weighted by how well their keys match its query:
 *
 *     query   (B, T, N, key_dim)     input 0, (B, T, D), times (D, N, key_dim)
 *     key     (B, S, K, key_dim)     input 2, (B, S, E), times (E, K, key_dim)
 *     value   (B, S, K, value_dim)   input 1, (B, S, F), times (F, K, value_dim)
 *     taken   (B, T, N, value_dim)   the weighted means of values: see op/attention.c
 *     y       (B, T, output..)       taken times (N, value_dim, output..)
 *
 * N heads of queries; K divides N, and N / K heads of queries share each head of keys. With input 0
 * alone a sequence attends to itself; with inputs 0 and 1, keys come from input 1.
 *
 * With `takes_mask` the last input is a mask, (B, T, S) or (B, 1, S) of any dtype: a step attends
 * to those where it is not 0. With `returns_scores` the weights of the means, (B, N, T, S) before
 * dropout, are a further output, attention_scores.
 *
 * With `sink` each head has a trained logit, the score of one more key with the value 0: gpt-oss'
 * attention can so attend to nothing.
 */
#ifndef DT_MODEL_LAYER_HEADS_H
#define DT_MODEL_LAYER_HEADS_H

#include "model/layer/noise.h"
#include "model/layer/rotary.h"

/* Values of the field qk_norm. With the last two, queries and keys are divided by a root mean
 * square: that of a head, or of all heads together. */
enum { DT_QK_NORM_NONE, DT_QK_NORM_OF_HEAD, DT_QK_NORM_OF_ALL };
extern const char *const dt_qk_norms[];
#define DT_QK_NORM_EPSILON 1e-6
#define DT_QK_NORM(type)                                                                           \
    DT_ENUM(type, qk_norm, dt_qk_norms,                                                            \
            .help = "divide queries and keys by the root of their mean square, in each head or "   \
                    "across all, and multiply by trained numbers"),                                \
        DT_REAL(type, layer_norm_epsilon, .preset = "1e-6", .max = INFINITY,                       \
                .help = "of qk_norm: added to avoid division by 0")

typedef struct dt_heads {
    int64_t query_heads, key_heads, key_dim, value_dim;
    /* sizes of the output for one step; empty: the size of input 0's last dimension */
    dt_ints output;
    /* rate at which attention weights are set to 0 in training; with drops_taken, the weighted
     * means of values are set to 0 instead */
    double dropout;
    bool drops_taken, use_gate, causal;
    /* use_bias: projections to heads have biases, but see no_key_bias; use_output_bias: the output
     * projection has one */
    bool use_bias, use_output_bias;
    /* whether a mask excludes steps only as keys, not as queries */
    bool masks_keys_alone;
    bool takes_mask, returns_scores;
    /* whether the projection of keys has no bias, as in Whisper: without qk_norm and rotation it
     * would not change attention */
    bool no_key_bias;
    /* Queries attend only to keys at a smaller distance; 0: no limit. */
    int64_t window;
    /* Number of steps in a chunk: each step attends to its own chunk only; 0: no chunks. */
    int64_t chunk;
    bool sink;
    /* DT_QK_NORM_NONE, ..: whether queries and keys are divided by the root of their mean square,
     * before they are rotated */
    int qk_norm;
    double norm_epsilon;
    const dt_rotation *rotation; /* rotation of queries and keys; NULL: none */
    dt_noise noise;
    const dt_tree *kernel_initializer, *bias_initializer;
} dt_heads;

/* Adds the weights of query, key, gate (if h uses one), value and attention_output, and those of
 * norms, sinks and dropout that h asks for. Sets b->out, the further output for scores, and b->made
 * to a copy of h in which a window or a chunk without effect is 0. */
dt_status *dt_heads_build(dt_layer_build *b, const dt_heads *h) DT_MUST_USE;
/* Computes y, the output of the layer. */
dt_value dt_heads_call(const dt_layer_call *c);
/* Returns x times scale / sqrt(mean of x^2 + epsilon). The root is computed in float32 if x has 16
 * bits. The mean is over the last dimensions of x, as many as scale has. */
dt_value dt_heads_norm(dt_value x, dt_value scale, double epsilon);
/* Computes attention for a layer that computes queries, keys and values from its only input; the
 * layer's `made` begins with a dt_heads. `weight`: the weights from the kernel of attention_output
 * on. */
dt_value dt_heads_attend(const dt_layer_call *c, const dt_value *qkv, const dt_value *weight);

/* KerasHub's attention of decoders, which is a part of TransformerDecoder. */
extern const dt_layer dt_layer_cached_multi_head_attention;

#endif

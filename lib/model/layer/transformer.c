/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TransformerDecoder and TransformerEncoder: KerasHub's transformer blocks, without
 * cross-attention.
 *
 *     x = x + drop(attend(x))              each step attends to all steps; in a decoder, only to
 *                                          itself and earlier ones
 *     x = x + drop(narrow(f(widen(x))))    for each step: D to intermediate_dim and back
 *
 * A LayerNormalization follows each sum, as in A. Vaswani et al., Attention Is All You Need (2017),
 * or, with `normalize_first`, comes before attend and widen, as in GPT-2. Both layers are built
 * from parts (parts.h). MultiHeadAttention computes the attention, or in a decoder its variant
 * CachedMultiHeadAttention.
 */
#include "model/layer/heads.h"
#include "model/layer/parts.h"

struct transformer {
    dt_layer_head head;
    int64_t intermediate_dim, num_heads;
    double dropout, layer_norm_epsilon;
    int activation;
    bool normalize_first;
    const dt_tree *kernel_initializer, *bias_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct transformer, intermediate_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "size of the hidden layer of the feed-forward part"),
    DT_INT(struct transformer, num_heads, .min = 1, .max = INFINITY, .required = true,
           .help = "number of attention heads"),
    DT_REAL(struct transformer, dropout, .min = 0, .max = 1, .help = "dropout rate"),
    DT_ENUM(struct transformer, activation, dt_activations, .preset = "relu",
            .help = "activation function of the feed-forward part"),
    DT_REAL(struct transformer, layer_norm_epsilon, .preset = "1e-5", .max = INFINITY,
            .help = "added to the variance to avoid division by 0"),
    DT_INITIALIZER(struct transformer, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_INITIALIZER(struct transformer, bias_initializer, .help = "initializer; default: zeros"),
    DT_FLAG(struct transformer, normalize_first,
            .help = "normalize the input of each part instead of its output"),
    DT_LAYER_FIELDS(struct transformer),
    DT_END};

typedef struct parts {
    dt_layer_part attention, attention_norm, attention_dropout, widen, narrow, norm, dropout;
} parts;

/* ---- building ---- */

static dt_status *check_input(const dt_layer_build *b, const char *kind) {
    const struct transformer *t = b->args;
    DT_TRY(dt_layer_wants_exactly(b, kind, 3, "(B, steps, features)"));
    if (b->in.dim[2] >= t->num_heads) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "%s has %lld heads for %lld features: a head needs at least one", kind,
                   (long long)t->num_heads, (long long)b->in.dim[2]);
}

static dt_status *build_attention(dt_layer_build *b, const char *name, bool decodes,
                                  dt_layer_part *out) {
    const struct transformer *t = b->args;
    return dt_part_build(
        b,
        &(dt_part_request){
            .row = decodes ? &dt_layer_cached_multi_head_attention : &dt_layer_multi_head_attention,
            .name = name,
            .in = b->in,
            .arg = {{"num_heads", dt_part_int(b, t->num_heads)},
                    {"key_dim", dt_part_int(b, b->in.dim[2] / t->num_heads)},
                    {"dropout", dt_part_real(b, t->dropout)},
                    {"use_causal_mask", dt_part_word(b, decodes ? "true" : "false")},
                    {"kernel_initializer", t->kernel_initializer},
                    {"bias_initializer", t->bias_initializer}},
        },
        out);
}

static dt_status *build_norm(dt_layer_build *b, const char *name, dt_layer_part *out) {
    const struct transformer *t = b->args;
    return dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_layer_normalization,
                             .name = name,
                             .in = b->in,
                             .arg = {{"epsilon", dt_part_real(b, t->layer_norm_epsilon)}},
                         },
                         out);
}

static dt_status *build_dropout(dt_layer_build *b, const char *name, dt_layer_part *out) {
    const struct transformer *t = b->args;
    return dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_dropout,
                             .name = name,
                             .in = b->in,
                             .arg = {{"rate", dt_part_real(b, t->dropout)}},
                         },
                         out);
}

static dt_status *build_dense(dt_layer_build *b, const char *name, int64_t units, const dt_type *in,
                              dt_layer_part *out) {
    const struct transformer *t = b->args;
    bool widens = in == &b->in;
    return dt_part_build(
        b,
        &(dt_part_request){
            .row = &dt_layer_dense,
            .name = name,
            .in = *in,
            .arg = {{"units", dt_part_int(b, units)},
                    {"activation", dt_part_word(b, dt_activations[widens ? t->activation : 0])},
                    {"kernel_initializer", t->kernel_initializer},
                    {"bias_initializer", t->bias_initializer}},
        },
        out);
}

static dt_status *build_halves(dt_layer_build *b, parts *p) {
    const struct transformer *t = b->args;
    DT_TRY(
        build_dense(b, "feedforward_intermediate_dense", t->intermediate_dim, &b->in, &p->widen));
    return build_dense(b, "feedforward_output_dense", b->in.dim[2], &p->widen.out, &p->narrow);
}

/* Weights are created in KerasHub's order, in which the encoder creates both norms before the
 * feed-forward part, the decoder the second one after it. */
static dt_status *build(dt_layer_build *b, const char *kind, bool decodes) {
    parts *p = dt_arena_new(b->arena, parts);
    DT_TRY(check_input(b, kind));
    DT_TRY(build_attention(b, decodes ? "self_attention" : "self_attention_layer", decodes,
                           &p->attention));
    DT_TRY(build_norm(b, "self_attention_layer_norm", &p->attention_norm));
    DT_TRY(build_dropout(b, "self_attention_dropout", &p->attention_dropout));
    if (!decodes) DT_TRY(build_norm(b, "feedforward_layer_norm", &p->norm));
    DT_TRY(build_halves(b, p));
    if (decodes) DT_TRY(build_norm(b, "feedforward_layer_norm", &p->norm));
    DT_TRY(build_dropout(b, "feedforward_dropout", &p->dropout));
    b->out = b->in;
    b->made = p;
    return NULL;
}

/* ---- graph ---- */

static dt_value attend(const dt_layer_call *c, dt_value x) {
    const parts *p = c->made;
    return dt_part_call(c, &p->attention_dropout, dt_part_call(c, &p->attention, x));
}

static dt_value feed_forward(const dt_layer_call *c, dt_value x) {
    const parts *p = c->made;
    return dt_part_call(c, &p->dropout, dt_part_call(c, &p->narrow, dt_part_call(c, &p->widen, x)));
}

static dt_value call(const dt_layer_call *c) {
    const struct transformer *t = c->args;
    const parts *p = c->made;
    dt_value x = c->x;
    if (t->normalize_first) {
        x = dt_add(attend(c, dt_part_call(c, &p->attention_norm, x)), x);
        return dt_add(feed_forward(c, dt_part_call(c, &p->norm, x)), x);
    }
    x = dt_part_call(c, &p->attention_norm, dt_add(attend(c, x), x));
    return dt_part_call(c, &p->norm, dt_add(feed_forward(c, x), x));
}

/* ---- rows ---- */

#define TRANSFORMER(row, class_name, decodes, words)                                               \
    static dt_status *row##_build(dt_layer_build *b) { return build(b, class_name, decodes); }     \
    const dt_layer dt_layer_##row = {                                                              \
        .kind = {class_name, words, fields, sizeof(struct transformer), NULL},                     \
        .precision = DT_LAYER_BY_PARTS,                                                            \
        .supports_masking = true,                                                                  \
        .build = row##_build,                                                                      \
        .call = call,                                                                              \
        .yields = dt_yields_real,                                                                  \
    };
TRANSFORMER(transformer_decoder, "TransformerDecoder", true, "a transformer decoder block, causal")
TRANSFORMER(transformer_encoder, "TransformerEncoder", false, "a transformer encoder block")

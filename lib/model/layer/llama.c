/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LlamaTransformerDecoder: KerasHub's block of a Llama, and its LlamaAttention.
 *
 *     x = x + drop(attend(norm(x)))                          rotary queries and keys; groups of
 *                                                            heads share keys
 *     x = x + narrow(f(norm(x) gate) * (norm(x) widen))      for each step: D to
 *                                                            intermediate_dim and back
 *
 * With `num_experts` the second line is a MixtureOfExperts instead, as in KerasHub's
 * MixtralTransformerDecoder.
 *
 * The block has no biases. norm is RMSNormalization. Besides those of MixtureOfExperts, three
 * arguments are not those of KerasHub's LlamaTransformerDecoder: `head_dim`, D / num_query_heads by
 * default; `sliding_window`, as in GroupQueryAttention; and `gated: false`, for no gate:
 * narrow(f(norm(x) widen)), as in decoders before Llama. LlamaAttention has further arguments,
 * among them attention_chunk_size and use_rope, for Llama 4; use_bias, use_sinks and rope_type, for
 * gpt-oss; and use_causal_mask, rope_grid and qk_norm, for diffusion transformers. KerasHub 0.32
 * accepts rope_position_scaling_factor and ignores it; here it is the scaling_factor of
 * RotaryEmbedding.
 *
 * H. Touvron et al., LLaMA (2023); N. Shazeer, GLU Variants (2020).
 */
#include "model/layer/heads.h"
#include "model/layer/parts.h"

/* ---- LlamaAttention ---- */

struct attention {
    dt_layer_head head;
    dt_noise noise;
    dt_rotation rope;
    int64_t num_query_heads, num_key_value_heads, head_dim, sliding_window, attention_chunk_size;
    int qk_norm;
    bool use_rope, use_bias, use_causal_mask, use_sinks;
    double dropout, layer_norm_epsilon;
    const dt_tree *kernel_initializer;
};

#define ROPE(kind_, type, name_, member, ...)                                                      \
    DT_KEY(kind_, "rope_" name_, type, rope.member, __VA_ARGS__)
#define HEAD_FIELDS(type)                                                                          \
    DT_INT(type, num_query_heads, .min = 1, .max = INFINITY, .required = true,                     \
           .help = "number of query heads"),                                                       \
        DT_INT(type, num_key_value_heads, .min = 1, .max = INFINITY, .required = true,             \
               .help = "number of key and value heads; must divide num_query_heads"),              \
        DT_INT(type, head_dim, .min = 1, .max = INFINITY,                                          \
               .help = "dimension of a head; default features / num_query_heads"),                 \
        DT_INT(type, sliding_window, .min = 1, .max = INFINITY,                                    \
               .help = "size of the attention window: positions attend only to closer ones"),      \
        ROPE(REAL, type, "max_wavelength", max_wavelength, .preset = "10000", .min = 1,            \
             .max = INFINITY, .help = "of RotaryEmbedding"),                                       \
        ROPE(REAL, type, "position_scaling_factor", scaling_factor, .preset = "1",                 \
             .above_min = true, .max = INFINITY, .help = "positions are divided by this factor"),  \
        ROPE(REAL, type, "frequency_adjustment_factor", frequency_adjustment_factor,               \
             .above_min = true, .max = INFINITY,                                                   \
             .help = "factor by which long wavelengths are scaled; 8 in Llama 3.1"),               \
        ROPE(REAL, type, "low_freq_factor", low_freq_factor, .above_min = true, .max = INFINITY,   \
             .help = "low-frequency factor: longer wavelengths are scaled"),                       \
        ROPE(REAL, type, "high_freq_factor", high_freq_factor, .above_min = true, .max = INFINITY, \
             .help = "high-frequency factor: shorter wavelengths are unchanged"),                  \
        ROPE(INT, type, "pretraining_sequence_length", pretraining_sequence_length, .min = 1,      \
             .max = INFINITY, .help = "sequence length of pretraining, for the two factors"),      \
        DT_INITIALIZER(type, kernel_initializer, .help = "initializer; default: glorot_uniform"),  \
        DT_LAYER_FIELDS(type),                                                                     \
        DT_INSTEAD("rope_scaling_factor", "write 'rope_position_scaling_factor'")

static const dt_field attention_fields[] = {
    HEAD_FIELDS(struct attention),
    DT_REAL(struct attention, dropout, .min = 0, .max = 1,
            .help = "dropout rate of the attention scores"),
    DT_INT(struct attention, attention_chunk_size, .min = 1, .max = INFINITY,
           .help = "size of chunks of a sequence: positions attend within "
                   "their own; default: one chunk"),
    DT_FLAG(struct attention, use_rope, .preset = "true",
            .help = "rotate queries and keys; some layers of Llama 4 "
                    "do not"),
    DT_KEY(ENUM, "rope_type", struct attention, rope.rope_type, .choices = dt_rope_types,
           .help = "linear: positions are divided by the factor; yarn: only long wavelengths are, "
                   "as in gpt-oss"),
    ROPE(REAL, struct attention, "beta_fast", beta_fast, .preset = "32", .above_min = true,
         .max = INFINITY, .help = "of yarn: wavelengths that fit this often do not change"),
    ROPE(REAL, struct attention, "beta_slow", beta_slow, .preset = "1", .above_min = true,
         .max = INFINITY,
         .help = "of yarn: those that fit less often are multiplied by the factor"),
    ROPE(INTS, struct attention, "grid", grid, .min = 1, .max = 65536,
         .help = "[height, width] or [frames, height, width]: steps are in rows of a picture or "
                 "film, and each axis rotates a part of the features; default: they are in a line"),
    DT_FLAG(struct attention, use_bias, .help = "add biases to queries, keys, values and output"),
    DT_FLAG(struct attention, use_causal_mask, .preset = "true",
            .help = "causal: positions do not attend to later ones"),
    DT_FLAG(struct attention, use_sinks,
            .help = "a trained logit for each head in the sum that scores are divided by, as in "
                    "gpt-oss"),
    DT_QK_NORM(struct attention),
    DT_NOISE_FIELD(struct attention),
    DT_END};

/* The defaults of rope_beta_fast and rope_beta_slow. */
enum { BETA_FAST = 32, BETA_SLOW = 1 };

static dt_status *check_yarn(const dt_layer_build *b, const dt_rotation *r) {
    if (r->pretraining_sequence_length == 0)
        return dt_fail(DT_E_RANGE, &b->at,
                       "rope_type: yarn needs rope_pretraining_sequence_length");
    if (r->frequency_adjustment_factor + r->low_freq_factor + r->high_freq_factor > 0)
        return dt_fail(DT_E_RANGE, &b->at,
                       "rope_type: yarn does not take rope_frequency_adjustment_factor, "
                       "rope_low_freq_factor and rope_high_freq_factor");
    if (r->beta_fast <= r->beta_slow || r->max_wavelength <= 1)
        return dt_fail(DT_E_RANGE, &b->at,
                       "rope_type: yarn needs rope_beta_fast above rope_beta_slow and "
                       "rope_max_wavelength above 1, got %g, %g and %g",
                       r->beta_fast, r->beta_slow, r->max_wavelength);
    return NULL;
}

static dt_status *check_grid(const dt_layer_build *b, const dt_rotation *r, int64_t features) {
    int64_t places = 1;
    if (r->grid.n == 0) return NULL;
    if (r->grid.n > 3 || features / 2 < r->grid.n)
        return dt_fail(
            DT_E_RANGE, &b->at,
            "rope_grid has %d axes; at most 3 are possible, and each needs a pair of the "
            "%lld features of a head",
            r->grid.n, (long long)features);
    for (int i = 0; i < r->grid.n; i++) places *= r->grid.v[i];
    if (places == b->in.dim[1]) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at, "rope_grid has %lld places for %lld steps",
                   (long long)places, (long long)b->in.dim[1]);
}

static dt_status *check_waves(const dt_layer_build *b, const dt_rotation *r) {
    if (r->rope_type == DT_ROPE_YARN) return check_yarn(b, r);
    if (r->beta_fast != BETA_FAST || r->beta_slow != BETA_SLOW)
        return dt_suggest(
            dt_fail(DT_E_RANGE, &b->at, "rope_beta_fast and rope_beta_slow need rope_type: yarn"),
            "add rope_type: yarn, or leave them out");
    int given = (r->frequency_adjustment_factor > 0) + (r->low_freq_factor > 0) +
                (r->high_freq_factor > 0) + (r->pretraining_sequence_length > 0);
    if (given != 0 && given != 4)
        return dt_suggest(
            dt_fail(DT_E_MODEL_SHAPE, &b->at,
                    "frequency scaling needs all of its four arguments, got %d", given),
            "set all four or none: rope_frequency_adjustment_factor, rope_low_freq_factor, "
            "rope_high_freq_factor, rope_pretraining_sequence_length");
    if (given && r->high_freq_factor <= r->low_freq_factor)
        return dt_fail(DT_E_RANGE, &b->at,
                       "rope_high_freq_factor %g must be above rope_low_freq_factor %g",
                       r->high_freq_factor, r->low_freq_factor);
    return NULL;
}

/* Sets *out to the number of features of each head: `given` or, if that is 0, the input's features
 * divided by `heads`. */
static dt_status *find_head_dim(const dt_layer_build *b, int64_t given, int64_t heads,
                                int64_t *out) {
    *out = given ? given : b->in.dim[2] / heads;
    if (*out > 0) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "%lld heads for %lld features: a head needs at least one", (long long)heads,
                   (long long)b->in.dim[2]);
}

static dt_status *build_attention(dt_layer_build *b) {
    const struct attention *a = b->args;
    int64_t head_dim;
    DT_TRY(dt_layer_wants_exactly(b, "LlamaAttention", 3, "(B, steps, features)"));
    DT_TRY(find_head_dim(b, a->head_dim, a->num_query_heads, &head_dim));
    if (a->use_rope) DT_TRY(dt_rotation_check(b, "LlamaAttention", head_dim));
    DT_TRY(check_waves(b, &a->rope));
    DT_TRY(check_grid(b, &a->rope, head_dim));
    return dt_heads_build(b, &(dt_heads){
                                 .query_heads = a->num_query_heads,
                                 .key_heads = a->num_key_value_heads,
                                 .key_dim = head_dim,
                                 .value_dim = head_dim,
                                 .dropout = a->dropout,
                                 .drops_taken = true,
                                 .masks_keys_alone = true,
                                 .use_bias = a->use_bias,
                                 .use_output_bias = a->use_bias,
                                 .causal = a->use_causal_mask,
                                 .sink = a->use_sinks,
                                 .qk_norm = a->qk_norm,
                                 .norm_epsilon = a->layer_norm_epsilon,
                                 .window = a->sliding_window,
                                 .chunk = a->attention_chunk_size,
                                 .rotation = a->use_rope ? &a->rope : NULL,
                                 .noise = a->noise,
                                 .kernel_initializer = a->kernel_initializer,
                             });
}

const dt_layer dt_layer_llama_attention = {
    .kind = {"LlamaAttention", "causal grouped-query attention with rotary embedding",
             attention_fields, sizeof(struct attention), NULL},
    .supports_masking = true,
    .build = build_attention,
    .call = dt_heads_call,
    .yields = dt_yields_real,
};

/* ---- LlamaTransformerDecoder ---- */

struct decoder {
    dt_layer_head head;
    dt_rotation rope;
    int64_t intermediate_dim, num_query_heads, num_key_value_heads, head_dim, sliding_window;
    /* number of feed-forward networks, of which top_k are used for each step; 0: one network for
     * all steps */
    int64_t num_experts, top_k;
    double dropout, layer_norm_epsilon, capacity_factor, router_aux_loss_coef;
    int activation;
    bool gated;
    const dt_tree *kernel_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct decoder, intermediate_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "size of the hidden layer of the feed-forward part"),
    HEAD_FIELDS(struct decoder),
    DT_ENUM(struct decoder, activation, dt_activations, .preset = "silu",
            .help = "activation function of the gate"),
    DT_FLAG(struct decoder, gated, .preset = "true", .help = "use a gated feed-forward part"),
    DT_INT(struct decoder, num_experts, .min = 1, .max = 65536,
           .help =
               "number of experts of the feed-forward part; default: it is not a MixtureOfExperts"),
    DT_INT(struct decoder, top_k, .preset = "2", .min = 1, .max = 64,
           .help = "of MixtureOfExperts"),
    DT_REAL(struct decoder, capacity_factor, .above_min = true, .max = INFINITY,
            .help = "of MixtureOfExperts"),
    DT_REAL(struct decoder, router_aux_loss_coef, .preset = "0.02", .min = 0, .max = INFINITY,
            .help = "of MixtureOfExperts"),
    DT_REAL(struct decoder, layer_norm_epsilon, .preset = "1e-5", .max = INFINITY,
            .help = "added to avoid division by 0"),
    DT_REAL(struct decoder, dropout, .min = 0, .max = 1,
            .help = "dropout rate of the attention scores and outputs"),
    DT_END};

typedef struct parts {
    dt_layer_part attention, attention_norm, attention_dropout, widen, gate, narrow, norm, experts;
} parts;

static const dt_tree *given_real(const dt_layer_build *b, double value) {
    return value > 0 ? dt_part_real(b, value) : NULL;
}

static dt_status *build_self_attention(dt_layer_build *b, dt_layer_part *out) {
    const struct decoder *d = b->args;
    const dt_rotation *r = &d->rope;
    return dt_part_build(
        b,
        &(dt_part_request){
            .row = &dt_layer_llama_attention,
            .name = "self_attention",
            .in = b->in,
            .arg = {{"num_query_heads", dt_part_int(b, d->num_query_heads)},
                    {"num_key_value_heads", dt_part_int(b, d->num_key_value_heads)},
                    {"head_dim", d->head_dim ? dt_part_int(b, d->head_dim) : NULL},
                    {"sliding_window",
                     d->sliding_window ? dt_part_int(b, d->sliding_window) : NULL},
                    {"dropout", dt_part_real(b, d->dropout)},
                    {"rope_max_wavelength", dt_part_real(b, r->max_wavelength)},
                    {"rope_position_scaling_factor", dt_part_real(b, r->scaling_factor)},
                    {"rope_frequency_adjustment_factor",
                     given_real(b, r->frequency_adjustment_factor)},
                    {"rope_low_freq_factor", given_real(b, r->low_freq_factor)},
                    {"rope_high_freq_factor", given_real(b, r->high_freq_factor)},
                    {"rope_pretraining_sequence_length",
                     r->pretraining_sequence_length ? dt_part_int(b, r->pretraining_sequence_length)
                                                    : NULL},
                    {"kernel_initializer", d->kernel_initializer}},
        },
        out);
}

static dt_status *build_norm(dt_layer_build *b, const char *name, dt_layer_part *out) {
    const struct decoder *d = b->args;
    return dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_rms_normalization,
                             .name = name,
                             .in = b->in,
                             .arg = {{"epsilon", dt_part_real(b, d->layer_norm_epsilon)}},
                         },
                         out);
}

static dt_status *build_dropout(dt_layer_build *b, dt_layer_part *out) {
    const struct decoder *d = b->args;
    return dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_dropout,
                             .name = "self_attention_dropout",
                             .in = b->in,
                             .arg = {{"rate", dt_part_real(b, d->dropout)}},
                         },
                         out);
}

/* Builds a Dense part. is_active: the activation is applied to its product. */
static dt_status *build_dense(dt_layer_build *b, const char *name, const dt_type *in,
                              bool is_active, dt_layer_part *out) {
    const struct decoder *d = b->args;
    int64_t units = in == &b->in ? d->intermediate_dim : b->in.dim[2];
    return dt_part_build(
        b,
        &(dt_part_request){
            .row = &dt_layer_dense,
            .name = name,
            .in = *in,
            .arg = {{"units", dt_part_int(b, units)},
                    {"activation", dt_part_word(b, dt_activations[is_active ? d->activation : 0])},
                    {"use_bias", dt_part_word(b, "false")},
                    {"kernel_initializer", d->kernel_initializer}},
        },
        out);
}

static dt_status *build_experts(dt_layer_build *b, parts *p) {
    const struct decoder *d = b->args;
    DT_TRY(dt_part_build(
        b,
        &(dt_part_request){
            .row = &dt_layer_mixture_of_experts,
            .name = "sparse_moe_block",
            .in = b->in,
            .arg = {{"intermediate_dim", dt_part_int(b, d->intermediate_dim)},
                    {"num_experts", dt_part_int(b, d->num_experts)},
                    {"top_k", dt_part_int(b, d->top_k)},
                    {"activation", dt_part_word(b, dt_activations[d->activation])},
                    {"gated", dt_part_word(b, d->gated ? "true" : "false")},
                    {"capacity_factor", given_real(b, d->capacity_factor)},
                    {"router_aux_loss_coef", dt_part_real(b, d->router_aux_loss_coef)},
                    {"kernel_initializer", d->kernel_initializer}},
        },
        &p->experts));
    return build_norm(b, "feedforward_layernorm", &p->norm);
}

static dt_status *build_feed_forward(dt_layer_build *b, parts *p) {
    const struct decoder *d = b->args;
    if (d->num_experts) return build_experts(b, p);
    if (d->capacity_factor > 0)
        return dt_fail(DT_E_RANGE, &b->at, "capacity_factor needs num_experts");
    DT_TRY(build_dense(b, "feedforward_intermediate_dense", &b->in, !d->gated, &p->widen));
    if (d->gated) DT_TRY(build_dense(b, "feedforward_gate_dense", &b->in, true, &p->gate));
    DT_TRY(build_dense(b, "feedforward_output_dense", &p->widen.out, false, &p->narrow));
    return build_norm(b, "feedforward_layernorm", &p->norm);
}

/* Creates the weights in KerasHub's order. */
static dt_status *build(dt_layer_build *b) {
    parts *p = dt_arena_new(b->arena, parts);
    DT_TRY(dt_layer_wants_exactly(b, "LlamaTransformerDecoder", 3, "(B, steps, features)"));
    DT_TRY(build_self_attention(b, &p->attention));
    DT_TRY(build_norm(b, "self_attention_layernorm", &p->attention_norm));
    DT_TRY(build_dropout(b, &p->attention_dropout));
    DT_TRY(build_feed_forward(b, p));
    b->out = b->in;
    b->made = p;
    return NULL;
}

static dt_value feed_forward(const dt_layer_call *c, dt_value x) {
    const parts *p = c->made;
    const struct decoder *d = c->args;
    if (d->num_experts) return dt_part_call(c, &p->experts, x);
    dt_value wide = dt_part_call(c, &p->widen, x);
    if (d->gated) wide = dt_multiply(wide, dt_part_call(c, &p->gate, x));
    return dt_part_call(c, &p->narrow, wide);
}

static dt_value call(const dt_layer_call *c) {
    const parts *p = c->made;
    dt_value taken = dt_part_call(c, &p->attention, dt_part_call(c, &p->attention_norm, c->x));
    dt_value x = dt_add(dt_part_call(c, &p->attention_dropout, taken), c->x);
    return dt_add(feed_forward(c, dt_part_call(c, &p->norm, x)), x);
}

const dt_layer dt_layer_llama_transformer_decoder = {
    .kind = {"LlamaTransformerDecoder", "a Llama decoder block", fields, sizeof(struct decoder),
             NULL},
    .precision = DT_LAYER_BY_PARTS,
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};

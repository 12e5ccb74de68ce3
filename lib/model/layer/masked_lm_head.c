/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MaskedLMHead: scores of words for the masked steps of a sequence; KerasHub's layer:
 *
 *     encoded    (B, T, D)    the output of the encoder
 *     positions  (B, M)       the positions of the masked steps
 *     y          (B, M, V)    f(encoded[positions] W), normalized, times the table, plus a bias
 *
 * The table is the `token_embedding` of an earlier layer, as in Tied; without `token_embedding` the
 * layer has its own kernel, for `vocabulary_size` words. Steps are selected by a product with
 * one-hot vectors of the positions, which is fast on matrix units and can be divided over devices
 * in any layout. For a position beyond the sequence, a step of zeros is selected.
 *
 *     - MaskedLMHead: {inputs: [encoder_23, mask_positions], token_embedding: token_embedding,
 *                      intermediate_activation: gelu}
 *
 * J. Devlin et al., BERT (2018).
 */
#include "model/layer/parts.h"

struct masked_lm_head {
    dt_layer_head head;
    int64_t vocabulary_size;
    dt_texts token_embedding;
    const dt_tree *kernel_initializer, *bias_initializer;
    int intermediate_activation, activation;
    double layer_norm_epsilon;
};

static const dt_field fields[] = {
    DT_INT(struct masked_lm_head, vocabulary_size, .min = 1, .max = 0x1p31,
           .help = "size of the vocabulary; default: that of the shared table"),
    DT_FIELD(ONE_OF, struct masked_lm_head, token_embedding, .forms = DT_NAME, .as = DT_TREE_SCALAR,
             .help = "the weight to share, or its layer: embed/token_embedding"),
    DT_ENUM(struct masked_lm_head, intermediate_activation, dt_activations, .preset = "relu",
            .help = "activation function before the norm"),
    DT_ENUM(struct masked_lm_head, activation, dt_activations,
            .help = "activation function of the scores"),
    DT_REAL(struct masked_lm_head, layer_norm_epsilon, .preset = "1e-5", .max = INFINITY,
            .help = "added to the variance to avoid division by 0"),
    DT_INITIALIZER(struct masked_lm_head, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_INITIALIZER(struct masked_lm_head, bias_initializer, .help = "initializer; default: zeros"),
    DT_LAYER_FIELDS(struct masked_lm_head),
    DT_END};

typedef struct parts {
    dt_layer_part dense, norm;
    int table, bias; /* indices of the embedding table and of the bias among the layer's weights */
    /* whether the table is the layer's own weight, (D, V); false: it is borrowed from an embedding,
     * (V, D) */
    bool is_own;
} parts;

static dt_status *check_inputs(const dt_layer_build *b) {
    const dt_type *positions = &b->ins[1];
    DT_TRY(dt_layer_wants_exactly(b, "MaskedLMHead", 3, "(B, steps, features)"));
    if (positions->rank == 2 && !dt_dtype_is_float(positions->dtype)) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "MaskedLMHead needs positions of shape (B, masked) from '%s', got %s",
                   b->from[1], dt_text_of(positions).s);
}

static dt_status *build_parts(dt_layer_build *b, parts *p) {
    const struct masked_lm_head *h = b->args;
    dt_type taken = b->in;
    taken.dim[1] = b->ins[1].dim[1];
    DT_TRY(dt_part_build(
        b,
        &(dt_part_request){
            .row = &dt_layer_dense,
            .name = "intermediate_dense",
            .in = taken,
            .arg = {{"units", dt_part_int(b, b->in.dim[2])},
                    {"activation", dt_part_word(b, dt_activations[h->intermediate_activation])},
                    {"kernel_initializer", h->kernel_initializer},
                    {"bias_initializer", h->bias_initializer}},
        },
        &p->dense));
    return dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_layer_normalization,
                             .name = "intermediate_layer_norm",
                             .in = p->dense.out,
                             .arg = {{"epsilon", dt_part_real(b, h->layer_norm_epsilon)}},
                         },
                         &p->norm);
}

static dt_status *find_table(dt_layer_build *b, int64_t *words) {
    const struct masked_lm_head *h = b->args;
    dt_type w;
    if (!h->token_embedding.n && !h->vocabulary_size)
        return dt_fail(DT_E_MISSING_KEY, &b->at,
                       "MaskedLMHead needs 'token_embedding' or 'vocabulary_size'");
    *words = h->vocabulary_size;
    if (!h->token_embedding.n)
        return dt_layer_weight(b, &(dt_weight_request){.name = "output_kernel",
                                                       .dtype = b->in.dtype,
                                                       .rank = 2,
                                                       .dim = {b->in.dim[2], *words},
                                                       .initializer = h->kernel_initializer,
                                                       .preset = "glorot_uniform"});
    DT_TRY(dt_layer_borrow(b, &h->token_embedding, &w));
    if (w.rank != 2 || w.dim[1] != b->in.dim[2] || (*words && *words != w.dim[0]))
        return dt_fail(DT_E_MODEL_SHAPE, h->token_embedding.at,
                       "'%.80s' is not a table of %s words with %lld features",
                       h->token_embedding.v[0], *words ? "vocabulary_size" : "any number of",
                       (long long)b->in.dim[2]);
    *words = w.dim[0];
    return NULL;
}

static dt_status *build(dt_layer_build *b) {
    const struct masked_lm_head *h = b->args;
    parts *p = dt_arena_new(b->arena, parts);
    int64_t words = 0;
    DT_TRY(check_inputs(b));
    DT_TRY(build_parts(b, p));
    DT_TRY(find_table(b, &words));
    p->is_own = !h->token_embedding.n;
    p->bias = b->n_weights;
    p->table = p->is_own ? p->bias - 1 : p->bias + 1; /* borrowed weights come last */
    b->made = p;
    b->out = p->norm.out;
    b->out.dim[2] = words;
    return dt_layer_weight(b, &(dt_weight_request){.name = "output_bias",
                                                   .dtype = b->in.dtype,
                                                   .rank = 1,
                                                   .dim = {words},
                                                   .initializer = h->bias_initializer,
                                                   .preset = "zeros"});
}

/* Selects steps of x (B, T, D) at positions (B, M): (B, M, D). */
static dt_value take_steps(dt_value x, dt_value positions) {
    static const dt_dot_attr by_example = {.n_batch = 1,
                                           .lhs_batch = {0},
                                           .rhs_batch = {0},
                                           .n_contract = 1,
                                           .lhs_contract = {2},
                                           .rhs_contract = {1}};
    dt_type t = dt_type_of_value(x), number = dt_type_of_value(positions);
    /* The ranks differ only if the trace has failed. */
    if (t.rank != 3 || number.rank != 2) return x;
    number.rank = 3;
    number.dim[2] = t.dim[1];
    dt_value wanted = dt_broadcast_rows(positions, &number), step = dt_iota(x.trace, &number, 2);
    dt_value is_step = dt_convert(dt_compare(wanted, step, DT_EQ), t.dtype);
    return dt_dot_general(is_step, x, &by_example);
}

static dt_value call(const dt_layer_call *c) {
    const struct masked_lm_head *h = c->args;
    const parts *p = c->made;
    dt_value x =
        dt_part_call(c, &p->norm, dt_part_call(c, &p->dense, take_steps(c->xs[0], c->xs[1])));
    dt_dot_attr dot = {.n_contract = 1, .lhs_contract = {2}, .rhs_contract = {p->is_own ? 0 : 1}};
    dt_dtype dtype = dt_type_of_value(x).dtype;
    dt_value y = dt_dot_general(x, dt_convert(c->weight[p->table], dtype), &dot);
    return dt_activate(h->activation, dt_add(y, dt_convert(c->weight[p->bias], dtype)));
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    return dt_activation_yields(((const struct masked_lm_head *)l->args)->activation, &l->out);
}

const dt_layer dt_layer_masked_lm_head = {
    .kind = {"MaskedLMHead", "vocabulary scores for masked positions", fields,
             sizeof(struct masked_lm_head), NULL},
    .least = 2,
    .most = 2,
    .precision = DT_LAYER_BY_PARTS,
    .build = build,
    .call = call,
    .yields = yields,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PositionEmbedding: a learned vector for each position of a sequence; the input's values do not
 * matter: (B, T, D) to (B, T, D). TokenAndPositionEmbedding: a token embedding plus a position
 * embedding: (B, T) of token ids to (B, T, D). Both are KerasHub's.
 */
#include "model/layer/parts.h"

/* ---- PositionEmbedding ---- */

struct position {
    dt_layer_head head;
    int64_t sequence_length;
    const dt_tree *initializer;
};

static const dt_field position_fields[] = {
    DT_INT(struct position, sequence_length, .min = 1, .max = 0x1p31, .required = true,
           .help = "maximum sequence length"),
    DT_INITIALIZER(struct position, initializer, .help = "initializer; default: glorot_uniform"),
    DT_LAYER_FIELDS(struct position), DT_END};

static dt_status *check_length(const dt_layer_build *b, int64_t places) {
    if (b->in.dim[1] <= places) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                   "the input has %lld steps, but sequence_length is %lld", (long long)b->in.dim[1],
                   (long long)places);
}

static dt_status *build_positions(dt_layer_build *b) {
    const struct position *p = b->args;
    DT_TRY(dt_layer_wants_exactly(b, "PositionEmbedding", 3, "(B, steps, features)"));
    DT_TRY(check_length(b, p->sequence_length));
    b->out = b->in;
    return dt_layer_weight(b, &(dt_weight_request){
                                  .name = "embeddings",
                                  .dtype = b->in.dtype,
                                  .rank = 2,
                                  .dim = {p->sequence_length, b->in.dim[2]},
                                  .initializer = p->initializer,
                                  .preset = "glorot_uniform",
                              });
}

static dt_value call_positions(const dt_layer_call *c) {
    dt_type type = dt_type_of_value(c->x);
    if (c->document.trace && c->model->spec.documents.restarts)
        return dt_gather(c->weight[0], dt_layer_document_position(c));
    return dt_broadcast_to(dt_slice_axis(c->weight[0], 0, 0, type.dim[1], 1), &type);
}

const dt_layer dt_layer_position_embedding = {
    .kind = {"PositionEmbedding", "a learned vector for each position of a sequence",
             position_fields, sizeof(struct position), NULL},
    .build = build_positions,
    .call = call_positions,
    .yields = dt_yields_real,
};

/* ---- TokenAndPositionEmbedding ---- */

struct embedding {
    dt_layer_head head;
    int64_t vocabulary_size, sequence_length, embedding_dim;
    bool mask_zero;
    const dt_tree *embeddings_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct embedding, vocabulary_size, .min = 1, .max = 0x1p31, .required = true,
           .help = "size of the vocabulary"),
    DT_INT(struct embedding, sequence_length, .min = 1, .max = 0x1p31, .required = true,
           .help = "maximum sequence length"),
    DT_INT(struct embedding, embedding_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "dimension of the embedding"),
    DT_INITIALIZER(struct embedding, embeddings_initializer, .preset = "uniform",
                   .help = "initializer of both tables"),
    DT_FLAG(struct embedding, mask_zero,
            .help = "treat 0 as padding; later layers skip masked steps"),
    DT_LAYER_FIELDS(struct embedding),
    DT_ONLY("tie_weights", "true"),
    DT_END};

typedef struct parts {
    dt_layer_part token, position;
} parts;

static dt_status *build_parts(dt_layer_build *b, parts *p) {
    const struct embedding *e = b->args;
    DT_TRY(dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_embedding,
                             .name = "token_embedding",
                             .in = b->in,
                             .arg = {{"input_dim", dt_part_int(b, e->vocabulary_size)},
                                     {"output_dim", dt_part_int(b, e->embedding_dim)},
                                     {"embeddings_initializer", e->embeddings_initializer}},
                         },
                         &p->token));
    return dt_part_build(b,
                         &(dt_part_request){
                             .row = &dt_layer_position_embedding,
                             .name = "position_embedding",
                             .in = p->token.out,
                             .arg = {{"sequence_length", dt_part_int(b, e->sequence_length)},
                                     {"initializer", e->embeddings_initializer}},
                         },
                         &p->position);
}

static dt_status *build(dt_layer_build *b) {
    const struct embedding *e = b->args;
    parts *p = dt_arena_new(b->arena, parts);
    if (b->in.rank != 2)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "TokenAndPositionEmbedding needs token ids of shape (B, steps); its input "
                       "has %d dimensions",
                       b->in.rank);
    DT_TRY(check_length(b, e->sequence_length));
    DT_TRY(build_parts(b, p));
    b->made = p;
    b->out = p->token.out;
    b->out_mask = e->mask_zero;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    const parts *p = c->made;
    dt_value tokens = dt_part_call(c, &p->token, c->x);
    return dt_add(tokens, dt_part_call(c, &p->position, tokens));
}

static int64_t rows(const void *args) { return ((const struct embedding *)args)->vocabulary_size; }

static dt_value mask(const dt_layer_call *c) { return dt_layer_embedding.mask(c); }

const dt_layer dt_layer_token_and_position_embedding = {
    .kind = {"TokenAndPositionEmbedding", "token embedding plus position embedding", fields,
             sizeof(struct embedding), NULL},
    .precision = DT_LAYER_BY_PARTS,
    .supports_masking = true,
    .mask = mask,
    .rows = rows,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};

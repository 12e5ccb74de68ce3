/* SPDX-License-Identifier: Apache-2.0 */
/* Embedding: looks up rows of a table: (B, ...) of integers to (B, ..., output_dim). Floats are
 * truncated to integers; negative numbers count from the last row, as in Keras. */
#include "model/model.h"

struct embedding {
    dt_layer_head head;
    int64_t input_dim, output_dim;
    bool mask_zero;
    const dt_tree *embeddings_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct embedding, input_dim, .min = 1, .max = 0x1p31, .required = true,
           .help = "size of the vocabulary: the largest index plus 1"),
    DT_INT(struct embedding, output_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "dimension of the embedding"),
    DT_INITIALIZER(struct embedding, embeddings_initializer,
                   .help = "initializer; default: uniform in [-0.05, 0.05]"),
    DT_FLAG(struct embedding, mask_zero,
            .help = "treat 0 as padding; later layers skip masked steps"),
    DT_LAYER_FIELDS(struct embedding),
    DT_INSTEAD("input_length", "leave it out: the Input's shape sets it"),
    DT_REGULARIZER(struct embedding, EMBEDDINGS, "embeddings_regularizer"),
    DT_CONSTRAINT(struct embedding, EMBEDDINGS, "embeddings_constraint"),
    DT_NOT_YET("weights"),
    DT_NOT_YET("lora_rank"),
    DT_NOT_YET("lora_alpha"),
    DT_NOT_YET("quantization_config"),
    DT_END};

static dt_status *build(dt_layer_build *b) {
    const struct embedding *e = b->args;
    if (b->in.rank == DT_MAX_RANK)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "Embedding adds a dimension: an input of %d already has the maximum",
                       DT_MAX_RANK);
    DT_TRY(dt_layer_weight(b, &(dt_weight_request){
                                  .name = "embeddings",
                                  .dtype = b->in.dtype == DT_FLOAT64 ? DT_FLOAT64 : DT_FLOAT32,
                                  .rank = 2,
                                  .dim = {e->input_dim, e->output_dim},
                                  .initializer = e->embeddings_initializer,
                                  .preset = "random_uniform",
                              }));
    b->out = b->in;
    b->out.dtype = b->weight[0].type.dtype;
    b->out.dim[b->out.rank++] = e->output_dim;
    b->out_mask = e->mask_zero;
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    dt_dtype given = dt_type_of_value(c->x).dtype;
    bool whole = given == DT_INT32 || given == DT_INT64;
    dt_value number = whole ? c->x : dt_convert(c->x, DT_INT32), zero = dt_like(number, 0);
    dt_value from_end =
        dt_add(number, dt_like(number, (double)((const struct embedding *)c->args)->input_dim));
    return dt_gather(c->weight[0], dt_select(dt_compare(number, zero, DT_LT), from_end, number));
}

static int64_t rows(const void *args) { return ((const struct embedding *)args)->input_dim; }

static dt_value mask(const dt_layer_call *c) {
    return dt_compare(c->xs[0], dt_like(c->xs[0], 0), DT_NE);
}

const dt_layer dt_layer_embedding = {
    .kind = {"Embedding", "looks up rows of a table by index", fields, sizeof(struct embedding),
             NULL},
    .precision = DT_LAYER_WIDE,
    .supports_masking = true,
    .mask = mask,
    .rows = rows,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};

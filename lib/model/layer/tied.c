/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tied: y = x Wᵀ, where W is a weight of an earlier layer: (B, ..., D) to (B, ..., V) with a table
 * (V, D). It shares that weight, whose gradients from both uses are added. Language models use it
 * to compute scores with their own embedding.
 *
 *     - Tied: {name: logits, to: embed/token_embedding}
 *
 * In Keras it is ReversibleEmbedding called with reverse=True. O. Press, L. Wolf, Using the Output
 * Embedding to Improve Language Models (2017).
 */
#include "model/model.h"
#include "op/shapes.h"

struct tied {
    dt_layer_head head;
    dt_texts to;
};

static const dt_field fields[] = {
    DT_FIELD(ONE_OF, struct tied, to, .forms = DT_NAME, .as = DT_TREE_SCALAR, .required = true,
             .help = "the weight to share, or its layer: embed/token_embedding"),
    DT_LAYER_FIELDS(struct tied), DT_END};

static dt_status *no_table(const dt_layer_build *b, const dt_texts *to, const dt_type *w) {
    return dt_fail(DT_E_MODEL_SHAPE, to->at,
                   "'%.80s' is %s; Tied needs a table with rows of %lld for its input, %s",
                   to->v[0], dt_text_of(w).s, (long long)b->in.dim[b->in.rank - 1],
                   dt_text_of(&b->in).s);
}

static dt_status *build(dt_layer_build *b) {
    const struct tied *t = b->args;
    dt_type w;
    DT_TRY(dt_layer_wants(b, "Tied", 2));
    DT_TRY(dt_layer_borrow(b, &t->to, &w));
    if (w.rank != 2 || w.dim[1] != b->in.dim[b->in.rank - 1] || w.dtype != b->in.dtype)
        return no_table(b, &t->to, &w);
    b->out = b->in;
    b->out.dim[b->in.rank - 1] = w.dim[0];
    return NULL;
}

static dt_value call(const dt_layer_call *c) {
    int last = dt_type_of_value(c->x).rank - 1;
    return dt_dot_general(
        c->x, c->weight[0],
        &(dt_dot_attr){.n_contract = 1, .lhs_contract = {(int8_t)last}, .rhs_contract = {1}});
}

const dt_layer dt_layer_tied = {
    .kind = {"Tied", "the product with a table of an earlier layer, transposed", fields,
             sizeof(struct tied), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging layers combine several inputs element by element. Sizes of 1 are broadcast; an input of
 * fewer dimensions gets sizes of 1 after the batch, as in Keras:
 *
 *     Add: {inputs: [a, b]}             (B, 32, 32, 16) and (B, 32, 32, 16)
 *     Multiply: {inputs: [a, gate]}     (B, 32, 32, 16) and (B, 16): every channel times its gate
 *
 * If all inputs have masks, a step of the output is masked where it is masked in all of them.
 * Products, maxima and minima skip masked steps of inputs.
 */
#include "model/model.h"

struct merge {
    dt_layer_head head;
};

static const dt_field fields[] = {DT_LAYER_FIELDS(struct merge), DT_END};

/* ---- shapes ---- */

/* Returns the size of dimension d of t, extended to `rank` dimensions by sizes of 1 after the
 * batch, its dimension 0. */
static int64_t size_at(const dt_type *t, int rank, int d) {
    int added = rank - t->rank;
    return d == 0 ? t->dim[0] : d <= added ? 1 : t->dim[d - added];
}

static bool go_together(const dt_type *a, const dt_type *b) {
    int rank = a->rank > b->rank ? a->rank : b->rank;
    bool fit = a->dim[0] == b->dim[0] && a->dtype == b->dtype;
    for (int d = 1; fit && d < rank; d++) {
        int64_t x = size_at(a, rank, d), y = size_at(b, rank, d);
        fit = x == y || x == 1 || y == 1;
    }
    return fit;
}

/* Checks inputs pair by pair: if every pair can be joined, all can. */
static dt_status *check_pairs(const dt_layer_build *b, const char *kind) {
    for (int k = 1; k < b->n_in; k++)
        for (int i = 0; i < k; i++)
            if (!go_together(&b->ins[i], &b->ins[k])) return dt_layer_cannot_join(b, kind, i, k);
    return NULL;
}

/* Clears out_mask unless all inputs have masks. Masks are joined without broadcasting, so this
 * function returns the error MODEL_SHAPE if an input with a mask differs in shape from the output,
 * except in the last dimension. */
static dt_status *check_masks(dt_layer_build *b, const char *kind) {
    for (int k = 1; k < b->n_in; k++) b->out_mask &= b->masks[k];
    for (int k = 0; k < b->n_in; k++)
        for (int d = 0; b->masks[k] && d < b->out.rank - 1; d++)
            if (b->ins[k].rank != b->out.rank || b->ins[k].dim[d] != b->out.dim[d])
                return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                               "%s cannot broadcast '%s', which has a mask", kind, b->from[k]);
    return NULL;
}

static dt_status *build(dt_layer_build *b, const char *kind) {
    DT_TRY(check_pairs(b, kind));
    b->out = b->ins[0];
    for (int k = 1; k < b->n_in; k++)
        if (b->ins[k].rank > b->out.rank) b->out = b->ins[k];
    for (int d = 1; d < b->out.rank; d++)
        for (int k = 0; k < b->n_in; k++)
            if (size_at(&b->ins[k], b->out.rank, d) != 1)
                b->out.dim[d] = size_at(&b->ins[k], b->out.rank, d);
    return check_masks(b, kind);
}

/* ---- graph ---- */

/* Emits x, broadcast to the shape of the result. */
static dt_value stretch(dt_value x, const dt_type *out) {
    dt_type t = dt_type_of_value(x);
    int64_t dim[DT_MAX_RANK];
    for (int d = 0; d < out->rank; d++) dim[d] = size_at(&t, out->rank, d);
    return dt_broadcast_to(t.rank == out->rank ? x : dt_reshape(x, out->rank, dim), out);
}

static dt_value join(const dt_layer_call *c, dt_value (*two)(dt_value, dt_value)) {
    dt_value y = stretch(c->xs[0], c->out);
    for (int k = 1; k < c->n_in; k++) y = two(y, stretch(c->xs[k], c->out));
    return y;
}

/* Emits the product of all inputs. A masked step of an input counts as 1; where all inputs are
 * masked, the product is 0. */
static dt_value multiply(const dt_layer_call *c) {
    dt_value y = {0};
    bool all = true;
    for (int k = 0; k < c->n_in; k++) {
        dt_value x = stretch(c->xs[k], c->out), mask = c->masks[k];
        if (mask.trace) x = dt_select(dt_mask_along(mask, x), x, dt_like(x, 1));
        all &= mask.trace != NULL;
        y = k ? dt_multiply(y, x) : x;
    }
    return all ? dt_select(dt_mask_along(dt_masks_joined(c), y), y, dt_like(y, 0)) : y;
}

/* Emits the maximum or minimum of all inputs; `two` emits that of two. seen: the mask of y so far,
 * set where the mask of at least one of its inputs is set; without a value: y has no mask. */
static dt_value extreme(const dt_layer_call *c, dt_value (*two)(dt_value, dt_value)) {
    dt_value y = stretch(c->xs[0], c->out), seen = c->masks[0];
    for (int k = 1; k < c->n_in; k++) {
        dt_value x = stretch(c->xs[k], c->out), mask = c->masks[k];
        if (mask.trace) x = dt_select(dt_mask_along(mask, x), x, y);
        if (seen.trace) y = dt_select(dt_mask_along(seen, y), y, x);
        seen = mask.trace && seen.trace ? dt_maximum(mask, seen) : (dt_value){0};
        /* The earlier of equal operands gets the gradient, as in Keras on TensorFlow: see
         * dt_op_maximum. */
        y = two(x, y);
    }
    return y;
}

static dt_value average(const dt_layer_call *c) {
    dt_value sum = join(c, dt_add);
    return dt_divide(sum, dt_like(sum, c->n_in));
}

/* ---- rows ---- */

#define ROW(name, kind_, about, most_, yields_, merged)                                            \
    static dt_status *build_##name(dt_layer_build *b) { return build(b, kind_); }                  \
    static dt_value call_##name(const dt_layer_call *c) { return merged; }                         \
    const dt_layer dt_layer_##name = {                                                             \
        .kind = {kind_, about, fields, sizeof(struct merge), NULL},                                \
        .least = 2,                                                                                \
        .most = (most_),                                                                           \
        .build = build_##name,                                                                     \
        .call = call_##name,                                                                       \
        .supports_masking = true,                                                                  \
        .mask = dt_masks_joined,                                                                   \
        .yields = yields_,                                                                         \
    };

ROW(add, "Add", "the sum of layers", DT_MANY_LAYERS, dt_yields_sum, join(c, dt_add))
ROW(subtract, "Subtract", "one layer minus another", 2, dt_yields_sum, join(c, dt_subtract))
ROW(multiply, "Multiply", "the product of layers", DT_MANY_LAYERS, dt_yields_product, multiply(c))
ROW(average, "Average", "the mean of layers", DT_MANY_LAYERS, dt_yields_between, average(c))
ROW(maximum, "Maximum", "the element-wise maximum of layers", DT_MANY_LAYERS, dt_yields_between,
    extreme(c, dt_maximum))
ROW(minimum, "Minimum", "the element-wise minimum of layers", DT_MANY_LAYERS, dt_yields_between,
    extreme(c, dt_minimum))

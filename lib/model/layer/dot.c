/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dot: the dot product of two layers, example by example, over an axis of each; with `normalize`
 * each is first divided by its length along that axis, which makes cosine similarities.
 *
 *     (B, T, D) and (B, S, D), axes 2      (B, T, S)
 *     (B, D) and (B, D), axes 1            (B, 1)
 */
#include "model/layer/axes.h"

#include "op/shapes.h"

struct dot {
    dt_layer_head head;
    const dt_tree *axes;
    bool normalize;
};

static const dt_field fields[] = {
    DT_TREE(struct dot, axes, .forms = DT_FORMS(DT_FORM(DT_FIELD_INT), DT_FORM(DT_FIELD_INTS)),
            .required = true,
            .help = "axis to sum over: one for both inputs, or one for each, [2, 1]"),
    DT_FLAG(struct dot, normalize, .help = "normalize the vectors first"),
    DT_LAYER_FIELDS(struct dot), DT_END};

/* Sets *out to the axis of input k, counted from the front. Error MODEL_SHAPE if it is out of range
 * or the batch. */
static dt_status *read_axis(const dt_layer_build *b, const dt_tree *axes, int k, int *out) {
    const dt_tree *t = axes->kind == DT_TREE_LIST ? axes->item[k] : axes;
    int rank = b->ins[k].rank;
    int64_t axis;
    DT_TRY(dt_tree_int(t, "axes", -DT_MAX_RANK, DT_MAX_RANK, &axis));
    *out = dt_axis_in(rank, axis);
    if (*out >= 1) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, &t->at,
                   "axis %lld is out of range for the %d dimensions after the batch of '%s'",
                   (long long)axis, rank - 1, b->from[k]);
}

static dt_status *check_types(const dt_layer_build *b, const int *axis) {
    bool fit = b->ins[0].dtype == b->ins[1].dtype && b->ins[0].dim[0] == b->ins[1].dim[0] &&
               b->ins[0].dim[axis[0]] == b->ins[1].dim[axis[1]];
    if (!fit) return dt_layer_cannot_join(b, "Dot", 0, 1);
    return dt_layer_wants(b, "Dot", 2);
}

/* Sets b->out: the batch, then the dimensions of both inputs without the contracted axes, or 1 if
 * there are none. */
static dt_status *join_shapes(dt_layer_build *b, const int *axis) {
    int64_t dim[2 * DT_MAX_RANK] = {b->in.dim[0]};
    int rank = 1;
    for (int k = 0; k < 2; k++)
        for (int i = 1; i < b->ins[k].rank; i++)
            if (i != axis[k]) dim[rank++] = b->ins[k].dim[i];
    if (rank == 1) dim[rank++] = 1;
    if (rank > DT_MAX_RANK)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "Dot would give %d dimensions; at most %d are possible", rank, DT_MAX_RANK);
    b->out = dt_type_of(b->in.dtype, rank, dim);
    return NULL;
}

static dt_status *build(dt_layer_build *b) {
    const struct dot *d = b->args;
    int *axis = dt_arena_array(b->arena, int, 2);
    if (d->axes->kind == DT_TREE_LIST && d->axes->n != 2)
        return dt_fail(DT_E_WRONG_TYPE, &d->axes->at,
                       "axes: expected a number, or two, got a list of %d", d->axes->n);
    for (int k = 0; k < 2; k++) DT_TRY(read_axis(b, d->axes, k, &axis[k]));
    DT_TRY(check_types(b, axis));
    b->made = axis;
    b->out_mask = false;
    return join_shapes(b, axis);
}

/* Emits x divided by its length along the axis. A length below 1e-7, Keras' epsilon, is replaced by
 * 1e-7. */
static dt_value normalize(dt_value x, int axis) {
    dt_type t = dt_type_of_value(x);
    dt_value square = dt_reduce(dt_multiply(x, x), DT_REDUCE_SUM, 1u << axis);
    dt_value inverse = dt_minimum(dt_rsqrt(square), dt_like(square, 1e7));
    return dt_multiply(x, dt_along(inverse, &t, dt_all_dims(t.rank) & ~(1u << axis)));
}

static dt_value call(const dt_layer_call *c) {
    const struct dot *d = c->args;
    const int *axis = c->made;
    dt_value x[2];
    for (int k = 0; k < 2; k++) x[k] = d->normalize ? normalize(c->xs[k], axis[k]) : c->xs[k];
    dt_dot_attr dot = {.n_batch = 1,
                       .n_contract = 1,
                       .lhs_contract = {(int8_t)axis[0]},
                       .rhs_contract = {(int8_t)axis[1]}};
    return dt_reshape(dt_dot_general(x[0], x[1], &dot), c->out->rank, c->out->dim);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    if (((const struct dot *)l->args)->normalize) return dt_yields_of_norm(l, above);
    dt_yield y = dt_yields_product(l, above);
    if (y.range != DT_RANGE_REAL) y.range = DT_RANGE_UNKNOWN; /* the result is a sum of products */
    return y;
}

const dt_layer dt_layer_dot = {
    .kind = {"Dot", "dot product of two layers over an axis of each", fields, sizeof(struct dot),
             NULL},
    .least = 2,
    .most = 2,
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = yields,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CategoryEncoding: whole numbers as vectors of num_tokens values. Discretization: the bin of a
 * number, as a whole number or as such a vector.
 *
 *     one_hot      (B, ..., n) to (B, ..., n, num_tokens), and (B, ..., 1) to (B, ..., num_tokens)
 *     multi_hot    (B, n) to (B, num_tokens): 1 for each number that occurs
 *     count        the same, but with the number of occurrences in place of 1
 *
 * A number that is negative or at least num_tokens is left out (one_hot: a vector of zeros); Keras
 * refuses it. Neither layer has a gradient.
 */
#include "model/model.h"

enum { ONE_HOT, MULTI_HOT, COUNT, INT };
static const char *const modes[] = {"one_hot", "multi_hot", "count", NULL};
static const char *const bin_modes[] = {"one_hot", "multi_hot", "count", "int", NULL};

struct encoding {
    dt_layer_head head;
    int64_t num_tokens;
    int output_mode;
};

struct discretization {
    dt_layer_head head;
    dt_reals bin_boundaries;
    int output_mode;
};

static const dt_field encoding_fields[] = {
    DT_INT(struct encoding, num_tokens, .min = 1, .max = 0x1p31, .required = true,
           .help = "how many numbers there are: the largest plus 1"),
    DT_ENUM(struct encoding, output_mode, modes, .preset = "multi_hot",
            .help = "what the vector says of each number"),
    DT_ONLY("sparse", "false"), DT_LAYER_FIELDS(struct encoding), DT_END};

static const dt_field discretization_fields[] = {
    DT_REALS(struct discretization, bin_boundaries, .required = true,
             .help = "where bins end, ascending: a number at a boundary is in the bin above it"),
    DT_ENUM(struct discretization, output_mode, bin_modes, .preset = "int",
            .help = "int: the number of the bin; others: as in CategoryEncoding"),
    DT_INSTEAD("num_bins", "write 'bin_boundaries', which Keras' adapt() computes"),
    DT_ONLY("epsilon", "0.01"),
    DT_ONLY("sparse", "false"),
    DT_LAYER_FIELDS(struct discretization),
    DT_END};

/* ---- vectors ---- */

/* Whether the result lacks the last dimension of the input: that has the size 1, or its numbers are
 * joined into one vector. */
static bool joins(const dt_type *in, int mode) {
    return mode != ONE_HOT || (in->rank > 1 && in->dim[in->rank - 1] == 1);
}

static dt_status *build_vectors(dt_layer_build *b, const char *kind, int mode, int64_t tokens) {
    if (mode != ONE_HOT && b->in.rank != 2)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "%s of %s joins the numbers of a row: it needs (B, numbers), got %s",
                       bin_modes[mode], kind, dt_text_of_shape(&b->in).s);
    if (b->in.rank == DT_MAX_RANK)
        return dt_fail(DT_E_MODEL_SHAPE, &b->at,
                       "%s adds a dimension: an input of %d already has the maximum", kind,
                       DT_MAX_RANK);
    b->out = b->in;
    b->out.dtype = b->in.dtype == DT_FLOAT64 ? DT_FLOAT64 : DT_FLOAT32;
    b->out_mask = false;
    if (!joins(&b->in, mode)) b->out.rank++;
    b->out.dim[b->out.rank - 1] = tokens;
    return NULL;
}

static dt_value vectors(const dt_layer_call *c, dt_value number, int mode) {
    const dt_type in = dt_type_of_value(number);
    dt_type wide = in;
    int8_t dims[DT_MAX_RANK] = {0};
    for (int i = 0; i < in.rank; i++) dims[i] = (int8_t)i;
    wide.dim[wide.rank++] = c->out->dim[c->out->rank - 1];
    const dt_value all = dt_broadcast_in_dim(number, &wide, dims),
                   is = dt_compare(all, dt_iota(number.trace, &wide, in.rank), DT_EQ),
                   y = dt_convert(is, c->out->dtype);
    if (!joins(&in, mode)) return y;
    return dt_reduce(y, mode == COUNT ? DT_REDUCE_SUM : DT_REDUCE_MAX, 1u << (in.rank - 1));
}

static dt_yield yields(const dt_layer_spec *l, int mode, bool one_hot_sums) {
    const dt_range range = mode == ONE_HOT && one_hot_sums ? DT_RANGE_SHARES
                           : mode == COUNT || mode == INT  ? DT_RANGE_NONNEGATIVE
                                                           : DT_RANGE_UNIT;
    return (dt_yield){.range = range, .by = l->row->kind.name};
}

/* ---- CategoryEncoding ---- */

static dt_status *build_encoding(dt_layer_build *b) {
    const struct encoding *e = b->args;
    return build_vectors(b, "CategoryEncoding", e->output_mode, e->num_tokens);
}

static dt_value call_encoding(const dt_layer_call *c) {
    return vectors(c, dt_convert(c->x, DT_INT32), ((const struct encoding *)c->args)->output_mode);
}

static dt_yield encoding_yields(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    return yields(l, ((const struct encoding *)l->args)->output_mode, false);
}

const dt_layer dt_layer_category_encoding = {
    .kind = {"CategoryEncoding", "whole numbers as one-hot, multi-hot or count vectors",
             encoding_fields, sizeof(struct encoding), NULL},
    .precision = DT_LAYER_WIDE,
    .build = build_encoding,
    .call = call_encoding,
    .yields = encoding_yields,
};

/* ---- Discretization ---- */

static dt_status *build_discretization(dt_layer_build *b) {
    const struct discretization *d = b->args;
    const dt_reals *at = &d->bin_boundaries;
    for (int i = 1; i < at->n; i++)
        if (!(at->v[i - 1] <= at->v[i]))
            return dt_fail(DT_E_RANGE, &at->at,
                           "'bin_boundaries' must ascend, but %g comes before %g", at->v[i - 1],
                           at->v[i]);
    if (d->output_mode != INT) return build_vectors(b, "Discretization", d->output_mode, at->n + 1);
    b->out = b->in;
    b->out.dtype = DT_INT64;
    b->out_mask = false;
    return NULL;
}

/* Emits the bin of each number, which is the number of boundaries that are at most the number, or
 * the vector that output_mode asks for. */
static dt_value call_discretization(const dt_layer_call *c) {
    const struct discretization *d = c->args;
    const dt_dtype given = dt_type_of_value(c->x).dtype,
                   dtype = d->output_mode == INT ? DT_INT64 : DT_INT32;
    const dt_value x = dt_dtype_is_float(given) ? c->x : dt_convert(c->x, DT_FLOAT32);
    dt_value bin = dt_convert(dt_like(x, 0), dtype);
    for (int i = 0; i < d->bin_boundaries.n; i++) {
        const dt_value above = dt_compare(x, dt_like(x, d->bin_boundaries.v[i]), DT_GE);
        bin = dt_add(bin, dt_convert(above, dtype));
    }
    return d->output_mode == INT ? bin : vectors(c, bin, d->output_mode);
}

static dt_yield discretization_yields(const dt_layer_spec *l, const dt_yield *above) {
    (void)above;
    return yields(l, ((const struct discretization *)l->args)->output_mode, true);
}

const dt_layer dt_layer_discretization = {
    .kind = {"Discretization", "bins of numbers between boundaries", discretization_fields,
             sizeof(struct discretization), NULL},
    .precision = DT_LAYER_WIDE,
    .build = build_discretization,
    .call = call_discretization,
    .yields = discretization_yields,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dot_general in StableHLO. XLA on the CPU computes products of matrices in blocks, but adds the
 * terms of a product with a vector one after the other: a sum of 100,000 terms has four correct
 * digits. If the request limits such chains (dt_hlo.chain), a long product of float32 with a vector
 * is written as a multiplication and a sum in steps, unless it is in_order, or batch dimensions do
 * not come first in the matrix:
 *
 *     (1000, 40) x (1000, 1)      (1000, 40) * (1000 -> 1000, 40), summed over 1000      (40, 1)
 */
#include "op/dot_general.h"
#include "op/stablehlo.h"

/* An operand of a product, with its batch and contracted dimensions. */
typedef struct side {
    dt_hlo_value x;
    const int8_t *batch, *contract;
} side;

static int64_t count(const dt_type *t, const int8_t *list, int n) {
    int64_t elements = 1;
    for (int i = 0; i < n; i++) elements *= t->dim[list[i]];
    return elements;
}

/* Whether the operand's dimensions other than batch and contracted ones are all of size 1. */
static bool is_vector(const dt_hlo_call *c, bool rhs) {
    int8_t free[DT_MAX_RANK];
    const dt_type *t = &c->in[rhs].type;
    return count(t, free, dt_dot_free(t, c->node->attr, rhs, free)) == 1;
}

/* Whether the batch dimensions come first. If they do not, sums would have to be transposed. */
static bool begins_with_batch(const int8_t *batch, int n) {
    for (int i = 0; i < n; i++)
        if (batch[i] != i) return false;
    return true;
}

/* Returns the vector in the shape of the matrix: its dimensions in the order of the matrix'
 * dimensions, repeated along the others. */
static dt_hlo_value spread(dt_hlo *h, const dt_dot_attr *d, const side *vector,
                           const side *matrix) {
    int8_t at[DT_MAX_RANK], perm[DT_MAX_RANK];
    dt_type t = {.dtype = vector->x.type.dtype};
    for (int to = 0; to < matrix->x.type.rank; to++) {
        for (int i = 0; i < d->n_batch; i++)
            if (matrix->batch[i] == to) perm[t.rank] = vector->batch[i], at[t.rank++] = (int8_t)to;
        for (int i = 0; i < d->n_contract; i++)
            if (matrix->contract[i] == to)
                perm[t.rank] = vector->contract[i], at[t.rank++] = (int8_t)to;
    }
    uint32_t taken = 0;
    for (int i = 0; i < t.rank; i++) taken |= 1u << perm[i];
    dt_type turned = vector->x.type;
    for (int i = 0, n = t.rank; i < turned.rank; i++)
        if (!(taken >> i & 1)) perm[n++] = (int8_t)i;
    for (int i = 0; i < turned.rank; i++) turned.dim[i] = vector->x.type.dim[perm[i]];
    dt_hlo_value x = dt_hlo_op(h, "transpose", &vector->x, 1, &turned, "permutation = %s",
                               dt_hlo_array(perm, turned.rank).s);
    x = dt_hlo_reshape(h, x, t.rank, turned.dim);
    return dt_hlo_broadcast(h, x, &matrix->x.type, at);
}

static dt_hlo_value multiply_and_sum(const dt_hlo_call *c, const side *vector, const side *matrix) {
    const dt_dot_attr *d = c->node->attr;
    unsigned dims = 0;
    for (int i = 0; i < d->n_contract; i++) dims |= 1u << matrix->contract[i];
    dt_hlo_value x =
        dt_hlo_binary(c->hlo, "multiply", matrix->x, spread(c->hlo, d, vector, matrix));
    x = dt_hlo_reduce(c->hlo, DT_REDUCE_SUM, x, dims);
    return dt_hlo_reshape(c->hlo, x, c->type.rank, c->type.dim);
}

static dt_hlo_value multiply(const dt_hlo_call *c) {
    const dt_dot_attr *d = c->node->attr;
    int8_t perm[DT_MAX_RANK];
    const dt_type plain =
        d->in_order ? dt_dot_plain(&c->in[0].type, &c->in[1].type, d, &c->type, perm) : c->type;
    dt_hlo_value y =
        dt_hlo_op(c->hlo, "dot_general", c->in, 2, &plain,
                  "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = %s, "
                  "rhs_batching_dimensions = %s, "
                  "lhs_contracting_dimensions = %s, rhs_contracting_dimensions = %s>%s",
                  dt_hlo_list(d->lhs_batch, d->n_batch).s, dt_hlo_list(d->rhs_batch, d->n_batch).s,
                  dt_hlo_list(d->lhs_contract, d->n_contract).s,
                  dt_hlo_list(d->rhs_contract, d->n_contract).s, dt_hlo_precision(c->hlo).s);
    return d->in_order ? dt_hlo_op(c->hlo, "transpose", &y, 1, &c->type, "permutation = %s",
                                   dt_hlo_array(perm, c->type.rank).s)
                       : y;
}

dt_hlo_value dt_dot_stablehlo(const dt_hlo_call *c) {
    const dt_dot_attr *d = c->node->attr;
    const side lhs = {c->in[0], d->lhs_batch, d->lhs_contract},
               rhs = {c->in[1], d->rhs_batch, d->rhs_contract};
    const int64_t terms = count(&c->in[0].type, d->lhs_contract, d->n_contract);
    if (c->hlo->chain == 0 || terms <= c->hlo->chain || c->type.dtype != DT_FLOAT32 || d->in_order)
        return multiply(c);
    if (is_vector(c, true) && begins_with_batch(lhs.batch, d->n_batch))
        return multiply_and_sum(c, &rhs, &lhs);
    if (is_vector(c, false) && begins_with_batch(rhs.batch, d->n_batch))
        return multiply_and_sum(c, &lhs, &rhs);
    return multiply(c);
}

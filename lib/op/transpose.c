/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose: dimension d of y is dimension perm[d] of x. Entries of perm beyond x's rank are 0.
 *
 * (C1) perm is a permutation of x's dimensions.
 * (C2) The batch stays dimension 0.
 *
 * call: dt_value dt_transpose(dt_value x, const int *perm)
 * computes: Dimension d of y is dimension perm[d] of x; perm has one entry for each dimension of x.
 * shape: (.., x.dim[perm[d]], ..)
 * gradient: dx = dy, transposed back
 */
#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_transpose_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    uint32_t seen = 0;
    q->out = dt_type_of(x->dtype, x->rank, x->dim);
    for (int d = 0; d < x->rank; d++) {
        int from = a->perm[d];
        if (from < 0 || from >= x->rank || seen >> from & 1)
            return dt_bad_shape(
                q, "(C1) expected a permutation of the %d dimensions of %s, got %d at %d", x->rank,
                dt_text_of(x).s, from, d);
        seen |= 1u << from;
        q->out.dim[d] = x->dim[from];
    }
    return dt_check_result(q, 2);
}

/* Emits dx = dy, permuted back. */
static void grad(dt_grad *g) {
    const dt_transpose_attr *a = g->node->attr;
    int rank = g->node->type.rank, back[DT_MAX_RANK];
    for (int d = 0; d < rank; d++) back[a->perm[d]] = d;
    g->din[0] = dt_transpose(g->dout, back);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in;
    const dt_transpose_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) {
        rule->out[d] = (int8_t)d;
        rule->in[0][a->perm[d]] = (int8_t)d;
    }
}

static void eval(const dt_call *c) {
    const dt_transpose_attr *a = c->node->attr;
    int64_t stride[DT_MAX_RANK];
    dt_strides(&c->in[0].type, stride);
    dt_walk w = {0};
    for (int d = 0; d < c->out.type.rank; d++)
        dt_walk_add(&w, c->out.type.dim[d], stride[a->perm[d]], 0);
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
        dt_cell_copy(&c->out, i, &c->in[0], w.at[0]);
}

static dt_value stack(const dt_fold_call *c) {
    const dt_transpose_attr *a = c->node->attr;
    int perm[DT_MAX_RANK] = {0};
    for (int d = 1; d < DT_MAX_RANK; d++) perm[d] = a->perm[d - 1] + 1;
    return dt_transpose(c->in[0], perm);
}

/* The rank is not stored. It follows from perm: entries beyond the rank are 0, and exactly one
 * entry within it is 0. */
static void print(const void *attr, dt_str *out) {
    const dt_transpose_attr *a = attr;
    int rank = 1;
    for (int d = 0; d < DT_MAX_RANK; d++) rank += a->perm[d] != 0;
    dt_print_dims(out, "dims=", a->perm, rank);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_transpose_attr *a = c->node->attr;
    return dt_hlo_op(c->hlo, "transpose", c->in, 1, &c->type, "permutation = %s",
                     dt_hlo_array(a->perm, c->type.rank).s);
}

const dt_op dt_op_transpose = {
    .name = "transpose",
    .n_in = 1,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_transpose_attr), .print = print},
    .traits.exact = true,
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .eval = eval,
    .stack = stack,
    .forms.stablehlo = stablehlo,
};

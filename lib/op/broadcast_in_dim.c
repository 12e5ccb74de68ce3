/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broadcast_in_dim: y[j0, j1, ...] = x[i0, i1, ...], where dimension d of x is dimension dims[d] of
 * y: i[d] = j[dims[d]], or 0 where x has size 1. Dimensions of y that no dimension of x names
 * repeat x. Entries of dims beyond x's rank are -1.
 *
 * (C1) y has x's dtype, and only its dimension 0 may be the batch.
 * (C2) dims name dimensions of y, none twice.
 * (C3) A dimension of x has the size of the one it names, or 1.
 */
#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *check_dims(const dt_infer *q) {
    const dt_broadcast_attr *a = q->attr;
    const dt_type *x = &q->in[0], *y = &q->out;
    uint32_t seen = 0;
    for (int d = 0; d < x->rank; d++) {
        int to = a->dims[d];
        if (to < 0 || to >= y->rank || seen >> to & 1)
            return dt_bad_shape(q, "(C2) cannot put dimension %d of %s at dimension %d of %s", d,
                                dt_text_of(x).s, to, dt_text_of(y).s);
        if (x->dim[d] != y->dim[to] && x->dim[d] != 1)
            return dt_bad_shape(q, "(C3) cannot stretch dimension %d of %s to dimension %d of %s",
                                d, dt_text_of(x).s, to, dt_text_of(y).s);
        seen |= 1u << to;
    }
    return NULL;
}

static dt_status *infer(dt_infer *q) {
    const dt_broadcast_attr *a = q->attr;
    q->out = a->type;
    if (q->out.dtype != q->in[0].dtype)
        return dt_bad_shape(q, "(C1) cannot make %s from %s", dt_text_of(&q->out).s,
                            dt_text_of(&q->in[0]).s);
    DT_TRY(dt_check_result(q, 1));
    return check_dims(q);
}

static bool stretches(const dt_type *x, const dt_type *y, int d, int to) {
    return x->dim[d] == 1 && y->dim[to] != 1;
}

/* dx = dy summed over repeated dimensions, transposed from y's order to x's, and reshaped to
 * restore sizes of 1. */
static void grad(dt_grad *g) {
    const dt_broadcast_attr *a = g->node->attr;
    dt_type x = dt_type_of_value(g->in[0]);
    uint32_t kept = 0;
    for (int d = 0; d < x.rank; d++)
        if (!stretches(&x, &a->type, d, a->dims[d])) kept |= 1u << a->dims[d];
    int perm[DT_MAX_RANK], n = 0;
    for (int d = 0; d < x.rank; d++)
        /* the popcount is the dimension's index among those that `kept` keeps */
        if (kept >> a->dims[d] & 1) perm[n++] = __builtin_popcount(kept & dt_all_dims(a->dims[d]));
    dt_value sum = dt_reduce(g->dout, DT_REDUCE_SUM, dt_all_dims(a->type.rank) & ~kept);
    g->din[0] = dt_reshape(dt_transpose(sum, perm), x.rank, x.dim);
}

/* A dimension of x has the factor of the dimension of y that it becomes. A stretched dimension of x
 * has one element and cannot be split. */
static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_broadcast_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) rule->out[d] = (int8_t)d;
    for (int d = 0; d < in[0].rank; d++)
        if (!stretches(&in[0], out, d, a->dims[d])) rule->in[0][d] = a->dims[d];
}

static void eval(const dt_call *c) {
    const dt_broadcast_attr *a = c->node->attr;
    const dt_view *x = &c->in[0], *y = &c->out;
    int64_t stride[DT_MAX_RANK], by_y[DT_MAX_RANK] = {0};
    dt_strides(&x->type, stride);
    for (int d = 0; d < x->type.rank; d++)
        if (!stretches(&x->type, &y->type, d, a->dims[d])) by_y[a->dims[d]] = stride[d];
    dt_walk w = {0};
    for (int d = 0; d < y->type.rank; d++) dt_walk_add(&w, y->type.dim[d], by_y[d], 0);
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
        dt_cell_copy(y, i, x, w.at[0]);
}

static dt_value stack(const dt_fold_call *c) {
    const dt_broadcast_attr *a = c->node->attr;
    dt_type type = dt_stack_type(c->segments, &a->type);
    int8_t dims[DT_MAX_RANK] = {0};
    for (int d = 1; d < DT_MAX_RANK; d++) dims[d] = (int8_t)(a->dims[d - 1] + 1);
    return dt_broadcast_in_dim(c->in[0], &type, dims);
}

static void print(const void *attr, dt_str *out) {
    const dt_broadcast_attr *a = attr;
    int n = 0;
    while (n < DT_MAX_RANK && a->dims[n] >= 0) n++;
    dt_print_dims(out, "dims=", a->dims, n);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_broadcast_attr *a = c->node->attr;
    return dt_hlo_broadcast(c->hlo, c->in[0], &c->type, a->dims);
}

const dt_op dt_op_broadcast_in_dim = {
    .name = "broadcast_in_dim",
    .n_in = 1,
    .role = DT_ROLE_REPEAT,
    .attr = {.size = sizeof(dt_broadcast_attr),
             .type = 1 + offsetof(dt_broadcast_attr, type),
             .print = print},
    .traits = {.exact = true, .read_through = true},
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .eval = eval,
    .stack = stack,
    .forms.stablehlo = stablehlo,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reverse: y = x with the order of elements reversed along each dimension in `dims`.
 *
 * (C1) dims are dimensions of x, and none is the batch.
 */
#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_reverse_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    if (a->dims & ~dt_all_dims(x->rank) || (dt_type_has_batch(x) && a->dims & 1))
        return dt_bad_shape(q, "(C1) cannot reverse the set 0x%x of dimensions of %s",
                            (unsigned)a->dims, dt_text_of(x).s);
    q->out = *x;
    return NULL;
}

static void grad(dt_grad *g) {
    const dt_reverse_attr *a = g->node->attr;
    g->din[0] = dt_reverse(g->dout, a->dims);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_reverse_attr *a = attr;
    (void)in;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++)
        if (!(a->dims >> d & 1)) rule->in[0][d] = rule->out[d] = (int8_t)d;
}

static void eval(const dt_call *c) {
    const dt_reverse_attr *a = c->node->attr;
    const dt_type *x = &c->in[0].type;
    int64_t stride[DT_MAX_RANK], from = 0;
    dt_strides(x, stride);
    dt_walk w = {0};
    for (int d = 0; d < x->rank; d++) {
        bool back = a->dims >> d & 1;
        from += back ? (x->dim[d] - 1) * stride[d] : 0;
        dt_walk_add(&w, x->dim[d], back ? -stride[d] : stride[d], 0);
    }
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
        dt_cell_copy(&c->out, i, &c->in[0], from + w.at[0]);
}

static dt_value stack(const dt_fold_call *c) {
    const dt_reverse_attr *a = c->node->attr;
    return dt_reverse(c->in[0], a->dims << 1);
}

static void print(const void *attr, dt_str *out) {
    const dt_reverse_attr *a = attr;
    int8_t dims[DT_MAX_RANK];
    int n = 0;
    for (int d = 0; d < DT_MAX_RANK; d++)
        if (a->dims >> d & 1) dims[n++] = (int8_t)d;
    dt_print_dims(out, "dims=", dims, n);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    int8_t dims[DT_MAX_RANK];
    int n = 0;
    for (int d = 0; d < c->type.rank; d++)
        if (((const dt_reverse_attr *)c->node->attr)->dims >> d & 1) dims[n++] = (int8_t)d;
    return dt_hlo_op(c->hlo, "reverse", c->in, 1, &c->type, "dimensions = %s",
                     dt_hlo_array(dims, n).s);
}

const dt_op dt_op_reverse = {
    .name = "reverse",
    .n_in = 1,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_reverse_attr), .print = print},
    .traits.exact = true,
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .eval = eval,
    .stack = stack,
    .forms.stablehlo = stablehlo,
};

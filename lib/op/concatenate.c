/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concatenate: y = a, then b, along `axis`. More than two values take several such nodes
 * (dt_concatenate).
 *
 * (C1) axis is a dimension, and not the batch: rows of two batches do not form a batch.
 * (C2) a and b are of one dtype and rank, and of equal sizes but for the axis.
 *
 * call: dt_value dt_concatenate(const dt_value *x, int n, int axis)
 * computes: The n values, one after the other along `axis`.
 * shape: that of x[0], with the sum of their sizes along the axis
 * expects: (C1) axis exists and is not the batch; (C2) the values have one dtype, and equal sizes
 * but for the axis; n >= 1
 * gradient: dx[i] = its part of dy
 */
#include <string.h>

#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_axis_attr *a = q->attr;
    const dt_type *x = &q->in[0], *y = &q->in[1];
    if (a->axis < 0 || a->axis >= x->rank || dt_is_batch(x, (int)a->axis))
        return dt_bad_shape(q, "(C1) cannot join along dimension %lld of %s", (long long)a->axis,
                            dt_text_of(x).s);
    dt_type alike = *y;
    if (x->rank == y->rank) alike.dim[a->axis] = x->dim[a->axis];
    if (!dt_type_equal(x, &alike) || dt_is_batch(y, (int)a->axis))
        return dt_bad_shape(q, "(C2) cannot join %s and %s along dimension %lld", dt_text_of(x).s,
                            dt_text_of(y).s, (long long)a->axis);
    q->out = *x;
    if (__builtin_add_overflow(x->dim[a->axis], y->dim[a->axis], &q->out.dim[a->axis]))
        return dt_bad_shape(q, "(C2) cannot count the elements of %s and %s", dt_text_of(x).s,
                            dt_text_of(y).s);
    return NULL;
}

/* The gradient of each input is the part of dy at its position. */
static void grad(dt_grad *g) {
    const dt_axis_attr *a = g->node->attr;
    int64_t first = dt_type_of_value(g->in[0]).dim[a->axis],
            second = dt_type_of_value(g->in[1]).dim[a->axis];
    if (g->wants[0]) g->din[0] = dt_slice_axis(g->dout, (int)a->axis, 0, first, 1);
    if (g->wants[1]) g->din[1] = dt_slice_axis(g->dout, (int)a->axis, first, second, 1);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_axis_attr *a = attr;
    (void)in;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++)
        if (d != a->axis) rule->in[0][d] = rule->in[1][d] = rule->out[d] = (int8_t)d;
}

/* Returns the number of bytes of an input that are contiguous in the result: the elements along the
 * axis and the dimensions after it. */
static size_t run_of(const dt_type *t, int axis) {
    size_t bytes = dt_dtype_size(t->dtype);
    for (int d = axis; d < t->rank; d++) bytes *= (size_t)t->dim[d];
    return bytes;
}

static void eval(const dt_call *c) {
    const dt_axis_attr *a = c->node->attr;
    int64_t runs = 1;
    for (int d = 0; d < a->axis; d++) runs *= c->out.type.dim[d];
    size_t first = run_of(&c->in[0].type, (int)a->axis),
           second = run_of(&c->in[1].type, (int)a->axis);
    char *to = c->out.data;
    for (int64_t i = 0; i < runs; i++, to += first + second) {
        if (first) memcpy(to, (const char *)c->in[0].data + (size_t)i * first, first);
        if (second) memcpy(to + first, (const char *)c->in[1].data + (size_t)i * second, second);
    }
}

static dt_value stack(const dt_fold_call *c) {
    const dt_axis_attr *a = c->node->attr;
    return dt_concatenate(c->in, 2, (int)a->axis + 1);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_hlo_concatenate(c->hlo, c->in, c->node->n_in,
                              (int)((const dt_axis_attr *)c->node->attr)->axis);
}

const dt_op dt_op_concatenate = {
    .name = "concatenate",
    .n_in = 2,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_axis_attr), .print = dt_print_axis},
    .traits = {.exact = true, .additive = true},
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .eval = eval,
    .stack = stack,
    .forms.stablehlo = stablehlo,
};

const dt_axis_attr *dt_concatenate_of(const dt_node *n) {
    return n->op == &dt_op_concatenate ? n->attr : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax: y = e^x / sum(e^x) over the last dimension, computed as e^(x - m) with its maximum m, so
 * that nothing overflows.
 *
 * (C1) x holds floats.
 * (C2) x has a last dimension with at least one element, which is not the batch.
 *
 * gradient: dx = y (dy - sum(dy y))
 * stablehlo: reduce, subtract, exponential, divide
 *
 * A composite of reduce, subtract, exponential and divide, kept as one op so that a back end can
 * read x once. Over devices that split the classes it is expressed in these ops, with the maximum
 * and the sum over all devices.
 */
#include "base/elementary.h"
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/partition.h"
#include "op/shapes.h"

#include <math.h>

static dt_status *infer(dt_infer *q) {
    const dt_type *x = &q->in[0];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (x->rank < 1 || x->dim[x->rank - 1] < 1)
        return dt_bad_shape(q, "(C2) expected classes in the last dimension, got %s",
                            dt_text_of(x).s);
    q->out = *x;
    return NULL;
}

/* Emits dx = y * (dy - sum over the classes of dy * y). */
static void grad(dt_grad *g) {
    dt_type t = g->node->type;
    dt_value product = dt_multiply(g->dout, g->out);
    dt_value sum = dt_reduce(product, DT_REDUCE_SUM, 1u << (t.rank - 1));
    g->din[0] = dt_multiply(g->out, dt_subtract(g->dout, dt_broadcast_rows(sum, &t)));
}

static void eval_row(const dt_view *x, const dt_view *y, int64_t at, int64_t n) {
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) max = dt_double_max(max, dt_cell_double(x, at + i));
    for (int64_t i = 0; i < n; i++) sum += dt_portable_exp(dt_cell_double(x, at + i) - max);
    for (int64_t i = 0; i < n; i++)
        dt_cell_set_double(y, at + i, dt_portable_exp(dt_cell_double(x, at + i) - max) / sum);
}

static void eval(const dt_call *c) {
    const dt_type *t = &c->out.type;
    int64_t classes = t->dim[t->rank - 1];
    for (int64_t at = 0, end = dt_type_elements(t); at < end; at += classes)
        eval_row(&c->in[0], &c->out, at, classes);
}

/* counts operations per element: maximum, difference, exponential, sum, quotient */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, (4 + dt_op_exponential.operations) *
                                  (double)dt_type_elements(&c->out.type));
}

static dt_value decompose(dt_partition_call *c) {
    dt_type t = dt_type_of_value(c->in[0]);
    dt_mesh_axes classes = c->factor[t.rank - 1];
    dt_value max = dt_partition_reduce_last(c, c->in[0], DT_REDUCE_MAX, classes);
    dt_value power = dt_exponential(dt_subtract(c->in[0], dt_broadcast_rows(max, &t)));
    return dt_divide(
        power, dt_broadcast_rows(dt_partition_reduce_last(c, power, DT_REDUCE_SUM, classes), &t));
}

static dt_value emit_split(dt_partition_call *c) {
    return c->factor[c->type[0].rank - 1] ? decompose(c) : dt_partition_same(c);
}

static const dt_partition_row over_devices = {.rule = dt_rule_elementwise, .emit = emit_split};

const dt_op dt_op_softmax = {
    .name = "softmax",
    .n_in = 1,
    .infer = infer,
    .grad = grad,
    .rule = dt_rule_rows,
    .cost = cost,
    .eval = eval,
    .stack = dt_stack_same,
    .over_devices = &over_devices,
    .forms.decompose = decompose,
};

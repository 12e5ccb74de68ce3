/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select: y = a where pred is true, b elsewhere, as tf.where.
 *
 * (C1) pred holds bools.
 * (C2) a and b have one dtype.
 *
 * call: dt_value dt_select(dt_value pred, dt_value a, dt_value b)
 * shape: that of pred, a and b, broadcast
 * gradient: da = dy where pred is true, db = dy elsewhere, 0 otherwise
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_type *pred = &q->in[0], *a = &q->in[1], *b = &q->in[2];
    dt_type wanted = *a;
    wanted.dtype = DT_BOOL;
    if (!dt_type_equal(pred, &wanted))
        return dt_bad_shape(q, "(C1) expected a predicate %s, got %s", dt_text_of(&wanted).s,
                            dt_text_of(pred).s);
    if (!dt_type_equal(a, b))
        return dt_bad_shape(q, "(C2) expected two values of one type, got %s and %s",
                            dt_text_of(a).s, dt_text_of(b).s);
    q->out = *a;
    return NULL;
}

/* Emits da = dy where pred is true, and db = dy elsewhere. */
static void grad(dt_grad *g) {
    dt_value pred = g->in[0], zero = dt_like(g->dout, 0);
    if (g->wants[1]) g->din[1] = dt_select(pred, g->dout, zero);
    if (g->wants[2]) g->din[2] = dt_select(pred, zero, g->dout);
}

static void eval(const dt_call *c) {
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++)
        dt_cell_copy(&c->out, i, &c->in[dt_cell_int(&c->in[0], i) ? 1 : 2], i);
}

const dt_op dt_op_select = {
    .name = "select",
    .n_in = 3,
    .role = DT_ROLE_ELEMENT,
    .traits.exact = true,
    .infer = infer,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .forms.stablehlo = dt_hlo_same,
};

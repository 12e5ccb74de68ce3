/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_cross_entropy_grad: the gradient of softmax_cross_entropy with respect to the logits z:
 *
 *     dz_j = dy * (softmax(z)_j * sum of y - y_j)
 *
 * for the logits z and the target y of softmax_cross_entropy. dy has one number for each row. The
 * sum of y is 1 if the target is probabilities that add up to 1, or a class number. A class number
 * outside [0, C) makes the row NaN.
 *
 * (C1), (C2), (C3) of softmax_cross_entropy.
 * (C4) dy has the dtype of the logits and their shape without the classes.
 */
#include "base/elementary.h"
#include "op/softmax_cross_entropy.h"

#include "op/cells.h"
#include "op/shapes.h"

static dt_status *infer(dt_infer *q) {
    dt_type row;
    DT_TRY(dt_xent_infer(q, &row));
    if (!dt_type_equal(&q->in[2], &row))
        return dt_bad_shape(q, "(C4) expected dy %s, got %s", dt_text_of(&row).s,
                            dt_text_of(&q->in[2]).s);
    q->out = q->in[0];
    return NULL;
}

static void eval_row(const dt_call *c, int64_t row) {
    dt_xent_row r = dt_xent_row_at(&c->in[0], row);
    double dy = dt_cell_double(&c->in[2], row), sum = 0;
    for (int64_t j = 0; j < r.classes; j++) sum += dt_xent_target(&c->in[1], &r, row, j);
    for (int64_t j = 0; j < r.classes; j++) {
        double p = dt_portable_exp(dt_cell_double(r.logits, r.at + j) - r.max) / r.sum;
        dt_cell_set_double(&c->out, r.at + j,
                           dy * (p * sum - dt_xent_target(&c->in[1], &r, row, j)));
    }
}

static void eval(const dt_call *c) {
    for (int64_t i = 0, n = dt_type_elements(&c->in[2].type); i < n; i++) eval_row(c, i);
}

/* counts operations per class: maximum, difference, exponential, sum, quotient; sum of the target,
 * product, difference, product */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, (8 + dt_op_exponential.operations) *
                                  (double)dt_type_elements(&c->out.type));
}

const dt_op dt_op_softmax_cross_entropy_grad = {
    .name = "softmax_cross_entropy_grad",
    .n_in = 3,
    .infer = infer,
    .rule = dt_rule_rows,
    .cost = cost,
    .eval = eval,
    .stack = dt_stack_same,
    .over_devices = &dt_xent_grad_over_devices,
    .forms.decompose = dt_xent_grad_decompose,
};

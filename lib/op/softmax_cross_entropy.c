/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax_cross_entropy: one loss for each row of logits z, - sum over classes j of y_j * log
 * softmax(z)_j, computed as sum of y_j * (log(sum of e^(z - m)) - (z_j - m)) with m the row's
 * maximum, so that nothing overflows and no logarithm of 0 is taken.
 *
 * The target holds probabilities y, or the number of the class whose probability is 1. A class
 * number outside [0, C) makes that row's loss NaN; class numbers in data are checked when the data
 * is read. Classes with y_j = 0 do not count, whatever their logit.
 *
 * (C1) Logits hold floats.
 * (C2) Logits have a last dimension, the C classes, with at least one element, which is not the
 *      batch.
 * (C3) The target has the type of the logits, or it holds integers and has the shape of the logits
 *      without the classes.
 *
 * A gradient flows to the logits only: targets are not trained.
 */
#include "base/elementary.h"
#include "op/softmax_cross_entropy.h"

#include <math.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"

static bool is_integer(dt_dtype d) { return !dt_dtype_is_float(d) && d != DT_BOOL; }

dt_status *dt_xent_infer(const dt_infer *q, dt_type *row) {
    const dt_type *z = &q->in[0], *target = &q->in[1];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (z->rank < 1 || z->dim[z->rank - 1] < 1)
        return dt_bad_shape(q, "(C2) expected classes in the last dimension of the logits, got %s",
                            dt_text_of(z).s);
    *row = dt_type_of(z->dtype, z->rank - 1, z->dim);
    dt_type numbers = *row;
    numbers.dtype = target->dtype;
    if (!dt_type_equal(target, z) &&
        !(is_integer(target->dtype) && dt_type_equal(target, &numbers)))
        return dt_bad_shape(q, "(C3) cannot compare logits %s with a target %s", dt_text_of(z).s,
                            dt_text_of(target).s);
    return NULL;
}

static dt_status *infer(dt_infer *q) { return dt_xent_infer(q, &q->out); }

static void grad(dt_grad *g) {
    dt_value in[] = {g->in[0], g->in[1], g->dout};
    if (g->wants[0]) g->din[0] = dt_emit(g->trace, &dt_op_softmax_cross_entropy_grad, in, 3, NULL);
}

dt_xent_row dt_xent_row_at(const dt_view *logits, int64_t row) {
    int64_t classes = logits->type.dim[logits->type.rank - 1];
    dt_xent_row r = {.logits = logits, .at = row * classes, .classes = classes, .max = -INFINITY};
    for (int64_t j = 0; j < classes; j++)
        r.max = dt_double_max(r.max, dt_cell_double(logits, r.at + j));
    for (int64_t j = 0; j < classes; j++)
        r.sum += dt_portable_exp(dt_cell_double(logits, r.at + j) - r.max);
    return r;
}

double dt_xent_target(const dt_view *target, const dt_xent_row *r, int64_t row, int64_t j) {
    if (dt_dtype_is_float(target->type.dtype)) return dt_cell_double(target, r->at + j);
    int64_t class = dt_cell_int(target, row);
    return class < 0 || class >= r->classes ? NAN : class == j;
}

static double loss_of(const dt_xent_row *r, const dt_view *target, int64_t row) {
    double loss = 0, log_sum = dt_portable_log(r->sum);
    for (int64_t j = 0; j < r->classes; j++) {
        double y = dt_xent_target(target, r, row, j);
        if (y != 0) loss += y * (log_sum - (dt_cell_double(r->logits, r->at + j) - r->max));
    }
    return loss;
}

static void eval(const dt_call *c) {
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++) {
        dt_xent_row r = dt_xent_row_at(&c->in[0], i);
        dt_cell_set_double(&c->out, i, loss_of(&r, &c->in[1], i));
    }
}

/* operations for each class: maximum, difference, exponential, sum; difference, product and sum
 * with the target */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, (6 + dt_op_exponential.operations) *
                                  (double)dt_type_elements(&c->in[0].type));
}

const dt_op dt_op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy",
    .n_in = 2,
    .infer = infer,
    .grad = grad,
    .rule = dt_rule_rows,
    .cost = cost,
    .eval = eval,
    .stack = dt_stack_same,
    .over_devices = &dt_xent_over_devices,
    .forms.decompose = dt_xent_decompose,
};

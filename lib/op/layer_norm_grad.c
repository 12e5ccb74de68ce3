/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm_grad: the gradient of layer_norm with respect to x. With z = layer_norm(x, 1, 0) and e
 * = dy * gamma, for each row:
 *
 *     dx = (e - mean of e - z * mean of e z) / sqrt(variance + epsilon)
 *
 * (C1), (C2) of layer_norm, for gamma.
 * (C3) dy has the type of x.
 */
#include "op/layer_norm.h"

#include "op/cells.h"
#include "op/shapes.h"

static dt_status *infer(dt_infer *q) {
    DT_TRY(dt_norm_check(q, 1));
    if (!dt_type_equal(&q->in[2], &q->in[0]))
        return dt_bad_shape(q, "(C3) expected dy %s, got %s", dt_text_of(&q->in[0]).s,
                            dt_text_of(&q->in[2]).s);
    q->out = q->in[0];
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out, (void)attr;
    dt_rule_whole(rule);
    dt_norm_rule_rows(&in[0], rule->in[0]);
    dt_norm_rule_rows(&in[0], rule->in[2]);
    dt_norm_rule_rows(&in[0], rule->out);
}

static void eval_row(const dt_call *c, int64_t row, double epsilon) {
    const dt_view *x = &c->in[0], *gamma = &c->in[1], *dy = &c->in[2];
    dt_norm_row r = dt_norm_row_of(x, row, epsilon);
    double mean = 0, mean_z = 0;
    for (int64_t i = 0; i < r.n; i++) {
        double e = dt_cell_double(dy, r.at + i) * dt_cell_double(gamma, i);
        mean += e / (double)r.n;
        mean_z += e * dt_norm_cell(x, &r, i) / (double)r.n;
    }
    for (int64_t i = 0; i < r.n; i++) {
        double e = dt_cell_double(dy, r.at + i) * dt_cell_double(gamma, i);
        dt_cell_set_double(&c->out, r.at + i,
                           (e - mean - dt_norm_cell(x, &r, i) * mean_z) * r.inverse);
    }
}

static void eval(const dt_call *c) {
    int64_t n = c->out.type.dim[c->out.type.rank - 1];
    for (int64_t row = 0, rows = dt_type_elements(&c->out.type) / n; row < rows; row++)
        eval_row(c, row, ((const dt_norm_attr *)c->node->attr)->epsilon);
}

/* Stacked entries have different gammas, so gamma is multiplied into dy. */
static dt_value stack(const dt_fold_call *c) {
    dt_type t = dt_type_of_value(c->in[0]), features = dt_type_of(t.dtype, 1, &t.dim[t.rank - 1]);
    int8_t dims[DT_MAX_RANK] = {0, (int8_t)(t.rank - 1)};
    dt_value e = dt_multiply(c->in[2], dt_broadcast_in_dim(c->in[1], &t, dims));
    return dt_emit(c->trace, &dt_op_layer_norm_grad,
                   (dt_value[]){c->in[0], dt_splat(c->trace, &features, 1), e}, 3, c->node->attr);
}

/* Counts operations per element: the 8 of layer_norm, two sums, two differences and two
 * products. */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, 14 * (double)dt_type_elements(&c->out.type));
}

const dt_op dt_op_layer_norm_grad = {
    .name = "layer_norm_grad",
    .n_in = 3,
    .attr = {.size = sizeof(dt_norm_attr), .print = dt_norm_print},
    .linear = 6,
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .over_devices = &dt_norm_grad_over_devices,
    .forms.decompose = dt_norm_grad_decompose,
};

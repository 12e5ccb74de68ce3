/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm_scale_grad: the gradient of layer_norm with respect to gamma: the sum over all rows of
 * dy * layer_norm(x, 1, 0).
 *
 * (C1) of layer_norm.
 * (C2) dy has the type of x.
 *
 * Floats are added in double, row by row. Splitting: parts of the rows make partial sums.
 */

#include "op/cells.h"
#include "op/layer_norm.h"
#include "op/segment.h"
#include "op/shapes.h"

static dt_status *infer(dt_infer *q) {
    const dt_type *x = &q->in[0];
    DT_TRY(dt_norm_check(q, -1));
    if (!dt_type_equal(&q->in[1], x))
        return dt_bad_shape(q, "(C2) expected dy %s, got %s", dt_text_of(x).s,
                            dt_text_of(&q->in[1]).s);
    q->out = dt_type_of(x->dtype, 1, &x->dim[x->rank - 1]);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out, (void)attr;
    dt_rule_whole(rule);
    dt_norm_rule_rows(&in[0], rule->in[0]);
    dt_norm_rule_rows(&in[0], rule->in[1]);
}

static void eval(const dt_call *c) {
    int64_t n = c->out.type.dim[0];
    DT_LOCAL double *sum = dt_alloc(dt_size_mul((size_t)n, sizeof *sum));
    for (int64_t row = 0, rows = dt_type_elements(&c->in[0].type) / n; row < rows; row++) {
        dt_norm_row r =
            dt_norm_row_of(&c->in[0], row, ((const dt_norm_attr *)c->node->attr)->epsilon);
        for (int64_t i = 0; i < n; i++)
            sum[i] += dt_cell_double(&c->in[1], r.at + i) * dt_norm_cell(&c->in[0], &r, i);
    }
    for (int64_t i = 0; i < n; i++) dt_cell_set_double(&c->out, i, sum[i]);
}

/* In a folded graph: first the terms of the sum, then their sum for each replica or segment. */

static dt_value products(const dt_fold_call *c) {
    return dt_multiply(c->in[1],
                       dt_norm_plain(c->in[0], ((const dt_norm_attr *)c->node->attr)->epsilon));
}

static dt_value stack(const dt_fold_call *c) {
    int rank = dt_type_of_value(c->in[0]).rank;
    return dt_reduce(products(c), DT_REDUCE_SUM, dt_all_dims(rank - 1) & ~1u);
}

static dt_value segment(const dt_fold_call *c) {
    dt_segment_attr a = dt_segment_attr_of(c->cut, c->segments);
    dt_value x = products(c);
    a.reduce = (dt_reduce_attr){DT_REDUCE_SUM, dt_all_dims(dt_type_of_value(x).rank - 1)};
    return dt_emit(c->trace, &dt_op_segment_reduce, &x, 1, &a);
}

static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, 8 * (double)dt_type_elements(&c->in[0].type));
}

const dt_op dt_op_layer_norm_scale_grad = {
    .name = "layer_norm_scale_grad",
    .n_in = 2,
    .attr = {.size = sizeof(dt_norm_attr), .print = dt_norm_print},
    .linear = 2,
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .segment = segment,
    .over_devices = &dt_norm_scale_grad_over_devices,
    .forms.decompose = dt_norm_scale_grad_decompose,
};

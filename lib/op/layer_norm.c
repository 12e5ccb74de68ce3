/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm: normalizes every row of x to mean 0 and deviation 1, then scales and shifts each
 * feature:
 *
 *     y[.., d] = (x[.., d] - mean) / sqrt(variance + epsilon) * gamma[d] + beta[d]
 *
 * where the mean is that of the row's features, and the variance is the mean of their squared
 * differences from it.
 *
 * (C1) x holds floats and has at least one feature, in the last dimension, which is not the batch.
 * (C2) gamma and beta are of x's dtype and have one number for each feature.
 *
 * A composite of reduce, rsqrt and element-wise ops, kept as one op so that a back end can read x
 * once. J. L. Ba et al., Layer Normalization (2016).
 */
#include "op/layer_norm.h"

#include <math.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"

/*
 * layer_norm and its gradients over devices that split the features: sums over a row are added over
 * devices, first those for the mean and then, with the mean, those of squares. The ops are
 * expressed in the ops that they are composites of; the gradients reuse the nodes that compute
 * means and variances.
 */

/* Factors: one for each dimension of x; the last one is also that of all vectors of features. */

static void rule_forward(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    int features = in[0].rank - 1;
    dt_rule_elementwise(in, out, attr, rule);
    for (int i = 1; i < DT_MAX_IN; i++) rule->in[i][0] = (int8_t)features;
}

static void rule_grad(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    dt_rule_elementwise(in, out, attr, rule);
    rule->in[1][0] = (int8_t)(in[0].rank - 1);
}

static void rule_scale_grad(const dt_type *in, const dt_type *out, const void *attr,
                            dt_rule *rule) {
    dt_rule_elementwise(in, &in[0], attr, rule);
    (void)out;
    rule->out[0] = (int8_t)(in[0].rank - 1);
}

/* Rows of features, or of the part of them that a device has, (.., D / parts). */
typedef struct rows {
    const dt_partition_call *c;
    dt_mesh_axes axes; /* the axes of the mesh that split the features */
    dt_type type;
    dt_value inverse; /* 1 / sqrt(variance + epsilon) of each row, repeated for every feature */
    dt_value z;       /* x minus the mean of its row, times `inverse` */
} rows;

/* Emits the mean over the features of all devices, repeated for every feature. */
static dt_value mean(const rows *r, dt_value x) {
    dt_value sum = dt_partition_reduce_last(r->c, x, DT_REDUCE_SUM, r->axes);
    return dt_broadcast_rows(
        dt_divide(sum, dt_like(sum, (double)r->c->type[0].dim[r->type.rank - 1])), &r->type);
}

static rows rows_of(const dt_partition_call *c) {
    rows r = {.c = c, .axes = c->factor[c->type[0].rank - 1], .type = dt_type_of_value(c->in[0])};
    dt_value centred = dt_subtract(c->in[0], mean(&r, c->in[0])),
             variance = mean(&r, dt_multiply(centred, centred));
    r.inverse = dt_rsqrt(
        dt_add(variance, dt_like(variance, ((const dt_norm_attr *)c->node->attr)->epsilon)));
    r.z = dt_multiply(centred, r.inverse);
    return r;
}

static bool splits_features(const dt_partition_call *c) {
    return c->factor[c->type[0].rank - 1] != 0;
}

static dt_value decompose(dt_partition_call *c) {
    rows r = rows_of(c);
    return dt_add(dt_multiply(r.z, dt_broadcast_to(c->in[1], &r.type)),
                  dt_broadcast_to(c->in[2], &r.type));
}

dt_value dt_norm_grad_decompose(dt_partition_call *c) {
    rows r = rows_of(c);
    dt_value e = dt_multiply(c->in[2], dt_broadcast_to(c->in[1], &r.type));
    dt_value along = dt_multiply(r.z, mean(&r, dt_multiply(e, r.z)));
    return dt_multiply(dt_subtract(dt_subtract(e, mean(&r, e)), along), r.inverse);
}

dt_value dt_norm_scale_grad_decompose(dt_partition_call *c) {
    rows r = rows_of(c);
    return dt_reduce(dt_multiply(c->in[1], r.z), DT_REDUCE_SUM, dt_all_dims(r.type.rank - 1));
}

static dt_value emit_forward(dt_partition_call *c) {
    return splits_features(c) ? decompose(c) : dt_partition_same(c);
}

static dt_value emit_grad(dt_partition_call *c) {
    return splits_features(c) ? dt_norm_grad_decompose(c) : dt_partition_same(c);
}

static dt_value emit_scale_grad(dt_partition_call *c) {
    return splits_features(c) ? dt_norm_scale_grad_decompose(c) : dt_partition_same(c);
}

const dt_partition_row dt_norm_over_devices = {.rule = rule_forward, .emit = emit_forward};
const dt_partition_row dt_norm_grad_over_devices = {.rule = rule_grad, .emit = emit_grad};
const dt_partition_row dt_norm_scale_grad_over_devices = {.rule = rule_scale_grad,
                                                          .emit = emit_scale_grad};

dt_status *dt_norm_check(const dt_infer *q, int vector) {
    const dt_type *x = &q->in[0];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (x->rank < 1 || x->dim[x->rank - 1] < 1)
        return dt_bad_shape(q, "(C1) expected features in the last dimension, got %s",
                            dt_text_of(x).s);
    dt_type features = dt_type_of(x->dtype, 1, &x->dim[x->rank - 1]);
    if (vector >= 0 && !dt_type_equal(&q->in[vector], &features))
        return dt_bad_shape(q, "(C2) expected a vector %s, got %s", dt_text_of(&features).s,
                            dt_text_of(&q->in[vector]).s);
    return NULL;
}

static dt_status *infer(dt_infer *q) {
    DT_TRY(dt_norm_check(q, 1));
    DT_TRY(dt_norm_check(q, 2));
    q->out = q->in[0];
    return NULL;
}

void dt_norm_rule_rows(const dt_type *x, int8_t *factors) {
    for (int d = 0; d < x->rank - 1; d++) factors[d] = (int8_t)d;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out, (void)attr;
    dt_rule_whole(rule);
    dt_norm_rule_rows(&in[0], rule->in[0]);
    dt_norm_rule_rows(&in[0], rule->out);
}

static void grad(dt_grad *g) {
    int rank = dt_type_of_value(g->in[0]).rank;
    if (g->wants[0])
        g->din[0] = dt_emit(g->trace, &dt_op_layer_norm_grad,
                            (dt_value[]){g->in[0], g->in[1], g->dout}, 3, g->node->attr);
    if (g->wants[1])
        g->din[1] = dt_emit(g->trace, &dt_op_layer_norm_scale_grad, (dt_value[]){g->in[0], g->dout},
                            2, g->node->attr);
    if (g->wants[2]) g->din[2] = dt_reduce(g->dout, DT_REDUCE_SUM, dt_all_dims(rank - 1));
}

dt_norm_row dt_norm_row_of(const dt_view *x, int64_t row, double epsilon) {
    int64_t n = x->type.dim[x->type.rank - 1];
    dt_norm_row r = {.at = row * n, .n = n};
    double squares = 0;
    for (int64_t i = 0; i < n; i++) r.mean += dt_cell_double(x, r.at + i) / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (dt_cell_double(x, r.at + i) - r.mean) * (dt_cell_double(x, r.at + i) - r.mean);
    r.inverse = 1 / sqrt(squares / (double)n + epsilon);
    return r;
}

double dt_norm_cell(const dt_view *x, const dt_norm_row *r, int64_t i) {
    return (dt_cell_double(x, r->at + i) - r->mean) * r->inverse;
}

static void eval(const dt_call *c) {
    const dt_norm_attr *a = c->node->attr;
    int64_t n = c->out.type.dim[c->out.type.rank - 1];
    for (int64_t row = 0, all = dt_type_elements(&c->out.type) / n; row < all; row++) {
        dt_norm_row r = dt_norm_row_of(&c->in[0], row, a->epsilon);
        for (int64_t i = 0; i < n; i++)
            dt_cell_set_double(&c->out, r.at + i,
                               dt_norm_cell(&c->in[0], &r, i) * dt_cell_double(&c->in[1], i) +
                                   dt_cell_double(&c->in[2], i));
    }
}

dt_value dt_norm_plain(dt_value x, double epsilon) {
    dt_type t = dt_type_of_value(x),
            features = dt_type_of(t.dtype, 1, t.rank > 0 ? &t.dim[t.rank - 1] : t.dim);
    return dt_layer_norm(x, dt_splat(x.trace, &features, 1), dt_splat(x.trace, &features, 0),
                         epsilon);
}

static dt_value stack(const dt_fold_call *c) {
    dt_type t = dt_type_of_value(c->in[0]);
    int8_t dims[DT_MAX_RANK] = {0, (int8_t)(t.rank - 1)};
    dt_value y = dt_norm_plain(c->in[0], ((const dt_norm_attr *)c->node->attr)->epsilon);
    return dt_add(dt_multiply(y, dt_broadcast_in_dim(c->in[1], &t, dims)),
                  dt_broadcast_in_dim(c->in[2], &t, dims));
}

/* counts operations per element: a sum; difference, square and sum; difference, two products and a
 * sum */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, 8 * (double)dt_type_elements(&c->out.type));
}

void dt_norm_print(const void *attr, dt_str *out) {
    dt_str_printf(out, "epsilon=%g", ((const dt_norm_attr *)attr)->epsilon);
}

const dt_op dt_op_layer_norm = {
    .name = "layer_norm",
    .n_in = 3,
    .attr = {.size = sizeof(dt_norm_attr), .print = dt_norm_print},
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .over_devices = &dt_norm_over_devices,
    .forms.decompose = decompose,
};

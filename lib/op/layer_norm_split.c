/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm and its gradients over devices that split the features: sums over a row are added over
 * devices, first those for the mean and then, with the mean, those of squares. The ops are
 * expressed in the ops that they are composites of; the gradients reuse the nodes of the
 * statistics.
 */
#include "op/elementwise.h"
#include "op/layer_norm.h"
#include "op/shapes.h"

/* ---- factors: one for each dimension of x; the last one is also that of all vectors of features
 * ---- */

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

/* ---- rows ---- */

/* A device's part of x's rows: (.., D / parts). */
typedef struct rows {
    const dt_partition_call *c;
    dt_mesh_axes axes; /* axes that split the features */
    dt_type type;
    dt_value inverse; /* 1 / sqrt(variance + epsilon), of each row, at every feature */
    dt_value z;       /* x normalized to mean 0 and deviation 1 */
} rows;

/* The mean over all features, repeated for every feature. */
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

dt_value dt_norm_decompose(dt_partition_call *c) {
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
    return splits_features(c) ? dt_norm_decompose(c) : dt_partition_same(c);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_deviations: y[s, ...] = the sum of the squared differences between the rows of segment s
 * and their mean: (B, ...) -> (S, ...); 0 without rows. A variance can be computed from it and the
 * segments' means, before the mean of all rows is known (pass/tiles.c).
 *
 * (C1) As in reduce: dims are dimensions of x.
 * (C2) x holds floats, and the kind is a sum.
 * (C3) The cut is one of the three, and has at least one segment.
 * (C4) Dimension 0 of x is the batch, and among the dimensions reduced.
 *
 * Splitting: along the dimensions that stay. Reduced dimensions stay whole, since parts have other
 * means.
 */
#include "op/cells.h"
#include "op/segment.h"
#include "op/shapes.h"

static dt_status *infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    if (!dt_dtype_is_float(q->in[0].dtype) || a->reduce.kind != DT_REDUCE_SUM)
        return dt_bad_shape(q, "(C2) expected a sum of floats, got one of %s",
                            dt_text_of(&q->in[0]).s);
    return dt_op_segment_reduce.infer(q);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out;
    const dt_segment_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 1, kept = 1; d < in[0].rank; d++)
        if (!(a->reduce.dims >> d & 1)) {
            rule->in[0][d] = (int8_t)d;
            rule->out[kept++] = (int8_t)d;
        }
}

/* Computes one element from the elements of x that `inner` visits, from offset `at` on. */
static double deviations(const dt_view *x, int64_t at, dt_walk *inner) {
    const int64_t n = dt_walk_count(inner);
    double sum = 0, squares = 0;

    for (int64_t k = 0; k < n; k++, dt_walk_next(inner))
        sum += dt_cell_double(x, at + inner->at[0]);
    for (int64_t k = 0; k < n; k++, dt_walk_next(inner)) {
        const double d = dt_cell_double(x, at + inner->at[0]) - sum / (double)n;
        squares += d * d;
    }
    return squares;
}

static void eval(const dt_call *c) {
    const dt_segment_attr *a = c->node->attr;

    for (int s = 0; s < a->count; s++) {
        const dt_view x = dt_segment_rows(c, &c->in[0], s), y = dt_view_entry(&c->out, s);
        dt_walk outer = {0}, inner = {0};
        int64_t stride[DT_MAX_RANK];
        dt_strides(&x.type, stride);
        for (int d = 0; d < x.type.rank; d++)
            dt_walk_add(a->reduce.dims >> d & 1 ? &inner : &outer, x.type.dim[d], stride[d], 0);
        for (int64_t i = 0, n = dt_walk_count(&outer); i < n; i++, dt_walk_next(&outer))
            dt_cell_set_double(&y, i, deviations(&x, outer.at[0], &inner));
    }
}

static void print(const void *attr, dt_str *out) { dt_op_segment_reduce.attr.print(attr, out); }

static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, 4 * (double)dt_type_elements(&c->in[0].type));
}

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    rule(in, out, attr, r);
    dt_segment_replica_factor(r, 1);
}

static const dt_partition_row over_devices = {
    .rule = rule_over_devices, .can = dt_segment_can, .emit = dt_segment_emit};

const dt_op dt_op_segment_deviations = {
    .name = "segment_deviations",
    .n_in = 1,
    .attr = {.size = sizeof(dt_segment_attr), .print = print},
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .over_devices = &over_devices,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * argmax: y = the index of the largest element along `axis`, which is removed: the first of equal
 * elements, the first NaN if there is one, or 0 along an empty axis.
 *
 * (C1) axis is a dimension of x.
 * (C2) x holds numbers.
 *
 * call: dt_value dt_argmax(dt_value x, int axis)
 * shape: int32 of the shape of x without the axis
 * gradient: none
 * stablehlo: reduce of pairs
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/partition.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

#include <math.h>

static dt_status *infer(dt_infer *q) {
    const dt_axis_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    if (a->axis < 0 || a->axis >= x->rank)
        return dt_bad_shape(q, "(C1) cannot look along dimension %lld of %s", (long long)a->axis,
                            dt_text_of(x).s);
    DT_TRY(dt_want_dtype(q, 0, 2, DT_WANT_NUMBERS));
    q->out = dt_scalar_type(DT_INT32);
    for (int d = 0; d < x->rank; d++)
        if (d != a->axis) q->out.dim[q->out.rank++] = x->dim[d];
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out;
    const dt_axis_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 0, kept = 0; d < in[0].rank; d++)
        if (d != a->axis) rule->in[0][d] = rule->out[kept++] = (int8_t)d;
}

static bool is_larger(const dt_view *x, int64_t i, int64_t than) {
    if (!dt_dtype_is_float(x->type.dtype)) return dt_cell_int(x, i) > dt_cell_int(x, than);
    double a = dt_cell_double(x, i), b = dt_cell_double(x, than);
    return a > b || (isnan(a) && !isnan(b));
}

static void eval(const dt_call *c) {
    const dt_axis_attr *a = c->node->attr;
    const dt_view *x = &c->in[0];
    int64_t stride[DT_MAX_RANK];
    dt_strides(&x->type, stride);
    dt_walk w = {0};
    for (int d = 0; d < x->type.rank; d++)
        if (d != a->axis) dt_walk_add(&w, x->type.dim[d], stride[d], 0);
    int64_t step = stride[a->axis];
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w)) {
        int64_t best = 0;
        for (int64_t k = 1; k < x->type.dim[a->axis]; k++)
            if (is_larger(x, w.at[0] + k * step, w.at[0] + best * step)) best = k;
        dt_cell_set_int(&c->out, i, best);
    }
}

static dt_value stack(const dt_fold_call *c) {
    const dt_axis_attr *a = c->node->attr;
    return dt_argmax(c->in[0], (int)a->axis + 1);
}

static void cost(const dt_call *c, dt_cost *cost) {
    /* for each element a comparison and two selections: of the value and of its index */
    *cost = dt_cost_vector(c, 3 * (double)dt_type_elements(&c->in[0].type));
}

/* Over devices, each finds the largest of its elements; the result is the lowest index that a
 * device has found for an element that is the largest of all devices. */

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    const dt_axis_attr *a = attr;
    rule(in, out, attr, r);
    r->in[0][a->axis] = (int8_t)a->axis;
}

/* Emits whether this device's largest element, `own`, is the largest of all devices. NaN compares
 * unequal even to itself, so a device whose largest element is NaN is found by a test for NaN. */
static dt_value is_best(const dt_partition_call *c, dt_value own, dt_mesh_axes axes) {
    dt_value all = dt_partition_reduce(c, own, DT_REDUCE_MAX, axes),
             is_nan = dt_compare(own, own, DT_NE);
    return dt_select(is_nan, is_nan, dt_compare(own, all, DT_EQ));
}

static dt_value emit_split(dt_partition_call *c) {
    int axis = (int)((const dt_axis_attr *)c->node->attr)->axis;
    dt_mesh_axes axes = c->factor[axis];
    dt_type local = dt_type_at(&(dt_type){.rank = 1, .dim = {dt_type_of_value(c->in[0]).dim[axis]}},
                               c->batch / c->parts);
    if (!axes) return dt_partition_same(c);
    dt_value number = dt_argmax(c->in[0], axis);
    dt_value first = dt_convert(dt_partition_start(c, local.dim[0], axes), DT_INT32);
    dt_type type = dt_type_of_value(number);
    number = dt_add(number, dt_broadcast_to(first, &type));
    dt_value own = dt_reduce(c->in[0], DT_REDUCE_MAX, 1u << axis);
    c->out.partial = 0;
    return dt_partition_reduce(c,
                               dt_select(is_best(c, own, axes), number, dt_like(number, INT32_MAX)),
                               DT_REDUCE_MIN, axes);
}

static const dt_partition_row over_devices = {.rule = rule_over_devices, .emit = emit_split};

/* Emits the lowest index whose element equals the maximum, or is NaN. */

static dt_value decompose(dt_partition_call *c) {
    int axis = (int)((const dt_axis_attr *)c->node->attr)->axis;
    dt_type x = dt_type_of_value(c->in[0]), numbers = x;
    int8_t dims[DT_MAX_RANK];
    int n = 0;
    numbers.dtype = DT_INT32;
    for (int d = 0; d < x.rank; d++)
        if (d != axis) dims[n++] = (int8_t)d;
    dt_value top = dt_broadcast_in_dim(dt_reduce(c->in[0], DT_REDUCE_MAX, 1u << axis), &x, dims),
             number = dt_iota(c->trace, &numbers, axis);
    dt_value is_nan = dt_compare(c->in[0], c->in[0], DT_NE),
             is_top = dt_select(is_nan, is_nan, dt_compare(c->in[0], top, DT_EQ));
    return dt_reduce(dt_select(is_top, number, dt_like(number, INT32_MAX)), DT_REDUCE_MIN,
                     1u << axis);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_axis_attr *a = c->node->attr;
    return dt_hlo_argmax(c->hlo, c->in[0], (int)a->axis, &c->type);
}

const dt_op dt_op_argmax = {
    .name = "argmax",
    .n_in = 1,
    .role = DT_ROLE_REDUCE,
    .attr = {.size = sizeof(dt_axis_attr), .print = dt_print_axis},
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .over_devices = &over_devices,
    .forms = {.stablehlo = stablehlo, .decompose = decompose},
};

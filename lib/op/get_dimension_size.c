/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get_dimension_size: y = the size of dimension `axis` of x, an int32 scalar. That of a batch
 * dimension is known when the step runs, and may differ between replicas.
 *
 * (C1) axis is a dimension of x.
 * (C2) The size fits in int32.
 *
 * call: dt_value dt_dim_value(dt_value x, int axis)
 * computes: The size of an axis when the step runs: for the batch, the number of this replica's
 * examples. See dt_dim.
 * shape: an int32 scalar
 * expects: the axis exists; (C2) the size fits in int32
 * gradient: none
 * stablehlo: constant
 *
 * Only x's type is read, so its elements need not be moved between devices. Splitting: in one
 * memory space x is not split, since a part has another size.
 */
#include "op/cells.h"
#include "op/partition.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_axis_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    if (a->axis < 0 || a->axis >= x->rank)
        return dt_bad_shape(q, "(C1) cannot measure dimension %lld of %s", (long long)a->axis,
                            dt_text_of(x).s);
    if (x->dim[a->axis] > INT32_MAX)
        return dt_bad_shape(q, "(C2) cannot count dimension %lld of %s in int32",
                            (long long)a->axis, dt_text_of(x).s);
    q->out = dt_scalar_type(DT_INT32);
    return NULL;
}

static void eval(const dt_call *c) {
    const dt_axis_attr *a = c->node->attr;
    dt_cell_set_int(&c->out, 0, c->in[0].type.dim[a->axis]);
}

/* x may have any layout over devices: its whole size is known when the program is compiled. */
static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr,
                              dt_rule *rule) {
    (void)out, (void)attr;
    for (int d = 0; d < in[0].rank; d++) rule->in[0][d] = (int8_t)d;
}

static dt_value emit_size(dt_partition_call *c) {
    const dt_axis_attr *a = c->node->attr;
    dt_type whole = dt_type_at(&c->type[0], c->batch);
    c->out.partial = 0;
    return dt_scalar(c->trace, DT_INT32, (double)whole.dim[a->axis]);
}

static const dt_partition_row over_devices = {.rule = rule_over_devices, .emit = emit_size};

/* Writes the size as a constant, since the function is written for one batch size. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_axis_attr *a = c->node->attr;
    return dt_hlo_splat(c->hlo, &c->type, (double)c->in[0].type.dim[a->axis]);
}

const dt_op dt_op_get_dimension_size = {
    .name = "get_dimension_size",
    .n_in = 1,
    .role = DT_ROLE_SIZE,
    .attr = {.size = sizeof(dt_axis_attr), .print = dt_print_axis},
    .traits.varying = true,
    .infer = infer,
    .rule = dt_rule_none,
    .cost = dt_cost_none,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

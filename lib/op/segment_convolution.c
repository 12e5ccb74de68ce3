/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_convolution: y[s, ...] = convolution of the rows of segment s of lhs and rhs: the kernel
 * gradients of each replica's rows, side by side.
 *
 * (C1) to (C5) of convolution.
 * (C6) The cut is one of the three, and has at least one segment.
 * (C7) Dimension 0 of lhs and rhs is the batch, and what is summed over.
 *
 * Splitting: as convolution, but dimension 0 is whole: its borders are the segments'.
 */
#include <string.h>

#include "op/cells.h"
#include "op/convolution.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    DT_TRY(dt_segment_check(q, 6));
    for (int i = 0; i < 2; i++) DT_TRY(dt_segment_wants_batch(q, &q->in[i], 7));
    dt_type entry;
    DT_TRY(dt_convolution_infer(q, &a->convolution, &entry));
    if (a->convolution.lhs_feature != 0 || a->convolution.rhs_in != 0)
        return dt_bad_shape(q, "(C7) must sum over dimension 0 of %s and %s",
                            dt_text_of(&q->in[0]).s, dt_text_of(&q->in[1]).s);
    q->out = dt_stack_type(a->count, &entry);
    return dt_check_result(q, 5);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_segment_attr *a = attr;
    dt_convolution_rule(in, &a->convolution, rule);
    dt_segment_stack_rule(out, rule);
}

static void eval(const dt_call *c) {
    const dt_segment_attr *a = c->node->attr;
    for (int s = 0; s < a->count; s++) {
        dt_view lhs = dt_segment_rows(c, &c->in[0], s), rhs = dt_segment_rows(c, &c->in[1], s);
        dt_view y = dt_view_entry(&c->out, s);
        dt_convolution_eval(&a->convolution, &lhs, &rhs, &y);
    }
}

static void cost(const dt_call *c, dt_cost *cost) {
    const dt_segment_attr *a = c->node->attr;
    dt_convolution_cost(&a->convolution, c, cost);
    dt_cost_segments(cost, a->count);
}

static void print(const void *attr, dt_str *out) {
    const dt_segment_attr *a = attr;
    dt_segment_print(a, out);
    dt_str_putc(out, ' ');
    dt_convolution_print(&a->convolution, out);
}

/* ---- over devices: as convolution is, rows aside ---- */

static dt_type entry_of(const dt_type *stacked) {
    dt_type entry = *stacked;
    memmove(entry.dim, entry.dim + 1, (DT_MAX_RANK - 1) * sizeof *entry.dim);
    entry.dim[--entry.rank] = 0;
    return entry;
}

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr,
                              dt_rule *rule) {
    const dt_segment_attr *a = attr;
    dt_type entry = entry_of(out);
    dt_convolution_rule_over_devices(in, &entry, &a->convolution, rule);
    dt_segment_stack_rule(out, rule);
}

static bool can_split(const dt_partition_call *c) {
    const dt_segment_attr *a = c->node->attr;
    dt_type entry = entry_of(&c->node->type);
    return dt_convolution_can_split(c, &a->convolution, &entry);
}

static dt_value emit_split(dt_partition_call *c) {
    dt_segment_attr a = *(const dt_segment_attr *)c->node->attr;
    dt_type entry = entry_of(&c->node->type);
    a.convolution = dt_convolution_split(c, &a.convolution, &entry);
    return dt_emit(c->trace, c->node->op, c->in, 2, &a);
}

static dt_hlo_value entry_hlo(const dt_hlo_call *c, const dt_hlo_value in[2], const dt_type *type) {
    const dt_segment_attr *a = c->node->attr;
    return dt_convolution_hlo(c->hlo, &a->convolution, in, type);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) { return dt_segment_hlo(c, entry_hlo); }

static const dt_partition_row over_devices = {rule_over_devices, can_split, emit_split};

const dt_op dt_op_segment_convolution = {
    .name = "segment_convolution",
    .n_in = 2,
    .role = DT_ROLE_PRODUCT,
    .attr = {.size = sizeof(dt_segment_attr), .print = print},
    .multiplied = 3,
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_dot_general: y[s, ...] = dot_general of the rows of segment s of a and b: the products of
 * each replica's rows, side by side.
 *
 * (C1), (C2), (C3) of dot_general.
 * (C4) The result has at most 8 dimensions.
 * (C5) The cut is one of the three, and has at least one segment.
 * (C6) Dimension 0 of a and b is the batch, and one of the contracted pairs.
 *
 * Splitting: as dot_general, but dimension 0 is whole: its borders are the segments'.
 */
#include <stdlib.h>

#include "op/cells.h"
#include "op/dot_general.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static bool contracts_rows(const dt_dot_attr *d) {
    for (int i = 0; i < d->n_contract && i < DT_MAX_RANK; i++)
        if (d->lhs_contract[i] == 0 && d->rhs_contract[i] == 0) return true;
    return false;
}

static dt_status *infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    DT_TRY(dt_segment_check(q, 5));
    for (int i = 0; i < 2; i++) DT_TRY(dt_segment_wants_batch(q, &q->in[i], 6));
    if (!contracts_rows(&a->dot))
        return dt_bad_shape(q, "(C6) must contract dimension 0 of %s and %s",
                            dt_text_of(&q->in[0]).s, dt_text_of(&q->in[1]).s);
    dt_type entry;
    DT_TRY(dt_dot_infer(q, &a->dot, &entry));
    q->out = dt_stack_type(a->count, &entry);
    return dt_check_result(q, 4);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_segment_attr *a = attr;
    dt_dot_rule(in, &a->dot, rule);
    dt_segment_stack_rule(out, rule);
}

static void eval(const dt_call *c) {
    const dt_segment_attr *a = c->node->attr;
    for (int s = 0; s < a->count; s++) {
        dt_view lhs = dt_segment_rows(c, &c->in[0], s), rhs = dt_segment_rows(c, &c->in[1], s);
        dt_view y = dt_view_entry(&c->out, s);
        dt_dot_eval(&a->dot, &lhs, &rhs, &y);
    }
}

static void cost(const dt_call *c, dt_cost *cost) {
    const dt_segment_attr *a = c->node->attr;
    dt_dot_cost(&a->dot, c, cost);
    dt_cost_segments(cost, a->count);
}

static void print(const void *attr, dt_str *out) {
    const dt_segment_attr *a = attr;
    dt_segment_print(a, out);
    dt_str_putc(out, ' ');
    dt_dot_print(&a->dot, out);
}

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    rule(in, out, attr, r);
    dt_segment_replica_factor(r, 2);
}

static dt_hlo_value entry_hlo(const dt_hlo_call *c, const dt_hlo_value in[2], const dt_type *type) {
    const dt_segment_attr *a = c->node->attr;
    return dt_dot_hlo(c->hlo, &a->dot, in, type);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) { return dt_segment_hlo(c, entry_hlo); }

static const dt_partition_row over_devices = {
    .rule = rule_over_devices, .can = dt_segment_can, .emit = dt_segment_emit};

const dt_op dt_op_segment_dot_general = {
    .name = "segment_dot_general",
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

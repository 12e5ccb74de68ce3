/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimization_barrier: y = x, computed only after `after`. StableHLO's optimization_barrier takes
 * any number of values and returns them all; this one returns the first.
 *
 * Since y is another node than x, passes that merge equal nodes do not merge an op on y with the
 * same op on x. So a value can be computed a second time, later (pass/remat.c). The executor copies
 * nothing: y is another name for x, in a separate segment (pass/partition.c).
 *
 * x and `after` may differ in dtype and shape; where both have rows, these belong to the same
 * examples.
 */
#include "op/cells.h"
#include "op/partition.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static bool share_rows(const dt_type *in) {
    return in[0].rank > 0 && in[1].rank > 0 && in[0].dim[0] < 0 && in[1].dim[0] < 0;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) rule->in[0][d] = rule->out[d] = (int8_t)d;
    if (share_rows(in)) rule->in[1][0] = 0;
}

static void grad(dt_grad *g) {
    g->din[0] = g->dout;
    if (g->wants[1]) g->din[1] = dt_like(g->in[1], 0);
}

/* Emits the barrier over stacked inputs. Of the second input only the time matters, so it may be
 * stacked or not. */
static dt_value stack(const dt_fold_call *c) {
    return dt_emit(c->trace, c->node->op, c->in, 2, NULL);
}

/* Over devices, `after` may have any layout, and its partial sums are not completed. */

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    rule(in, out, attr, r);
    for (int d = 0; d < in[1].rank; d++)
        if (r->in[1][d] < 0) r->in[1][d] = (int8_t)(DT_MAX_RANK + d);
}

static dt_value emit(dt_partition_call *c) {
    c->out.partial = 0;
    return dt_partition_same(c);
}

static const dt_partition_row over_devices = {.rule = rule_over_devices, .emit = emit};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_hlo_barrier(c->hlo, c->in[0], c->in[1]);
}

const dt_op dt_op_optimization_barrier = {
    .name = "optimization_barrier",
    .n_in = 2,
    .role = DT_ROLE_NAME,
    .traits = {.exact = true, .read_through = true},
    .linear = 1,
    .infer = dt_infer_same,
    .grad = grad,
    .rule = rule,
    .cost = dt_cost_none,
    .eval = dt_eval_copy,
    .stack = stack,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

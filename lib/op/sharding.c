/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_call @Sharding: y = x, annotated with its placement on the logical devices of a replica.
 * Kinds are those of XLA's OpSharding.
 *
 *     {devices=[1,2,4,1]0,1,2,3,4,5,6,7}   cut into tiles, one for each device, the last dimension
 *                                          fastest
 *     {maximal device=1}                   whole, on one device
 *     {replicated}                         whole, on each device
 *
 * (C1) For tiles, and for an opposite layout, there is a number of parts for each dimension of x,
 * at least 1.
 * (C2) The number of the device is at least 0.
 *
 * The gradient gets the same layout, or the opposite one (dt_sharding_attr.opposite), or goes back
 * to the device that x is on. Nothing is computed: back ends that run one device per replica read
 * x (pass/rewrite.c).
 */
#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"
#include "op/placement.h"

static dt_status *infer(dt_infer *q) {
    const dt_sharding_attr *a = q->attr;
    q->out = q->in[0];
    if ((a->kind == DT_SHARDING_OTHER || a->opposite) && a->rank != q->in[0].rank)
        return dt_bad_shape(
            q, "(C1) expected a number of parts for each of the %d dimensions of %s, got %d",
            q->in[0].rank, dt_text_of(&q->in[0]).s, a->rank);
    for (int d = 0; d < a->rank; d++)
        if (a->parts[d] < 1)
            return dt_bad_shape(q, "(C1) cannot cut dimension %d into %lld parts", d,
                                (long long)a->parts[d]);
    if (a->device < 0) return dt_bad_shape(q, "(C2) unknown device %lld", (long long)a->device);
    return NULL;
}

/* The gradient of a value has the layout of the value, or the opposite one if the attributes ask
 * for it. If the value was moved to a device from a single one, the gradient is moved back
 * there. */
static void grad(dt_grad *g) {
    const dt_sharding_attr *a = g->node->attr;
    int from = dt_placement_of_value(g->in[0]).device;
    bool back = a->kind == DT_SHARDING_MAXIMAL && from >= 0;
    dt_sharding_attr there = *a;
    if (a->opposite)
        there.kind = a->kind == DT_SHARDING_OTHER ? DT_SHARDING_REPLICATED : DT_SHARDING_OTHER;
    g->din[0] = back ? dt_move_to(g->dout, from) : dt_annotate(g->dout, &there);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in, (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) rule->in[0][d] = rule->out[d] = (int8_t)d;
}

/* The dimension that stacks replicas is not divided over the devices of a replica. */
static dt_value stack(const dt_fold_call *c) {
    dt_sharding_attr a = *(const dt_sharding_attr *)c->node->attr;
    if (a.rank > 0) {
        for (int d = a.rank++; d > 0; d--) a.parts[d] = a.parts[d - 1];
        a.parts[0] = 1;
    }
    return dt_annotate(c->in[0], &a);
}

static void print(const void *attr, dt_str *out) {
    const dt_sharding_attr *a = attr;
    int64_t devices = 1;
    if (a->kind == DT_SHARDING_MAXIMAL)
        dt_str_printf(out, "@Sharding {maximal device=%lld}", (long long)a->device);
    if (a->kind == DT_SHARDING_REPLICATED) dt_str_puts(out, "@Sharding {replicated}");
    if (a->opposite) dt_str_puts(out, " gradient");
    if (a->kind != DT_SHARDING_OTHER) return;
    dt_str_puts(out, "@Sharding {devices=[");
    for (int d = 0; d < a->rank; devices *= a->parts[d++])
        dt_str_printf(out, "%s%lld", d ? "," : "", (long long)a->parts[d]);
    dt_str_putc(out, ']');
    for (int64_t i = 0; i < devices && i < 64; i++)
        dt_str_printf(out, "%s%lld", i ? "," : "", (long long)i);
    dt_str_puts(out, devices > 64 ? ",...}" : "}");
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) { return c->in[0]; }

const dt_op dt_op_sharding = {
    .name = "custom_call",
    .n_in = 1,
    .role = DT_ROLE_NOTE,
    .attr = {.size = sizeof(dt_sharding_attr), .print = print},
    .traits = {.exact = true, .read_through = true},
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = dt_cost_none,
    .eval = dt_eval_copy,
    .stack = stack,
    .forms.stablehlo = stablehlo,
};

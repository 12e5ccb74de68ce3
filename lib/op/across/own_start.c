/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index at which a device's part begins, one int64: its rank among the devices along `axes`
 * times `low`, the number of elements that each holds. In StableHLO it is the product of `low` and
 * the rank, which is computed from replica_id. Nothing is sent.
 */
#include "op/across.h"

#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    q->out = dt_scalar_type(DT_INT64);
    return NULL;
}

static int64_t start_of(const dt_across_attr *a, int device) {
    return dt_across_rank(a, device) * a->low;
}

static void eval(const dt_call *c) {
    dt_cell_set_int(&c->out, 0, start_of(c->node->attr, c->env->replica));
}

static dt_value plain(const dt_plain_call *c) {
    return dt_scalar(c->trace, DT_INT64, (double)start_of(c->node->attr, c->device));
}

static void print(const void *attr, dt_str *out) {
    dt_across_print(attr, out);
    dt_str_printf(out, " parts of %lld", (long long)((const dt_across_attr *)attr)->low);
}

static const struct dt_across_row row = {DT_ACROSS_NOTHING, plain, dt_across_bytes_none};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_across_attr *a = c->node->attr;
    dt_hlo_value rank = dt_hlo_rank(c->hlo, &a->mesh, a->axes);
    return dt_hlo_binary(c->hlo, "multiply", rank, dt_hlo_like(c->hlo, rank, (double)a->low));
}

const dt_op dt_op_across_own_start = {
    .name = "own_start",
    .n_in = 0,
    .attr = {.size = sizeof(dt_across_attr), .print = print},
    .infer = infer,
    .rule = dt_rule_none,
    .cost = dt_cost_none,
    .eval = eval,
    .across = &row,
    .forms.stablehlo = stablehlo,
};

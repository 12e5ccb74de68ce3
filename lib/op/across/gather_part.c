/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather from a part of a table: the inputs are the part (the rows from number `first` on, of a
 * table of `low` rows), row numbers in the whole table, and `first`, an int64. A row number of
 * another part yields 0, so that the sum over all parts is the gather from the whole table. In
 * `eval` a number that is not in the whole table yields NaN (0 for integers), as in gather; in
 * StableHLO it yields 0.
 */
#include "op/across.h"

#include "op/gather.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) { return dt_gather_infer(q, &q->out); }

static void eval(const dt_call *c) {
    dt_gather_eval(c, *(const int64_t *)c->in[2].data,
                   ((const dt_across_attr *)c->node->attr)->low);
}

static void print(const void *attr, dt_str *out) {
    dt_str_printf(out, "of %lld rows", (long long)((const dt_across_attr *)attr)->low);
}

/* Writes rows of the device's part of the table, and zeros where a row number belongs to another
 * device or to none. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    dt_hlo *h = c->hlo;
    dt_hlo_value index = dt_hlo_convert(h, c->in[1], DT_INT64),
                 rows = dt_hlo_like(h, index, (double)c->in[0].type.dim[0]);
    dt_type all = c->type;
    index = dt_hlo_binary(h, "subtract", index, dt_hlo_broadcast(h, c->in[2], &index.type, NULL));
    dt_hlo_value from = dt_hlo_compare(h, DT_GE, index, dt_hlo_like(h, index, 0)),
                 to = dt_hlo_compare(h, DT_LT, index, rows);
    dt_hlo_value own = dt_hlo_binary(h, "and", from, to),
                 y = dt_hlo_gather(h, c->in[0], index, &c->type);
    int8_t dims[] = {0, 1, 2, 3, 4, 5, 6, 7};
    all.dtype = DT_BOOL;
    return dt_hlo_select(h, dt_hlo_broadcast(h, own, &all, dims), y, dt_hlo_like(h, y, 0));
}

const dt_op dt_op_across_gather_part = {
    .name = "gather_part",
    .n_in = 3,
    .attr = {.size = sizeof(dt_across_attr), .print = print},
    .linear = 1,
    .infer = infer,
    .rule = dt_gather_rule,
    .cost = dt_gather_cost,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};

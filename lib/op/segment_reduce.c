/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_reduce: y[s, ...] = reduce of the rows of segment s: (B, ...) -> (S, ...). What reduce
 * says of empty sums and order holds for each segment.
 *
 * (C1), (C2) of reduce.
 * (C3) The cut is one of the three, and has at least one segment.
 * (C4) Dimension 0 of x is the batch, and among the dimensions reduced.
 *
 * Splitting: as reduce, but dimension 0 is whole: its borders are the segments'.
 */
#include <stdlib.h>

#include "op/cells.h"
#include "op/reduce.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

dt_status *dt_segment_reduce_infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    DT_TRY(dt_segment_check(q, 3));
    DT_TRY(dt_segment_wants_batch(q, &q->in[0], 4));
    if (!(a->reduce.dims & 1))
        return dt_bad_shape(q, "(C4) must reduce dimension 0 of %s", dt_text_of(&q->in[0]).s);
    dt_type entry;
    DT_TRY(dt_reduce_infer(q, &a->reduce, &entry));
    q->out = dt_stack_type(a->count, &entry);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out;
    const dt_segment_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 1, kept = 1; d < in[0].rank; d++) {
        rule->in[0][d] = (int8_t)d;
        if (!(a->reduce.dims >> d & 1)) rule->out[kept++] = (int8_t)d;
    }
}

static void eval(const dt_call *c) {
    const dt_segment_attr *a = c->node->attr;
    for (int s = 0; s < a->count; s++) {
        dt_view x = dt_segment_rows(c, &c->in[0], s), y = dt_view_entry(&c->out, s);
        dt_reduce_eval(&a->reduce, &x, &y);
    }
}

void dt_segment_reduce_print(const void *attr, dt_str *out) {
    const dt_segment_attr *a = attr;
    dt_segment_print(a, out);
    dt_str_putc(out, ' ');
    dt_reduce_print(&a->reduce, out);
}

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    rule(in, out, attr, r);
    dt_segment_replica_factor(r, 1);
}

static const dt_partition_row over_devices = {
    .rule = rule_over_devices, .can = dt_segment_can, .emit = dt_segment_emit};

/* One after the other, and joined. */
static dt_hlo_value apart(const dt_hlo_call *c) {
    const dt_segment_attr *a = c->node->attr;
    const dt_type *x = &c->in[0].type;
    dt_hlo_value *entry = dt_alloc(dt_size_mul((size_t)a->count, sizeof *entry));
    dt_type one = c->type;

    one.dim[0] = 1;
    for (int s = 0; s < a->count; s++) {
        const int64_t from = dt_segment_hlo_border(c, x, s),
                      to = dt_segment_hlo_border(c, x, s + 1);
        dt_hlo_value rows = dt_hlo_slice(c->hlo, c->in[0], 0, from, to - from),
                     sum = dt_hlo_reduce(c->hlo, a->reduce.kind, rows, a->reduce.dims);
        entry[s] = dt_hlo_reshape(c->hlo, sum, one.rank, one.dim);
    }
    dt_hlo_value all = dt_hlo_concatenate(c->hlo, entry, a->count, 0);
    free(entry);
    return all;
}

/* All segments having as many rows: (B, ...) is (S, B / S, ...). */
static dt_hlo_value together(const dt_hlo_call *c) {
    const dt_segment_attr *a = c->node->attr;
    const dt_type *x = &c->in[0].type;
    int64_t dim[DT_MAX_RANK + 1] = {a->count, x->dim[0] / a->count};
    for (int d = 1; d < x->rank; d++) dim[d + 1] = x->dim[d];
    return dt_hlo_reduce(c->hlo, a->reduce.kind, dt_hlo_reshape(c->hlo, c->in[0], x->rank + 1, dim),
                         a->reduce.dims << 1);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_segment_hlo_is_even(c) ? together(c) : apart(c);
}

const dt_op dt_op_segment_reduce = {
    .name = "segment_reduce",
    .n_in = 1,
    .role = DT_ROLE_REDUCE,
    .attr = {.size = sizeof(dt_segment_attr), .print = dt_segment_reduce_print},
    .infer = dt_segment_reduce_infer,
    .rule = rule,
    .cost = dt_reduce_cost,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

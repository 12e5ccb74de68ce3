/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_broadcast: every row of y is the entry of x for the segment the row is in: (S, ...) ->
 * (B, ...).
 *
 * (C1) The cut is one of the three, and has at least one segment.
 * (C2) Dimension 0 of y is the batch, and no other dimension.
 * (C3) Dimension 0 of x counts the segments; the others, and the dtype, are y's.
 *
 * Splitting: along all dimensions but dimension 0.
 */

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    q->out = a->type;
    DT_TRY(dt_segment_check(q, 1));
    DT_TRY(dt_check_result(q, 2));
    DT_TRY(dt_segment_wants_batch(q, &q->out, 2));
    dt_type wanted = q->out;
    wanted.dim[0] = a->count;
    if (!dt_type_equal(&q->in[0], &wanted))
        return dt_bad_shape(q, "(C3) expected %s to make %s, got %s", dt_text_of(&wanted).s,
                            dt_text_of(&q->out).s, dt_text_of(&q->in[0]).s);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    dt_rule_elementwise(in, out, attr, rule);
    rule->in[0][0] = rule->out[0] = -1;
}

static void eval(const dt_call *c) {
    const dt_segment_attr *a = c->node->attr;
    for (int s = 0; s < a->count; s++) {
        dt_view entry = dt_view_entry(&c->in[0], s), rows = dt_segment_rows(c, &c->out, s);
        int64_t n = dt_type_elements(&entry.type);
        for (int64_t i = 0, end = dt_type_elements(&rows.type); i < end; i++)
            dt_cell_copy(&rows, i, &entry, i % n);
    }
}

static void print(const void *attr, dt_str *out) { dt_segment_print(attr, out); }

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    rule(in, out, attr, r);
    dt_segment_replica_factor(r, 1);
}

static const dt_partition_row over_devices = {
    .rule = rule_over_devices, .can = dt_segment_can, .emit = dt_segment_emit};

/* StableHLO for segments of different lengths: emits them one by one and joins them. */
static dt_hlo_value apart(const dt_hlo_call *c) {
    const dt_segment_attr *a = c->node->attr;
    DT_LOCAL dt_hlo_value *rows = dt_alloc(dt_size_mul((size_t)a->count, sizeof *rows));
    dt_type part = c->type;
    int8_t dims[DT_MAX_RANK] = {0};

    for (int d = 1; d < part.rank; d++) dims[d - 1] = (int8_t)d;
    for (int s = 0; s < a->count; s++) {
        part.dim[0] =
            dt_segment_hlo_border(c, &c->type, s + 1) - dt_segment_hlo_border(c, &c->type, s);
        dt_hlo_value entry = dt_hlo_slice(c->hlo, c->in[0], 0, s, 1);
        rows[s] = dt_hlo_broadcast(
            c->hlo, dt_hlo_reshape(c->hlo, entry, part.rank - 1, part.dim + 1), &part, dims);
    }
    return dt_hlo_concatenate(c->hlo, rows, a->count, 0);
}

/* StableHLO for segments with equal numbers of rows. */
static dt_hlo_value together(const dt_hlo_call *c) {
    const dt_segment_attr *a = c->node->attr;
    dt_type wide = {.dtype = c->type.dtype,
                    .rank = c->type.rank + 1,
                    .dim = {a->count, c->type.dim[0] / a->count}};
    int8_t dims[DT_MAX_RANK] = {0};
    for (int d = 1; d < c->type.rank; d++) {
        wide.dim[d + 1] = c->type.dim[d];
        dims[d] = (int8_t)(d + 1);
    }
    return dt_hlo_reshape(c->hlo, dt_hlo_broadcast(c->hlo, c->in[0], &wide, dims), c->type.rank,
                          c->type.dim);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_segment_hlo_is_even(c) ? together(c) : apart(c);
}

const dt_op dt_op_segment_broadcast = {
    .name = "segment_broadcast",
    .n_in = 1,
    .attr = {.size = sizeof(dt_segment_attr),
             .type = 1 + offsetof(dt_segment_attr, type),
             .print = print},
    .traits = {.exact = true, .read_through = true},
    .infer = infer,
    .rule = rule,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

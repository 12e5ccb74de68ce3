/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_sizes: y[s] = the number of examples in segment s, int32.
 *
 * (C1) The cut is one of the three, and has at least one segment.
 */
#include <stdlib.h>

#include "op/cells.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    DT_TRY(dt_segment_check(q, 1));
    q->out = dt_type_of(DT_INT32, 1, (int64_t[]){a->count});
    return NULL;
}

static void eval(const dt_call *c) {
    const dt_segment_attr *a = c->node->attr;
    for (int s = 0; s < a->count; s++)
        dt_cell_set_int(&c->out, s, dt_segment_border(c, s + 1) - dt_segment_border(c, s));
}

static void print(const void *attr, dt_str *out) { dt_segment_print(attr, out); }

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    dt_rule_none(in, out, attr, r);
    dt_segment_replica_factor(r, 0);
}

static const dt_partition_row over_devices = {
    .rule = rule_over_devices, .can = dt_segment_can, .emit = dt_segment_emit};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const int count = ((const dt_segment_attr *)c->node->attr)->count;
    const dt_type examples = dt_type_of(DT_INT32, 1, (int64_t[]){c->hlo->batch}),
                  one = dt_type_of(DT_INT32, 1, (int64_t[]){1});
    dt_hlo_value *size, all;

    if (dt_segment_hlo_is_even(c))
        return dt_hlo_splat(c->hlo, &c->type, (double)(c->hlo->batch / count));
    size = dt_alloc(dt_size_mul((size_t)count, sizeof *size));
    for (int s = 0; s < count; s++)
        size[s] = dt_hlo_splat(c->hlo, &one,
                               (double)(dt_segment_hlo_border(c, &examples, s + 1) -
                                        dt_segment_hlo_border(c, &examples, s)));
    all = dt_hlo_concatenate(c->hlo, size, count, 0);
    free(size);
    return all;
}

const dt_op dt_op_segment_sizes = {
    .name = "segment_sizes",
    .n_in = 0,
    .attr = {.size = sizeof(dt_segment_attr), .print = print},
    .traits.varying = true,
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

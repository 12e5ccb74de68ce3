/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iota: y[..., i, ...] = i, counted along `axis`. The type may contain the batch.
 *
 * (C1) Only dimension 0 of the type may be the batch.
 * (C2) axis is a dimension of the type.
 * (C3) The elements are numbers.
 *
 * Splitting: along every dimension but `axis`, since a part does not know its first index; over
 * devices that is known, so along `axis`, too.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/partition.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_iota_attr *a = q->attr;
    q->out = a->type;
    DT_TRY(dt_check_result(q, 1));
    if (a->axis < 0 || a->axis >= a->type.rank)
        return dt_bad_shape(q, "(C2) cannot count along dimension %lld of %s", (long long)a->axis,
                            dt_text_of(&a->type).s);
    if (a->type.dtype == DT_BOOL)
        return dt_bad_shape(q, "(C3) expected numbers, got %s", dt_text_of(&a->type).s);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_iota_attr *a = attr;
    dt_rule_elementwise(in, out, attr, rule);
    rule->out[a->axis] = -1;
}

static void eval(const dt_call *c) {
    const dt_iota_attr *a = c->node->attr;
    const dt_type *t = &c->out.type;
    int64_t stride[DT_MAX_RANK];
    dt_strides(t, stride);
    for (int64_t i = 0, n = dt_type_elements(t); i < n; i++) {
        int64_t index = i / stride[a->axis] % t->dim[a->axis];
        dt_cell_set_int(&c->out, i, index);
    }
}

static void print(const void *attr, dt_str *out) {
    const dt_iota_attr *a = attr;
    dt_str_printf(out, "axis=%lld", (long long)a->axis);
}

static dt_value emit_part(dt_partition_call *c) {
    const dt_iota_attr *a = c->node->attr;
    dt_type type = dt_partition_type(c);
    if (!c->factor[a->axis]) return dt_partition_same(c);
    return dt_convert(dt_partition_iota(c, &type, (int)a->axis, c->factor[a->axis]), type.dtype);
}

static const dt_partition_row over_devices = {.rule = dt_rule_elementwise, .emit = emit_part};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_iota_attr *a = c->node->attr;
    return dt_hlo_op(c->hlo, "iota", NULL, 0, &c->type, "iota_dimension = %lld : i64",
                     (long long)a->axis);
}

const dt_op dt_op_iota = {
    .name = "iota",
    .n_in = 0,
    .role = DT_ROLE_COUNTER,
    .attr = {.size = sizeof(dt_iota_attr),
             .type = 1 + offsetof(dt_iota_attr, type),
             .print = print},
    .infer = infer,
    .rule = rule,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable: the value of a variable at the start of the step. Its attribute has its type and
 * its number among the graph's states. Its value needs no computation.
 *
 * (C1) The type has no batch dimension: a variable outlives every batch.
 */
#include "op/elementwise.h"
#include "op/shapes.h"

static dt_status *infer(dt_infer *q) {
    const dt_index_attr *a = q->attr;
    q->out = a->type;
    if (dt_type_has_batch(&a->type))
        return dt_bad_shape(q, "(C1) expected a shape without the batch, got %s",
                            dt_text_of(&a->type).s);
    return dt_check_result(q, 1);
}

const dt_op dt_op_variable = {
    .name = "variable",
    .n_in = 0,
    .role = DT_ROLE_STATE,
    .attr = {.size = sizeof(dt_index_attr), .print = dt_print_index},
    .traits.exact = true,
    .infer = infer,
    .rule = dt_rule_elementwise,
    .cost = dt_cost_none,
};

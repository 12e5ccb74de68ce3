/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parameter: an argument of the step, which the caller supplies for each run. Its attribute has its
 * type and its number among the graph's arguments. Its value needs no computation.
 *
 * (C1) Only dimension 0 of the type may be the batch.
 */
#include "op/elementwise.h"
#include "op/shapes.h"

static dt_status *infer(dt_infer *q) {
    const dt_index_attr *a = q->attr;
    q->out = a->type;
    return dt_check_result(q, 1);
}

const dt_op dt_op_parameter = {
    .name = "parameter",
    .n_in = 0,
    .role = DT_ROLE_ARGUMENT,
    .attr = {.size = sizeof(dt_index_attr), .print = dt_print_index},
    .traits.exact = true,
    .infer = infer,
    .rule = dt_rule_elementwise,
    .cost = dt_cost_none,
};

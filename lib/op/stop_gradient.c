/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop_gradient: y = x. No gradient flows through it.
 *
 * gradient: none
 * stablehlo: x itself
 *
 * It is for terms whose gradients are known to cancel, such as the mean inside a variance.
 * dt_simplify removes the op.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static void eval(const dt_call *c) {
    int64_t n = dt_type_elements(&c->out.type);
    for (int64_t i = 0; i < n; i++) dt_cell_copy(&c->out, i, &c->in[0], i);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) { return c->in[0]; }

const dt_op dt_op_stop_gradient = {
    .name = "stop_gradient",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .traits = {.exact = true, .read_through = true},
    .linear = 1,
    .infer = dt_infer_any,
    .rule = dt_rule_elementwise,
    .cost = dt_cost_none,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};

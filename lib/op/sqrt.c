/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqrt: y = the square root of x; NaN below 0.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy / (2 y)
 */
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy / (2 y) */
static void grad(dt_grad *g) { g->din[0] = dt_divide(g->dout, dt_add(g->out, g->out)); }

static void eval(const dt_call *c) { dt_eval_unary(c, sqrt, NULL); }

const dt_op dt_op_sqrt = {
    .name = "sqrt",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .positive = true,
    .operations = 2,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Sqrt",
};

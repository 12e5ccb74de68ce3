/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tanh: y = the hyperbolic tangent of x.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy (1 - y^2)
 */
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy * (1 - y^2) */
static void grad(dt_grad *g) {
    dt_value slope = dt_subtract(dt_like(g->out, 1), dt_multiply(g->out, g->out));
    g->din[0] = dt_multiply(g->dout, slope);
}

static void eval(const dt_call *c) { dt_eval_unary(c, tanh, NULL); }

const dt_op dt_op_tanh = {
    .name = "tanh",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .operations = 2,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Tanh",
};

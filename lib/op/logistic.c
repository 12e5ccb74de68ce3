/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logistic: y = 1 / (1 + e^-x), the sigmoid.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy y (1 - y)
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* dx = dy * y * (1 - y) */
static void grad(dt_grad *g) {
    dt_value slope = dt_multiply(g->out, dt_subtract(dt_like(g->out, 1), g->out));
    g->din[0] = dt_multiply(g->dout, slope);
}

static double floats(double x) { return 1 / (1 + dt_portable_exp(-x)); }

static void eval(const dt_call *c) { dt_eval_unary(c, floats, NULL); }

const dt_op dt_op_logistic = {
    .name = "logistic",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .operations = 3,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Sigmoid",
};

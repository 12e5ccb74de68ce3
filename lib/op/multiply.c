/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiply: y = a * b.
 *
 * (C1) a and b have one dtype.
 * (C2) They hold numbers; integers wrap.
 *
 * gradient: da = dy b, db = dy a
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* da = dy * b, db = dy * a */
static void grad(dt_grad *g) {
    if (g->wants[0]) g->din[0] = dt_multiply(g->dout, g->in[1]);
    if (g->wants[1]) g->din[1] = dt_multiply(g->dout, g->in[0]);
}

static double floats(double a, double b) { return a * b; }

static void eval(const dt_call *c) { dt_eval_binary(c, floats, dt_int_multiply); }

const dt_op dt_op_multiply = {
    .name = "multiply",
    .n_in = 2,
    .role = DT_ROLE_ELEMENT,
    .linear = 3,
    .infer = dt_infer_numbers,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Mul",
};

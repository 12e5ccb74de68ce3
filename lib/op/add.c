/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add: y = a + b.
 *
 * (C1) a and b have one dtype.
 * (C2) They hold numbers; integers wrap.
 *
 * gradient: da = dy, db = dy
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* da = dy, db = dy */
static void grad(dt_grad *g) {
    g->din[0] = g->dout;
    g->din[1] = g->dout;
}

static double floats(double a, double b) { return a + b; }

static void eval(const dt_call *c) { dt_eval_binary(c, floats, dt_int_add); }

const dt_op dt_op_add = {
    .name = "add",
    .n_in = 2,
    .role = DT_ROLE_ELEMENT,
    .additive = true,
    .infer = dt_infer_numbers,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Add",
};

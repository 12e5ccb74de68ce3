/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exponential: y = e to the power of x.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy y
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy * y */
static void grad(dt_grad *g) { g->din[0] = dt_multiply(g->dout, g->out); }

static void eval(const dt_call *c) { dt_eval_unary(c, dt_portable_exp, NULL); }

const dt_op dt_op_exponential = {
    .name = "exponential",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .operations = 2,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Exp",
};

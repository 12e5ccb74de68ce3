/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: y = the natural logarithm of x; NaN below 0, -inf at 0.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy / x
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy / x */
static void grad(dt_grad *g) { g->din[0] = dt_divide(g->dout, g->in[0]); }

static void eval(const dt_call *c) { dt_eval_unary(c, dt_portable_log, NULL); }

const dt_op dt_op_log = {
    .name = "log",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .positive = true,
    .operations = 2,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Log",
};

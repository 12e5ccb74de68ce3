/* SPDX-License-Identifier: Apache-2.0 */
/*
 * negate: y = -x.
 *
 * (C1) x holds numbers; integers wrap.
 *
 * gradient: dx = -dy
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

static void grad(dt_grad *g) { g->din[0] = dt_negate(g->dout); }

static double floats(double x) { return -x; }

static int64_t ints(int64_t x) { return dt_int_subtract(0, x); }

static void eval(const dt_call *c) { dt_eval_unary(c, floats, ints); }

const dt_op dt_op_negate = {
    .name = "negate",
    .exact = true,
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .linear = 1,
    .infer = dt_infer_numbers,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Neg",
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sign: y = -1, 0 or 1; a zero keeps its sign, and NaN stays NaN.
 *
 * (C1) x holds numbers.
 *
 * gradient: none
 */
#include "op/elementwise.h"
#include "op/stablehlo.h"

static double floats(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

static int64_t ints(int64_t x) { return (x > 0) - (x < 0); }

static void eval(const dt_call *c) { dt_eval_unary(c, floats, ints); }

const dt_op dt_op_sign = {
    .name = "sign",
    .exact = true,
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .infer = dt_infer_numbers,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Sign",
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * divide: y = a / b. Integers are divided towards zero; x / 0 is -1 (all bits set), and the lowest
 * number / -1 is itself.
 *
 * (C1) a and b have one dtype.
 * (C2) They hold numbers.
 *
 * gradient: da = dy / b, db = -dy y / b
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* da = dy / b, db = -da * y */
static void grad(dt_grad *g) {
    dt_value da = dt_divide(g->dout, g->in[1]);
    g->din[0] = da;
    if (g->wants[1]) g->din[1] = dt_negate(dt_multiply(da, g->out));
}

static double floats(double a, double b) { return a / b; }

static int64_t ints(int64_t a, int64_t b) {
    if (b == 0) return -1;
    return b == -1 ? dt_int_subtract(0, a) : a / b;
}

static void eval(const dt_call *c) { dt_eval_binary(c, floats, ints); }

const dt_op dt_op_divide = {
    .name = "divide",
    .n_in = 2,
    .role = DT_ROLE_ELEMENT,
    .positive = true,
    .linear = 1,
    .infer = dt_infer_numbers,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Div",
};

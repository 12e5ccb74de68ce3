/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abs: y = |x|.
 *
 * (C1) x holds numbers; the lowest integer becomes itself.
 *
 * gradient: dx = dy sign(x), 0 at 0
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy * sign(x) */
static void grad(dt_grad *g) { g->din[0] = dt_multiply(g->dout, dt_sign(g->in[0])); }

static int64_t ints(int64_t x) { return x < 0 ? dt_int_subtract(0, x) : x; }

static void eval(const dt_call *c) { dt_eval_unary(c, fabs, ints); }

const dt_op dt_op_abs = {
    .name = "abs",
    .exact = true,
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .infer = dt_infer_numbers,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Abs",
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minimum: y = the smaller of a and b; NaN if one is; of bools: and.
 *
 * (C1) a and b have one dtype.
 *
 * gradient: dy to the smaller one; where a = b to b alone
 *
 * call: dt_value dt_clamp(dt_value x, double low, double high)
 * computes: y = minimum(maximum(x, low), high)
 * expects: x holds floats, or integers with low and high within their range
 * gradient: dx = dy between low and high, 0 elsewhere
 * stablehlo: maximum, minimum
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* da = dy where a < b, db = dy where b <= a */
static void grad(dt_grad *g) {
    if (g->wants[0]) g->din[0] = dt_placement(dt_compare(g->in[0], g->in[1], DT_LT), g->dout);
    if (g->wants[1]) g->din[1] = dt_placement(dt_compare(g->in[1], g->in[0], DT_LE), g->dout);
}

static int64_t ints(int64_t a, int64_t b) { return a < b ? a : b; }

static void eval(const dt_call *c) { dt_eval_binary(c, dt_double_min, ints); }

const dt_op dt_op_minimum = {
    .name = "minimum",
    .exact = true,
    .n_in = 2,
    .role = DT_ROLE_ELEMENT,
    .infer = dt_infer_any,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
};

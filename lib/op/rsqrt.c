/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rsqrt: y = 1 / the square root of x; NaN below 0, inf at 0.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = -dy y^3 / 2
 */
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy * -y^3 / 2 */
static void grad(dt_grad *g) {
    dt_value cube = dt_multiply(g->out, dt_multiply(g->out, g->out));
    g->din[0] = dt_multiply(g->dout, dt_multiply(cube, dt_like(g->out, -0.5)));
}

static double floats(double x) { return 1 / sqrt(x); }

static void eval(const dt_call *c) { dt_eval_unary(c, floats, NULL); }

const dt_op dt_op_rsqrt = {
    .name = "rsqrt",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .positive = true,
    .operations = 2,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
};

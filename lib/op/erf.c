/* SPDX-License-Identifier: Apache-2.0 */
/*
 * erf: y = 2 / sqrt(pi) * the integral of e^(-t^2) from 0 to x.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy 2 / sqrt(pi) e^(-x^2)
 * stablehlo: chlo.erf
 */
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy * 2 / sqrt(pi) * e^(-x^2) */
static void grad(dt_grad *g) {
    dt_value bell = dt_exponential(dt_negate(dt_multiply(g->in[0], g->in[0])));
    /* 2 / sqrt(pi) */
    g->din[0] = dt_multiply(g->dout, dt_multiply(bell, dt_like(bell, 1.1283791670955126)));
}

static void eval(const dt_call *c) { dt_eval_unary(c, erf, NULL); }

/* StableHLO has it in the dialect that it takes composites from. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_hlo_op(c->hlo, "chlo.erf", c->in, 1, &c->type, "%s", "");
}

const dt_op dt_op_erf = {
    .name = "erf",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .operations = 16,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = stablehlo,
    .onnx = "Erf",
};

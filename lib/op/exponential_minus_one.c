/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exponential_minus_one: y = e^x - 1, with all digits where x is small.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy e^x
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* dx = dy * e^x */
static void grad(dt_grad *g) { g->din[0] = dt_multiply(g->dout, dt_exponential(g->in[0])); }

static void eval(const dt_call *c) { dt_eval_unary(c, dt_portable_expm1, NULL); }

const dt_op dt_op_exponential_minus_one = {
    .name = "exponential_minus_one",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .operations = 4,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cosine: y = cos x.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = -dy sin(x)
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* dx = -dy * sin x */
static void grad(dt_grad *g) { g->din[0] = dt_multiply(g->dout, dt_negate(dt_sine(g->in[0]))); }

static void eval(const dt_call *c) { dt_eval_unary(c, dt_portable_cos, NULL); }

const dt_op dt_op_cosine = {
    .name = "cosine",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .operations = 118,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Cos",
};

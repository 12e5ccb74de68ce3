/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sine: y = sin x.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy cos(x)
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* dx = dy * cos x */
static void grad(dt_grad *g) { g->din[0] = dt_multiply(g->dout, dt_cosine(g->in[0])); }

static void eval(const dt_call *c) { dt_eval_unary(c, dt_portable_sin, NULL); }

const dt_op dt_op_sine = {
    .name = "sine",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Sin",
};

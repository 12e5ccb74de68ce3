/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_plus_one: y = log(1 + x), with all digits where x is small; NaN below -1, -inf at -1.
 *
 * (C1) x holds floats.
 *
 * gradient: dx = dy / (1 + x)
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

#include <math.h>

/* dx = dy / (1 + x) */
static void grad(dt_grad *g) {
    g->din[0] = dt_divide(g->dout, dt_add(g->in[0], dt_like(g->in[0], 1)));
}

static void eval(const dt_call *c) { dt_eval_unary(c, dt_portable_log1p, NULL); }

const dt_op dt_op_log_plus_one = {
    .name = "log_plus_one",
    .n_in = 1,
    .role = DT_ROLE_ELEMENT,
    .positive = true,
    .operations = 4,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
};

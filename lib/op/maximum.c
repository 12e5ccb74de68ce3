/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maximum: y = the larger of a and b; NaN if one is; of bools: or.
 *
 * (C1) a and b have one dtype.
 *
 * gradient: dy to the larger one; where a = b to b alone, so that the slope of relu, maximum(x, 0),
 * is 0 at 0
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* da = dy where a > b, db = dy where b >= a */
static void grad(dt_grad *g) {
    if (g->wants[0]) g->din[0] = dt_placement(dt_compare(g->in[0], g->in[1], DT_GT), g->dout);
    if (g->wants[1]) g->din[1] = dt_placement(dt_compare(g->in[1], g->in[0], DT_GE), g->dout);
}

static int64_t ints(int64_t a, int64_t b) { return a > b ? a : b; }

static void eval(const dt_call *c) { dt_eval_binary(c, dt_double_max, ints); }

const dt_op dt_op_maximum = {
    .name = "maximum",
    .exact = true,
    .n_in = 2,
    .role = DT_ROLE_ELEMENT,
    .infer = dt_infer_any,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
};

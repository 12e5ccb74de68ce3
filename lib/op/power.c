/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power: y = a to the power of b, as pow(3) defines it.
 *
 * (C1) a and b have one dtype.
 * (C2) They hold floats.
 *
 * gradient: da = dy b a^(b - 1), 0 where b = 0; db = dy y log(a), 0 where a <= 0
 */
#include "base/elementary.h"
#include "op/elementwise.h"
#include "op/stablehlo.h"

/* dy * b * a^(b - 1) */
static dt_value grad_base(const dt_grad *g) {
    dt_value a = g->in[0], b = g->in[1];
    dt_value is_zero = dt_compare(b, dt_like(b, 0), DT_EQ);
    dt_value safe = dt_select(is_zero, dt_like(b, 1), b);
    dt_value slope = dt_multiply(b, dt_power(a, dt_subtract(safe, dt_like(b, 1))));
    return dt_multiply(g->dout, slope);
}

/* dy * y * log a */
static dt_value grad_exponent(const dt_grad *g) {
    dt_value a = g->in[0];
    dt_value is_positive = dt_compare(a, dt_like(a, 0), DT_GT);
    dt_value safe = dt_select(is_positive, a, dt_like(a, 1));
    return dt_multiply(g->dout, dt_multiply(g->out, dt_log(safe)));
}

static void grad(dt_grad *g) {
    if (g->wants[0]) g->din[0] = grad_base(g);
    if (g->wants[1]) g->din[1] = grad_exponent(g);
}

static void eval(const dt_call *c) { dt_eval_binary(c, dt_portable_pow, NULL); }

const dt_op dt_op_power = {
    .name = "power",
    .n_in = 2,
    .role = DT_ROLE_ELEMENT,
    .positive = true,
    .operations = 5,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .stablehlo = dt_hlo_same,
    .onnx = "Pow",
};

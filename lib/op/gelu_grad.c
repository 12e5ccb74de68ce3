/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gelu_grad: the gradient of gelu, of x and dy. With P(x) of gelu, and s the sigmoid of z(x):
 *
 *     dx = dy (P(x) + x e^(-x^2 / 2) / sqrt(2 pi))
 *     dx = dy (s + x s (1 - s) z'(x)), z'(x) = 2 sqrt(2 / pi) (1 + 3 * 0.044715 x^2)        approximate
 *
 * (C1) x and dy have one type (C2) of floats.
 */
#include "op/gelu.h"

#include <math.h>

#include "op/elementwise.h"
#include "op/shapes.h"

static double by_erf(double x, double dy) {
    return dy * (0.5 * erfc(-x / M_SQRT2) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI));
}

/* Where s (1 - s) is 0, x squared may be infinite, so the product is not computed. */
static double by_tanh(double x, double dy) {
    double scale = 2 * sqrt(2 / M_PI), s = 1 / (1 + exp(-scale * (x + 0.044715 * x * x * x))),
           slope = s * (1 - s);
    return dy * (slope == 0 ? s : s + x * slope * scale * (1 + 3 * 0.044715 * x * x));
}

static void eval(const dt_call *c) {
    dt_eval_binary(c, ((const dt_gelu_attr *)c->node->attr)->approximate ? by_tanh : by_erf, NULL);
}

/* Counted: the share, its derivative, two products and a sum. */
static void cost(const dt_call *c, dt_cost *cost) {
    bool approximate = ((const dt_gelu_attr *)c->node->attr)->approximate != 0;
    double share = approximate ? 12 + dt_op_logistic.operations
                               : 6 + dt_op_erf.operations + dt_op_exponential.operations;
    *cost = dt_cost_vector(c, (3 + share) * (double)dt_type_elements(&c->out.type));
}

static dt_value decompose(dt_partition_call *c) {
    dt_value x = c->in[0], square = dt_multiply(x, x), slope;
    bool approximate = ((const dt_gelu_attr *)c->node->attr)->approximate;
    dt_value share = dt_gelu_share(x, approximate);
    if (approximate) {
        dt_value bend = dt_add(dt_multiply(square, dt_like(x, 3 * 0.044715)), dt_like(x, 1));
        slope = dt_multiply(dt_multiply(share, dt_subtract(dt_like(x, 1), share)),
                            dt_multiply(bend, dt_like(x, 2 * sqrt(2 / M_PI))));
    } else {
        slope = dt_multiply(dt_exponential(dt_multiply(square, dt_like(x, -0.5))),
                            dt_like(x, 1 / sqrt(2 * M_PI)));
    }
    return dt_multiply(c->in[1], dt_add(share, dt_multiply(x, slope)));
}

const dt_op dt_op_gelu_grad = {
    .name = "gelu_grad",
    .n_in = 2,
    .attr = {.size = sizeof(dt_gelu_attr), .print = dt_gelu_print},
    .role = DT_ROLE_ELEMENT,
    .linear = 2,
    .infer = dt_infer_floats,
    .rule = dt_rule_elementwise,
    .forms.loop = dt_gelu_loop,
    .cost = cost,
    .eval = eval,
    .forms.decompose = decompose,
};

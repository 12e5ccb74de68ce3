/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gelu: y = x times P(x), the probability that a standard normal number is below x:
 *
 *     y = x (1 + erf(x / sqrt(2))) / 2
 *     y = x sigmoid(z), z = 2 sqrt(2 / pi) (x + 0.044715 x^3)      with `approximate`
 *
 * sigmoid(z) equals (1 + tanh(z / 2)) / 2, but keeps its digits where 1 + tanh is nearly 0.
 *
 * (C1) x holds floats.
 *
 * A composite of element-wise ops, kept as one op so that intermediate values are never stored. D.
 * Hendrycks, K. Gimpel, Gaussian Error Linear Units (2016).
 */
#include <math.h>

#include "op/elementwise.h"
#include "op/partition.h"
#include "op/shapes.h"

static void grad(dt_grad *g) {
    g->din[0] =
        dt_emit(g->trace, &dt_op_gelu_grad, (dt_value[]){g->in[0], g->dout}, 2, g->node->attr);
}

static double by_erf(double x) { return 0.5 * x * erfc(-x / M_SQRT2); }

static double by_tanh(double x) {
    return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static void eval(const dt_call *c) {
    dt_eval_unary(c, ((const dt_gelu_attr *)c->node->attr)->approximate ? by_tanh : by_erf, NULL);
}

static void print(const void *attr, dt_str *out) {
    dt_str_puts(out, ((const dt_gelu_attr *)attr)->approximate ? "tanh" : "erf");
}

static int loop(const void *attr) { return ((const dt_gelu_attr *)attr)->approximate ? 1 : 0; }

/* Counts operations per element: 4 and those of erf or, with `approximate`, 9 and those of the
 * logistic function. */
static void cost(const dt_call *c, dt_cost *cost) {
    double share = ((const dt_gelu_attr *)c->node->attr)->approximate
                       ? 5 + dt_op_logistic.operations
                       : dt_op_erf.operations;
    *cost = dt_cost_vector(c, (4 + share) * (double)dt_type_elements(&c->out.type));
}

/* Emits P(x), of which gelu is x P(x): the share of a standard normal distribution below x, or its
 * approximation by tanh. */
static dt_value share_below(dt_value x, bool approximate) {
    if (approximate) {
        dt_value cube = dt_multiply(x, dt_multiply(x, x)),
                 z = dt_add(x, dt_multiply(cube, dt_like(x, 0.044715)));
        return dt_logistic(dt_multiply(z, dt_like(x, 2 * sqrt(2 / M_PI))));
    }
    return dt_multiply(dt_add(dt_erf(dt_multiply(x, dt_like(x, 1 / M_SQRT2))), dt_like(x, 1)),
                       dt_like(x, 0.5));
}

static dt_value decompose(dt_partition_call *c) {
    return dt_multiply(c->in[0],
                       share_below(c->in[0], ((const dt_gelu_attr *)c->node->attr)->approximate));
}

const dt_op dt_op_gelu = {
    .name = "gelu",
    .n_in = 1,
    .attr = {.size = sizeof(dt_gelu_attr), .print = print},
    .role = DT_ROLE_ELEMENT,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .forms.loop = loop,
    .cost = cost,
    .eval = eval,
    .forms.decompose = decompose,
};

/*
 * gelu_grad: the gradient of gelu, of x and dy. With P(x) of gelu, and s the sigmoid of z(x):
 *
 *     dx = dy (P(x) + x e^(-x^2 / 2) / sqrt(2 pi))
 *     approximate: dx = dy (s + x s (1 - s) z'(x)), z'(x) = 2 sqrt(2 / pi) (1 + 3 * 0.044715 x^2)
 *
 * (C1) x and dy have one type (C2) of floats.
 */

static double slope_by_erf(double x, double dy) {
    return dy * (0.5 * erfc(-x / M_SQRT2) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI));
}

/* Computes the gradient with `approximate`. For large x, s (1 - s) is 0 and x squared may be
 * infinite; their product, NaN, is avoided. */
static double slope_by_tanh(double x, double dy) {
    double scale = 2 * sqrt(2 / M_PI), s = 1 / (1 + exp(-scale * (x + 0.044715 * x * x * x))),
           slope = s * (1 - s);
    return dy * (slope == 0 ? s : s + x * slope * scale * (1 + 3 * 0.044715 * x * x));
}

static void eval_grad(const dt_call *c) {
    dt_eval_binary(
        c, ((const dt_gelu_attr *)c->node->attr)->approximate ? slope_by_tanh : slope_by_erf, NULL);
}

/* Counts operations per element: the probability P(x), its derivative, two products and a sum. */
static void cost_grad(const dt_call *c, dt_cost *cost) {
    bool approximate = ((const dt_gelu_attr *)c->node->attr)->approximate != 0;
    double share = approximate ? 12 + dt_op_logistic.operations
                               : 6 + dt_op_erf.operations + dt_op_exponential.operations;
    *cost = dt_cost_vector(c, (3 + share) * (double)dt_type_elements(&c->out.type));
}

static dt_value decompose_grad(dt_partition_call *c) {
    dt_value x = c->in[0], square = dt_multiply(x, x), slope;
    bool approximate = ((const dt_gelu_attr *)c->node->attr)->approximate;
    dt_value share = share_below(x, approximate);
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
    .attr = {.size = sizeof(dt_gelu_attr), .print = print},
    .role = DT_ROLE_ELEMENT,
    .linear = 2,
    .infer = dt_infer_floats,
    .rule = dt_rule_elementwise,
    .forms.loop = loop,
    .cost = cost_grad,
    .eval = eval_grad,
    .forms.decompose = decompose_grad,
};

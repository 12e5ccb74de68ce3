/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gelu: y = x times P(x), the probability that a standard normal number is below x:
 *
 *     y = x (1 + erf(x / sqrt(2))) / 2
 *     y = x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3))        approximate: x (1 + tanh z) / 2 with half that z
 *
 * The sigmoid keeps its digits where 1 + tanh is nearly 0.
 *
 * (C1) x is of floats.
 *
 * A composite of element-wise ops, kept as one op so that intermediate values are never stored. D.
 * Hendrycks, K. Gimpel, Gaussian Error Linear Units (2016).
 */
#include "op/gelu.h"

#include <math.h>

#include "op/elementwise.h"
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

void dt_gelu_print(const void *attr, dt_str *out) {
    dt_str_puts(out, ((const dt_gelu_attr *)attr)->approximate ? "tanh" : "erf");
}

int dt_gelu_loop(const void *attr) { return ((const dt_gelu_attr *)attr)->approximate ? 1 : 0; }

/* Counted: the polynomial or the quotient, a sum and two products around it. */
static void cost(const dt_call *c, dt_cost *cost) {
    double share = ((const dt_gelu_attr *)c->node->attr)->approximate
                       ? 5 + dt_op_logistic.operations
                       : dt_op_erf.operations;
    *cost = dt_cost_vector(c, (4 + share) * (double)dt_type_elements(&c->out.type));
}

dt_value dt_gelu_share(dt_value x, bool approximate) {
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
                       dt_gelu_share(c->in[0], ((const dt_gelu_attr *)c->node->attr)->approximate));
}

const dt_op dt_op_gelu = {
    .name = "gelu",
    .n_in = 1,
    .attr = {.size = sizeof(dt_gelu_attr), .print = dt_gelu_print},
    .role = DT_ROLE_ELEMENT,
    .infer = dt_infer_floats,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .forms.loop = dt_gelu_loop,
    .cost = cost,
    .eval = eval,
    .forms.decompose = decompose,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_precision: y = x rounded to floats of fewer digits, ties to even, and kept in its dtype.
 * This is StableHLO's op with the exponent of the dtype: with mantissa_bits = 7, a float32 is
 * rounded to a bfloat16. A number too large for that format becomes infinity; NaN stays NaN. With
 * exponent_bits = 5 and mantissa_bits = 10, numbers are rounded to float16 including its denormals,
 * which StableHLO's op would replace by 0. Only programs that run on this machine use that
 * (pass/upcast.c); it is not written as StableHLO.
 *
 * (C1) x holds floats.
 * (C2) mantissa_bits is in [1, 23].
 * (C3) exponent_bits is 0, which stands for those of the dtype, or it is 5 and mantissa_bits is 10.
 *
 * Passes insert it (pass/chip.c, pass/upcast.c) after gradients were derived, so it has no
 * gradient.
 */
#include <math.h>

#include "base/half.h"
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_precision_attr *a = q->attr;
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    if (a->mantissa_bits < 1 || a->mantissa_bits > 23)
        return dt_bad_shape(q, "(C2) cannot leave %lld digits of 23", (long long)a->mantissa_bits);
    if (a->exponent_bits != 0 && !(a->exponent_bits == 5 && a->mantissa_bits == 10))
        return dt_bad_shape(q, "(C3) unknown floats of %lld and %lld digits",
                            (long long)a->exponent_bits, (long long)a->mantissa_bits);
    q->out = q->in[0];
    return NULL;
}

static double rounded(double x, int digits) {
    int exponent;
    double fraction = frexp(x, &exponent); /* in magnitude in [1/2, 1), or 0 */
    return isfinite(x) ? ldexp(nearbyint(ldexp(fraction, digits + 1)), exponent - digits - 1) : x;
}

static void eval(const dt_call *c) {
    const dt_precision_attr *a = c->node->attr;
    bool single = c->out.type.dtype == DT_FLOAT32; /* a denormal float32 has fewer digits */
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++) {
        double x = dt_cell_double(&c->in[0], i);
        if (a->exponent_bits) x = dt_half_to_double(dt_half_of(x));
        dt_cell_set_double(&c->out, i,
                           a->exponent_bits ? x
                           : single ? (double)dt_float_rounded((float)x, (int)a->mantissa_bits)
                                    : rounded(x, (int)a->mantissa_bits));
    }
}

/* The op costs nothing, since matrix units round their operands themselves. */
static void cost(const dt_call *c, dt_cost *cost) {
    (void)c;
    *cost = (dt_cost){0};
}

static void print(const void *attr, dt_str *out) {
    const dt_precision_attr *a = attr;
    dt_str_printf(out, "e%lldm%lld", (long long)(a->exponent_bits ? a->exponent_bits : 8),
                  (long long)a->mantissa_bits);
}

static int loop(const void *attr) {
    const dt_precision_attr *a = attr;
    return a->exponent_bits ? 1 : a->mantissa_bits == 7 ? 0 : -1;
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_precision_attr *a = c->node->attr;
    int exponent_bits = a->exponent_bits              ? (int)a->exponent_bits
                        : c->type.dtype == DT_FLOAT64 ? 11
                        : c->type.dtype == DT_FLOAT16 ? 5
                                                      : 8;
    return dt_hlo_op(c->hlo, "reduce_precision", c->in, 1, &c->type,
                     "exponent_bits = %d : i32, mantissa_bits = %lld : i32", exponent_bits,
                     (long long)a->mantissa_bits);
}

const dt_op dt_op_reduce_precision = {
    .name = "reduce_precision",
    .n_in = 1,
    .attr = {.size = sizeof(dt_precision_attr), .print = print},
    .role = DT_ROLE_ELEMENT,
    .infer = infer,
    .rule = dt_rule_elementwise,
    .forms.loop = loop,
    .cost = cost,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};

const dt_precision_attr *dt_precision_of(const dt_node *n) {
    return n->op == &dt_op_reduce_precision ? n->attr : NULL;
}

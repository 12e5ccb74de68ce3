/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constant: y[...] = value, a splat. The type may contain the batch.
 *
 * (C1) Only dimension 0 of the type may be the batch.
 * (C2) A value of an integer dtype is an integer within its range, for uint64 within that of int64;
 * of bool it is 0 or 1.
 *
 * call: dt_value dt_scalar(dt_trace *t, dt_dtype dtype, double value)
 * computes: One number.
 * shape: a scalar of `dtype`
 * expects: dtype exists; an integer is within its range, a bool is 0 or 1
 * gradient: none
 *
 * call: dt_value dt_constant(dt_trace *t, double value)
 * computes: dt_scalar of float32.
 * shape: a float32 scalar
 * expects: nothing
 * gradient: none
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

#include <math.h>

static bool fits(double value, dt_dtype d) {
    if (dt_dtype_is_float(d)) return true;
    /* the highest int64 is not exact as a double, but highest + 1 is, since it is a power of two */
    return value == trunc(value) && value >= (double)dt_int_lowest(d) &&
           value < (double)((uint64_t)dt_int_highest(d) + 1);
}

static dt_status *infer(dt_infer *q) {
    const dt_constant_attr *a = q->attr;
    q->out = a->type;
    if (!fits(a->value, a->type.dtype))
        return dt_bad_shape(q, "(C2) cannot hold %g in %s", a->value, dt_dtype_name(a->type.dtype));
    return dt_check_result(q, 1);
}

static void eval(const dt_call *c) {
    const dt_constant_attr *a = c->node->attr;
    bool is_float = dt_dtype_is_float(c->out.type.dtype);
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++)
        if (is_float) dt_cell_set_double(&c->out, i, a->value);
        else dt_cell_set_int(&c->out, i, (int64_t)a->value);
}

static void print(const void *attr, dt_str *out) {
    const dt_constant_attr *a = attr;
    if (a->type.dtype == DT_FLOAT32) dt_str_float(out, (float)a->value);
    else dt_str_double(out, a->value);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_hlo_splat(c->hlo, &c->type, ((const dt_constant_attr *)c->node->attr)->value);
}

const dt_op dt_op_constant = {
    .name = "constant",
    .n_in = 0,
    .role = DT_ROLE_CONSTANT,
    .attr = {.size = sizeof(dt_constant_attr),
             .type = 1 + offsetof(dt_constant_attr, type),
             .print = print},
    .infer = infer,
    .rule = dt_rule_elementwise,
    .cost = dt_cost_none,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};

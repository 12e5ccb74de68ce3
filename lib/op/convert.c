/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert: y = x in another dtype; x itself if it has that dtype. To a float: the nearest one. From
 * a float to an integer: towards zero; a number out of range becomes the nearest number of the
 * range, and NaN becomes 0. Between integers: wraps. To bool: whether x is not 0. From bool: 0 or
 * 1. uint64 is treated as int64.
 *
 * (C1) The dtype exists.
 *
 * call: dt_value dt_convert(dt_value x, dt_dtype dtype)
 * gradient: dx = dy between floats, otherwise none
 *
 * A gradient flows between floats only. `linear` is not set, because only a conversion between
 * floats is linear, and only up to rounding; linear_when is true for x of floats.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

#include <math.h>

static dt_status *infer(dt_infer *q) {
    const dt_convert_attr *a = q->attr;
    if (!dt_dtype_is_known(a->dtype))
        return dt_bad_shape(q, "(C1) unknown dtype %lld", (long long)a->dtype);
    q->out = q->in[0];
    q->out.dtype = (dt_dtype)a->dtype;
    return NULL;
}

static void grad(dt_grad *g) {
    dt_dtype from = dt_type_of_value(g->in[0]).dtype, to = dt_type_of_value(g->out).dtype;
    if (dt_dtype_is_float(from) && dt_dtype_is_float(to)) g->din[0] = dt_convert(g->dout, from);
}

static int64_t int_of_double(double x, dt_dtype to) {
    if (to == DT_BOOL) return x != 0;
    if (isnan(x)) return 0;
    if (x <= (double)dt_int_lowest(to)) return dt_int_lowest(to);
    if (x >= (double)dt_int_highest(to)) return dt_int_highest(to);
    return (int64_t)x;
}

static void eval(const dt_call *c) {
    const dt_view *x = &c->in[0], *y = &c->out;
    bool from_float = dt_dtype_is_float(x->type.dtype), to_float = dt_dtype_is_float(y->type.dtype);
    for (int64_t i = 0, n = dt_type_elements(&y->type); i < n; i++)
        if (!from_float) dt_cell_set_int(y, i, dt_cell_int(x, i));
        else if (to_float) dt_cell_set_double(y, i, dt_cell_double(x, i));
        else dt_cell_set_int(y, i, int_of_double(dt_cell_double(x, i), y->type.dtype));
}

static bool linear_when(const void *attr, const dt_type *in) {
    (void)attr;
    return dt_dtype_is_float(in->dtype);
}

const dt_op dt_op_convert = {
    .name = "convert",
    .n_in = 1,
    .attr = {.size = sizeof(dt_convert_attr)},
    .role = DT_ROLE_CONVERT,
    .infer = infer,
    .grad = grad,
    .linear_when = linear_when,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .forms.stablehlo = dt_hlo_same,
};

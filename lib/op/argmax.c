/*
 * argmax: y = the index of the largest element along `axis`, which goes; int32. The first of equals; the first NaN,
 * if there is one; 0 along an empty dimension. It is constant almost everywhere, so no gradient flows.
 *
 * (C1) axis is a dimension of x.
 * (C2) x is of numbers.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"

#include <math.h>

static dt_status *infer(dt_infer *q)
{
    const dt_axis_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    if (a->axis < 0 || a->axis >= x->rank)
        return dt_bad_shape(q, "(C1) cannot look along dimension %lld of %s", (long long)a->axis, dt_text_of(x).s);
    DT_TRY(dt_want_dtype(q, 0, 2, DT_WANT_NUMBERS));
    q->out = dt_scalar_type(DT_INT32);
    for (int d = 0; d < x->rank; d++)
        if (d != a->axis)
            q->out.dim[q->out.rank++] = x->dim[d];
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule)
{
    (void)out;
    const dt_axis_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 0, kept = 0; d < in[0].rank; d++)
        if (d != a->axis)
            rule->in[0][d] = rule->out[kept++] = (int8_t)d;
}

static bool is_larger(const dt_view *x, int64_t i, int64_t than)
{
    if (!dt_dtype_is_float(x->type.dtype))
        return dt_cell_int(x, i) > dt_cell_int(x, than);
    double a = dt_cell_double(x, i), b = dt_cell_double(x, than);
    return a > b || (isnan(a) && !isnan(b));
}

static void eval(const dt_call *c)
{
    const dt_axis_attr *a = c->node->attr;
    const dt_view *x = &c->in[0];
    int64_t stride[DT_MAX_RANK];
    dt_strides(&x->type, stride);
    dt_walk w = { 0 };
    for (int d = 0; d < x->type.rank; d++)
        if (d != a->axis)
            dt_walk_add(&w, x->type.dim[d], stride[d], 0);
    int64_t step = stride[a->axis];
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w)) {
        int64_t best = 0;
        for (int64_t k = 1; k < x->type.dim[a->axis]; k++)
            if (is_larger(x, w.at[0] + k * step, w.at[0] + best * step))
                best = k;
        dt_cell_set_int(&c->out, i, best);
    }
}

static dt_value stack(const dt_fold_call *c)
{
    const dt_axis_attr *a = c->node->attr;
    return dt_argmax(c->in[0], (int)a->axis + 1);
}

static void cost(const dt_call *c, dt_cost *cost)
{
    *cost = (dt_cost){ .vector = (double)dt_type_elements(&c->in[0].type), .bytes = dt_cost_bytes(c) };
}

static void print(const void *attr, dt_str *out)
{
    const dt_axis_attr *a = attr;
    dt_str_printf(out, "axis=%lld", (long long)a->axis);
}

const dt_op dt_op_argmax = {
    .name = "argmax", .about = "the index of the largest element", .n_in = 1, .attr_size = sizeof(dt_axis_attr),
    .infer = infer, .rule = rule, .cost = cost, .eval = eval, .print = print, .stack = stack,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_window: y = the sum, the maximum or the minimum of the elements under a window, for each
 * position of the window. A window has a size in every dimension: 1 in dimensions that are not
 * pooled.
 *
 * (C1) x holds floats, and the kind is one of the three.
 * (C2) Windows have sizes, strides and dilations of at least 1, and at least one position.
 * (C3) Along the batch they cover one element each, with stride 1 and without padding and
 * base_dilation.
 *
 * Padding does not count as elements: the sum of nothing is 0, the maximum -inf, the minimum inf.
 * Sums are formed in double.
 */

#include <math.h>

#include "op/cells.h"
#include "op/halo.h"
#include "op/shapes.h"
#include "op/stablehlo.h"
#include "op/window.h"

static dt_status *infer(dt_infer *q) { return dt_windows_infer(q, q->attr, &q->out); }

/* Each element of x gets the sum of dy over the windows that cover it: dy, dilated by the
 * stride, under the same window. */
static dt_value grad_sum(const dt_grad *g, const dt_reduce_window_attr *a) {
    dt_type x = dt_type_of_value(g->in[0]), y = g->node->type;
    dt_reduce_window_attr b = *a;
    for (int d = 0; d < x.rank; d++) {
        const dt_window *v = &a->window[d];
        if (dt_window_is_one(v, a->size[d])) continue;
        int64_t size = dt_dilated(a->size[d], v->dilation), low = size - 1 - v->low;
        b.window[d] = (dt_window){.stride = v->base_dilation,
                                  .base_dilation = v->stride,
                                  .dilation = v->dilation,
                                  .low = low};
        b.window[d].high = dt_dilated(x.dim[d], v->base_dilation) + size - 1 -
                           dt_dilated(y.dim[d], v->stride) - low;
    }
    return dt_reduce_window(g->dout, &b);
}

/* For a maximum or minimum, the dy of a window goes to the first element that has this value. */
static void grad(dt_grad *g) {
    const dt_reduce_window_attr *a = g->node->attr;
    if (a->kind == DT_REDUCE_SUM) g->din[0] = grad_sum(g, a);
    else
        g->din[0] =
            dt_emit(g->trace, &dt_op_select_and_scatter, (dt_value[]){g->in[0], g->dout}, 2, a);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_reduce_window_attr *a = attr;
    (void)in;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++)
        if (dt_window_is_one(&a->window[d], a->size[d])) rule->in[0][d] = rule->out[d] = (int8_t)d;
}

static double join(int64_t kind, double a, double b) {
    return kind == DT_REDUCE_SUM   ? a + b
           : kind == DT_REDUCE_MAX ? dt_double_max(a, b)
                                   : dt_double_min(a, b);
}

static double nothing_of(int64_t kind) {
    return kind == DT_REDUCE_SUM ? 0 : kind == DT_REDUCE_MAX ? -INFINITY : INFINITY;
}

static void eval(const dt_call *c) {
    const dt_reduce_window_attr *a = c->node->attr;
    dt_windows w = dt_windows_begin(a, &c->in[0].type, &c->out.type);
    for (int64_t i = 0; i < w.n; i++, dt_windows_next(&w)) {
        double joined = nothing_of(a->kind);
        for (int64_t at = dt_windows_first(&w); at >= 0; at = dt_windows_another(&w))
            joined = join(a->kind, joined, dt_cell_double(&c->in[0], at));
        dt_cell_set_double(&c->out, i, joined);
    }
}

static void cost(const dt_call *c, dt_cost *cost) {
    const dt_reduce_window_attr *a = c->node->attr;
    *cost = dt_cost_vector(c, dt_windows_elements(a, &c->out.type));
}

static dt_value stack(const dt_fold_call *c) {
    dt_reduce_window_attr a = dt_windows_stacked(c->node->attr, c->node->type.rank);
    return dt_reduce_window(c->in[0], &a);
}

static void print(const void *attr, dt_str *out) { dt_windows_print(attr, out); }

/* Over devices, windows over a dimension that is divided reach into the parts of neighbours. */

static bool find_reach(const dt_partition_call *c, int d, dt_halo *r) {
    const dt_reduce_window_attr *a = c->node->attr;
    dt_window_sweep s = {.window = a->window[d],
                         .taps = a->size[d],
                         .places = c->node->type.dim[d],
                         .in = c->type[0].dim[d]};
    return dt_halo_find(&s, dt_mesh_parts(c->mesh, c->factor[d]), r);
}

static bool is_swept(const dt_partition_call *c, int d) {
    const dt_reduce_window_attr *a = c->node->attr;
    return c->factor[d] && !dt_window_is_one(&a->window[d], a->size[d]);
}

static bool can_split(const dt_partition_call *c) {
    dt_halo r;
    for (int d = 0; d < c->node->type.rank; d++)
        if (is_swept(c, d) && !find_reach(c, d, &r)) return false;
    return true;
}

static dt_value emit_split(dt_partition_call *c) {
    dt_reduce_window_attr a = *(const dt_reduce_window_attr *)c->node->attr;
    for (int d = 0; d < c->node->type.rank; d++) {
        dt_halo r;
        if (!is_swept(c, d) || !find_reach(c, d, &r)) continue;
        c->in[0] = dt_halo_exchange(c, c->in[0], d, c->factor[d], &r, nothing_of(a.kind));
        a.window[d] = r.window;
    }
    return dt_reduce_window(c->in[0], &a);
}

static const dt_partition_row over_devices = {dt_halo_rule, can_split, emit_split};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_reduce_window_attr *a = c->node->attr;
    dt_hlo_value in[] = {c->in[0], dt_hlo_nothing(c->hlo, (int)a->kind, c->type.dtype)};
    dt_hlo_windows w = dt_hlo_windows_of(a->window, c->type.rank);
    return dt_hlo_joined(c->hlo, "reduce_window", (int)a->kind, in, 2, &c->type,
                         "window_dimensions = %s, window_strides = %s, base_dilations = %s, "
                         "window_dilations = %s, padding = %s",
                         dt_hlo_array64(a->size, c->type.rank).s, w.stride.s, w.base.s,
                         w.dilation.s, w.padding.s);
}

const dt_op dt_op_reduce_window = {
    .name = "reduce_window",
    .n_in = 1,
    .attr = {.size = sizeof(dt_reduce_window_attr), .print = print},
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

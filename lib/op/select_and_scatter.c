/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select_and_scatter: dx of reduce_window's maximum (or minimum): in each window over x the
 * window's dy goes to the first element that is the maximum. An element gets the sum over all
 * windows, added in its own dtype (for 16-bit floats in float32), window by window.
 *
 * (C1) to (C3) of reduce_window, over x; the kind is not the sum.
 * (C4) dy has the type of the reduced windows.
 *
 * The op has no gradient: its result is constant in x almost everywhere, and second derivatives
 * through dy are not computed.
 */
#include <math.h>
#include <string.h>

#include "op/cells.h"
#include "op/halo.h"
#include "op/shapes.h"
#include "op/stablehlo.h"
#include "op/window.h"

static dt_status *infer(dt_infer *q) {
    const dt_reduce_window_attr *a = q->attr;
    dt_type y;
    DT_TRY(dt_windows_infer(q, a, &y));
    if (a->kind == DT_REDUCE_SUM) return dt_bad_shape(q, "(C1) cannot select by a sum");
    if (!dt_type_equal(&y, &q->in[1]))
        return dt_bad_shape(q, "(C4) expected dy %s, got %s", dt_text_of(&y).s,
                            dt_text_of(&q->in[1]).s);
    q->out = q->in[0];
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_reduce_window_attr *a = attr;
    (void)in;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++)
        if (dt_window_is_one(&a->window[d], a->size[d]))
            rule->in[0][d] = rule->in[1][d] = rule->out[d] = (int8_t)d;
}

/* Whether `a` is selected instead of `best`. NaN is selected before any value but another NaN. */
static bool beats(int64_t kind, double a, double best) {
    return (kind == DT_REDUCE_MAX ? a > best : a < best) || (isnan(a) && !isnan(best));
}

static void eval(const dt_call *c) {
    const dt_reduce_window_attr *a = c->node->attr;
    const dt_view *x = &c->in[0], *dy = &c->in[1], *dx = &c->out;
    size_t bytes = (size_t)dt_type_bytes(&dx->type);
    if (bytes > 0) memset(dx->data, 0, bytes);
    dt_windows w = dt_windows_begin(a, &x->type, &dy->type);
    for (int64_t i = 0; i < w.n; i++, dt_windows_next(&w)) {
        int64_t best = dt_windows_first(&w);
        if (best < 0) continue;
        for (int64_t at = dt_windows_another(&w); at >= 0; at = dt_windows_another(&w))
            if (beats(a->kind, dt_cell_double(x, at), dt_cell_double(x, best))) best = at;
        dt_cell_set_double(dx, best, dt_cell_double(dx, best) + dt_cell_double(dy, i));
    }
}

static void cost(const dt_call *c, dt_cost *cost) {
    const dt_reduce_window_attr *a = c->node->attr;
    /* counts a comparison, a selection and an addition for each element under a window */
    *cost = dt_cost_vector(c, 3 * dt_windows_elements(a, &c->in[1].type));
}

static dt_value stack(const dt_fold_call *c) {
    dt_reduce_window_attr a = dt_windows_stacked(c->node->attr, c->node->type.rank);
    return dt_emit(c->trace, &dt_op_select_and_scatter, c->in, 2, &a);
}

static void print(const void *attr, dt_str *out) { dt_windows_print(attr, out); }

/*
 * Over devices, dx of an element depends on all windows that cover it. So a device takes all
 * windows that touch its part of x, with their dy, and all elements under these windows. It drops
 * the dx of elements of other devices, which compute it themselves. Beyond the ends of x, dy is 0
 * and x is -inf (inf for a minimum), so that no element there is selected. (If all elements under a
 * window at the border have that value, its dy can be lost.)
 */

typedef struct touch {
    dt_halo x, dy;
    dt_window window;
} touch;

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static bool find_touch(const dt_partition_call *c, int d, touch *t) {
    const dt_reduce_window_attr *a = c->node->attr;
    const dt_window *w = &a->window[d];
    int parts = dt_mesh_parts(c->mesh, c->factor[d]);
    int64_t own = c->type[0].dim[d] / parts, places = c->type[1].dim[d] / parts,
            span = (a->size[d] - 1) * w->dilation;
    if (w->base_dilation > 1 || own < 1 || places < 1 || own % w->stride) return false;
    /* element numbers relative to the beginning of the device's own part */
    int64_t first = -floor_divide(span - w->low, w->stride),
            last = floor_divide(own - 1 + w->low, w->stride);
    int64_t start = first * w->stride - w->low, end = last * w->stride - w->low + span;
    t->dy =
        (dt_halo){.low = -first, .high = last - (places - 1), .drift = own / w->stride - places};
    t->x = (dt_halo){.low = start < 0 ? -start : 0, .high = end > own - 1 ? end - (own - 1) : 0};
    t->window = *w;
    t->window.low = -(start + t->x.low);
    t->window.high = end - (own - 1 + t->x.high);
    return last >= first;
}

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr,
                              dt_rule *rule) {
    (void)attr, (void)in;
    for (int d = 0; d < out->rank; d++) rule->in[0][d] = rule->in[1][d] = rule->out[d] = (int8_t)d;
}

static bool is_swept(const dt_partition_call *c, int d) {
    const dt_reduce_window_attr *a = c->node->attr;
    return c->factor[d] && !dt_window_is_one(&a->window[d], a->size[d]);
}

static bool can_split(const dt_partition_call *c) {
    touch t;
    for (int d = 0; d < c->node->type.rank; d++)
        if (is_swept(c, d) && !find_touch(c, d, &t)) return false;
    return true;
}

static dt_value own_part(const dt_partition_call *c, dt_value dx, const dt_type *own) {
    for (int d = 0; d < own->rank; d++) {
        touch t;
        if (is_swept(c, d) && find_touch(c, d, &t) && (t.x.low || t.x.high))
            dx = dt_slice_axis(dx, d, t.x.low, own->dim[d], 1);
    }
    return dx;
}

static dt_value emit_split(dt_partition_call *c) {
    dt_reduce_window_attr a = *(const dt_reduce_window_attr *)c->node->attr;
    dt_type own = dt_partition_type(c);
    for (int d = 0; d < own.rank; d++) {
        touch t;
        if (!is_swept(c, d) || !find_touch(c, d, &t)) continue;
        c->in[0] = dt_halo_exchange(c, c->in[0], d, c->factor[d], &t.x,
                                    a.kind == DT_REDUCE_MAX ? -INFINITY : INFINITY);
        c->in[1] = dt_halo_exchange(c, c->in[1], d, c->factor[d], &t.dy, 0);
        a.window[d] = t.window;
    }
    return own_part(c, dt_emit(c->trace, c->node->op, c->in, 2, &a), &own);
}

static const dt_partition_row over_devices = {rule_over_devices, can_split, emit_split};

/* StableHLO's op has no dilation. Like the op here, it selects the first of equal elements. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_reduce_window_attr *a = c->node->attr;
    for (int d = 0; d < c->type.rank; d++)
        if (a->window[d].dilation > 1 || a->window[d].base_dilation > 1)
            return (dt_hlo_value){.id = -1};
    dt_type scalar = dt_scalar_type(c->type.dtype);
    dt_hlo_windows w = dt_hlo_windows_of(a->window, c->type.rank);
    dt_hlo_value in[] = {c->in[0], c->in[1], dt_hlo_splat(c->hlo, &scalar, 0)};
    return dt_hlo_chosen(c->hlo, a->kind == DT_REDUCE_MAX ? "GE" : "LE", in, &c->type,
                         "window_dimensions = %s, window_strides = %s, padding = %s",
                         dt_hlo_array64(a->size, c->type.rank).s, w.stride.s, w.padding.s);
}

const dt_op dt_op_select_and_scatter = {
    .name = "select_and_scatter",
    .n_in = 2,
    .attr = {.size = sizeof(dt_reduce_window_attr), .print = print},
    .linear = 2,
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

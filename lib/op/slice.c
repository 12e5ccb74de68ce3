/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice: y = elements start, start + stride, ... of every dimension of x, `size` of each.
 * (StableHLO names the end in place of the size.) A dimension that is the batch stays whole: start
 * 0, stride 1, and its size is B, as in x.
 *
 * (C1) stride >= 1, and the first and the last selected element exist.
 * (C2) The batch stays whole.
 *
 * call: dt_value dt_slice_axis(dt_value x, int axis, int64_t start, int64_t size, int64_t stride)
 * computes: `size` elements along one axis: `start`, `start + stride`, ...
 * shape: that of x, with `size` along the axis
 * expects: (C1) axis exists, stride >= 1, and the first and the last selected element exist;
 * (C2) axis is not the batch
 * gradient: dx = dy at these elements, 0 elsewhere
 */
#include "op/cells.h"
#include "op/halo.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static bool is_whole(const dt_slice_attr *a, const dt_type *x, int d) {
    return a->dim[d].start == 0 && a->dim[d].stride == 1 && a->dim[d].size == x->dim[d];
}

static bool exists(const dt_slice_attr *a, const dt_type *x, int d) {
    int64_t last = 0;
    if (a->dim[d].stride < 1 || a->dim[d].size < 0 || a->dim[d].start < 0) return false;
    if (a->dim[d].size == 0) return a->dim[d].start <= x->dim[d];
    return !__builtin_mul_overflow(a->dim[d].size - 1, a->dim[d].stride, &last) &&
           !__builtin_add_overflow(last, a->dim[d].start, &last) && last < x->dim[d];
}

static dt_status *infer(dt_infer *q) {
    const dt_slice_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    q->out = *x;
    for (int d = 0; d < x->rank; d++) {
        if (dt_is_batch(x, d) && !is_whole(a, x, d))
            return dt_bad_shape(q, "(C2) cannot take a part of the batch of %s", dt_text_of(x).s);
        if (!dt_is_batch(x, d) && !exists(a, x, d))
            return dt_bad_shape(
                q, "(C1) cannot take %lld elements of dimension %d of %s from %lld on, %lld apart",
                (long long)a->dim[d].size, d, dt_text_of(x).s, (long long)a->dim[d].start,
                (long long)a->dim[d].stride);
        q->out.dim[d] = a->dim[d].size;
    }
    return NULL;
}

/* Emits dx: dy at the elements of the slice, zeros elsewhere. */
static void grad(dt_grad *g) {
    const dt_slice_attr *a = g->node->attr;
    dt_type x = dt_type_of_value(g->in[0]);
    dt_pad_attr pad = {0};
    for (int d = 0; d < x.rank; d++) {
        if (is_whole(a, &x, d)) continue;
        int64_t span = a->dim[d].size ? (a->dim[d].size - 1) * a->dim[d].stride + 1 : 0;
        pad.dim[d].low = a->dim[d].start;
        pad.dim[d].high = x.dim[d] - a->dim[d].start - span;
        pad.dim[d].interior = a->dim[d].stride - 1;
    }
    g->din[0] = dt_pad(g->dout, &pad);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_slice_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) {
        bool all = a->dim[d].start == 0 && a->dim[d].stride == 1 && in[0].dim[d] == out->dim[d];
        if (all) rule->in[0][d] = rule->out[d] = (int8_t)d;
    }
}

static void eval(const dt_call *c) {
    const dt_slice_attr *a = c->node->attr;
    int64_t stride[DT_MAX_RANK], from = 0;
    dt_strides(&c->in[0].type, stride);
    dt_walk w = {0};
    for (int d = 0; d < c->out.type.rank; d++) {
        dt_walk_add(&w, c->out.type.dim[d], stride[d] * a->dim[d].stride, 0);
        from += a->dim[d].start * stride[d];
    }
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w))
        dt_cell_copy(&c->out, i, &c->in[0], from + w.at[0]);
}

static dt_value stack(const dt_fold_call *c) {
    dt_slice_attr a = *(const dt_slice_attr *)c->node->attr;
    for (int d = c->node->type.rank; d > 0; d--) a.dim[d] = a.dim[d - 1];
    a.dim[0].start = 0;
    a.dim[0].size = c->segments;
    a.dim[0].stride = 1;
    return dt_emit(c->trace, &dt_op_slice, c->in, 1, &a);
}

/* Prints "[B, 2:3, 0:4:2]": for each dimension start:size, and :stride unless that is 1; B for the
 * batch, which stays whole. */
static void print(const void *attr, dt_str *out) {
    const dt_slice_attr *a = attr;
    dt_str_putc(out, '[');
    for (int d = 0; d < DT_MAX_RANK && a->dim[d].stride; d++) {
        dt_str_puts(out, d ? ", " : "");
        if (a->dim[d].size < 0) {
            dt_str_putc(out, 'B');
            continue;
        }
        dt_str_printf(out, "%lld:%lld", (long long)a->dim[d].start, (long long)a->dim[d].size);
        if (a->dim[d].stride != 1) dt_str_printf(out, ":%lld", (long long)a->dim[d].stride);
    }
    dt_str_putc(out, ']');
}

/* Over devices, a dimension that is sliced as a whole needs no exchange; otherwise each device gets
 * the elements from which its part of the result is taken. */

static bool find_reach(const dt_partition_call *c, int d, dt_halo *r) {
    const dt_slice_attr *a = c->node->attr;
    dt_window w = {
        .stride = a->dim[d].stride, .low = -a->dim[d].start, .base_dilation = 1, .dilation = 1};
    dt_window_sweep s = {.window = w, .taps = 1, .places = a->dim[d].size, .in = c->type[0].dim[d]};
    return dt_halo_find(&s, dt_mesh_parts(c->mesh, c->factor[d]), r);
}

static bool can_split(const dt_partition_call *c) {
    dt_halo r;
    for (int d = 0; d < c->node->type.rank; d++)
        if (c->factor[d] && !is_whole(c->node->attr, &c->type[0], d) && !find_reach(c, d, &r))
            return false;
    return true;
}

static dt_value emit_split(dt_partition_call *c) {
    dt_slice_attr a = *(const dt_slice_attr *)c->node->attr;
    dt_type local = dt_partition_type(c);
    for (int d = 0; d < local.rank; d++) {
        dt_halo r;
        a.dim[d].size = local.dim[d];
        if (!c->factor[d] || is_whole(c->node->attr, &c->type[0], d) || !find_reach(c, d, &r))
            continue;
        c->in[0] = dt_halo_exchange(c, c->in[0], d, c->factor[d], &r, 0);
        a.dim[d].start = 0;
    }
    return dt_emit(c->trace, &dt_op_slice, c->in, 1, &a);
}

static const dt_partition_row over_devices = {dt_halo_rule, can_split, emit_split};

/* Counts only the elements of the slice, since no others are read. */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = (dt_cost){.vector = (double)dt_type_elements(&c->out.type),
                      .bytes = 2 * (double)dt_type_bytes(&c->out.type)};
}

/* Writes a slice, in which StableHLO gives the end in place of the size. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_slice_attr *a = c->node->attr;
    int64_t start[DT_MAX_RANK], end[DT_MAX_RANK], stride[DT_MAX_RANK];
    int rank = c->type.rank;
    for (int d = 0; d < rank; d++) {
        start[d] = a->dim[d].start;
        stride[d] = a->dim[d].stride;
        end[d] = c->type.dim[d] > 0 ? start[d] + (c->type.dim[d] - 1) * stride[d] + 1 : start[d];
    }
    return dt_hlo_op(
        c->hlo, "slice", c->in, 1, &c->type, "start_indices = %s, limit_indices = %s, strides = %s",
        dt_hlo_array64(start, rank).s, dt_hlo_array64(end, rank).s, dt_hlo_array64(stride, rank).s);
}

const dt_op dt_op_slice = {
    .name = "slice",
    .n_in = 1,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_slice_attr), .print = print},
    .traits.exact = true,
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

const dt_slice_attr *dt_slice_of(const dt_node *n) {
    return n->op == &dt_op_slice ? n->attr : NULL;
}

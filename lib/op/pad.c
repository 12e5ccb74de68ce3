/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pad: y = x with `low` elements of `value` before, `high` behind and `interior` between
 * neighbours, in every dimension:
 *
 *     1 2 3   low 2, high 1, interior 1   ->   v v 1 v 2 v 3 v
 *
 * A negative low or high cuts elements off (after the interior ones were inserted).
 *
 * (C1) x holds floats.
 * (C2) The batch, B, is not padded.
 * (C3) interior >= 0, and no dimension becomes smaller than 0, or too large to count.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/halo.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static bool is_padded(const dt_pad_attr *a, int d) {
    return a->dim[d].low || a->dim[d].high || a->dim[d].interior;
}

/* Computes the size of dimension d of y from n, that of x: the elements of x and those between
 * them, then the ends. Returns false if the size is negative or does not fit in an int64. */
static bool padded_size(const dt_pad_attr *a, int d, int64_t n, int64_t *out) {
    int64_t holes = 0;
    bool fits = a->dim[d].interior >= 0 &&
                (n == 0 || !__builtin_mul_overflow(n - 1, a->dim[d].interior, &holes));
    fits = fits && !__builtin_add_overflow(n, holes, out) &&
           !__builtin_add_overflow(*out, a->dim[d].low, out) &&
           !__builtin_add_overflow(*out, a->dim[d].high, out);
    return fits && *out >= 0;
}

static dt_status *infer(dt_infer *q) {
    const dt_pad_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_FLOATS));
    q->out = *x;
    for (int d = 0; d < x->rank; d++) {
        if (!is_padded(a, d)) continue;
        if (dt_is_batch(x, d))
            return dt_bad_shape(q, "(C2) cannot pad the batch of %s", dt_text_of(x).s);
        if (!padded_size(a, d, x->dim[d], &q->out.dim[d]))
            return dt_bad_shape(q,
                                "(C3) cannot put %lld before, %lld behind and %lld between the "
                                "elements of dimension %d of %s",
                                (long long)a->dim[d].low, (long long)a->dim[d].high,
                                (long long)a->dim[d].interior, d, dt_text_of(x).s);
    }
    return NULL;
}

/* dx = dy without the elements that were added, and with zeros for those that were cut off:
 * first at the ends, then between neighbours. */
static void grad(dt_grad *g) {
    const dt_pad_attr *a = g->node->attr;
    dt_type x = dt_type_of_value(g->in[0]);
    dt_pad_attr ends = {0};
    for (int d = 0; d < x.rank; d++) {
        ends.dim[d].low = -a->dim[d].low;
        ends.dim[d].high = -a->dim[d].high;
    }
    dt_value dx = dt_pad(g->dout, &ends);
    for (int d = 0; d < x.rank; d++)
        if (a->dim[d].interior && x.dim[d] > 0)
            dx = dt_slice_axis(dx, d, 0, x.dim[d], a->dim[d].interior + 1);
    g->din[0] = dx;
}

/* In one memory space, a dimension with padding is not divided; the others are divided as in x. */
static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    const dt_pad_attr *a = attr;
    (void)in;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++)
        if (!is_padded(a, d)) rule->in[0][d] = rule->out[d] = (int8_t)d;
}

/* Returns the offset in x of the element at w->index of y; -1: y has padding there. */
static int64_t source_of(const dt_pad_attr *a, const dt_type *x, const int64_t *stride,
                         const dt_walk *w) {
    int64_t at = 0;
    for (int d = 0; d < x->rank; d++) {
        int64_t i = w->index[d] - a->dim[d].low, step = a->dim[d].interior + 1;
        if (i < 0 || i % step || i / step >= x->dim[d]) return -1;
        at += i / step * stride[d];
    }
    return at;
}

static void eval(const dt_call *c) {
    const dt_pad_attr *a = c->node->attr;
    int64_t stride[DT_MAX_RANK];
    dt_strides(&c->in[0].type, stride);
    dt_walk w = {0};
    for (int d = 0; d < c->out.type.rank; d++) dt_walk_add(&w, c->out.type.dim[d], 0, 0);
    for (int64_t i = 0, n = dt_walk_count(&w); i < n; i++, dt_walk_next(&w)) {
        int64_t from = source_of(a, &c->in[0].type, stride, &w);
        if (from >= 0) dt_cell_copy(&c->out, i, &c->in[0], from);
        else dt_cell_set_double(&c->out, i, a->value);
    }
}

static dt_value stack(const dt_fold_call *c) {
    dt_pad_attr a = *(const dt_pad_attr *)c->node->attr;
    for (int d = c->node->type.rank; d > 0; d--) a.dim[d] = a.dim[d - 1];
    a.dim[0].low = a.dim[0].high = a.dim[0].interior = 0;
    return dt_emit(c->trace, &dt_op_pad, c->in, 1, &a);
}

static void print(const void *attr, dt_str *out) {
    const dt_pad_attr *a = attr;
    bool first = true;
    dt_str_double(out, a->value);
    for (int d = 0; d < DT_MAX_RANK; d++)
        if (is_padded(a, d)) {
            dt_str_printf(out, "%s%d=%lld_%lld", first ? " dims=[" : ",", d,
                          (long long)a->dim[d].low, (long long)a->dim[d].high);
            if (a->dim[d].interior) dt_str_printf(out, "_%lld", (long long)a->dim[d].interior);
            first = false;
        }
    dt_str_puts(out, first ? " dims=[]" : "]");
}

/* Over devices, padding is a window of one element that moves over the stretched dimension. */

static bool find_reach(const dt_partition_call *c, int d, dt_halo *r) {
    const dt_pad_attr *a = c->node->attr;
    dt_window w = {.stride = 1,
                   .low = a->dim[d].low,
                   .high = a->dim[d].high,
                   .base_dilation = a->dim[d].interior + 1,
                   .dilation = 1};
    dt_window_sweep s = {
        .window = w, .taps = 1, .places = c->node->type.dim[d], .in = c->type[0].dim[d]};
    return dt_halo_find(&s, dt_mesh_parts(c->mesh, c->factor[d]), r);
}

static bool can_split(const dt_partition_call *c) {
    dt_halo r;
    for (int d = 0; d < c->node->type.rank; d++)
        if (c->factor[d] && is_padded(c->node->attr, d) && !find_reach(c, d, &r)) return false;
    return true;
}

static dt_value emit_split(dt_partition_call *c) {
    dt_pad_attr a = *(const dt_pad_attr *)c->node->attr;
    for (int d = 0; d < c->node->type.rank; d++) {
        dt_halo r;
        if (!c->factor[d] || !is_padded(&a, d) || !find_reach(c, d, &r)) continue;
        c->in[0] = dt_halo_exchange(c, c->in[0], d, c->factor[d], &r, a.value);
        a.dim[d].low = r.window.low;
        a.dim[d].high = r.window.high;
    }
    return dt_pad(c->in[0], &a);
}

static const dt_partition_row over_devices = {dt_halo_rule, can_split, emit_split};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_pad_attr *a = c->node->attr;
    dt_type scalar = dt_scalar_type(c->type.dtype);
    dt_hlo_value in[] = {c->in[0], dt_hlo_splat(c->hlo, &scalar, a->value)};
    int64_t low[DT_MAX_RANK], high[DT_MAX_RANK], interior[DT_MAX_RANK];
    int rank = c->type.rank;
    for (int d = 0; d < rank; d++) {
        low[d] = a->dim[d].low;
        high[d] = a->dim[d].high;
        interior[d] = a->dim[d].interior;
    }
    return dt_hlo_op(c->hlo, "pad", in, 2, &c->type,
                     "edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s",
                     dt_hlo_array64(low, rank).s, dt_hlo_array64(high, rank).s,
                     dt_hlo_array64(interior, rank).s);
}

/* Padding with zeros is linear: it is the gradient of a slice. */
static bool linear_when(const void *attr, const dt_type *in) {
    (void)in;
    return ((const dt_pad_attr *)attr)->value == 0;
}

const dt_op dt_op_pad = {
    .name = "pad",
    .n_in = 1,
    .role = DT_ROLE_MOVE,
    .attr = {.size = sizeof(dt_pad_attr), .print = print},
    .traits.exact = true,
    .infer = infer,
    .grad = grad,
    .linear_when = linear_when,
    .rule = rule,
    .eval = eval,
    .stack = stack,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

const dt_pad_attr *dt_pad_of(const dt_node *n) { return n->op == &dt_op_pad ? n->attr : NULL; }

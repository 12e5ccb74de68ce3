/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce: y = the sum, the maximum or the minimum of x over the dimensions in `dims`, which are
 * removed; the others keep their order.
 *
 * (C1) x holds numbers.
 * (C2) The kind is one of the three, and dims are dimensions of x.
 *
 * call: dt_value dt_reduce_sum(dt_value x, int axis)
 * computes: The sum over an axis, which is removed; DT_NO_AXIS: over all elements. The sum of
 * nothing is 0.
 * shape: that of x without the axis; a scalar for DT_NO_AXIS
 * expects: x holds numbers; the axis exists
 * gradient: dx = dy, repeated along the axis
 *
 * call: dt_value dt_reduce_mean(dt_value x, int axis)
 * computes: The sum divided by the number of elements. Integers become floats first.
 * shape: that of x without the axis; a scalar for DT_NO_AXIS
 * expects: x holds numbers; the axis exists
 * gradient: dx = dy / n, repeated along the axis
 * stablehlo: reduce, divide
 *
 * call: dt_value dt_reduce_max(dt_value x, int axis)
 * computes: The largest element; NaN if there is one; the lowest number of the dtype for no
 * elements.
 * shape: that of x without the axis; a scalar for DT_NO_AXIS
 * expects: x holds numbers; the axis exists
 * gradient: dx = dy at the largest element; equal ones share it
 *
 * call: dt_value dt_reduce_min(dt_value x, int axis)
 * computes: The smallest element; NaN if there is one; the highest number of the dtype for no
 * elements.
 * shape: that of x without the axis; a scalar for DT_NO_AXIS
 * expects: x holds numbers; the axis exists
 * gradient: dx = dy at the smallest element; equal ones share it
 *
 * Floats are added in double, in row-major order. An empty sum is 0, an empty maximum is the lowest
 * value of the dtype (-inf), an empty minimum the highest. NaN wins every maximum and minimum.
 *
 * Splitting: a part of a kept dimension yields a part of y; a part of a reduced dimension yields a
 * y that is still to be reduced.
 */
#include <math.h>
#include <string.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

/*
 * reduce in StableHLO. On the CPU, XLA adds the values one after the other: a sum of 50,000 has
 * four correct digits. If the request limits such chains (dt_hlo.chain), a long sum of floats other
 * than float64 is written in steps:
 *
 *     (64, 26, 26, 8) over the first three     (208, 208, 8)  sums of blocks  (208, 8)  sum  (8)
 *
 * A barrier after each step keeps the compiler from merging the steps. Values of 16 bits are then
 * added as float32: 256 and 1 are 256 in bfloat16.
 */

/* Neighbouring dimensions first .. end - 1 that are all reduced. */
typedef struct run {
    int first, end;
    int64_t n; /* the number of elements of these dimensions */
} run;

static bool is_reduced(unsigned dims, int d) { return dims >> d & 1; }

static dt_hlo_value reduce(dt_hlo *h, int kind, dt_hlo_value x, unsigned dims) {
    dt_type t = {.dtype = x.type.dtype};
    int8_t list[DT_MAX_RANK];
    int n = 0;
    for (int d = 0; d < x.type.rank; d++)
        if (is_reduced(dims, d)) list[n++] = (int8_t)d;
        else t.dim[t.rank++] = x.type.dim[d];
    dt_hlo_value in[] = {x, dt_hlo_nothing(h, kind, t.dtype)};
    return dt_hlo_joined(h, "reduce", kind, in, 2, &t, "dimensions = %s", dt_hlo_array(list, n).s);
}

static int64_t count_terms(const dt_type *t, unsigned dims) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= is_reduced(dims, d) ? t->dim[d] : 1;
    return n;
}

static run longest_run(const dt_type *t, unsigned dims) {
    run longest = {0};
    for (int d = 0; d < t->rank;) {
        run r = {d, d, 1};
        for (; r.end < t->rank && is_reduced(dims, r.end); r.end++) r.n *= t->dim[r.end];
        if (r.end > r.first && r.n >= longest.n) longest = r;
        d = r.end + 1;
    }
    return longest;
}

/* Returns the size of blocks for a sum of n values: the largest divisor of n that is not longer
 * than a chain. If that is shorter than a quarter of a chain, blocks are as long as a chain, and
 * zeros fill the last one. */
static int64_t block_of(int64_t n, int64_t chain) {
    for (int64_t block = chain; block >= chain / 4; block--)
        if (n % block == 0) return block;
    return chain;
}

static dt_hlo_value with_zeros_behind(dt_hlo *h, dt_hlo_value x, int d, int64_t n) {
    const int64_t none[DT_MAX_RANK] = {0};
    const dt_type scalar = dt_scalar_type(x.type.dtype);
    int64_t high[DT_MAX_RANK] = {0};
    dt_type t = x.type;
    if (n == 0) return x;
    high[d] = n;
    t.dim[d] += n;
    return dt_hlo_op(h, "pad", (dt_hlo_value[]){x, dt_hlo_splat(h, &scalar, 0)}, 2, &t,
                     "edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s",
                     dt_hlo_array64(none, t.rank).s, dt_hlo_array64(high, t.rank).s,
                     dt_hlo_array64(none, t.rank).s);
}

/* Divides a run of n elements into blocks, with zeros behind the last elements: (.., n, ..) becomes
 * (.., blocks, block, ..), where the blocks are dimension r->first and their elements dimension
 * r->first + 1. */
static dt_hlo_value in_blocks(dt_hlo *h, dt_hlo_value x, const run *r, int64_t block) {
    const int behind = x.type.rank - r->end;
    const int64_t blocks = (r->n + block - 1) / block;
    dt_type t = x.type;
    t.rank = r->first + 1 + behind;
    t.dim[r->first] = r->n;
    memcpy(t.dim + r->first + 1, x.type.dim + r->end, (size_t)behind * sizeof *t.dim);
    x = dt_hlo_reshape(h, x, t.rank, t.dim);
    x = with_zeros_behind(h, x, r->first, blocks * block - r->n);
    memmove(t.dim + r->first + 2, t.dim + r->first + 1, (size_t)behind * sizeof *t.dim);
    t.dim[r->first] = blocks;
    t.dim[r->first + 1] = block;
    return dt_hlo_reshape(h, x, t.rank + 1, t.dim);
}

/* Returns the set `dims` after the dimensions of a run have become one that is still to be reduced
 * (kept 1), or have been removed (kept 0). */
static unsigned replace_run(unsigned dims, const run *r, int kept) {
    const unsigned before = dims & ((1u << r->first) - 1), behind = dims >> r->end;
    return before | (kept ? 1u << r->first : 0) | behind << (r->first + kept);
}

/* Shortens the longest run of summed dimensions. If it has more elements than a chain may have,
 * sums blocks of it, so that one shorter dimension remains to be summed; otherwise, or if x already
 * has the most dimensions and cannot be divided into blocks, sums all of it. Adapts the set
 * *dims. */
static dt_hlo_value shorten(dt_hlo *h, dt_hlo_value x, unsigned *dims) {
    const run r = longest_run(&x.type, *dims);
    const bool fits = r.end - r.first > 1 || x.type.rank < DT_MAX_RANK;
    if (r.n > h->chain && fits) {
        x = in_blocks(h, x, &r, block_of(r.n, h->chain));
        x = reduce(h, DT_REDUCE_SUM, x, 2u << r.first);
        *dims = replace_run(*dims, &r, 1);
    } else {
        x = reduce(h, DT_REDUCE_SUM, x, (1u << r.end) - (1u << r.first));
        *dims = replace_run(*dims, &r, 0);
    }
    return dt_hlo_op(h, "optimization_barrier", &x, 1, &x.type, "%s", "");
}

dt_hlo_value dt_hlo_reduce(dt_hlo *h, int kind, dt_hlo_value x, unsigned dims) {
    const dt_dtype dtype = x.type.dtype;
    const bool rounds =
        h->chain && kind == DT_REDUCE_SUM && dt_dtype_is_float(dtype) && dtype != DT_FLOAT64;
    if (rounds) x = dt_hlo_convert(h, x, DT_FLOAT32);
    while (rounds && count_terms(&x.type, dims) > h->chain) x = shorten(h, x, &dims);
    return dt_hlo_convert(h, reduce(h, kind, x, dims), dtype);
}

static dt_status *infer(dt_infer *q) {
    const dt_reduce_attr *a = q->attr;
    dt_type *out = &q->out;
    const dt_type *x = &q->in[0];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_NUMBERS));
    if (a->kind < DT_REDUCE_SUM || a->kind > DT_REDUCE_MIN)
        return dt_bad_shape(q, "(C2) unknown kind %d", (int)a->kind);
    if (a->dims & ~dt_all_dims(x->rank))
        return dt_bad_shape(q, "(C2) expected dimensions of %s, got the set 0x%x", dt_text_of(x).s,
                            (unsigned)a->dims);
    *out = dt_scalar_type(x->dtype);
    for (int d = 0; d < x->rank; d++)
        if (!(a->dims >> d & 1)) out->dim[out->rank++] = x->dim[d];
    return NULL;
}

/* Repeats y, or dy, along the reduced dimensions to the shape of x. */
static dt_value spread(const dt_grad *g, dt_value y) {
    const dt_reduce_attr *a = g->node->attr;
    dt_type x = dt_type_of_value(g->in[0]);
    int8_t dims[DT_MAX_RANK] = {0};
    int n = 0;
    for (int d = 0; d < x.rank; d++)
        if (!(a->dims >> d & 1)) dims[n++] = (int8_t)d;
    x.dtype = dt_type_of_value(y).dtype;
    return dt_broadcast_in_dim(y, &x, dims);
}

/* The gradient of a sum is dy for all elements. Elements equal to the maximum or minimum share dy
 * equally. */
static void grad(dt_grad *g) {
    const dt_reduce_attr *a = g->node->attr;
    if (a->kind == DT_REDUCE_SUM) {
        g->din[0] = spread(g, g->dout);
        return;
    }
    dt_value is_top = dt_compare(g->in[0], spread(g, g->out), DT_EQ);
    dt_value ones = dt_convert(is_top, dt_type_of_value(g->in[0]).dtype);
    dt_value share = dt_divide(g->dout, dt_reduce(ones, DT_REDUCE_SUM, a->dims));
    g->din[0] = dt_placement(is_top, spread(g, share));
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out;
    const dt_reduce_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 0, kept = 0; d < in[0].rank; d++) {
        rule->in[0][d] = (int8_t)d;
        if (!(a->dims >> d & 1)) rule->out[kept++] = (int8_t)d;
    }
}

static double join_double(int kind, double a, double b) {
    return kind == DT_REDUCE_SUM   ? a + b
           : kind == DT_REDUCE_MAX ? dt_double_max(a, b)
                                   : dt_double_min(a, b);
}

static int64_t join_int(int kind, int64_t a, int64_t b) {
    if (kind == DT_REDUCE_SUM) return dt_int_add(a, b);
    return (kind == DT_REDUCE_MAX) == (a > b) ? a : b;
}

static double empty_double(int kind) {
    return kind == DT_REDUCE_SUM ? 0 : kind == DT_REDUCE_MAX ? -INFINITY : INFINITY;
}

static int64_t empty_int(int kind, dt_dtype d) {
    return kind == DT_REDUCE_SUM ? 0 : kind == DT_REDUCE_MAX ? dt_int_lowest(d) : dt_int_highest(d);
}

/* Computes one element of y from the elements of x that `inner` visits, from offset `at` on. */
static void reduce_one(const dt_reduce_attr *a, const dt_view *x, int64_t at, dt_walk *inner,
                       const dt_view *y, int64_t i) {
    int64_t n = dt_walk_count(inner);
    if (dt_dtype_is_float(x->type.dtype)) {
        double sum = empty_double(a->kind);
        for (int64_t k = 0; k < n; k++, dt_walk_next(inner))
            sum = join_double(a->kind, sum, dt_cell_double(x, at + inner->at[0]));
        dt_cell_set_double(y, i, sum);
    } else {
        int64_t sum = empty_int(a->kind, x->type.dtype);
        for (int64_t k = 0; k < n; k++, dt_walk_next(inner))
            sum = join_int(a->kind, sum, dt_cell_int(x, at + inner->at[0]));
        dt_cell_set_int(y, i, sum);
    }
}

static void eval(const dt_call *c) {
    const dt_reduce_attr *a = c->node->attr;
    const dt_view *x = &c->in[0];
    int64_t stride[DT_MAX_RANK];
    dt_walk outer = {0}, inner = {0};
    dt_strides(&x->type, stride);
    for (int d = 0; d < x->type.rank; d++)
        dt_walk_add(a->dims >> d & 1 ? &inner : &outer, x->type.dim[d], stride[d], 0);
    for (int64_t i = 0, n = dt_walk_count(&outer); i < n; i++, dt_walk_next(&outer))
        reduce_one(a, x, outer.at[0], &inner, &c->out, i);
}

static dt_value stack(const dt_fold_call *c) {
    const dt_reduce_attr *a = c->node->attr;
    return dt_reduce(c->in[0], (dt_reduce_kind)a->kind, a->dims << 1);
}

static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, (double)dt_type_elements(&c->in[0].type));
}

static void print(const void *attr, dt_str *out) {
    const dt_reduce_attr *a = attr;
    static const char *const names[] = {"sum ", "max ", "min "};
    int8_t dims[DT_MAX_RANK];
    int n = 0;
    for (int d = 0; d < DT_MAX_RANK; d++)
        if (a->dims >> d & 1) dims[n++] = (int8_t)d;
    dt_str_puts(out, names[a->kind]);
    dt_print_dims(out, "dims=", dims, n);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_reduce_attr *a = c->node->attr;
    return dt_hlo_reduce(c->hlo, a->kind, c->in[0], a->dims);
}

const dt_reduce_attr *dt_reduce_of(const dt_node *n) {
    return n->op == &dt_op_reduce ? n->attr : NULL;
}

int dt_reduce_kind_of(const dt_node *n) {
    if (n->op == &dt_op_segment_reduce) return ((const dt_segment_attr *)n->attr)->reduce.kind;
    return n->op == &dt_op_reduce ? ((const dt_reduce_attr *)n->attr)->kind : DT_REDUCE_SUM;
}

const dt_op dt_op_reduce = {
    .name = "reduce",
    .n_in = 1,
    .role = DT_ROLE_REDUCE,
    .attr = {.size = sizeof(dt_reduce_attr), .print = print},
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .stack = stack,
    .segment = dt_segment_each,
    .forms.stablehlo = stablehlo,
};

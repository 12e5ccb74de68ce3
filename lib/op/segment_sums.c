/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce, dot_general and convolution for each segment: y[s, ...] = the op of the rows of segment
 * s. segment_reduce: (B, ...) -> (S, ...). segment_dot_general, segment_convolution: the products
 * of each replica's rows, stacked. The op's rules for empty sums and order hold for each segment,
 * and so do its constraints, except that these replace the last two:
 *
 *   reduce  dot_general  convolution
 *   (C3)    (C5)         (C6)         The cut is one of the three, and has at least one segment.
 *   (C4)    (C6)         (C7)         Dimension 0 of the inputs is the batch, and summed over.
 *           (C4)         (C5)         The result has at most 8 dimensions.
 *
 * Splitting: like the op, but dimension 0 stays whole, because it is cut at the borders of
 * segments.
 */
#include <stddef.h>
#include <string.h>

#include "op/cells.h"
#include "op/convolution.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

/* The op that is applied to the rows of a segment. */
typedef struct base {
    const dt_op *op;
    size_t attr;                         /* offset of the op's attributes in dt_segment_attr */
    bool (*sums_rows)(const void *attr); /* whether the attributes sum over dimension 0 */
    /* for messages: what the op does to a dimension that it sums over */
    const char *verb;
    struct {
        int cut, rows, result;
    } constraint; /* numbers n of the segment op's constraints (Cn) */
} base;

static const void *attr_of(const base *b, const void *attr) { return (const char *)attr + b->attr; }

/* A node of the base op for a segment, with the members that its functions read. */
static dt_node node_of(const base *b, const dt_node *n) {
    dt_node inner = *n;
    inner.op = b->op;
    inner.attr = attr_of(b, n->attr);
    return inner;
}

static dt_type entry_type(const dt_type *stacked) {
    return dt_type_of(stacked->dtype, stacked->rank - 1, stacked->dim + 1);
}

static dt_status *infer(dt_infer *q, const base *b) {
    const dt_segment_attr *a = q->attr;
    dt_infer inner = *q;
    inner.attr = attr_of(b, a);
    DT_TRY(dt_segment_check(q, b->constraint.cut));
    for (int i = 0; i < q->n_in; i++)
        DT_TRY(dt_segment_wants_batch(q, &q->in[i], b->constraint.rows));
    if (!b->sums_rows(inner.attr))
        return dt_bad_shape(q, "(C%d) must %s dimension 0 of %s%s%s", b->constraint.rows, b->verb,
                            dt_text_of(&q->in[0]).s, q->n_in > 1 ? " and " : "",
                            q->n_in > 1 ? dt_text_of(&q->in[1]).s : "");
    DT_TRY(b->op->infer(&inner));
    q->out = dt_stack_type(a->count, &inner.out);
    return dt_check_result(q, b->constraint.result);
}

static void eval(const dt_call *c, const base *b) {
    const dt_node inner = node_of(b, c->node);
    for (int s = 0; s < dt_segment_count(c->node); s++) {
        dt_view in[2];
        for (int i = 0; i < inner.n_in; i++) in[i] = dt_segment_rows(c, &c->in[i], s);
        b->op->eval(
            &(dt_call){.node = &inner, .env = c->env, .in = in, .out = dt_view_entry(&c->out, s)});
    }
}

static void cost(const dt_call *c, const base *b, dt_cost *cost) {
    const dt_node inner = node_of(b, c->node);
    dt_call all = *c;
    all.node = &inner;
    b->op->cost(&all, cost);
    dt_cost_segments(cost, dt_segment_count(c->node));
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, const base *b,
                 dt_rule *rule) {
    b->op->rule(in, out, attr_of(b, attr), rule);
    dt_segment_stack_rule(out, rule);
}

static void print(const void *attr, const base *b, dt_str *out) {
    dt_segment_print(attr, out);
    dt_str_putc(out, ' ');
    b->op->attr.print(attr_of(b, attr), out);
}

/* ---- in StableHLO ---- */

/* The value of one segment. A product without rows is 0; a reduce itself defines its value for no
 * rows. */
static dt_hlo_value entry(const dt_hlo_call *c, const dt_node *inner, int s) {
    const dt_type type = entry_type(&c->type);
    dt_hlo_call one = {.hlo = c->hlo, .node = inner, .type = type};
    int64_t rows = 0;
    for (int k = 0; k < inner->n_in; k++) {
        const int64_t from = dt_segment_hlo_border(c, &c->in[k].type, s);
        rows = dt_segment_hlo_border(c, &c->in[k].type, s + 1) - from;
        one.in[k] = dt_hlo_slice(c->hlo, c->in[k], 0, from, rows);
    }
    if (rows == 0 && inner->op->role == DT_ROLE_PRODUCT) return dt_hlo_splat(c->hlo, &type, 0);
    return inner->op->forms.stablehlo(&one);
}

/* Emits segments one by one and joins them. */
static dt_hlo_value apart(const dt_hlo_call *c, const base *b) {
    const int count = dt_segment_count(c->node);
    const dt_node inner = node_of(b, c->node);
    DT_LOCAL dt_hlo_value *of = dt_alloc(dt_size_mul((size_t)count, sizeof *of));
    dt_type one = c->type;

    one.dim[0] = 1;
    for (int s = 0; s < count; s++)
        of[s] = dt_hlo_reshape(c->hlo, entry(c, &inner, s), one.rank, one.dim);
    return dt_hlo_concatenate(c->hlo, of, count, 0);
}

/* StableHLO for segments with equal numbers of rows: (B, ...) becomes (S, B / S, ...). */
static dt_hlo_value together(const dt_hlo_call *c) {
    const dt_segment_attr *a = c->node->attr;
    const dt_type *x = &c->in[0].type;
    int64_t dim[DT_MAX_RANK + 1] = {a->count, x->dim[0] / a->count};
    for (int d = 1; d < x->rank; d++) dim[d + 1] = x->dim[d];
    return dt_hlo_reduce(c->hlo, a->reduce.kind, dt_hlo_reshape(c->hlo, c->in[0], x->rank + 1, dim),
                         a->reduce.dims << 1);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c, const base *b) {
    bool can = b->op == &dt_op_reduce && dt_segment_hlo_is_even(c);
    return can ? together(c) : apart(c, b);
}

/* ---- over devices: the convolution of a segment is split like a convolution ---- */

static void convolution_rule_over_devices(const dt_type *in, const dt_type *out, const void *attr,
                                          dt_rule *r) {
    const dt_segment_attr *a = attr;
    const dt_type entry = entry_type(out);
    dt_convolution_rule_over_devices(in, &entry, &a->convolution, r);
    dt_segment_stack_rule(out, r);
}

static bool can_split_convolution(const dt_partition_call *c) {
    const dt_segment_attr *a = c->node->attr;
    const dt_type entry = entry_type(&c->node->type);
    return dt_convolution_can_split(c, &a->convolution, &entry);
}

static dt_value split_convolution(dt_partition_call *c) {
    dt_segment_attr a = *(const dt_segment_attr *)c->node->attr;
    const dt_type entry = entry_type(&c->node->type);
    a.convolution = dt_convolution_split(c, &a.convolution, &entry);
    return dt_emit(c->trace, c->node->op, c->in, 2, &a);
}

static const dt_partition_row over_devices_convolution = {convolution_rule_over_devices,
                                                          can_split_convolution, split_convolution};

/* ---- rows ---- */

static bool reduces_rows(const void *attr) { return ((const dt_reduce_attr *)attr)->dims & 1; }

static bool contracts_rows(const void *attr) {
    const dt_dot_attr *d = attr;
    for (int i = 0; i < d->n_contract && i < DT_MAX_RANK; i++)
        if (d->lhs_contract[i] == 0 && d->rhs_contract[i] == 0) return true;
    return false;
}

static bool convolves_rows(const void *attr) {
    const dt_convolution_attr *a = attr;
    return a->lhs_feature == 0 && a->rhs_in == 0;
}

static const base base_reduce = {.op = &dt_op_reduce,
                                 .attr = offsetof(dt_segment_attr, reduce),
                                 .sums_rows = reduces_rows,
                                 .verb = "reduce",
                                 .constraint = {.cut = 3, .rows = 4, .result = 4}};
static const base base_dot_general = {.op = &dt_op_dot_general,
                                      .attr = offsetof(dt_segment_attr, dot),
                                      .sums_rows = contracts_rows,
                                      .verb = "contract",
                                      .constraint = {.cut = 5, .rows = 6, .result = 4}};
static const base base_convolution = {.op = &dt_op_convolution,
                                      .attr = offsetof(dt_segment_attr, convolution),
                                      .sums_rows = convolves_rows,
                                      .verb = "sum over",
                                      .constraint = {.cut = 6, .rows = 7, .result = 5}};

#define OVER_DEVICES(of)                                                                           \
    static void rule_over_devices_##of(const dt_type *in, const dt_type *out, const void *attr,    \
                                       dt_rule *r) {                                               \
        rule(in, out, attr, &base_##of, r);                                                        \
        dt_segment_replica_factor(r, base_##of.op->n_in);                                          \
    }                                                                                              \
    static const dt_partition_row over_devices_##of = {                                            \
        .rule = rule_over_devices_##of, .can = dt_segment_can, .emit = dt_segment_emit};
OVER_DEVICES(reduce)
OVER_DEVICES(dot_general)

#define SEGMENT_OP(of, ...)                                                                        \
    static dt_status *infer_##of(dt_infer *q) { return infer(q, &base_##of); }                     \
    static void rule_##of(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {   \
        rule(in, out, attr, &base_##of, r);                                                        \
    }                                                                                              \
    static void cost_##of(const dt_call *c, dt_cost *sum) { cost(c, &base_##of, sum); }            \
    static void eval_##of(const dt_call *c) { eval(c, &base_##of); }                               \
    static void print_##of(const void *attr, dt_str *out) { print(attr, &base_##of, out); }        \
    static dt_hlo_value hlo_##of(const dt_hlo_call *c) { return stablehlo(c, &base_##of); }        \
    const dt_op dt_op_segment_##of = {                                                             \
        .name = "segment_" #of,                                                                    \
        .attr = {.size = sizeof(dt_segment_attr), .print = print_##of},                            \
        .infer = infer_##of,                                                                       \
        .rule = rule_##of,                                                                         \
        .cost = cost_##of,                                                                         \
        .eval = eval_##of,                                                                         \
        .over_devices = &over_devices_##of,                                                        \
        .forms.stablehlo = hlo_##of,                                                               \
        __VA_ARGS__};
SEGMENT_OP(reduce, .n_in = 1, .role = DT_ROLE_REDUCE)
SEGMENT_OP(dot_general, .n_in = 2, .role = DT_ROLE_PRODUCT, .multiplied = 3)
SEGMENT_OP(convolution, .n_in = 2, .role = DT_ROLE_PRODUCT, .multiplied = 3)

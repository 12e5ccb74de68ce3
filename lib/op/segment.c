/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment ops of folded graphs (op.h lists them). A segment op is another op with a modifier:
 * the op is applied to the rows of each segment by itself, so its rules for shapes, order, empty
 * sums, cost and StableHLO hold for each segment.
 *
 * The constraints of the op that is modified hold for each segment. These are added; some have the
 * number of a constraint of that op:
 *
 *   reduce,
 *   deviations  dot_general  convolution
 *   (C3)        (C5)         (C6)         The cut is one of the three. It has a segment or more.
 *   (C4)        (C6)         (C7)         Dimension 0 of the inputs is the batch, and summed over.
 *               (C4)         (C5)         The result has at most 8 dimensions.
 *
 * segment_deviations: (C2) x holds floats, and the kind is a sum.
 * segment_broadcast: (C1) is that of the cut. (C2) Dimension 0 of the result is the batch, and no
 * other dimension. (C3) Dimension 0 of x counts the segments; the others, and the dtype, are those
 * of the result.
 * segment_sizes: (C1) is that of the cut.
 *
 * Splitting: like the op that is modified, but dimension 0 stays whole, because it is cut at the
 * borders of segments. Over devices, axes of replicas can split it, except for convolutions.
 */
#include "op/segment.h"

#include <string.h>

#include "op/cells.h"
#include "op/convolution.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

/* ---- deviations: the sum of the squared differences between rows and their mean ---- */

static dt_status *deviations_infer(dt_infer *q) {
    const dt_reduce_attr *a = q->attr;
    if (!dt_dtype_is_float(q->in[0].dtype) || a->kind != DT_REDUCE_SUM)
        return dt_bad_shape(q, "(C2) expected a sum of floats, got one of %s",
                            dt_text_of(&q->in[0]).s);
    return dt_op_reduce.infer(q);
}

/* Reduced dimensions are not divided, since the parts of a segment have other means than the
 * segment. */
static void deviations_rule(const dt_type *in, const dt_type *out, const void *attr,
                            dt_rule *rule) {
    (void)out;
    const dt_reduce_attr *a = attr;
    dt_rule_whole(rule);
    for (int d = 0, kept = 0; d < in[0].rank; d++)
        if (!(a->dims >> d & 1)) rule->in[0][d] = rule->out[kept++] = (int8_t)d;
}

/* Computes one element of the result from the elements of x that `inner` visits, from offset `at`
 * on. */
static double deviations(const dt_view *x, int64_t at, dt_walk *inner) {
    const int64_t n = dt_walk_count(inner);
    double sum = 0, squares = 0;

    for (int64_t k = 0; k < n; k++, dt_walk_next(inner))
        sum += dt_cell_double(x, at + inner->at[0]);
    for (int64_t k = 0; k < n; k++, dt_walk_next(inner)) {
        const double d = dt_cell_double(x, at + inner->at[0]) - sum / (double)n;
        squares += d * d;
    }
    return squares;
}

static void deviations_eval(const dt_call *c) {
    const dt_reduce_attr *a = c->node->attr;
    const dt_view *x = &c->in[0];
    int64_t stride[DT_MAX_RANK];
    dt_walk outer = {0}, inner = {0};
    dt_strides(&x->type, stride);
    for (int d = 0; d < x->type.rank; d++)
        dt_walk_add(a->dims >> d & 1 ? &inner : &outer, x->type.dim[d], stride[d], 0);
    for (int64_t i = 0, n = dt_walk_count(&outer); i < n; i++, dt_walk_next(&outer))
        dt_cell_set_double(&c->out, i, deviations(x, outer.at[0], &inner));
}

static void deviations_cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, 4 * (double)dt_type_elements(&c->in[0].type));
}

static void deviations_print(const void *attr, dt_str *out) { dt_op_reduce.attr.print(attr, out); }

static const dt_op each_deviations = {.n_in = 1,
                                      .attr.print = deviations_print,
                                      .infer = deviations_infer,
                                      .rule = deviations_rule,
                                      .cost = deviations_cost,
                                      .eval = deviations_eval};

/* ---- repeat: all rows are the entry x ---- */

static void repeat_eval(const dt_call *c) {
    const int64_t n = dt_type_elements(&c->in[0].type);
    for (int64_t i = 0, end = dt_type_elements(&c->out.type); i < end; i++)
        dt_cell_copy(&c->out, i, &c->in[0], i % n);
}

static dt_hlo_value repeat_stablehlo(const dt_hlo_call *c) {
    int8_t dims[DT_MAX_RANK] = {0};
    for (int d = 1; d < c->type.rank; d++) dims[d - 1] = (int8_t)d;
    return dt_hlo_broadcast(c->hlo, c->in[0], &c->type, dims);
}

static const dt_op each_repeat = {
    .n_in = 1, .eval = repeat_eval, .forms.stablehlo = repeat_stablehlo};

/* ---- the table of modified ops ---- */

/* A segment op: another op, `each`, which is applied to the rows of each segment. */
typedef struct modified {
    const dt_op *op;
    const dt_op *each; /* the op that is applied to the rows of each segment */
    /* whether the attributes of `each` sum over dimension 0, the rows; NULL: `each` reads no rows
     * but the entry of the segment */
    bool (*sums_rows)(const void *attr);
    const char *verb; /* for messages: what `each` does to a dimension that it sums over */
    struct {
        int cut, rows, result;
    } constraint; /* numbers n of the segment op's constraints (Cn) */
} modified;

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

static const modified table[] = {
    {&dt_op_segment_reduce, &dt_op_reduce, reduces_rows, "reduce", {3, 4, 4}},
    {&dt_op_segment_deviations, &each_deviations, reduces_rows, "reduce", {3, 4, 4}},
    {&dt_op_segment_dot_general, &dt_op_dot_general, contracts_rows, "contract", {5, 6, 4}},
    {&dt_op_segment_convolution, &dt_op_convolution, convolves_rows, "sum over", {6, 7, 5}},
    {&dt_op_segment_broadcast, &each_repeat, NULL, NULL, {0}},
};

/* Returns the row of `table` for a segment op. Returns NULL for other ops and for segment_sizes,
 * which does not modify another op. */
static const modified *find(const dt_op *op) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (op == table[i].op) return &table[i];
    return NULL;
}

static const void *attr_of_each(const dt_segment_attr *a) { return &a->reduce; }

/* Returns n with the op that is applied to each segment, and the attributes of that op. The type
 * stays that of the segment op. */
static dt_node node_of_each(const modified *m, const dt_node *n) {
    dt_node each = *n;
    each.op = m->each;
    each.attr = attr_of_each(n->attr);
    return each;
}

static dt_type entry_type(const dt_type *stacked) {
    return dt_type_of(stacked->dtype, stacked->rank - 1, stacked->dim + 1);
}

/* ---- cuts ---- */

int dt_segment_count(const dt_node *n) { return ((const dt_segment_attr *)n->attr)->count; }

bool dt_is_segment_op(const dt_op *op) { return find(op) || op == &dt_op_segment_sizes; }

int dt_cut_of(const dt_node *n) {
    return dt_is_segment_op(n->op) ? ((const dt_segment_attr *)n->attr)->cut : -1;
}

void dt_segment_piece(int64_t batch, int count, int s, int64_t *lo, int64_t *hi) {
    *lo = batch * s / count;
    *hi = batch * (s + 1) / count;
}

int64_t dt_segment_border(const dt_call *c, int s) {
    const dt_segment_attr *a = c->node->attr;
    int64_t lo, hi;
    if (a->cut != DT_CUT_TILES)
        return (a->cut == DT_CUT_SHARDS ? c->env->shards : c->env->offsets)[s];
    dt_segment_piece(c->env->batch, a->count, s, &lo, &hi);
    return lo;
}

static dt_view rows_of(const dt_call *c, const dt_view *x, int s) {
    int64_t examples = dt_segment_border(c, dt_segment_count(c->node)),
            from = dt_segment_border(c, s), to = dt_segment_border(c, s + 1);
    int64_t rows_each = examples > 0 ? x->type.dim[0] / examples : 0;
    return dt_view_rows(x, rows_each * from, rows_each * (to - from));
}

static dt_status *check_cut(const dt_infer *q, int c) {
    const dt_segment_attr *a = q->attr;
    if (a->cut < DT_CUT_REPLICAS || a->cut > DT_CUT_TILES || a->count < 1)
        return dt_bad_shape(q, "(C%d) unknown cut %d into %d segments", c, (int)a->cut,
                            (int)a->count);
    return NULL;
}

static dt_status *want_batch(const dt_infer *q, const dt_type *t, int c) {
    if (t->rank < 1 || !dt_is_batch(t, 0))
        return dt_bad_shape(q, "(C%d) expected the batch as dimension 0, got %s", c,
                            dt_text_of(t).s);
    return NULL;
}

/* ---- the functions of the modified op ---- */

static dt_status *infer(dt_infer *q) {
    const modified *m = find(q->op);
    const dt_segment_attr *a = q->attr;
    dt_infer each = *q;
    each.attr = attr_of_each(a);
    DT_TRY(check_cut(q, m->constraint.cut));
    for (int i = 0; i < q->n_in; i++) DT_TRY(want_batch(q, &q->in[i], m->constraint.rows));
    if (!m->sums_rows(each.attr))
        return dt_bad_shape(q, "(C%d) must %s dimension 0 of %s%s%s", m->constraint.rows, m->verb,
                            dt_text_of(&q->in[0]).s, q->n_in > 1 ? " and " : "",
                            q->n_in > 1 ? dt_text_of(&q->in[1]).s : "");
    DT_TRY(m->each->infer(&each));
    q->out = dt_stack_type(a->count, &each.out);
    return dt_check_result(q, m->constraint.result);
}

static void eval(const dt_call *c) {
    const modified *m = find(c->node->op);
    const dt_node each = node_of_each(m, c->node);
    for (int s = 0; s < dt_segment_count(c->node); s++) {
        dt_view in[2];
        dt_call one = {.node = &each, .env = c->env, .in = in};
        for (int i = 0; i < each.n_in; i++)
            in[i] = m->sums_rows ? rows_of(c, &c->in[i], s) : dt_view_entry(&c->in[i], s);
        one.out = m->sums_rows ? dt_view_entry(&c->out, s) : rows_of(c, &c->out, s);
        m->each->eval(&one);
    }
}

static void cost(const dt_call *c, dt_cost *cost) {
    const modified *m = find(c->node->op);
    const dt_node each = node_of_each(m, c->node);
    dt_call all = *c;
    all.node = &each;
    m->each->cost(&all, cost);
    dt_cost_segments(cost, dt_segment_count(c->node));
}

static void print_cut(const void *attr, dt_str *out) {
    static const char *const names[] = {"replicas", "shards", "pieces"};
    const dt_segment_attr *a = attr;
    dt_str_printf(out, "%s %d", names[a->cut], (int)a->count);
}

/* Changes the rule of an op that sums over rows into that of its segment op, whose results are
 * stacked along a leading dimension. That dimension and the rows are not divided. */
static void stack_rule(const dt_type *out, dt_rule *rule) {
    rule->in[0][0] = rule->in[1][0] = -1;
    for (int d = out->rank - 1; d > 0; d--) rule->out[d] = rule->out[d - 1];
    rule->out[0] = -1;
}

/* ---- emitting ---- */

/* Clears the attributes by memset, so that the padding is 0, too: attributes are compared with
 * memcmp. */
dt_segment_attr dt_segment_attr_of(int cut, int count) {
    dt_segment_attr a;
    memset(&a, 0, sizeof a);
    a.cut = cut;
    a.count = count;
    return a;
}

dt_value dt_segment_each(const dt_fold_call *c) {
    const dt_op *each = c->node->op;
    dt_segment_attr a = dt_segment_attr_of(c->cut, c->segments);
    int i = 0;
    while (table[i].each != each) i++;
    memcpy(&a.reduce, c->node->attr, each->attr.size);
    return dt_emit(c->trace, table[i].op, c->in, each->n_in, &a);
}

/* ---- over devices ---- */

enum { REPLICA_FACTOR = DT_MAX_FACTORS - 1 };

/* Adds the factor that stands for replicas to dimension 0 of the result and of n_in inputs, for
 * meshes in which replicas have axes: then each device has the rows and the segment of its replica
 * (op/partition.h). */
static void add_replica_factor(dt_rule *rule, int n_in) {
    rule->out[0] = REPLICA_FACTOR;
    for (int i = 0; i < n_in; i++) rule->in[i][0] = REPLICA_FACTOR;
}

static bool can_split_replicas(const dt_partition_call *c) {
    const dt_segment_attr *a = c->node->attr;
    dt_mesh_axes axes = c->factor[REPLICA_FACTOR];
    return !axes || (axes == c->mesh->replicas && a->cut == DT_CUT_REPLICAS &&
                     a->count == dt_mesh_parts(c->mesh, axes));
}

static dt_value split_replicas(dt_partition_call *c) {
    dt_segment_attr a = *(const dt_segment_attr *)c->node->attr;
    a.count /= dt_mesh_parts(c->mesh, c->factor[REPLICA_FACTOR]);
    if (c->node->op->attr.type) a.type = dt_partition_type(c);
    return dt_emit(c->trace, c->node->op, c->in, c->node->n_in, &a);
}

/* A convolution for each segment is split over devices as a convolution of all rows is, except that
 * dimension 0 (rows, segments) stays whole. */
static void convolution_rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    const dt_type entry = entry_type(out);
    dt_convolution_over_devices.rule(in, &entry, attr_of_each(attr), r);
    stack_rule(out, r);
}

static bool can_split_convolution(const dt_partition_call *c) {
    dt_node each = node_of_each(find(c->node->op), c->node);
    dt_partition_call one = *c;
    each.type = entry_type(&c->node->type);
    one.node = &each;
    return dt_convolution_over_devices.can(&one);
}

static dt_value split_convolution(dt_partition_call *c) {
    dt_segment_attr a = *(const dt_segment_attr *)c->node->attr;
    const dt_type entry = entry_type(&c->node->type);
    a.convolution = dt_convolution_split(c, &a.convolution, &entry);
    return dt_emit(c->trace, c->node->op, c->in, 2, &a);
}

/* ---- in StableHLO ---- */

/* Whether all segments have the same number of rows in the program to be written. */
static bool is_even(const dt_hlo_call *c) {
    return !c->hlo->offsets || dt_cut_of(c->node) != DT_CUT_REPLICAS;
}

/* Returns the row of x at which segment s begins. x has one or more rows for each example. */
static int64_t row_at(const dt_hlo_call *c, const dt_type *x, int s) {
    const int64_t rows = x->dim[0], examples = c->hlo->batch;
    return is_even(c) ? rows / dt_segment_count(c->node) * s : rows / examples * c->hlo->offsets[s];
}

/* Writes `each` for segment s. A product without rows is 0; a reduce itself defines its value for
 * no rows. */
static dt_hlo_value write_each(const dt_hlo_call *c, const modified *m, int s) {
    const dt_node each = node_of_each(m, c->node);
    dt_hlo_call one = {.hlo = c->hlo, .node = &each, .type = entry_type(&c->type)};
    int64_t rows = 0;
    if (!m->sums_rows) {
        one.type = c->type;
        one.type.dim[0] = row_at(c, &c->type, s + 1) - row_at(c, &c->type, s);
        one.in[0] = dt_hlo_reshape(c->hlo, dt_hlo_slice(c->hlo, c->in[0], 0, s, 1),
                                   c->type.rank - 1, c->type.dim + 1);
        return m->each->forms.stablehlo(&one);
    }
    for (int k = 0; k < each.n_in; k++) {
        const int64_t from = row_at(c, &c->in[k].type, s);
        rows = row_at(c, &c->in[k].type, s + 1) - from;
        one.in[k] = dt_hlo_slice(c->hlo, c->in[k], 0, from, rows);
    }
    if (rows == 0 && m->each->role == DT_ROLE_PRODUCT) return dt_hlo_splat(c->hlo, &one.type, 0);
    return m->each->forms.stablehlo(&one);
}

/* Writes `each` for the segments one after the other and concatenates the results. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const modified *m = find(c->node->op);
    const int count = dt_segment_count(c->node);
    DT_LOCAL dt_hlo_value *of = dt_alloc(dt_size_mul((size_t)count, sizeof *of));
    dt_type one = c->type;

    one.dim[0] = 1;
    for (int s = 0; s < count; s++) {
        of[s] = write_each(c, m, s);
        if (m->sums_rows) of[s] = dt_hlo_reshape(c->hlo, of[s], one.rank, one.dim);
    }
    return dt_hlo_concatenate(c->hlo, of, count, 0);
}

/* Gets the type of rows, (B, ...), divided into segments of equal size: (S, B / S, ...). Returns
 * false if segments differ in size, or a type cannot have one more dimension. */
static bool divide(const dt_hlo_call *c, const dt_type *rows, dt_type *out) {
    const int count = dt_segment_count(c->node);
    if (!is_even(c) || rows->rank == DT_MAX_RANK) return false;
    *out = (dt_type){rows->dtype, rows->rank + 1, {count, rows->dim[0] / count}};
    for (int d = 1; d < rows->rank; d++) out->dim[d + 1] = rows->dim[d];
    return true;
}

static dt_hlo_value reduce_stablehlo(const dt_hlo_call *c) {
    const dt_reduce_attr *a = attr_of_each(c->node->attr);
    dt_type apart;
    if (!divide(c, &c->in[0].type, &apart)) return stablehlo(c);
    return dt_hlo_reduce(c->hlo, a->kind, dt_hlo_reshape(c->hlo, c->in[0], apart.rank, apart.dim),
                         a->dims << 1);
}

static dt_hlo_value broadcast_stablehlo(const dt_hlo_call *c) {
    int8_t dims[DT_MAX_RANK] = {0};
    dt_type apart;
    if (!divide(c, &c->type, &apart)) return stablehlo(c);
    for (int d = 1; d < c->type.rank; d++) dims[d] = (int8_t)(d + 1);
    return dt_hlo_reshape(c->hlo, dt_hlo_broadcast(c->hlo, c->in[0], &apart, dims), c->type.rank,
                          c->type.dim);
}

/* ---- broadcast: all rows of a segment are the segment's entry ---- */

static dt_status *broadcast_infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    q->out = a->type;
    DT_TRY(check_cut(q, 1));
    DT_TRY(dt_check_result(q, 2));
    DT_TRY(want_batch(q, &q->out, 2));
    dt_type wanted = q->out;
    wanted.dim[0] = a->count;
    if (!dt_type_equal(&q->in[0], &wanted))
        return dt_bad_shape(q, "(C3) expected %s to make %s, got %s", dt_text_of(&wanted).s,
                            dt_text_of(&q->out).s, dt_text_of(&q->in[0]).s);
    return NULL;
}

static void rule_broadcast(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    dt_rule_elementwise(in, out, attr, rule);
    rule->in[0][0] = rule->out[0] = -1;
}

/* ---- sizes: the number of examples in each segment ---- */

static void rule_sizes(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    dt_rule_none(in, out, attr, rule);
}

static dt_status *sizes_infer(dt_infer *q) {
    const dt_segment_attr *a = q->attr;
    q->out = dt_type_of(DT_INT32, 1, (int64_t[]){a->count});
    return check_cut(q, 1);
}

static void sizes_eval(const dt_call *c) {
    for (int s = 0; s < dt_segment_count(c->node); s++)
        dt_cell_set_int(&c->out, s, dt_segment_border(c, s + 1) - dt_segment_border(c, s));
}

static dt_hlo_value sizes_stablehlo(const dt_hlo_call *c) {
    const int count = dt_segment_count(c->node);
    const dt_type examples = dt_type_of(DT_INT32, 1, (int64_t[]){c->hlo->batch}),
                  one = dt_type_of(DT_INT32, 1, (int64_t[]){1});
    if (is_even(c)) return dt_hlo_splat(c->hlo, &c->type, (double)(c->hlo->batch / count));
    DT_LOCAL dt_hlo_value *size = dt_alloc(dt_size_mul((size_t)count, sizeof *size));
    for (int s = 0; s < count; s++)
        size[s] = dt_hlo_splat(c->hlo, &one,
                               (double)(row_at(c, &examples, s + 1) - row_at(c, &examples, s)));
    return dt_hlo_concatenate(c->hlo, size, count, 0);
}

/* ---- rows ---- */

#define SEGMENT_OP(of, ...)                                                                        \
    static void rule_over_devices_##of(const dt_type *in, const dt_type *out, const void *attr,    \
                                       dt_rule *r) {                                               \
        rule_##of(in, out, attr, r);                                                               \
        add_replica_factor(r, dt_op_segment_##of.n_in);                                            \
    }                                                                                              \
    static const dt_partition_row over_devices_##of = {rule_over_devices_##of, can_split_replicas, \
                                                       split_replicas};                            \
    const dt_op dt_op_segment_##of = {.name = "segment_" #of,                                      \
                                      .attr.size = sizeof(dt_segment_attr),                        \
                                      .rule = rule_##of,                                           \
                                      .over_devices = &over_devices_##of,                          \
                                      __VA_ARGS__};

#define MODIFIED(of, op)                                                                           \
    static void rule_##of(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {   \
        op.rule(in, out, attr_of_each(attr), r);                                                   \
        stack_rule(out, r);                                                                        \
    }                                                                                              \
    static void print_##of(const void *attr, dt_str *out) {                                        \
        print_cut(attr, out);                                                                      \
        dt_str_putc(out, ' ');                                                                     \
        op.attr.print(attr_of_each(attr), out);                                                    \
    }
#define EACH(of) .infer = infer, .cost = cost, .eval = eval, .attr.print = print_##of
#define PRODUCT(of) EACH(of), .n_in = 2, .role = DT_ROLE_PRODUCT, .multiplied = 3
MODIFIED(reduce, dt_op_reduce)
MODIFIED(deviations, each_deviations)
MODIFIED(dot_general, dt_op_dot_general)
MODIFIED(convolution, dt_op_convolution)
SEGMENT_OP(reduce, EACH(reduce), .n_in = 1, .role = DT_ROLE_REDUCE,
           .forms.stablehlo = reduce_stablehlo)
SEGMENT_OP(deviations, EACH(deviations), .n_in = 1)
SEGMENT_OP(dot_general, PRODUCT(dot_general), .forms.stablehlo = stablehlo)
SEGMENT_OP(broadcast, .n_in = 1, .attr.type = 1 + offsetof(dt_segment_attr, type),
           .attr.print = print_cut, .traits = {.exact = true, .read_through = true},
           .infer = broadcast_infer, .eval = eval, .forms.stablehlo = broadcast_stablehlo)
SEGMENT_OP(sizes, .attr.print = print_cut, .traits.varying = true, .infer = sizes_infer,
           .eval = sizes_eval, .forms.stablehlo = sizes_stablehlo)

static const dt_partition_row convolution_over_devices = {convolution_rule, can_split_convolution,
                                                          split_convolution};
const dt_op dt_op_segment_convolution = {.name = "segment_convolution",
                                         .attr.size = sizeof(dt_segment_attr),
                                         .rule = rule_convolution,
                                         .over_devices = &convolution_over_devices,
                                         .forms.stablehlo = stablehlo,
                                         PRODUCT(convolution)};

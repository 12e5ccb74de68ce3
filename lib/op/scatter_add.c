/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter_add: the gradient of gather: y[v, d..] = the sum of x[i.., d..] over all i.. where
 * index[i..] = v. Numbers without a row in y add nothing. Floats are added in double, in the order
 * of i.., and rounded once; integers wrap.
 *
 * (C1) index holds integers.
 * (C2) x holds numbers and begins with the dimensions of the index.
 * (C3) y has at least one row; the result has no batch dimension: the batch of x is indexed by
 * `index`.
 *
 * Splitting: along the dimensions of the index, which leaves partial sums, and along those of the
 * rows. Over devices, y's rows can be split, too: each device subtracts the number of its first row
 * from the index, so that row numbers of other devices are out of range and add nothing.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/partition.h"
#include "op/segment.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

#include <stdlib.h>
#include <string.h>

static dt_status *infer(dt_infer *q) {
    const dt_rows_attr *a = q->attr;
    const dt_type *x = &q->in[0], *index = &q->in[1];
    if (dt_dtype_is_float(index->dtype) || index->dtype == DT_BOOL)
        return dt_bad_shape(q, "(C1) expected row numbers of integers, got %s",
                            dt_text_of(index).s);
    bool begins = index->rank <= x->rank && x->dtype != DT_BOOL;
    for (int d = 0; begins && d < index->rank; d++) begins = x->dim[d] == index->dim[d];
    if (!begins)
        return dt_bad_shape(q, "(C2) expected numbers for each of %s, got %s", dt_text_of(index).s,
                            dt_text_of(x).s);
    if (a->rows < 1) return dt_bad_shape(q, "(C3) cannot make %lld rows", (long long)a->rows);
    q->out = (dt_type){.dtype = x->dtype, .rank = 1 + x->rank - index->rank, .dim = {a->rows}};
    if (q->out.rank <= DT_MAX_RANK)
        memcpy(q->out.dim + 1, x->dim + index->rank, (size_t)(q->out.rank - 1) * sizeof *x->dim);
    return dt_check_result(q, 3);
}

static void grad(dt_grad *g) {
    if (g->wants[0]) g->din[0] = dt_gather(g->dout, g->in[1]);
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out, (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < in[1].rank; d++) rule->in[0][d] = rule->in[1][d] = (int8_t)d;
    for (int d = in[1].rank, to = 1; d < in[0].rank; d++, to++)
        rule->in[0][d] = rule->out[to] = (int8_t)d;
}

/* For each row number, the positions in the index that name it, as linked lists in order:
 * first[row], then next[i]. */
typedef struct lists {
    int64_t *first, *next;
} lists;

static lists make_lists(const dt_view *index, int64_t rows) {
    int64_t n = dt_type_elements(&index->type);
    lists l = {dt_alloc(dt_size_mul((size_t)rows + 1, sizeof *l.first)),
               dt_alloc(dt_size_mul((size_t)n + 1, sizeof *l.next))};
    for (int64_t v = 0; v < rows; v++) l.first[v] = -1;
    for (int64_t i = n - 1; i >= 0; i--) {
        int64_t v = dt_cell_int(index, i);
        if (v < 0 || v >= rows) continue;
        l.next[i] = l.first[v];
        l.first[v] = i;
    }
    return l;
}

static void sum_row(const dt_call *c, const lists *l, int64_t v, int64_t width) {
    const dt_view *x = &c->in[0];
    bool floats = dt_dtype_is_float(x->type.dtype);
    for (int64_t d = 0; d < width; d++) {
        double sum = 0;
        int64_t ints = 0;
        for (int64_t i = l->first[v]; i >= 0; i = l->next[i])
            if (floats) sum += dt_cell_double(x, i * width + d);
            else ints = dt_int_add(ints, dt_cell_int(x, i * width + d));
        if (floats) dt_cell_set_double(&c->out, v * width + d, sum);
        else dt_cell_set_int(&c->out, v * width + d, ints);
    }
}

static void eval(const dt_call *c) {
    int64_t rows = c->out.type.dim[0], width = dt_type_elements(&c->out.type) / (rows ? rows : 1);
    lists l = make_lists(&c->in[1], rows);
    for (int64_t v = 0; v < rows; v++) sum_row(c, &l, v, width);
    free(l.first);
    free(l.next);
}

/* Folded: the sums of all segments are one scatter into a table of tables. */

static dt_value segment(const dt_fold_call *c) {
    const dt_rows_attr *a = c->node->attr;
    dt_type out = c->node->type, index = dt_type_of_value(c->in[1]),
            number = dt_type_of(DT_INT64, 1, (int64_t[]){c->segments});
    dt_segment_attr to_rows = dt_segment_attr_of(c->cut, c->segments);
    to_rows.type = dt_type_of(DT_INT64, 1, index.dim);
    index.dtype = DT_INT64;
    /* (S) index of the first row of each segment's table in the table of all tables */
    dt_value first = dt_iota(c->trace, &number, 0);
    first = dt_multiply(first, dt_like(first, (double)a->rows));
    /* (B) the first row of its segment's table for each example */
    first = dt_emit(c->trace, &dt_op_segment_broadcast, &first, 1, &to_rows);
    dt_value apart = dt_add(dt_convert(c->in[1], DT_INT64), dt_broadcast_rows(first, &index));
    dt_value sums = dt_scatter_add(c->in[0], apart, a->rows * c->segments);
    dt_type stacked = dt_stack_type(c->segments, &out);
    return dt_reshape(sums, stacked.rank, stacked.dim);
}

/* Counts an addition for each element of x, and the bytes of x two more times, since a row of y is
 * read and written for each row of x. */
static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, (double)dt_type_elements(&c->in[0].type));
    cost->bytes += 2 * (double)dt_type_bytes(&c->in[0].type);
}

static void print(const void *attr, dt_str *out) {
    const dt_rows_attr *a = attr;
    dt_str_printf(out, "rows=%lld", (long long)a->rows);
}

enum { ROWS = DT_MAX_RANK }; /* index of the factor along which rows of y are divided */

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr, dt_rule *r) {
    rule(in, out, attr, r);
    r->out[0] = ROWS;
}

static dt_value emit_part(dt_partition_call *c) {
    dt_type part = dt_partition_type(c), numbers = dt_type_of_value(c->in[1]);
    dt_value index = c->in[1];
    numbers.dtype = DT_INT64;
    if (c->factor[ROWS]) {
        dt_value first = dt_partition_start(c, part.dim[0], c->factor[ROWS]);
        index = dt_subtract(dt_convert(index, DT_INT64), dt_broadcast_to(first, &numbers));
    }
    return dt_scatter_add(c->in[0], index, part.dim[0]);
}

static const dt_partition_row over_devices = {.rule = rule_over_devices, .emit = emit_part};

static dt_hlo_value scatter(dt_hlo *h, dt_hlo_value x, dt_hlo_value index, const dt_type *type) {
    int8_t window[DT_MAX_RANK];
    int rank = index.type.rank, n = type->rank - 1;
    dt_hlo_value in[] = {dt_hlo_splat(h, type, 0), index, x};
    for (int d = 0; d < n; d++) window[d] = (int8_t)(rank + d);
    return dt_hlo_joined(h, "scatter", DT_REDUCE_SUM, in, 3, type,
                         "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = %s, "
                         "inserted_window_dims = [0], "
                         "scatter_dims_to_operand_dims = [0], index_vector_dim = %d>, "
                         "indices_are_sorted = false, unique_indices = false",
                         dt_hlo_list(window, n).s, rank);
}

/* Writes, for each number of `index`, the number of its row in `tables` tables of `rows` rows each,
 * one after the other. The numbers of `index` are divided into ranges of equal length (the last may
 * be shorter), one for each table. A number out of range becomes rows * tables, a row that does not
 * exist. */
static dt_hlo_value rows_of_tables(dt_hlo *h, dt_hlo_value index, int64_t rows, int64_t tables) {
    const int64_t n = dt_type_elements(&index.type), of_each = (n + tables - 1) / tables;
    const dt_type numbers = dt_type_of(DT_INT64, 1, &n);
    index = dt_hlo_reshape(h, dt_hlo_convert(h, index, DT_INT64), 1, &n);
    dt_hlo_value table = dt_hlo_op(h, "iota", NULL, 0, &numbers, "iota_dimension = 0 : i64"),
                 none = dt_hlo_like(h, index, (double)(rows * tables));
    table = dt_hlo_binary(h, "divide", table, dt_hlo_like(h, table, (double)of_each));
    dt_hlo_value first = dt_hlo_binary(h, "multiply", table, dt_hlo_like(h, table, (double)rows)),
                 is = dt_hlo_compare(h, DT_LT, index, dt_hlo_like(h, index, (double)rows));
    dt_hlo_value row = dt_hlo_select(h, is, dt_hlo_binary(h, "add", index, first), none);
    is = dt_hlo_compare(h, DT_GE, index, dt_hlo_like(h, index, 0));
    return dt_hlo_select(h, is, row, none);
}

/* XLA on the CPU adds all terms of a row one after the other. Where chains are limited, the numbers
 * are divided into ranges of at most a chain, each range is added into a table of its own, and then
 * the tables are added. Together the tables have at most twice as many rows as there are numbers.
 * So for a larger table there are fewer and longer ranges, and for a large one a single range. */
static dt_hlo_value scatter_in_tables(dt_hlo *h, dt_hlo_value x, dt_hlo_value index,
                                      const dt_type *type) {
    const int64_t n = dt_type_elements(&index.type), chains = (n + h->chain - 1) / h->chain,
                  fit = 2 * n / type->dim[0], tables = chains < fit ? chains : fit;
    const int behind = type->rank - 1;
    dt_type all = *type;
    int64_t dim[DT_MAX_RANK] = {n};
    if (tables < 2 || type->rank == DT_MAX_RANK) return scatter(h, x, index, type);
    memcpy(dim + 1, type->dim + 1, (size_t)behind * sizeof *dim);
    x = dt_hlo_reshape(h, x, type->rank, dim);
    all.dim[0] *= tables;
    x = scatter(h, x, rows_of_tables(h, index, type->dim[0], tables), &all);
    dim[0] = tables;
    memcpy(dim + 1, type->dim, (size_t)type->rank * sizeof *dim);
    return dt_hlo_reduce(h, DT_REDUCE_SUM, dt_hlo_reshape(h, x, type->rank + 1, dim), 1);
}

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    dt_hlo *h = c->hlo;
    dt_type type = c->type;
    if (!h->chain || !dt_dtype_is_float(type.dtype) || type.dtype == DT_FLOAT64)
        return scatter(h, c->in[0], c->in[1], &type);
    type.dtype = DT_FLOAT32;
    dt_hlo_value x = dt_hlo_convert(h, c->in[0], DT_FLOAT32);
    return dt_hlo_convert(h, scatter_in_tables(h, x, c->in[1], &type), c->type.dtype);
}

const dt_op dt_op_scatter_add = {
    .name = "scatter_add",
    .role = DT_ROLE_ROW_SUMS,
    .n_in = 2,
    .attr = {.size = sizeof(dt_rows_attr), .print = print},
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .segment = segment,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

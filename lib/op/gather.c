/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: rows of a table by their numbers: y[i.., d..] = table[index[i..], d..]. A number without
 * a row in the table yields NaN (0 for integers), and is reported to the caller that runs the
 * graph: see dt_refusal. In StableHLO it selects the nearest row; backend/pjrt reports it if the
 * numbers can be computed cheaply from arguments and constants.
 *
 * (C1) index holds integers.
 * (C2) The table has a fixed number of rows, not B.
 * (C3) The result has at most 8 dimensions, and B can only be its dimension 0.
 *
 * call: dt_value dt_gather(dt_value table, dt_value index)
 * computes: Rows of a table by their numbers. A number outside of 0 .. V - 1 is an error when the
 * step runs; the message names the number, its position and the layer.
 * shape: (V, d..) and (i..) to (i.., d..)
 * expects: (C1) index holds integers; (C2) the number of rows V is not the batch; (C3) at most 8
 * dimensions, and only the first may be the batch
 * gradient: dtable = dy, added to the rows that were read
 *
 * Splitting: along the dimensions of the index, and along those of the table's rows. In one memory
 * space each part needs all rows of the table. Over devices, each may hold some rows of the table:
 * it yields zeros for the rows of others, and the sum over devices is the result.
 */
#include "op/gather.h"

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

dt_status *dt_gather_infer(const dt_infer *q, dt_type *out) {
    const dt_type *table = &q->in[0], *index = &q->in[1];
    if (dt_dtype_is_float(index->dtype) || index->dtype == DT_BOOL)
        return dt_bad_shape(q, "(C1) expected row numbers of integers, got %s",
                            dt_text_of(index).s);
    if (table->rank < 1 || dt_type_has_batch(table))
        return dt_bad_shape(q, "(C2) expected a table with a fixed number of rows, got %s",
                            dt_text_of(table).s);
    *out = dt_type_of(table->dtype, index->rank, index->dim);
    if (index->rank + table->rank - 1 <= DT_MAX_RANK)
        memcpy(out->dim + index->rank, table->dim + 1,
               (size_t)(table->rank - 1) * sizeof *table->dim);
    out->rank += table->rank - 1;
    return NULL;
}

static dt_status *infer(dt_infer *q) {
    DT_TRY(dt_gather_infer(q, &q->out));
    return dt_check_result(q, 3);
}

/* Every row of dy is added to the row of the table that was read for it. */
static void grad(dt_grad *g) {
    dt_type table = dt_type_of_value(g->in[0]);
    if (g->wants[0]) g->din[0] = dt_scatter_add(g->dout, g->in[1], table.dim[0]);
}

void dt_gather_rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)out, (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < in[1].rank; d++) rule->in[1][d] = rule->out[d] = (int8_t)d;
    for (int d = 1, to = in[1].rank; d < in[0].rank; d++, to++)
        rule->in[0][d] = rule->out[to] = (int8_t)to;
}

static void fill_missing(const dt_view *y, int64_t at, int64_t n) {
    for (int64_t i = at; i < at + n; i++)
        if (dt_dtype_is_float(y->type.dtype)) dt_cell_set_double(y, i, NAN);
        else dt_cell_set_int(y, i, 0);
}

/* Reports in c->env->refusal that element i of the index, `number`, is not a row of the table,
 * which has `rows` rows. Only the first such element is described there; `finders` counts all. Does
 * nothing if the environment or `refusal` is NULL. */
static void refuse(const dt_call *c, int64_t i, int64_t number, int64_t rows) {
    const dt_type *index = &c->in[1].type;
    dt_refusal *r = c->env ? c->env->refusal : NULL;
    if (!r || r->finders++ > 0) return;
    r->number = number;
    r->rows = rows;
    r->rank = index->rank;
    snprintf(r->layer, sizeof r->layer, "%s", c->node->path);
    for (int d = index->rank - 1; d >= 0; i /= index->dim[d--]) r->at[d] = i % index->dim[d];
    r->at[0] += c->first_row;
}

void dt_gather_eval(const dt_call *c, int64_t first, int64_t rows) {
    const dt_view *table = &c->in[0], *index = &c->in[1];
    dt_type entry = dt_type_of(table->type.dtype, table->type.rank - 1, table->type.dim + 1);
    int64_t width = dt_type_elements(&entry), bytes = dt_type_bytes(&entry);
    for (int64_t i = 0, n = dt_type_elements(&index->type); i < n; i++) {
        int64_t number = dt_cell_int(index, i), row = number - first;
        char *to = (char *)c->out.data + i * bytes;
        if (number < 0 || number >= rows) {
            refuse(c, i, number, rows);
            fill_missing(&c->out, i * width, width);
        } else if (bytes > 0 && row >= 0 && row < table->type.dim[0]) {
            memcpy(to, (const char *)table->data + row * bytes, (size_t)bytes);
        } else if (bytes > 0) {
            memset(to, 0, (size_t)bytes);
        }
    }
}

static void eval(const dt_call *c) { dt_gather_eval(c, 0, c->in[0].type.dim[0]); }

void dt_gather_cost(const dt_call *c, dt_cost *cost) {
    /* counts only the rows of the table that the index names, since no others are read */
    double out = (double)dt_type_bytes(&c->out.type);
    *cost = (dt_cost){.bytes = 2 * out + (double)dt_type_bytes(&c->in[1].type)};
}

enum { ROWS = DT_MAX_RANK }; /* index of the factor along which rows of the table are divided */

static void rule_over_devices(const dt_type *in, const dt_type *out, const void *attr,
                              dt_rule *rule) {
    dt_gather_rule(in, out, attr, rule);
    rule->in[0][0] = ROWS;
}

static dt_value emit_part(dt_partition_call *c) {
    dt_type part = dt_type_of_value(c->in[0]);
    if (!c->factor[ROWS]) return dt_partition_same(c);
    dt_across_attr attr = dt_partition_across(c, c->factor[ROWS]);
    attr.low = c->type[0].dim[0];
    dt_value in[] = {c->in[0], c->in[1], dt_partition_start(c, part.dim[0], c->factor[ROWS])};
    return dt_emit(c->trace, &dt_op_across_gather_part, in, 3, &attr);
}

static const dt_partition_row over_devices = {.rule = rule_over_devices, .emit = emit_part};

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_hlo_gather(c->hlo, c->in[0], c->in[1], &c->type);
}

const dt_op dt_op_gather = {
    .name = "gather",
    .role = DT_ROLE_LOOKUP,
    .n_in = 2,
    .traits.exact = true,
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = dt_gather_rule,
    .cost = dt_gather_cost,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_rows: each worker has some rows of a value, and y is all of them, concatenated: see
 * op/workers.h. Workers exchange them when a program runs; `eval` is for a worker that has all of
 * them.
 *
 *     x   (own, rest...)     y   (rows, rest...)
 *     worker r of w holds rows [r * rows / w, (r + 1) * rows / w)
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/workers.h"

int64_t dt_worker_rows_begin(int64_t rows, int workers, int rank) {
    return rows / workers * rank + rows % workers * rank / workers;
}

dt_type dt_worker_rows_type(const dt_type *whole, int workers, int rank) {
    dt_type own = *whole;
    own.dim[0] = dt_worker_rows_begin(whole->dim[0], workers, rank + 1) -
                 dt_worker_rows_begin(whole->dim[0], workers, rank);
    return own;
}

static dt_status *infer(dt_infer *q) {
    const dt_worker_rows_attr *a = q->attr;
    q->out = a->type;
    DT_TRY(dt_check_result(q, 1));
    if (a->type.rank < 1) return dt_bad_shape(q, "expected rows, got %s", dt_text_of(&a->type).s);
    const dt_type own = dt_worker_rows_type(&a->type, a->workers, a->rank);
    if (!dt_type_equal(&own, &q->in[0]))
        return dt_bad_shape(q, "expected the rows %s, got %s", dt_text_of(&own).s,
                            dt_text_of(&q->in[0]).s);
    return NULL;
}

static void eval(const dt_call *c) {
    const dt_worker_rows_attr *a = c->node->attr;
    const int64_t n = dt_type_elements(&c->in[0].type),
                  row = a->type.dim[0] ? dt_type_elements(&a->type) / a->type.dim[0] : 0;
    const int64_t to = dt_worker_rows_begin(a->type.dim[0], a->workers, a->rank) * row;
    for (int64_t i = 0; i < n; i++) dt_cell_copy(&c->out, to + i, &c->in[0], i);
}

static void print(const void *attr, dt_str *out) {
    const dt_worker_rows_attr *a = attr;
    dt_str_printf(out, "worker %d of %d", (int)a->rank, (int)a->workers);
}

static bool is_worker_rows(const dt_node *n) { return n->op == &dt_op_worker_rows; }

bool dt_is_exchange(const dt_node *n) { return dt_is_tree_join(n) || is_worker_rows(n); }

const dt_op dt_op_worker_rows = {
    .name = "worker_rows",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_worker_rows_attr),
             .type = 1 + offsetof(dt_worker_rows_attr, type),
             .print = print},
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
};

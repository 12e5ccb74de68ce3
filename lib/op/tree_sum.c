/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_sum: y = the sum of the entries of x, (S, ...) -> (...), by one fixed binary tree, each sum
 * rounded to the dtype (those of 16-bit floats to float32, and only y to the dtype):
 *
 *     x0   x1   x2   x3   x4
 *      \  /      \  /     |        node i of a level is node 2i plus node 2i + 1 below it;
 *       +         +      x4        a missing right one is left out
 *         \      /       |
 *            +          x4
 *              \       /
 *                  y
 *
 * Adding complete subtrees first, and their sums later, gives the same bits: so sums over shards
 * do not depend on where the shards are computed.
 *
 * (C1) x holds numbers.
 * (C2) x has a dimension 0 with at least one entry, which is not the batch.
 *
 * Splitting: along all dimensions but dimension 0.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/workers.h"

static dt_status *infer(dt_infer *q) {
    const dt_type *x = &q->in[0];
    DT_TRY(dt_want_dtype(q, 0, 1, DT_WANT_NUMBERS));
    if (x->rank < 1 || x->dim[0] < 1)
        return dt_bad_shape(q, "(C2) expected a number of entries as dimension 0, got %s",
                            dt_text_of(x).s);
    q->out = dt_type_of(x->dtype, x->rank - 1, x->dim + 1);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in, (void)attr;
    dt_rule_whole(rule);
    for (int d = 0; d < out->rank; d++) rule->in[0][d + 1] = rule->out[d] = (int8_t)d;
}

int64_t dt_tree_left(int64_t n) {
    return INT64_C(1) << (63 - __builtin_clzll((unsigned long long)(n - 1)));
}

static double round_to(dt_dtype d, double x) { return d == DT_FLOAT32 ? (double)(float)x : x; }

/* Returns the sum of n cells that are `step` apart, from offset `at` on. The recursion is as deep
 * as the tree. */
static double sum_doubles(const dt_view *x, int64_t at, int64_t step, int64_t n) {
    if (n == 1) return dt_cell_double(x, at);
    int64_t left = dt_tree_left(n);
    double a = sum_doubles(x, at, step, left), b = sum_doubles(x, at + left * step, step, n - left);
    return round_to(x->type.dtype, a + b);
}

static int64_t sum_ints(const dt_view *x, int64_t at, int64_t step, int64_t n) {
    int64_t sum = 0; /* integers wrap around, so the order of additions does not change the sum */
    for (int64_t i = 0; i < n; i++) sum = dt_int_add(sum, dt_cell_int(x, at + i * step));
    return sum;
}

static void eval(const dt_call *c) {
    const dt_view *x = &c->in[0];
    int64_t n = dt_type_elements(&c->out.type);
    for (int64_t i = 0; i < n; i++)
        if (dt_dtype_is_float(x->type.dtype))
            dt_cell_set_double(&c->out, i, sum_doubles(x, i, n, x->type.dim[0]));
        else dt_cell_set_int(&c->out, i, sum_ints(x, i, n, x->type.dim[0]));
}

static void cost(const dt_call *c, dt_cost *cost) {
    *cost = dt_cost_vector(c, (double)dt_type_elements(&c->in[0].type));
}

const dt_op dt_op_tree_sum = {
    .name = "tree_sum",
    .n_in = 1,
    .role = DT_ROLE_REDUCE,
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reshape: the same elements in row-major order under other sizes. The batch stays the outermost:
 * (B, 4, 8) and (B*4, 8) are reshapes of each other.
 *
 * (C1) y has x's dtype, and only its dimension 0 may be the batch.
 * (C2) x and y have the same number of elements for every B.
 *
 * call: dt_value dt_reshape(dt_value x, int rank, const int64_t *dim)
 * computes: The same elements, in row-major order, in the shape dim[rank]. A size of -k stands for
 * k times the batch; -1, which dt_dim returns for the batch, is the batch itself.
 * shape: dim[rank]
 * expects: (C1) at most 8 dimensions, and only the first may be the batch; (C2) as many elements as
 * x, for every size of the batch
 * gradient: dx = dy in x's shape
 *
 * Splitting: sizes fall into groups with equal products, (2, 6, 5) -> (12, 5) into (2, 6) -> (12)
 * and (5) -> (5). The outermost dimensions of a group share a factor: a part of the 2 is a part of
 * the 12.
 */
#include "op/shapes.h"
#include "op/stablehlo.h"

#include <string.h>

static dt_status *infer(dt_infer *q) {
    const dt_reshape_attr *a = q->attr;
    const dt_type *x = &q->in[0];
    q->out = a->type;
    if (q->out.dtype != x->dtype)
        return dt_bad_shape(q, "(C1) cannot make %s from %s", dt_text_of(&q->out).s,
                            dt_text_of(x).s);
    DT_TRY(dt_check_result(q, 1));
    if (dt_type_has_batch(x) != dt_type_has_batch(&q->out) ||
        dt_type_elements(x) != dt_type_elements(&q->out))
        return dt_bad_shape(q,
                            "(C2) cannot make %s from %s, which has a different number of elements",
                            dt_text_of(&q->out).s, dt_text_of(x).s);
    return NULL;
}

static void grad(dt_grad *g) {
    dt_type x = dt_type_of_value(g->in[0]);
    g->din[0] = dt_reshape(g->dout, x.rank, x.dim);
}

static int64_t size_at(const dt_type *t, int d) { return t->dim[d] < 0 ? -t->dim[d] : t->dim[d]; }

/* Returns the outermost of the dimensions from .. to - 1 whose size is not 1; -1: all are 1. */
static int major(const dt_type *t, int from, int to) {
    for (int d = from; d < to; d++)
        if (t->dim[d] != 1) return d;
    return -1;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)attr;
    const dt_type *x = &in[0];
    dt_rule_whole(rule);
    if (dt_type_elements(x) == 0) return;
    for (int i = 0, o = 0, factor = 0; i < x->rank && o < out->rank; factor++) {
        int from_i = i, from_o = o;
        int64_t a = size_at(x, i++), b = size_at(out, o++);
        while (a != b)
            if (a < b) a *= size_at(x, i++);
            else b *= size_at(out, o++);
        int major_i = major(x, from_i, i), major_o = major(out, from_o, o);
        if (major_i >= 0 && major_o >= 0) {
            rule->in[0][major_i] = (int8_t)factor;
            rule->out[major_o] = (int8_t)factor;
        }
    }
}

static void eval(const dt_call *c) {
    size_t bytes = (size_t)dt_type_bytes(&c->out.type);
    if (bytes > 0) memcpy(c->out.data, c->in[0].data, bytes);
}

static dt_value stack(const dt_fold_call *c) {
    dt_reshape_attr a = {dt_stack_type(c->segments, &c->node->type)};
    return dt_emit(c->trace, &dt_op_reshape, c->in, 1, &a);
}

const dt_op dt_op_reshape = {
    .name = "reshape",
    .n_in = 1,
    .role = DT_ROLE_NAME,
    .attr = {.size = sizeof(dt_reshape_attr), .type = 1 + offsetof(dt_reshape_attr, type)},
    .traits = {.exact = true, .read_through = true},
    .linear = 1,
    .infer = infer,
    .grad = grad,
    .rule = rule,
    .cost = dt_cost_none,
    .eval = eval,
    .stack = stack,
    .forms.stablehlo = dt_hlo_same,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * all_reduce: y = the sum or the mean of the replicas' x, the same on all of them. Floats are added
 * in double, in replica order; integers wrap. The mean divides by the number of replicas.
 *
 * (C1) x has no batch dimension: its size may differ between replicas.
 * (C2) x holds numbers; for the mean, floats.
 *
 * call: dt_value dt_all_reduce(dt_reduce_op op, dt_value x)
 * computes: The sum or the mean of the replicas' values, the same on all of them. Floats are added
 * in replica order, in double; integers wrap, and become floats for the mean.
 * shape: that of x
 * expects: (C1) x has the same shape on all replicas; (C2) x holds numbers; replica context
 * gradient: dx = dy, reduced over replicas in the same way
 *
 * call: dt_value dt_all_reduce_named(const char *op, dt_value x)
 * computes: dt_all_reduce by name: "sum" or "mean", as in dt_reduce_op_named.
 * shape: that of x
 * expects: as dt_all_reduce, and one of these names
 * gradient: dx = dy, reduced over replicas in the same way
 *
 * call: dt_value dt_all_gather(dt_value x, int axis)
 * computes: The replicas' values concatenated along an axis. Along axis 0 their sizes may differ.
 * shape: that of x, with the sum of their sizes along the axis
 * expects: the axis exists; replica context
 * gradient: dx = this replica's part of dy, summed over replicas
 * stablehlo: scatter, all_reduce
 *
 * eval is called with the x of all replicas: c->in[0 .. replicas - 1].
 */
#include <stdlib.h>

#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    const dt_all_reduce_attr *a = q->attr;
    if (dt_type_has_batch(&q->in[0]))
        return dt_bad_shape(q, "(C1) cannot add %s over replicas, whose batches differ in size",
                            dt_text_of(&q->in[0]).s);
    DT_TRY(dt_want_dtype(q, 0, 2, a->op == DT_MEAN ? DT_WANT_FLOATS : DT_WANT_NUMBERS));
    q->out = q->in[0];
    return NULL;
}

/* Every replica's y depends on every replica's x, so dx is the dy of all replicas, reduced. */
static void grad(dt_grad *g) {
    const dt_all_reduce_attr *a = g->node->attr;
    g->din[0] = dt_all_reduce((dt_reduce_op)a->op, g->dout);
}

static void eval(const dt_call *c) {
    const dt_all_reduce_attr *a = c->node->attr;
    int replicas = c->env->replicas;
    bool is_float = dt_dtype_is_float(c->out.type.dtype);
    for (int64_t i = 0, n = dt_type_elements(&c->out.type); i < n; i++) {
        double sum = 0;
        int64_t ints = 0;
        for (int r = 0; r < replicas; r++)
            if (is_float) sum += dt_cell_double(&c->in[r], i);
            else ints = dt_int_add(ints, dt_cell_int(&c->in[r], i));
        if (is_float) dt_cell_set_double(&c->out, i, a->op == DT_MEAN ? sum / replicas : sum);
        else dt_cell_set_int(&c->out, i, ints);
    }
}

static void print(const void *attr, dt_str *out) {
    const dt_all_reduce_attr *a = attr;
    dt_str_puts(out, a->op == DT_MEAN ? "mean" : "sum");
}

/* Writes the op for the program that each replica runs. All devices are then replicas, and form one
 * group. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    const dt_all_reduce_attr *a = c->node->attr;
    dt_mesh all = {.n = 1, .size = {c->hlo->devices}};
    char *groups = dt_hlo_groups(&all, 1);
    dt_hlo_value sum = dt_hlo_joined(c->hlo, "all_reduce", DT_REDUCE_SUM, c->in, 1, &c->type,
                                     "replica_groups = %s", groups);
    free(groups);
    return a->op == DT_MEAN
               ? dt_hlo_binary(c->hlo, "divide", sum, dt_hlo_like(c->hlo, sum, c->hlo->devices))
               : sum;
}

const dt_op dt_op_all_reduce = {
    .name = "all_reduce",
    .n_in = 1,
    .role = DT_ROLE_COLLECTIVE,
    .attr = {.size = sizeof(dt_all_reduce_attr), .print = print},
    .traits.collective = true,
    .infer = infer,
    .grad = grad,
    .rule = dt_rule_elementwise,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};

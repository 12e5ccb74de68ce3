/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse mode: the gradient of a scalar (of the sum, if the loss has a shape), emitted into the
 * trace that computed it. A forward sweep marks the nodes through which the loss can depend on the
 * given values; a backward sweep applies the rule of each marked node's row:
 *
 *     x ---> a ---> loss          d loss / d node is complete when the sweep reaches the node,
 *      \---> b -----^             because all its uses come after it
 *
 * Nodes are swept in an order that depends on the structure alone (dt_trace_order), and
 * contributions are added in that order: the same function gives the same sums, however it was
 * written down.
 */
#include <stdlib.h>

#include "graph/trace.h"
#include "op/op.h"
#include "op/shapes.h"

typedef struct sweep {
    dt_trace *trace;
    int n_order; /* number of nodes that the loss needs */
    int *order;  /* [n_order] nodes that the loss needs, inputs first; the loss is the last */
    int n;       /* number of nodes in the trace before gradients were added */
    /* [n] whether the node is one of the x, or depends on one through ops that have a gradient */
    bool *needed;
    /* [n] the sum so far of the terms of d loss / d node; a value without a trace: no term was
     * added yet */
    dt_value *total;
} sweep;

static void mark(sweep *s, const dt_value *x, int n_x) {
    for (int i = 0; i < n_x; i++)
        if (x[i].trace == s->trace) s->needed[x[i].node] = true;
    for (int i = 0; i < s->n_order; i++) {
        const dt_node *node = dt_trace_node(s->trace, s->order[i]);
        for (int k = 0; k < node->n_in && node->op->grad; k++)
            s->needed[s->order[i]] |= s->needed[node->in[k]];
    }
}

/* Adds the gradient that one use of node i contributes to the node's total. A gradient of another
 * type than the node's makes the trace fail with INTERNAL. */
static void accumulate(sweep *s, int i, dt_value share) {
    dt_type is = dt_type_of_value(share), ought = dt_trace_node(s->trace, i)->type;
    if (dt_trace_error(s->trace)) return;
    if (dt_type_equal(&is, &ought))
        s->total[i] = s->total[i].trace ? dt_add(s->total[i], share) : share;
    else
        dt_trace_fail(s->trace,
                      dt_fail(DT_E_INTERNAL, NULL, "the gradient of %%%d is %s, the node %s", i,
                              dt_text_of(&is).s, dt_text_of(&ought).s));
}

/* Applies the gradient rule of node i. The nodes that it emits get the layer path of node i. */
static void visit(sweep *s, int i) {
    const dt_node *node = dt_trace_node(s->trace, i);
    dt_grad g = {
        .trace = s->trace, .node = node, .out = dt_value_of(s->trace, i), .dout = s->total[i]};
    bool any = false;
    for (int k = 0; k < node->n_in; k++) {
        g.in[k] = dt_value_of(s->trace, node->in[k]);
        any |= g.wants[k] = s->needed[node->in[k]];
    }
    if (!any || !node->op->grad) return;
    const char *before = dt_trace_path(s->trace, node->path);
    node->op->grad(&g);
    for (int k = 0; k < node->n_in; k++)
        if (g.wants[k] && g.din[k].trace) accumulate(s, node->in[k], g.din[k]);
    dt_trace_path(s->trace, before);
}

/* Whether `loss` can be differentiated with respect to these values; if not, makes the trace of the
 * loss fail. */
static bool check(dt_value loss, const dt_value *x, int n) {
    dt_type type = dt_type_of_value(loss);
    if (!dt_dtype_is_float(type.dtype)) {
        dt_trace_fail(loss.trace,
                      dt_fail(DT_E_MODEL_SHAPE, NULL,
                              "a gradient needs a loss of floating-point numbers, got %s",
                              dt_text_of(&type).s));
        return false;
    }
    for (int i = 0; i < n; i++)
        if (x[i].trace && !dt_trace_owns(loss.trace, x[i], "a gradient")) return false;
    return true;
}

void dt_gradients_of(dt_value loss, const dt_value *x, int n, dt_value *out) {
    for (int i = 0; i < n; i++) out[i] = (dt_value){0};
    if (!dt_trace_is_live(loss.trace) || dt_trace_error(loss.trace) ||
        !dt_trace_owns(loss.trace, loss, "a gradient") || !check(loss, x, n))
        return;
    /* reduces a loss that is not a scalar to the sum of its elements */
    loss = dt_reduce_sum(loss, DT_NO_AXIS);
    sweep s = {.trace = loss.trace, .n = dt_trace_count(loss.trace)};
    s.order = dt_alloc((size_t)s.n * sizeof *s.order);
    s.needed = dt_alloc((size_t)s.n * sizeof *s.needed);
    s.total = dt_alloc((size_t)s.n * sizeof *s.total);
    s.n_order = dt_trace_order(s.trace, &loss.node, 1, s.order);
    mark(&s, x, n);
    if (s.needed[loss.node]) s.total[loss.node] = dt_like(loss, 1);
    for (int i = s.n_order - 1; i >= 0; i--)
        if (s.total[s.order[i]].trace) visit(&s, s.order[i]);
    for (int i = 0; i < n; i++)
        if (x[i].trace == s.trace && !dt_trace_error(s.trace)) out[i] = s.total[x[i].node];
    free(s.order);
    free(s.needed);
    free(s.total);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes without a kernel use the op's own eval, which defines the op and is slow. A piece is the op
 * applied to the same rows of its inputs, if the op's rule allows that. This file also has the
 * kernels for nodes that are another name for their input (reshapes, barriers), and the one for
 * updates that are copied at the end of the step.
 */
#include <string.h>

#include "exec/exec_impl.h"

static void rule_of(const dt_graph *g, int node, dt_rule *rule) {
    const dt_node *n = &g->node[node];
    dt_type in[DT_MAX_IN];

    for (int k = 0; k < n->n_in; k++) in[k] = g->node[n->in[k]].type;
    dt_rule_whole(rule);
    n->op->rule(in, &n->type, n->attr, rule);
}

/* Whether ranges of rows are contiguous in all arrays: dimension 0 of the result is dimension 0 of
 * some inputs, and the other inputs do not have it. */
static bool rows_lie_together(const dt_graph *g, int node) {
    dt_rule rule;

    rule_of(g, node, &rule);
    if (rule.out[0] < 0) return false;
    for (int k = 0; k < g->node[node].n_in; k++)
        for (int d = 1; d < g->node[g->node[node].in[k]].type.rank; d++)
            if (rule.in[k][d] == rule.out[0]) return false;
    return true;
}

bool dt_exec_can_split(const dt_graph *g, int node, dt_division by) {
    const dt_kernel *k = dt_kernel_find(g, node);
    if (dt_can_fuse(g, node))
        return by == DT_BY_ROWS || (by == DT_BY_TIME && !dt_is_fused_sum(g, node));
    if (k == &dt_kernel_eval) return by == DT_BY_ROWS && rows_lie_together(g, node);
    return (k->splits & by) != 0;
}

static dt_view rows_of(const dt_exec *x, int node, int64_t lo, int64_t hi) {
    dt_view v = {.type = x->type[node],
                 .data = (char *)x->at[node] + lo * dt_row_elements(x, node) *
                                                   (int64_t)dt_dtype_size(x->type[node].dtype)};
    v.type.dim[0] = hi - lo;
    return v;
}

static void run_eval(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    bool split = x->p->piece[c->step->node].units > 1;
    dt_view in[DT_MAX_IN], out = {.type = x->type[c->step->node], .data = x->at[c->step->node]};
    dt_node piece = *n;
    dt_rule rule;

    rule_of(x->g, c->step->node, &rule);
    for (int k = 0; k < n->n_in; k++) {
        bool cut = split && x->type[n->in[k]].rank > 0 && rule.in[k][0] == rule.out[0];
        in[k] = cut ? rows_of(x, n->in[k], c->lo, c->hi)
                    : (dt_view){.type = x->type[n->in[k]], .data = x->at[n->in[k]]};
    }
    if (split) out = rows_of(x, c->step->node, c->lo, c->hi);
    piece.type = out.type;
    n->op->eval(&(dt_call){
        .node = &piece, .env = x->env, .in = in, .out = out, .first_row = split ? c->lo : 0});
}

const dt_kernel dt_kernel_eval = {.name = "eval", .run = run_eval};

void dt_narrow_alike(dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    bool alike = true;
    for (int k = 0; k < n->n_in; k++) alike &= x->type[n->in[k]].dtype == x->type[node].dtype;
    for (int k = 0; k < n->n_in && !alike; k++) dt_store_wide(x, n->in[k]);
    if (!alike) dt_store_wide(x, node);
}

static void run_nothing(const dt_kernel_call *c) { (void)c; }

const dt_kernel dt_kernel_alias = {.name = "alias",
                                   .op = &dt_op_reshape,
                                   .splits = DT_BY_ROWS | DT_BY_TIME,
                                   .narrow = dt_narrow_alike,
                                   .run = run_nothing};
const dt_kernel dt_kernel_barrier = {.name = "barrier",
                                     .op = &dt_op_optimization_barrier,
                                     .splits = true,
                                     .narrow = dt_narrow_alike,
                                     .run = run_nothing};

/* ---- copies at the end ---- */

/* Copies a new value into its variable. In such a step, step->node is an index in g->state, not
 * that of a node. */
static void run_copy_back(const dt_kernel_call *c) {
    const dt_state *s = &c->x->g->state[c->step->node];
    memmove(s->variable->host_data, dt_final_value(c->x, s->update),
            (size_t)dt_type_bytes(&s->variable->type));
}

const dt_kernel dt_kernel_copy_back = {.name = "copy_back", .run = run_copy_back};

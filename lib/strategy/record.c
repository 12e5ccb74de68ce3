/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a step function: calls it once, in replica context, with the trace of one replica. The
 * recording is compiled for all replicas.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/step.h"

/* ---- tracing ---- */

/* Checks the rank of an argument. Recording with exact sizes adds a dimension for the replicas, so
 * arguments must have fewer than DT_MAX_RANK dimensions. */
static dt_status *check_rank(const dt_step_call *c, const dt_value_entry *e) {
    if (c->sizing == DT_SIZES_EXACT && e->per_replica && dt_step_type(c, e).rank == DT_MAX_RANK)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "argument '%s' has %d dimensions, too many to add one for the replicas",
                       e->name, DT_MAX_RANK);
    return NULL;
}

dt_status *dt_function_trace(const dt_function *f, const dt_step_call *c, dt_graph **out) {
    dt_trace *t = dt_trace_create("step");

    dt_trace_set_replicas(t, c->strategy->replicas);
    dt_trace_set_logical(t, c->strategy->logical);
    dt_trace_set_deferral(t, c->deferral);
    if (c->each) dt_trace_set_each(t, c->each);
    if (c->sizing == DT_SIZES_TOTAL) dt_trace_set_rows(t, c->offsets[c->strategy->replicas]);
    for (int i = 0; c->args && i < c->args->n; i++) {
        dt_type type = dt_step_type(c, &c->args->entry[i]);
        dt_trace_fail(t, check_rank(c, &c->args->entry[i]));
        dt_trace_declare(t, c->args->entry[i].name, &type);
    }
    dt_context before = dt_context_enter(DT_IN_REPLICA);
    dt_trace *outer = dt_context_trace(t);
    f->step(t, f->user);
    dt_context_trace(outer);
    dt_context_enter(before);
    /* the step may have caused an error that was kept: it entered a scope, or used a value of
     * another trace */
    dt_trace_fail(t, dt_status_kept());
    return dt_trace_end(t, out);
}

/* ---- properties of a recording ---- */

bool *dt_distributed_arguments(const dt_graph *g, const dt_values *args) {
    bool *distributed = dt_alloc((size_t)g->n_args + 1);
    for (int i = 0; i < g->n_args; i++)
        distributed[i] = dt_values_find(args, g->arg[i].name)->per_replica;
    return distributed;
}

/* Whether a value is the same for all replicas because dt_merge_reduce made it: a merged sum, or
 * the quotient of two, either of which may be broadcast. */
static bool is_merged(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];

    if (n->op->role == DT_ROLE_REPEAT) return is_merged(g, n->in[0]);
    if (n->op == &dt_op_divide) return is_merged(g, n->in[0]) && is_merged(g, n->in[1]);
    return n->op == &dt_op_all_reduce && ((const dt_all_reduce_attr *)n->attr)->merged;
}

/* Whether the node is the new value of a variable. Such a value belongs to each replica's copy,
 * even if all are equal. */
static bool is_update(const dt_graph *g, int node) {
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update == node) return true;
    return false;
}

/* Finds the results that are constants. A constant has the same value on each replica. */
static bool *constant_results(const dt_graph *g) {
    bool *constant = dt_alloc((size_t)g->n_results + 1);
    for (int i = 0; i < g->n_results; i++) {
        const dt_node *n = &g->node[g->result[i].node];
        constant[i] = n->op->role == DT_ROLE_CONSTANT && !dt_type_has_batch(&n->type) &&
                      !is_update(g, g->result[i].node);
    }
    return constant;
}

/* Finds the results that are returned as a single value: constants, merged values, and arguments
 * that were not distributed. Everything else has a value per replica. */
bool *dt_single_results(const dt_graph *g, const bool *distributed, const bool *constant) {
    bool *single = dt_alloc((size_t)g->n_results + 1);

    for (int i = 0; i < g->n_results; i++) {
        single[i] = constant[i] || is_merged(g, g->result[i].node);
        for (int k = 0; k < g->n_args; k++)
            single[i] |= g->arg[k].node == g->result[i].node && !distributed[k];
        single[i] &= !is_update(g, g->result[i].node);
    }
    return single;
}

dt_status *dt_step_record(dt_function *f, const dt_step_call *c, dt_traced *out) {
    dt_graph *g = NULL;

    DT_TRY(dt_function_trace(f, c, &g));
    bool *distributed = dt_distributed_arguments(g, c->args), *constant = constant_results(g),
         *single = dt_single_results(g, distributed, constant);
    dt_status *bad =
        dt_compiled_create(&out->compiled, c->strategy, g,
                           &(dt_compile_options){.distributed = distributed, .by_replica = true});
    free(distributed);
    if (bad) {
        free(single);
        free(constant);
        return bad;
    }
    out->single = single;
    out->constant = constant;
    return NULL;
}

void dt_traced_release(dt_traced *t) {
    dt_compiled_destroy(t->compiled);
    dt_strategy_unref(t->strategy);
    free(t->signature);
    free(t->single);
    free(t->constant);
}

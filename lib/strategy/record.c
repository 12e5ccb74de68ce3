/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a step function: calls it in replica context, with the trace of one replica. The
 * recording is compiled for all replicas, unless each has shapes of its own (DT_SIZES_EACH).
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/step.h"

/*
 * The arguments of a step: the type of each for one replica, and the values of all replicas joined
 * into one array, which compiled steps take.
 */

/* ---- checks ---- */

/* Checks that an argument has one value, or one for each replica, and that all have the same dtype
 * and rank. Sets *alike to false if they differ in a dimension other than the first. */
static dt_status *check_entry(const dt_value_entry *e, int replicas, bool *alike) {
    if (e->per_replica && e->n != replicas)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "argument '%s' has values for %d replicas, but the strategy has %d", e->name,
                       e->n, replicas);
    for (int r = 1; r < e->n && !e->whole; r++) {
        const dt_type *a = &e->local[0]->type, *b = &e->local[r]->type;
        if (a->dtype != b->dtype || a->rank != b->rank)
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "argument '%s' of replica %d differs from that of replica 0 in dtype or "
                           "in the number of dimensions",
                           e->name, r);
        for (int d = 1; d < a->rank; d++) *alike &= a->dim[d] == b->dim[d];
    }
    return NULL;
}

static bool has_rows(const dt_value_entry *e) {
    return e->per_replica && dt_entry_local(e, 0)->type.rank > 0;
}

bool dt_step_has_rows(const dt_step_call *c) {
    for (int i = 0; c->args && i < c->args->n; i++)
        if (has_rows(&c->args->entry[i])) return true;
    return false;
}

static int64_t rows_of(const dt_value_entry *e, int r) {
    if (e->whole && e->spread == DT_ROWS) return e->offsets[r + 1] - e->offsets[r];
    return dt_entry_local(e, r)->type.dim[0];
}

/* Sets the offsets from the first argument with rows. Other arguments with rows must have as many
 * on each replica. */
static dt_status *find_offsets(const dt_step_call *c, const dt_value_entry *e,
                               const dt_value_entry *first) {
    int32_t *offsets = c->offsets;

    for (int r = 0; r < c->strategy->replicas; r++) {
        int64_t rows = rows_of(e, r);
        if (first && rows != offsets[r + 1] - offsets[r])
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "on replica %d, argument '%s' has %lld rows and '%s' has %d", r, e->name,
                           (long long)rows, first->name, offsets[r + 1] - offsets[r]);
        if (!first && offsets[r] + rows > INT32_MAX)
            return dt_fail(DT_E_ARGUMENT, NULL, "argument '%s' has more than 2^31 rows", e->name);
        if (!first) offsets[r + 1] = (int32_t)(offsets[r] + rows);
    }
    return NULL;
}

/* Whether all replicas have the same number of rows. */
static bool is_even(const dt_step_call *c) {
    for (int r = 1; r < c->strategy->replicas; r++)
        if (c->offsets[r + 1] - c->offsets[r] != c->offsets[1]) return false;
    return true;
}

dt_status *dt_step_check(dt_step_call *c) {
    const dt_value_entry *first = NULL;
    bool alike = true;

    for (int i = 0; c->args && i < c->args->n; i++)
        DT_TRY(check_entry(&c->args->entry[i], c->strategy->replicas, &alike));
    if (!alike && c->sizing == DT_SIZES_EXACT)
        return dt_fail(DT_E_ARGUMENT, NULL,
                       "fixed_batch_size needs arguments of the same shape on every replica");
    if (!alike) {
        c->sizing = DT_SIZES_EACH;
        return NULL;
    }
    for (int r = 0; r <= c->strategy->replicas; r++) c->offsets[r] = r;
    for (int i = 0; c->args && i < c->args->n; i++) {
        const dt_value_entry *e = &c->args->entry[i];
        if (!has_rows(e)) continue;
        DT_TRY(find_offsets(c, e, first));
        first = first ? first : e;
    }
    c->even = is_even(c);
    return NULL;
}

/* ---- types ---- */

/* Returns the type of an argument for one replica. */
static dt_type step_type(const dt_step_call *c, const dt_value_entry *e) {
    dt_type t = dt_entry_local(e, c->each && e->per_replica ? c->each->replica : 0)->type;

    if (has_rows(e) && !c->each && c->sizing != DT_SIZES_EXACT) t.dim[0] = DT_BATCH;
    return t;
}

void dt_step_sign(const dt_step_call *c, dt_str *out) {
    for (int i = 0; c->args && i < c->args->n; i++) {
        const dt_value_entry *e = &c->args->entry[i];
        dt_type t = step_type(c, e);
        dt_str_printf(out, "%zu:%s%s", strlen(e->name), e->name, e->per_replica ? "*" : "");
        dt_type_print(&t, out);
        dt_str_puts(out, ",");
    }
    if (c->sizing == DT_SIZES_TOTAL)
        dt_str_printf(out, "%d rows", c->offsets[c->strategy->replicas]);
}

/* ---- values ---- */

/* Returns the type of all replicas' values joined. */
static dt_type gathered_type(const dt_step_call *c, const dt_value_entry *e) {
    dt_type t = step_type(c, e);

    if (!e->per_replica) return t;
    if (!dt_type_has_batch(&t)) return dt_stack_type(c->strategy->replicas, &t);
    t.dim[0] = c->offsets[c->strategy->replicas];
    return t;
}

dt_status *dt_step_argument(const dt_step_call *c, const dt_value_entry *e, dt_view *out,
                            void **owned) {
    /* The values of all replicas are in one array already. */
    bool together = e->whole && (!e->per_replica || e->spread != DT_UNIFORM);
    int64_t at = 0;

    *owned = NULL;
    *out = (dt_view){.type = gathered_type(c, e)};
    if (together || !e->per_replica) {
        out->data = together ? e->whole->data : e->local[0]->data;
        return NULL;
    }
    *owned = out->data = dt_try_alloc((size_t)dt_type_bytes(&out->type) + 64);
    if (!*owned)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: argument '%s' needs %lld bytes",
                       e->name, (long long)dt_type_bytes(&out->type));
    for (int r = 0; r < c->strategy->replicas; r++) {
        const dt_tensor *t = dt_entry_local(e, r);
        memcpy((char *)*owned + at, t->data, (size_t)dt_type_bytes(&t->type));
        at += dt_type_bytes(&t->type);
    }
    return NULL;
}

/* ---- tracing ---- */

/* Checks the rank of an argument. Recording with exact sizes adds a dimension for the replicas to
 * each argument with a value per replica, which must therefore have fewer than DT_MAX_RANK
 * dimensions. */
static dt_status *check_rank(const dt_step_call *c, const dt_value_entry *e) {
    if (c->sizing == DT_SIZES_EXACT && e->per_replica && step_type(c, e).rank == DT_MAX_RANK)
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
        dt_type type = step_type(c, &c->args->entry[i]);
        dt_trace_fail(t, check_rank(c, &c->args->entry[i]));
        dt_trace_declare(t, c->args->entry[i].name, &type);
    }
    dt_context before = dt_context_enter(DT_IN_REPLICA);
    dt_trace *outer = dt_context_trace(t);
    f->step(t, f->user);
    dt_context_trace(outer);
    dt_context_enter(before);
    /* The step may have caused an error that was kept: it entered a scope, or used a value of
     * another trace. */
    dt_trace_fail(t, dt_status_kept());
    return dt_trace_end(t, out);
}

/* ---- recordings ---- */

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

/* Whether the node is the new value of a variable. The new value belongs to each replica's copy,
 * even if the copies are equal. */
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
 * that were not distributed, but not new values of variables. Everything else has a value per
 * replica. */
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

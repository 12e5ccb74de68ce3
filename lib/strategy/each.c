/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs steps whose arguments differ between replicas in a dimension other than the first, for
 * example batches that each replica has padded by itself. The step of every replica is recorded
 * with its own shapes, and the interpreter runs them side by side. That is slower than a compiled
 * step. The recordings are not kept, because such shapes seldom come again.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/labels.h"
#include "strategy/step.h"

enum { MOST_ROUNDS = 64 }; /* most times that all replicas are recorded (trace_all) */

typedef struct replicas {
    const dt_step_call *call;
    int n;
    dt_graph **graph; /* [n] the step recorded for each replica */
    int64_t *rows;    /* [n] number of rows of each replica */
    dt_view *arg;     /* [n][n_args] arguments of each replica */
} replicas;

/* ---- recording ---- */

static void forget(replicas *x) {
    for (int r = 0; r < x->n; r++) {
        dt_graph_destroy(x->graph[r]);
        x->graph[r] = NULL;
    }
}

static dt_status *trace_once(const dt_function *f, dt_step_call *c, replicas *x) {
    dt_status *first = NULL;
    for (int r = 0; r < x->n; r++) {
        c->each->replica = r;
        dt_status *s = dt_function_trace(f, c, &x->graph[r]);
        if (first) dt_status_free(s);
        else first = s ? dt_note(s, "on replica %d", r) : NULL;
    }
    return first;
}

/* Records the step for all replicas, again and again, until every gather knows the sizes of all
 * replicas' parts. Each round finds the sizes of one more gather. Errors of earlier rounds are
 * dropped, because unknown sizes may have caused them. */
static dt_status *trace_all(const dt_function *f, dt_step_call *c, replicas *x) {
    dt_each each = {0};
    dt_status *s = NULL;
    c->each = &each;
    for (int round = 0; round < MOST_ROUNDS && (round == 0 || each.learnt); round++) {
        dt_status_free(s);
        forget(x);
        each.learnt = false;
        s = trace_once(f, c, x);
    }
    c->each = NULL;
    free(each.size);
    return s;
}

static bool are_named_alike(const dt_named_node *a, const dt_named_node *b, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(a[i].name, b[i].name) != 0) return false;
    return true;
}

/* A step may compute with shapes, but which arguments, results and changed variables it has must
 * be the same on every replica. */
static dt_status *check_alike(const replicas *x) {
    const dt_graph *a = x->graph[0];
    for (int r = 1; r < x->n; r++) {
        const dt_graph *b = x->graph[r];
        bool same =
            a->n_args == b->n_args && a->n_results == b->n_results && a->n_states == b->n_states;
        same = same && are_named_alike(a->arg, b->arg, a->n_args) &&
               are_named_alike(a->result, b->result, a->n_results);
        for (int i = 0; same && i < a->n_states; i++)
            same = a->state[i].variable == b->state[i].variable &&
                   (a->state[i].update >= 0) == (b->state[i].update >= 0);
        if (!same)
            return dt_fail(DT_E_ARGUMENT, NULL,
                           "the step returns or changes something else on replica %d than on "
                           "replica 0, whose arguments have other shapes",
                           r);
    }
    return NULL;
}

/* ---- running ---- */

static void bind(const dt_step_call *c, replicas *x) {
    const int n = x->graph[0]->n_args;
    x->arg = dt_alloc(dt_size_mul((size_t)x->n, (size_t)(n + 1) * sizeof *x->arg));
    for (int r = 0; r < x->n; r++) {
        x->rows[r] = 1;
        for (int i = n - 1; i >= 0; i--) {
            const dt_value_entry *e = dt_values_find(c->args, x->graph[r]->arg[i].name);
            const dt_tensor *t = dt_entry_local(e, e->per_replica ? r : 0);
            x->arg[r * n + i] = (dt_view){t->type, t->data};
            x->rows[r] = e->per_replica && t->type.rank > 0 ? t->type.dim[0] : x->rows[r];
        }
    }
}

/* Runs the recordings. If replicas assign different values to a variable that may have copies,
 * gives each replica a copy, and runs the recordings again. */
static dt_status *interpret(replicas *x, dt_interpretation *out) {
    const dt_graph *g = x->graph[0];
    for (;;) {
        dt_refusal refusal = {0};
        const dt_env env = {.replicas = x->n, .refusal = &refusal};
        DT_TRY(
            dt_interpret_each((const dt_graph *const *)x->graph, &env, x->n, x->rows, x->arg, out));
        dt_status *s = dt_refusal_status(&refusal);
        if (!s && out->differs < 0) return NULL;
        dt_variable *v = s ? NULL : g->state[out->differs].variable;
        dt_interpretation_release(out);
        DT_TRY(s);
        if (!v->may_diverge)
            return dt_fail(DT_E_VARYING_UPDATE, NULL,
                           "variable '%s' is one for all replicas, but each would assign its own "
                           "value: sum or average it with all_reduce first",
                           v->path);
        DT_TRY(dt_variable_diverge(v, x->n));
    }
}

static dt_status *prepare(const dt_step_call *c, replicas *x, const bool *distributed) {
    dt_local_arena arena = dt_arena_create();
    dt_replication *spread = NULL;
    dt_status *s = check_alike(x);
    if (!s) s = dt_diverge_variables(x->graph[0], distributed, x->n);
    if (!s) s = dt_replication_of(x->graph[0], distributed, arena, &spread);
    DT_TRY(s);
    bind(c, x);
    for (int r = 0; r < x->n; r++)
        DT_TRY(dt_check_labels(x->graph[r], &x->arg[r * x->graph[0]->n_args]));
    return NULL;
}

/* ---- results ---- */

static dt_status *take_result(const dt_strategy *s, const dt_interpretation *in, int i, bool single,
                              dt_values *out, const char *name) {
    dt_tensor **t = dt_alloc(dt_size_mul((size_t)in->replicas, sizeof *t));
    dt_status *bad = NULL;
    for (int r = 0; !bad && r < in->replicas; r++) {
        const dt_view *v = &in->result[r * in->n_results + i];
        bad = dt_tensor_create(&t[r], v->type.dtype, v->type.rank, v->type.dim, v->data);
        if (!bad) dt_tensor_set_device(t[r], dt_strategy_device(s, r));
    }
    if (!bad)
        bad = single ? dt_values_set(out, name, t[0])
                     : dt_values_set_per_replica(out, name, t, in->replicas);
    for (int r = 0; r < in->replicas; r++) dt_tensor_unref(t[r]);
    free(t);
    return bad;
}

static dt_status *take_results(const replicas *x, const dt_interpretation *in, const bool *single,
                               dt_values **results) {
    dt_values *out = NULL;
    dt_status *s = dt_values_create(&out);
    for (int i = 0; !s && i < in->n_results; i++)
        s = take_result(x->call->strategy, in, i, single[i], out, x->graph[0]->result[i].name);
    if (!s) {
        dt_values_unref(*results);
        *results = out;
        out = NULL;
    }
    dt_values_unref(out);
    return s;
}

static void take_updates(const replicas *x, const dt_interpretation *in) {
    for (int i = 0; i < in->n_states; i++)
        if (in->update[i].data)
            memcpy(dt_host_edit(x->graph[0]->state[i].variable), in->update[i].data,
                   (size_t)dt_type_bytes(&in->update[i].type));
}

static dt_status *run_all(const dt_step_call *c, replicas *x, dt_values **results) {
    const dt_graph *g = x->graph[0];
    DT_LOCAL bool *distributed = dt_distributed_arguments(g, c->args),
                  *none = dt_alloc((size_t)g->n_results + 1);
    DT_LOCAL bool *single = dt_single_results(g, distributed, none);
    dt_interpretation in = {0};
    dt_status *s = prepare(c, x, distributed);
    if (!s) s = interpret(x, &in);
    if (!s && results) s = take_results(x, &in, single, results);
    if (!s) take_updates(x, &in);
    dt_interpretation_release(&in);
    return s;
}

dt_status *dt_step_run_each(const dt_function *f, dt_step_call *c, dt_values **results) {
    const int n = c->strategy->replicas;
    if (c->strategy->cluster)
        return dt_fail(DT_E_NOT_YET, NULL,
                       "arguments that differ between replicas in another dimension than the first "
                       "do not work on workers in separate processes");
    replicas x = {.call = c,
                  .n = n,
                  .graph = dt_alloc((size_t)n * sizeof *x.graph),
                  .rows = dt_alloc((size_t)n * sizeof *x.rows)};
    dt_status *s = trace_all(f, c, &x);
    if (!s) s = run_all(c, &x, results);
    forget(&x);
    free(x.graph);
    free(x.rows);
    free(x.arg);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides a worker's program at its exchanges with other workers (op/workers.h), for devices that
 * run whole programs and cannot stop in the middle. As in the bulk synchronous model (Valiant,
 * 1990), computing and exchanging take turns:
 *
 *     superstep 0: loss, gradients of own rows  |  sums of gradients  |  superstep 1: the optimizer
 *
 * A value is computed as early as its inputs allow and passed to each later superstep that needs
 * it. Values that depend on variables only, without rows, are computed in each superstep that
 * needs them. Variables change in the last superstep, so all others read the old values.
 */
#include "pass/supersteps.h"

#include <stdio.h>

#include "base/arena.h"
#include "op/workers.h"

typedef struct cutting {
    const dt_graph *g;
    int64_t first; /* index of the worker's first row among the rows of all workers */
    dt_supersteps *s;
    /* [nodes] index of the superstep that computes the node (see `anywhere`); for an exchange, of
     * the first superstep after it */
    int *home;
    /* [nodes] whether the node has no rows and depends on variables and constants only, so that any
     * superstep can compute it */
    bool *anywhere;
    bool **needed; /* [supersteps][nodes] whether the superstep needs the node */
    /* [nodes] whether another superstep or an exchange reads the node */
    bool *leaves;
} cutting;

static bool is_given(const dt_node *n) {
    return n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE;
}

/* ---- the superstep that computes a node ---- */

static void find_homes(cutting *c) {
    const dt_graph *g = c->g;
    c->s->n = 1;
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        c->anywhere[i] =
            n->op->role == DT_ROLE_STATE ||
            (n->op->role != DT_ROLE_ARGUMENT && !dt_is_exchange(n) && !dt_type_has_batch(&n->type));
        for (int k = 0; k < n->n_in; k++) {
            c->anywhere[i] &= c->anywhere[n->in[k]];
            c->home[i] = c->home[n->in[k]] > c->home[i] ? c->home[n->in[k]] : c->home[i];
        }
        c->s->exchange_after[i] = dt_is_exchange(n) ? c->home[i]++ : -1;
        c->s->n = c->home[i] >= c->s->n ? c->home[i] + 1 : c->s->n;
    }
}

static bool is_made_in(const cutting *c, int step, int i) {
    const dt_node *n = &c->g->node[i];
    return !is_given(n) && !dt_is_exchange(n) && (c->anywhere[i] || c->home[i] == step);
}

/* ---- the nodes that a superstep needs ---- */

/* Returns the superstep that computes a result for the caller. A result that every superstep could
 * compute, or that is an argument, belongs to the last one. -1: an exchange produces it. */
static int home_of_result(const cutting *c, int node) {
    if (dt_is_exchange(&c->g->node[node])) return -1;
    return is_given(&c->g->node[node]) || c->anywhere[node] ? c->s->n - 1 : c->home[node];
}

static void need_roots(cutting *c) {
    const dt_graph *g = c->g;
    for (int i = 0; i < g->n_results; i++)
        if (home_of_result(c, g->result[i].node) >= 0)
            c->needed[home_of_result(c, g->result[i].node)][g->result[i].node] = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) c->needed[c->s->n - 1][g->state[i].update] = true;
    for (int i = 0; i < g->n_nodes; i++)
        if (dt_is_exchange(&g->node[i])) {
            c->needed[c->s->exchange_after[i]][g->node[i].in[0]] = true;
            c->leaves[g->node[i].in[0]] = true;
        }
}

/* Marks the nodes that each superstep needs, from the last node to the first, so that readers are
 * visited before their inputs. */
static void need_inputs(cutting *c) {
    for (int step = c->s->n - 1; step >= 0; step--)
        for (int i = c->g->n_nodes - 1; i >= 0; i--) {
            const dt_node *n = &c->g->node[i];
            if (!c->needed[step][i]) continue;
            for (int k = 0; k < n->n_in && is_made_in(c, step, i); k++)
                c->needed[step][n->in[k]] = true;
            if (!is_made_in(c, step, i) && !is_given(n) && !dt_is_exchange(n))
                c->needed[c->home[i]][i] = c->leaves[i] = true;
        }
}

/* ---- graphs ---- */

static dt_value add_argument(const cutting *c, dt_trace *t, dt_superstep *s, int i,
                             const char *name) {
    char made[24];
    snprintf(made, sizeof made, "value %d", i);
    s->in[s->n_in++] = i;
    return dt_trace_declare(t, name ? name : made, &c->g->node[i].type);
}

static void give(dt_trace *t, dt_superstep *s, int i, dt_value value) {
    char made[24];
    snprintf(made, sizeof made, "value %d", i);
    s->out[s->n_out++] = i;
    dt_return(t, made, value);
}

/* Adds to superstep `step` the arguments and variables that it needs; in the last one also all
 * variables that are updated. They come first, in the same order as in the whole graph. */
static void import(const cutting *c, dt_trace *t, int step, dt_value *map) {
    const dt_graph *g = c->g;
    const bool *needed = c->needed[step];
    dt_trace_set_batch_parts(t, g->batch_parts);
    for (int i = 0; i < g->n_args; i++)
        if (needed[g->arg[i].node])
            map[g->arg[i].node] =
                add_argument(c, t, &c->s->step[step], g->arg[i].node, g->arg[i].name);
    for (int i = 0; i < g->n_states; i++)
        if (needed[g->state[i].node] || (step == c->s->n - 1 && g->state[i].update >= 0))
            map[g->state[i].node] = dt_read(t, g->state[i].variable);
}

static void copy(const cutting *c, dt_trace *t, int step, dt_value *map) {
    for (int i = 0; i < c->g->n_nodes; i++) {
        const dt_node *n = &c->g->node[i];
        dt_value in[DT_MAX_IN];
        if (!c->needed[step][i] || is_given(n)) continue;
        if (!is_made_in(c, step, i)) {
            map[i] = add_argument(c, t, &c->s->step[step], i, NULL);
            continue;
        }
        for (int k = 0; k < n->n_in; k++) in[k] = map[n->in[k]];
        const char *path = dt_trace_path(t, n->path);
        map[i] = dt_emit_like(t, c->g, i, in);
        if (n->op == &dt_op_example_id && c->first)
            map[i] = dt_add(map[i], dt_splat(t, &n->type, (double)c->first));
        dt_trace_path(t, path);
    }
}

static bool is_result(const cutting *c, int step, int i) {
    for (int k = 0; k < c->g->n_results; k++)
        if (c->g->result[k].node == i && home_of_result(c, i) == step) return true;
    return false;
}

static void export(const cutting *c, dt_trace *t, int step, const dt_value *map) {
    const dt_graph *g = c->g;
    for (int i = 0; i < g->n_nodes; i++)
        if (c->needed[step][i] &&
            ((c->leaves[i] && is_made_in(c, step, i)) || is_result(c, step, i)))
            give(t, &c->s->step[step], i, map[i]);
    for (int i = 0; step == c->s->n - 1 && i < g->n_states; i++)
        if (g->state[i].update >= 0) dt_assign(t, g->state[i].variable, map[g->state[i].update]);
}

static dt_status *make(const cutting *c, int step) {
    const int n = c->g->n_nodes + 1;
    dt_superstep *s = &c->s->step[step];
    dt_trace *t = dt_trace_create(c->g->name);
    dt_value *map = dt_arena_array(c->s->arena, dt_value, n);
    s->in = dt_arena_array(c->s->arena, int, n);
    s->out = dt_arena_array(c->s->arena, int, n);
    import(c, t, step, map);
    copy(c, t, step, map);
    export(c, t, step, map);
    return dt_trace_end(t, &s->graph);
}

bool dt_has_exchanges(const dt_graph *g) {
    for (int i = 0; i < g->n_nodes; i++)
        if (dt_is_exchange(&g->node[i])) return true;
    return false;
}

dt_status *dt_supersteps_create(const dt_graph *g, int64_t first, dt_supersteps *out) {
    const int n = g->n_nodes + 1;
    *out = (dt_supersteps){.arena = dt_arena_create()};
    out->exchange_after = dt_arena_array(out->arena, int, n);
    cutting c = {.g = g,
                 .first = first,
                 .s = out,
                 .home = dt_arena_array(out->arena, int, n),
                 .anywhere = dt_arena_array(out->arena, bool, n),
                 .leaves = dt_arena_array(out->arena, bool, n)};
    find_homes(&c);
    c.needed = dt_arena_array(out->arena, bool *, out->n);
    for (int k = 0; k < out->n; k++) c.needed[k] = dt_arena_array(out->arena, bool, n);
    need_roots(&c);
    need_inputs(&c);
    out->step = dt_arena_array(out->arena, dt_superstep, out->n);
    dt_status *s = NULL;
    for (int k = 0; !s && k < out->n; k++) s = make(&c, k);
    if (s) dt_supersteps_release(out);
    return s;
}

void dt_supersteps_release(dt_supersteps *s) {
    for (int k = 0; s->step && k < s->n; k++) dt_graph_destroy(s->step[k].graph);
    if (s->arena) dt_arena_destroy(s->arena);
    *s = (dt_supersteps){0};
}

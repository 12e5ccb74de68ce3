/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step: the batch is uploaded, the program runs, results are downloaded, and variables stay on
 * the devices.
 *
 *     start    check, upload, execute; new values replace variables; downloads of results begin
 *     finish   wait for results, then release buffers
 *
 * Between the two the host is free and may start the next step. The device may read a batch's
 * memory until the step is finished. The buffers of old values of variables, whose memory the new
 * values use, are also destroyed at the end. If they were destroyed earlier, that would wait for
 * the device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"
#include "op/cells.h"

/* ---- row numbers ---- */

/*
 * Checks row numbers that are out of range. On the back end cpu, `gather` reports them while it
 * runs. A plug-in silently takes the nearest row. Nearly always row numbers come directly from the
 * data, or only negative ones are replaced by numbers counted from the end. So the small part of
 * the graph that computes them is run here before the step starts. Row numbers that depend on
 * weights, or are expensive to compute, are not checked.
 */

/* Whether computing the node here is cheap: it has one of the roles below, and its value is not a
 * float. */
static bool is_cheap(const dt_node *n) {
    const dt_role role = n->op->role;
    const bool fits = role == DT_ROLE_ARGUMENT || role == DT_ROLE_CONSTANT ||
                      role == DT_ROLE_ELEMENT || role == DT_ROLE_CONVERT || role == DT_ROLE_NAME ||
                      role == DT_ROLE_REPEAT || role == DT_ROLE_NOTE;
    return fits && (n->op->eval || role == DT_ROLE_ARGUMENT) && !dt_dtype_is_float(n->type.dtype);
}

/* Marks node `node` and the nodes that it depends on. Returns false if one of them is expensive to
 * compute. */
static bool mark_needed(const dt_graph *g, int node, bool *needed) {
    needed[node] = true;
    for (int i = node; i >= 0; i--) {
        if (!needed[i]) continue;
        if (!is_cheap(&g->node[i])) return false;
        for (int k = 0; k < g->node[i].n_in; k++) needed[g->node[i].in[k]] = true;
    }
    return true;
}

struct dt_pjrt_check {
    int index;          /* index of the node that computes the row numbers */
    const bool *needed; /* [nodes] whether the row numbers depend on the node */
    int64_t rows;
    const char *layer;
};

int dt_pjrt_checks_of(const dt_graph *g, dt_arena *arena, dt_pjrt_check **out) {
    int n = 0;
    *out = dt_arena_array(arena, dt_pjrt_check, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *node = &g->node[i];
        if (node->op->role != DT_ROLE_LOOKUP) continue;
        bool *needed = dt_arena_array(arena, bool, g->n_nodes);
        if (mark_needed(g, node->in[1], needed))
            (*out)[n++] =
                (dt_pjrt_check){node->in[1], needed, g->node[node->in[0]].type.dim[0], node->path};
    }
    return n;
}

static void check_value(const dt_pjrt_check *c, const dt_view *x, dt_refusal *refusal) {
    for (int64_t i = 0, n = dt_type_elements(&x->type); i < n; i++) {
        const int64_t number = dt_cell_int(x, i);
        if (number >= 0 && number < c->rows) continue;
        refusal->finders = 1;
        refusal->number = number;
        refusal->rows = c->rows;
        refusal->rank = x->type.rank;
        snprintf(refusal->layer, sizeof refusal->layer, "%s", c->layer);
        for (int d = x->type.rank - 1; d >= 0; i /= x->type.dim[d--])
            refusal->at[d] = i % x->type.dim[d];
        return;
    }
}

static int argument_number(const dt_graph *g, int node) {
    int i = 0;
    while (g->arg[i].node != node) i++;
    return i;
}

/* Computes the row numbers of a check from the arguments. If some are out of range, sets
 * env->refusal to the first of these. */
static void check_rows(const dt_graph *g, const dt_pjrt_check *c, const dt_env *env,
                       const dt_view *arg) {
    DT_LOCAL dt_view *v = dt_alloc(dt_size_mul((size_t)c->index + 1, sizeof *v));

    memset(v, 0, ((size_t)c->index + 1) * sizeof *v);
    for (int i = 0; i <= c->index; i++) {
        const dt_node *n = &g->node[i];
        dt_view in[DT_MAX_IN];
        if (!c->needed[i]) continue;
        if (n->op->role == DT_ROLE_ARGUMENT) {
            v[i] = arg[argument_number(g, i)];
            continue;
        }
        v[i].type = dt_type_at(&n->type, env->batch);
        v[i].data = dt_alloc((size_t)dt_type_bytes(&v[i].type) + 1);
        for (int k = 0; k < n->n_in; k++) in[k] = v[n->in[k]];
        n->op->eval(&(dt_call){.node = n, .env = env, .in = in, .out = v[i]});
    }
    check_value(c, &v[c->index], env->refusal);
    for (int i = 0; i <= c->index; i++)
        if (v[i].data && g->node[i].op->role != DT_ROLE_ARGUMENT) free(v[i].data);
}

/* ---- ending a flight ---- */

/* Returns the first error of two and frees the other. */
static dt_status *first(dt_status *s, dt_status *later) {
    if (s) dt_status_free(later);
    return s ? s : later;
}

/* Ends a step: waits for it and releases everything that its flight holds. */
static dt_status *land(dt_pjrt_program *x, dt_pjrt_flight *f) {
    const dt_graph *g = x->graph;
    dt_pjrt_device *d = x->device;
    dt_status *s = NULL;

    for (int i = 0; i < g->n_results; i++) {
        s = first(s, dt_pjrt_await(d->client, f->ready[i]));
        f->ready[i] = NULL;
    }
    dt_pjrt_drop(d, f->made, g->n_results * d->n);
    dt_pjrt_drop(d, f->old, f->n_old * d->n);
    f->n_old = 0;
    for (int i = 0; i < f->n_fed; i++) s = first(s, dt_pjrt_loan_drop(d, &f->fed[i]));
    f->n_fed = 0;
    return s;
}

/* ---- memory for flights ---- */

static dt_status *make_flight(dt_pjrt_program *x, dt_pjrt_flight *f) {
    const dt_graph *g = x->graph;
    const int n = x->device->n;

    f->fed = dt_pjrt_make_loans(x->arena, g->n_args, n);
    f->old = dt_arena_array(x->arena, dt_pjrt_buffer *, x->n_updates * n + 1);
    f->made = dt_arena_array(x->arena, dt_pjrt_buffer *, g->n_results * n + 1);
    f->ready = dt_arena_array(x->arena, void *, g->n_results + 1);
    f->host = dt_arena_array(x->arena, dt_view, g->n_results + 1);
    for (int i = 0; i < g->n_results; i++) {
        f->host[i].type = dt_type_at(&g->node[g->result[i].node].type, x->rows);
        const int64_t bytes = x->stays && x->stays[i] ? 0 : dt_type_bytes(&f->host[i].type);
        f->host[i].data = bytes == INT64_MAX ? NULL : dt_try_alloc_dense((size_t)bytes + 1);
        if (!f->host[i].data)
            return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: a step's result needs %lld bytes",
                           (long long)bytes);
    }
    return NULL;
}

dt_status *dt_pjrt_make_room(dt_pjrt_program *x) {
    const dt_graph *g = x->graph;
    const int n = x->device->n;

    x->copy = dt_arena_array(x->arena, dt_pjrt_copy *, g->n_states + 1);
    x->argument = dt_arena_array(x->arena, dt_pjrt_buffer **, n);
    x->result = dt_arena_array(x->arena, dt_pjrt_buffer **, n);
    for (int k = 0; k < n; k++) {
        x->argument[k] = dt_arena_array(x->arena, dt_pjrt_buffer *, g->n_args + g->n_states + 1);
        x->result[k] = dt_arena_array(x->arena, dt_pjrt_buffer *, g->n_results + x->n_updates + 1);
    }
    return make_flight(x, &x->flight[0]);
}

void dt_pjrt_release_room(dt_pjrt_program *x) {
    for (; x->n_flying; x->n_flying--, x->oldest = (x->oldest + 1) % DT_PJRT_FLIGHTS)
        dt_status_free(land(x, &x->flight[x->oldest]));
    for (int k = 0; k < DT_PJRT_FLIGHTS; k++)
        for (int i = 0; x->flight[k].host && i < x->graph->n_results; i++)
            free(x->flight[k].host[i].data);
}

/* Sets *out to the next flight that is free, and allocates its arrays if it is used for the first
 * time. Fails with INTERNAL if DT_PJRT_FLIGHTS steps have started and not finished, and with
 * NO_MEMORY if the arrays cannot be allocated. */
static dt_status *find_flight(dt_pjrt_program *x, dt_pjrt_flight **out) {
    dt_pjrt_flight *f = *out = &x->flight[(x->oldest + x->n_flying) % DT_PJRT_FLIGHTS];
    if (x->n_flying == DT_PJRT_FLIGHTS)
        return dt_fail(DT_E_INTERNAL, NULL, "a step starts while %d are not finished", x->n_flying);
    return f->host ? NULL : make_flight(x, f);
}

/* ---- starting ---- */

/* Uploads an array now, unless it was uploaded in advance. */
static dt_status *feed_array(dt_pjrt_program *x, dt_pjrt_flight *f, const dt_view *array, int i) {
    const dt_pjrt_lie lie = dt_pjrt_lie_of(f->over, f->over ? f->over->arg : NULL, i);
    dt_pjrt_buffer *const *buffer = dt_pjrt_find_lent(x->device, array, &lie);
    if (!buffer) {
        dt_pjrt_loan *l = &f->fed[f->n_fed++];
        l->array = *array;
        l->lie = lie;
        DT_TRY(dt_pjrt_loan_give(x->device, l));
        buffer = l->buffer;
    }
    for (int k = 0; k < x->device->n; k++) x->argument[k][i] = buffer[k];
    return NULL;
}

static dt_status *feed(dt_pjrt_program *x, dt_pjrt_flight *f, const dt_view *arg) {
    for (int i = 0; i < x->graph->n_args; i++) DT_TRY(feed_array(x, f, &arg[i], i));
    return NULL;
}

static dt_status *find_states(dt_pjrt_program *x, const dt_pjrt_variant *v) {
    const int args = x->graph->n_args;
    for (int i = args; i < v->takes.n_in; i++) {
        const dt_hlo_port *p = &v->takes.in[i];
        const dt_pjrt_lie lie =
            dt_pjrt_lie_of(v->over, v->over ? v->over->state : NULL, p->state[0]);
        dt_pjrt_copy **copy = &x->copy[i - args];
        DT_TRY(dt_pjrt_copy_of(x->device, v->variable[i - args], p->n, p->stacked, copy));
        DT_TRY(dt_pjrt_copy_ready(*copy, &lie, x->device->n));
        for (int k = 0; k < x->device->n; k++) x->argument[k][i] = (*copy)->buffer[k];
    }
    return NULL;
}

/* Sets the list of results to NULL before a run, so that check_results finds those that the plug-in
 * does not set. */
static void clear_results(dt_pjrt_program *x) {
    for (int k = 0; k < x->device->n; k++)
        memset(x->result[k], 0,
               (size_t)(x->graph->n_results + x->n_updates) * sizeof *x->result[k]);
}

static dt_status *check_results(dt_pjrt_program *x, const dt_pjrt_variant *v) {
    const int n = v->takes.n_out;
    bool all = true;
    for (int k = 0; k < x->device->n; k++)
        for (int i = 0; i < n; i++) all = all && x->result[k][i];
    if (all) return NULL;
    for (int k = 0; k < x->device->n; k++) dt_pjrt_drop(x->device, x->result[k], n);
    return dt_fail(DT_E_ACCELERATOR, NULL,
                   "running a step: the plug-in returned fewer than %d arrays", n);
}

static void take_results(dt_pjrt_program *x, dt_pjrt_flight *f, const dt_pjrt_variant *v) {
    const dt_graph *g = x->graph;
    const int n = x->device->n;
    for (int i = 0; i < g->n_results; i++)
        for (int k = 0; k < n; k++) f->made[i * n + k] = x->result[k][i];
    for (int i = g->n_args; i < v->takes.n_in; i++)
        if (v->takes.in[i].alias >= 0)
            dt_pjrt_copy_replace(x->copy[i - g->n_args], (dt_pjrt_buffer *const *const *)x->result,
                                 v->takes.in[i].alias, f->old + f->n_old++ * n);
}

static bool is_in_parts(const dt_pjrt_flight *f, int i) {
    const dt_pjrt_lie lie = dt_pjrt_lie_of(f->over, f->over ? f->over->result : NULL, i);
    return dt_pjrt_is_cut(&lie, f->host[i].type.rank);
}

/* Begins to download the results that the host reads, except those that are divided over devices.
 * In the first run of a variant, also checks that the undivided results have the right sizes. */
static dt_status *ask_for_results(dt_pjrt_program *x, dt_pjrt_flight *f, dt_pjrt_variant *v) {
    const dt_pjrt_client *c = x->device->client;
    for (int i = 0; i < x->graph->n_results; i++) {
        dt_pjrt_buffer *b = f->made[i * x->device->n];
        if (is_in_parts(f, i)) continue;
        if (!v->is_checked) DT_TRY(dt_pjrt_check_size(c, b, &f->host[i]));
        if (x->stays && x->stays[i]) continue;
        DT_TRY(dt_pjrt_download(c, b, &f->host[i], &f->ready[i]));
    }
    v->is_checked = true;
    return NULL;
}

static void lose_updates(dt_pjrt_program *x) {
    for (int i = 0; i < x->graph->n_states; i++)
        if (x->graph->state[i].update >= 0) dt_pjrt_lose(x->device, x->graph->state[i].variable);
}

/* Starts the program, lets new values replace the variables' old ones, and begins to download
 * results. From now on the device may overwrite the memory of variables, so after an error those
 * that the program changes are marked as lost. */
static dt_status *execute(dt_pjrt_program *x, dt_pjrt_flight *f, dt_pjrt_variant *v) {
    clear_results(x);
    dt_status *s =
        dt_pjrt_execute(x->device->client, v->loaded, x->device->n,
                        (dt_pjrt_buffer *const *const *)x->argument, v->takes.n_in, x->result);
    if (!s) s = check_results(x, v);
    if (!s) {
        take_results(x, f, v);
        s = ask_for_results(x, f, v);
    }
    if (s) lose_updates(x);
    return s;
}

/* ---- the two halves ---- */

static dt_status *collect_parts(dt_pjrt_program *x, const dt_pjrt_flight *f) {
    for (int i = 0; i < x->graph->n_results; i++) {
        const dt_pjrt_lie lie = dt_pjrt_lie_of(f->over, f->over ? f->over->result : NULL, i);
        if (is_in_parts(f, i) && !(x->stays && x->stays[i]))
            DT_TRY(dt_pjrt_collect(x->device, f->made + i * x->device->n, x->device->n, &lie,
                                   &f->host[i]));
    }
    return NULL;
}

dt_status *dt_pjrt_start(void *executable, const dt_env *env, const dt_view *arg, dt_view *result) {
    dt_pjrt_program *x = executable;
    dt_pjrt_variant *v = NULL;
    dt_pjrt_flight *f = NULL;

    for (int i = 0; env->refusal && !env->refusal->finders && i < x->n_checks; i++)
        check_rows(x->graph, &x->check[i], env, arg);
    /* The step refuses its data. The caller finds the reason in env->refusal, so no error is
     * returned. */
    if (env->refusal && env->refusal->finders) return NULL;
    DT_TRY(dt_pjrt_explain(x, dt_pjrt_late_fault(x->device)));
    if (x->meetings) return dt_pjrt_meet(x->meetings, env, arg, result);
    DT_TRY(dt_pjrt_find_variant(x, env, &v));
    DT_TRY(find_flight(x, &f));
    f->over = v->over;
    dt_status *s = find_states(x, v);
    if (!s) s = feed(x, f, arg);
    if (!s) s = execute(x, f, v);
    if (s) {
        dt_status_free(land(x, f));
        return dt_pjrt_explain(x, s);
    }
    x->n_flying++;
    memcpy(result, f->host, (size_t)x->graph->n_results * sizeof *result);
    return NULL;
}

dt_status *dt_pjrt_finish(void *executable) {
    dt_pjrt_program *x = executable;
    if (x->meetings) return NULL; /* dt_pjrt_meet has run the whole step in `start` already */
    dt_pjrt_flight *f = &x->flight[x->oldest];
    dt_status *s = collect_parts(x, f);

    s = first(s, land(x, f));
    x->oldest = (x->oldest + 1) % DT_PJRT_FLIGHTS;
    x->n_flying--;
    if (s) lose_updates(x);
    return dt_pjrt_explain(x, s);
}

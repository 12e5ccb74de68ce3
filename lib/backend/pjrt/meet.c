/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training step of a worker that exchanges values with others. The plug-in runs whole programs,
 * so a step has one program for each superstep (pass/supersteps.c). Between two of them this
 * process exchanges values in its own memory with other workers, as the executor of cpu does
 * (exec/kernel_exchange.c):
 *
 *     program 0 -> gradients of own rows, to the host -> sums over all workers -> program 1
 *          \------------------ activations, which stay on the device --------------^
 */
#include <stdlib.h>

#include "backend/pjrt/pjrt_impl.h"
#include "net/fabric.h"
#include "op/workers.h"
#include "pass/supersteps.h"

/* Exchanges after one superstep that have the same kind and, if they are sums, the same dtype. They
 * are performed together. */
typedef struct meeting {
    /* after: index of the superstep; node: [n] the exchanges, as nodes of the whole step's graph */
    int after, n, *node;
    dt_tree_item *sum;  /* [n] items to sum (tree_join); NULL: the exchange collects rows */
    dt_rows_item *rows; /* [n] rows that workers collect from each other, for worker_rows */
} meeting;

struct dt_pjrt_meetings {
    const dt_graph *graph; /* the graph of the whole step, owned by the caller */
    dt_supersteps cut;
    dt_pjrt_program **program; /* [cut.n] the program of each superstep */
    /* [cut.n] how each program is divided over devices; NULL: each device computes all rows */
    dt_spmd **over;
    /* [cut.n][results] whether the result stays on the device: only later programs read it, in the
     * layout that it has there */
    bool **stays;
    /* [cut.n] the results of each program that stay on the device in the current step; NULL: there
     * are none */
    dt_pjrt_lent **lent;
    dt_view *value;        /* [nodes] values of the current step */
    dt_view *arg, *result; /* arguments and results of the program that runs at the moment */
    int n_meetings;
    meeting *meeting;
    int64_t bytes; /* bytes of this machine's memory for the results of all exchanges */
};

/* ---- creating and destroying ---- */

static bool goes_along(const dt_pjrt_meetings *m, const meeting *with, int i) {
    const dt_node *a = &m->graph->node[with->node[0]], *b = &m->graph->node[i];
    return with->after == m->cut.exchange_after[i] && a->op == b->op &&
           (!dt_is_tree_join(b) || a->type.dtype == b->type.dtype);
}

/* Returns the meeting that exchange i belongs to. Meetings are in the order of their first nodes,
 * which is the same on all workers. */
static meeting *meeting_of(dt_pjrt_meetings *m, int i) {
    for (int k = 0; k < m->n_meetings; k++)
        if (goes_along(m, &m->meeting[k], i)) return &m->meeting[k];
    meeting *made = &m->meeting[m->n_meetings++];
    *made = (meeting){.after = m->cut.exchange_after[i],
                      .node = dt_arena_array(m->cut.arena, int, m->graph->n_nodes)};
    if (dt_is_tree_join(&m->graph->node[i]))
        made->sum = dt_arena_array(m->cut.arena, dt_tree_item, m->graph->n_nodes);
    else made->rows = dt_arena_array(m->cut.arena, dt_rows_item, m->graph->n_nodes);
    return made;
}

static dt_status *make_room(dt_pjrt_meetings *m, int64_t rows) {
    const dt_graph *g = m->graph;
    m->value = dt_arena_array(m->cut.arena, dt_view, g->n_nodes);
    m->arg = dt_arena_array(m->cut.arena, dt_view, g->n_nodes);
    m->result = dt_arena_array(m->cut.arena, dt_view, g->n_nodes);
    m->meeting = dt_arena_array(m->cut.arena, meeting, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++) {
        if (!dt_is_exchange(&g->node[i])) continue;
        meeting *with = meeting_of(m, i);
        with->node[with->n++] = i;
        m->value[i].type = dt_type_at(&g->node[i].type, rows);
        const int64_t bytes = dt_type_bytes(&m->value[i].type);
        m->value[i].data = bytes == INT64_MAX ? NULL : dt_try_alloc_dense((size_t)bytes + 1);
        if (!m->value[i].data)
            return dt_fail(DT_E_NO_MEMORY, NULL,
                           "out of memory: what workers exchange needs %lld bytes",
                           (long long)bytes);
        m->bytes += bytes;
    }
    return NULL;
}

/* Sets m->over, by which each program's rows are divided over the devices; its elements stay NULL
 * if there is one device, if the rows do not divide evenly, or if the batch has segments, whose
 * results depend on the device that has them. */
static dt_status *divide(dt_pjrt_meetings *m, const dt_pjrt_program *x) {
    const int n = x->device->n;
    m->over = dt_arena_array(m->cut.arena, dt_spmd *, m->cut.n);
    for (int k = 0; n > 1 && x->segments == 0 && x->rows % n == 0 && k < m->cut.n; k++)
        DT_TRY(dt_spmd_create(
            &m->over[k], m->cut.step[k].graph,
            &(dt_spmd_options){.devices = 1, .batch = x->rows, .replicas = n, .micro = 1}));
    return NULL;
}

/* Whether all later supersteps that read result i of superstep k can read it in the layout in which
 * the devices have it. */
static bool is_taken_so(const dt_pjrt_meetings *m, int k, int i) {
    const int node = m->cut.step[k].out[i];
    const dt_pjrt_lie made = dt_pjrt_lie_of(m->over[k], m->over[k] ? m->over[k]->result : NULL, i);
    for (int later = k + 1; later < m->cut.n; later++)
        for (int j = 0; j < m->cut.step[later].n_in; j++) {
            const dt_pjrt_lie taken =
                dt_pjrt_lie_of(m->over[later], m->over[later] ? m->over[later]->arg : NULL, j);
            if (m->cut.step[later].in[j] == node &&
                !dt_pjrt_lies_alike(&made, &taken, m->graph->node[node].type.rank))
                return false;
        }
    return true;
}

/* Finds the results that can stay on the devices: neither an exchange nor the caller reads them,
 * and later programs can read them in their present layout. */
static void find_what_stays(dt_pjrt_meetings *m) {
    const dt_graph *g = m->graph;
    bool *seen = dt_arena_array(m->cut.arena, bool, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        if (dt_is_exchange(&g->node[i])) seen[g->node[i].in[0]] = true;
    for (int i = 0; i < g->n_results; i++) seen[g->result[i].node] = true;
    m->stays = dt_arena_array(m->cut.arena, bool *, m->cut.n);
    for (int k = 0; k < m->cut.n; k++) {
        m->stays[k] = dt_arena_array(m->cut.arena, bool, m->cut.step[k].n_out + 1);
        for (int i = 0; i < m->cut.step[k].n_out; i++)
            m->stays[k][i] = !seen[m->cut.step[k].out[i]] && is_taken_so(m, k, i);
    }
}

/* Compiles the programs of all supersteps. The last one comes first, since it changes the
 * variables: the others take them, stacked or single, as it does if they can. */
static dt_status *compile(dt_pjrt_meetings *m, const dt_pjrt_program *x) {
    m->program = dt_arena_array(m->cut.arena, dt_pjrt_program *, m->cut.n);
    m->lent = dt_arena_array(m->cut.arena, dt_pjrt_lent *, m->cut.n);
    for (int k = m->cut.n - 1; k >= 0; k--) {
        const dt_compile_request r = {.graph = m->cut.step[k].graph,
                                      .rows = x->rows,
                                      .chip_products = !x->exact,
                                      .over = m->over[k]};
        void *program = NULL;
        DT_TRY(dt_pjrt_make_program(x->device, &r, m->stays[k], &program));
        m->program[k] = program;
    }
    return NULL;
}

dt_status *dt_pjrt_meetings_create(const dt_pjrt_program *x, int64_t first,
                                   dt_pjrt_meetings **out) {
    dt_pjrt_meetings *m = dt_alloc(sizeof *m);
    *m = (dt_pjrt_meetings){.graph = x->graph};
    dt_status *s = dt_supersteps_create(x->graph, first, &m->cut);
    if (!s) s = make_room(m, x->rows);
    if (!s) s = divide(m, x);
    if (!s) {
        find_what_stays(m);
        s = compile(m, x);
    }
    if (s) dt_pjrt_meetings_destroy(m);
    else *out = m;
    return s;
}

void dt_pjrt_meetings_destroy(dt_pjrt_meetings *m) {
    if (!m) return;
    for (int k = 0; m->program && k < m->cut.n; k++)
        if (m->program[k]) dt_pjrt_release(m->program[k]);
    for (int k = 0; m->over && k < m->cut.n; k++) dt_spmd_destroy(m->over[k]);
    for (int i = 0; m->value && i < m->graph->n_nodes; i++)
        if (dt_is_exchange(&m->graph->node[i])) free(m->value[i].data);
    dt_supersteps_release(&m->cut);
    free(m);
}

/* ---- a step ---- */

/* Makes the results of program k that stay on the devices available to later programs. The program
 * has started. Returns the loan, for dt_pjrt_take_back; NULL: no result stays. */
static dt_pjrt_lent *lend_made(dt_pjrt_meetings *m, int k) {
    dt_pjrt_program *x = m->program[k];
    const dt_pjrt_flight *f = &x->flight[(x->oldest + x->n_flying - 1) % DT_PJRT_FLIGHTS];
    DT_LOCAL dt_pjrt_loan *made = dt_alloc((size_t)(x->graph->n_results + 1) * sizeof *made);
    int n = 0;
    for (int i = 0; i < x->graph->n_results; i++)
        if (m->stays[k][i])
            made[n++] =
                (dt_pjrt_loan){.array = m->result[i],
                               .lie = dt_pjrt_lie_of(f->over, f->over ? f->over->result : NULL, i),
                               .buffer = f->made + i * x->device->n};
    dt_pjrt_lent *l = n ? dt_pjrt_lend_made(x->device, n, made) : NULL;
    return l;
}

static dt_status *run_program(dt_pjrt_meetings *m, int k, const dt_env *env) {
    const dt_superstep *s = &m->cut.step[k];
    for (int i = 0; i < s->n_in; i++) m->arg[i] = m->value[s->in[i]];
    DT_TRY(dt_pjrt_start(m->program[k], env, m->arg, m->result));
    m->lent[k] = lend_made(m, k);
    DT_TRY(dt_pjrt_finish(m->program[k]));
    for (int i = 0; i < s->n_out; i++) m->value[s->out[i]] = m->result[i];
    return NULL;
}

static dt_status *exchange(dt_pjrt_meetings *m, meeting *with, dt_member *member) {
    const dt_node *node = m->graph->node, *first = &node[with->node[0]];
    for (int i = 0; i < with->n; i++) {
        const dt_view *own = &m->value[node[with->node[i]].in[0]], *all = &m->value[with->node[i]];
        const int64_t rows = all->type.rank ? all->type.dim[0] : 1;
        if (with->sum)
            with->sum[i] = (dt_tree_item){.parts = own->data,
                                          .sum = all->data,
                                          .rows = rows,
                                          .width = rows ? dt_type_elements(&all->type) / rows : 0};
        else
            with->rows[i] =
                (dt_rows_item){.own = own->data,
                               .whole = all->data,
                               .rows = rows,
                               .row_bytes = rows ? (size_t)(dt_type_bytes(&all->type) / rows) : 0};
    }
    member->of = first->path;
    dt_status *s =
        with->sum ? dt_tree_all_reduce(member, ((const dt_tree_join_attr *)first->attr)->shards,
                                       first->type.dtype, with->sum, with->n)
                  : dt_rows_all_gather(member, with->rows, with->n);
    member->of = NULL;
    return s;
}

static dt_status *run_all(dt_pjrt_meetings *m, const dt_env *env) {
    dt_env own = *env;
    /* The programs need not check row numbers, because those of the arguments have been checked
     * before. */
    own.refusal = NULL;
    for (int k = 0; k < m->cut.n; k++) {
        DT_TRY(run_program(m, k, &own));
        for (int i = 0; i < m->n_meetings; i++)
            if (m->meeting[i].after == k) DT_TRY(exchange(m, &m->meeting[i], env->member));
    }
    return NULL;
}

dt_status *dt_pjrt_meet(dt_pjrt_meetings *m, const dt_env *env, const dt_view *arg,
                        dt_view *result) {
    const dt_graph *g = m->graph;
    for (int i = 0; i < g->n_args; i++) m->value[g->arg[i].node] = arg[i];
    dt_status *s = run_all(m, env);
    for (int k = 0; k < m->cut.n; k++) {
        if (m->lent[k]) dt_pjrt_take_back(m->lent[k]);
        m->lent[k] = NULL;
    }
    for (int i = 0; i < g->n_results; i++) result[i] = m->value[g->result[i].node];
    return s;
}

/* ---- questions about the programs ---- */

int64_t dt_pjrt_meetings_bytes(const dt_pjrt_meetings *m) {
    int64_t bytes = m->bytes;
    for (int k = 0; k < m->cut.n; k++) bytes += dt_pjrt_host_bytes(m->program[k]);
    return bytes;
}

void dt_pjrt_meetings_print(const dt_pjrt_meetings *m, dt_str *out) {
    for (int k = 0; k < m->cut.n; k++) {
        dt_str_printf(out, "// superstep %d of %d\n", k, m->cut.n);
        dt_pjrt_print(m->program[k], out);
    }
}

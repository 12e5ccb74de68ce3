/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts the ops of a program with places into the tasks of a pipeline. A stage ends where values
 * move to another device. Of the ops of each micro-batch, those that results need are forward work,
 * the others are backward work. Ops that run once for all micro-batches (after sums over time) are
 * updates. If the batch is not divided into micro-batches, ops whose results have no rows are
 * updates.
 *
 *     device 0:  F (stage 0)                              B       U
 *     device 1:             F (stage 1)    B      U
 *
 * Ops on all devices belong to the last device among those of their inputs; constants cost nothing.
 */
#include <stdlib.h>

#include "pass/spmd/spmd_impl.h"

typedef struct staging {
    const dt_spmd *s;
    /* [nodes] forward: a result needs the node; each: the node runs for each micro-batch; after:
     * the node runs once, after all micro-batches */
    bool *forward, *each, *after;
    /* [nodes] device: index of the device that runs the node; -1: the node and its inputs are on no
     * single device; stage: its stage in the pipeline; of: index of its task, -1: none */
    int *device, *stage, *of;
    int n_tasks, n_edges;
    dt_stage_task *task;
    dt_task_edge *edge;
    const dt_stage_prices *prices;
} staging;

static const dt_node *node_at(const staging *x, int i) { return &x->s->local->node[i]; }

static bool works(const staging *x, int i) { return node_at(x, i)->n_in > 0; }

static void mark_forward(staging *x) {
    const dt_graph *g = x->s->local;
    for (int i = 0; i < g->n_results; i++) x->forward[g->result[i].node] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; x->forward[i] && k < node_at(x, i)->n_in; k++)
            x->forward[node_at(x, i)->in[k]] = true;
}

/* Whether a node runs for each micro-batch. Sums and joins over micro-batches run once; a value
 * that is divided into micro-batches again runs for each. Without micro-batches, the nodes that
 * have rows count as such. */
static bool is_for_each(const staging *x, int i) {
    const dt_node *n = node_at(x, i);
    bool in_time =
        n->op->across && n->n_in > 0 && (((const dt_across_attr *)n->attr)->axes & x->s->mesh.time);
    bool each = (dt_layout_axes(&x->s->layout[i]) & x->s->mesh.time) != 0 ||
                (!x->s->mesh.time && dt_type_has_batch(&n->type));
    for (int k = 0; k < n->n_in; k++) each |= x->each[n->in[k]] && x->s->mesh.time;
    return in_time ? n->op->role == DT_ROLE_MOVE : each;
}

static void place(staging *x, int i) {
    const dt_node *n = node_at(x, i);
    int on = x->s->layout[i].on;
    x->each[i] = is_for_each(x, i);
    x->device[i] = on ? on - 1 : -1;
    for (int k = 0; k < n->n_in && !on; k++)
        x->device[i] = x->device[n->in[k]] > x->device[i] ? x->device[n->in[k]] : x->device[i];
    for (int k = 0; k < n->n_in; k++) {
        int in = n->in[k], next = x->stage[in];
        if (!works(x, in)) continue;
        /* Counts as a later stage, so that no two tasks wait for each other. */
        next += x->device[in] != x->device[i] || (x->each[i] ? x->after[in] : x->each[in]);
        x->after[i] |= x->after[in] || x->each[in];
        x->stage[i] = next > x->stage[i] ? next : x->stage[i];
    }
    x->after[i] = x->after[i] && !x->each[i];
}

/* Moves work to the time when the backward pass needs it: a value that only gradients read is
 * computed with the gradient. */
static void delay(staging *x) {
    int n = x->s->local->n_nodes, *until = dt_alloc(((size_t)n + 1) * sizeof *until);
    for (int i = 0; i < n; i++) until[i] = n;
    for (int i = n - 1; i >= 0; i--) {
        bool waits = works(x, i) && x->each[i] && !x->forward[i];
        if (waits && until[i] < n && until[i] > x->stage[i]) x->stage[i] = until[i];
        for (int k = 0; k < node_at(x, i)->n_in; k++) {
            int in = node_at(x, i)->in[k], before = x->stage[i] - (x->each[in] && !x->each[i]);
            int stage = x->device[in] == x->device[i] ? before : x->stage[in];
            until[in] = stage < until[in] ? stage : until[in];
        }
    }
    free(until);
}

static int task_of(staging *x, int i) {
    dt_stage_task t = {.device = x->device[i] < 0 ? 0 : x->device[i],
                       .stage = x->stage[i],
                       .kind = !x->each[i]     ? 'U'
                               : x->forward[i] ? 'F'
                                               : 'B'};
    for (int k = 0; k < x->n_tasks; k++)
        if (x->task[k].device == t.device && x->task[k].stage == t.stage &&
            x->task[k].kind == t.kind)
            return k;
    x->task[x->n_tasks] = t;
    return x->n_tasks++;
}

static void connect(staging *x, int from, int to, double seconds) {
    for (int e = 0; e < x->n_edges; e++)
        if (x->edge[e].from == from && x->edge[e].to == to) {
            x->edge[e].seconds += seconds;
            return;
        }
    x->edge[x->n_edges++] = (dt_task_edge){from, to, seconds};
}

static void add_node(staging *x, int i) {
    const dt_node *n = node_at(x, i);
    x->of[i] = -1;
    if (!works(x, i)) return;
    x->of[i] = task_of(x, i);
    bool travels = dt_across_kind_of(n) == DT_ACROSS_TRANSFER;
    double seconds = x->prices->node(x->prices->user, x->s, i) +
                     (n->op->across ? x->prices->link(x->prices->user, x->s, i) : 0);
    if (!travels) x->task[x->of[i]].seconds += seconds;
    for (int k = 0; k < n->n_in; k++)
        if (x->of[n->in[k]] >= 0 && x->of[n->in[k]] != x->of[i])
            connect(x, x->of[n->in[k]], x->of[i], travels ? seconds : 0);
}

/* Replaces the stage of each backward and update task, which counts all steps before it, by the
 * last forward stage on its device; 0 if there is none. */
static void name_backward(staging *x) {
    for (int i = 0; i < x->n_tasks; i++) {
        int stage = 0;
        for (int k = 0; k < x->n_tasks && x->task[i].kind != 'F'; k++)
            if (x->task[k].kind == 'F' && x->task[k].device == x->task[i].device &&
                x->task[k].stage > stage)
                stage = x->task[k].stage;
        x->task[i].stage = x->task[i].kind == 'F' ? x->task[i].stage : stage;
    }
}

dt_pipeline dt_spmd_stages(const dt_spmd *s, const dt_stage_prices *prices, dt_arena *arena) {
    int n = s->local->n_nodes + 1;
    staging x = {.s = s,
                 .prices = prices,
                 .forward = dt_arena_array(arena, bool, n),
                 .each = dt_arena_array(arena, bool, n),
                 .after = dt_arena_array(arena, bool, n),
                 .device = dt_arena_array(arena, int, n),
                 .stage = dt_arena_array(arena, int, n),
                 .of = dt_arena_array(arena, int, n),
                 .task = dt_arena_array(arena, dt_stage_task, n),
                 .edge = dt_arena_array(arena, dt_task_edge, (size_t)n * DT_MAX_IN)};
    mark_forward(&x);
    for (int i = 0; i < s->local->n_nodes; i++) place(&x, i);
    delay(&x);
    for (int i = 0; i < s->local->n_nodes; i++) add_node(&x, i);
    name_backward(&x);
    return (dt_pipeline){.devices = dt_mesh_logical(&s->mesh),
                         .micro = dt_mesh_parts(&s->mesh, s->mesh.time),
                         .n_tasks = x.n_tasks,
                         .n_edges = x.n_edges,
                         .task = x.task,
                         .edge = x.edge,
                         .of = x.of};
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of values that are only read by the task that computes them. Usually only the pieces that
 * are being computed have memory, each from the step that writes it to the last step that reads it:
 *
 *     segment 0    h = x W    y = relu(h)    z = y V    dz    dy = dz V'    dh
 *     segment 1    dW = x' dh     dV = y' dz
 *
 * y, dz and dh are read in segment 1, so they are in the arena; h, z and dy are in task memory.
 *
 * Each lane has memory for one task, unless all tasks of the segment together need no more.
 * Segments run one after the other, so they share this memory.
 *
 * Kernels find a value through `at`, as if the whole value were in memory: at[node] is the address
 * that row 0 would have. It differs between lanes, so each lane has a copy of the executable's
 * struct (a view), in which only `at` differs.
 */
#include <stdint.h>
#include <string.h>

#include "exec/exec_impl.h"
#include "base/size.h"
#include "op/segment.h"

/* A number of bytes that no system has. Values that are not smaller stay in the arena, so that sums
 * here do not overflow. */
#define TOO_MUCH (INT64_C(1) << 48)

/* ---- values that task memory holds ---- */

static bool may_be_own(const dt_exec *x, int node) {
    const dt_value_slot *s = &x->slot[node];
    const dt_node_division *p = &x->p->piece[node];
    return s->home == DT_HOME_ARENA && s->owner == node && p->segment >= 0 && p->units > 1 &&
           s->first == p->segment && s->last == p->segment && s->bytes < TOO_MUCH &&
           p->by != DT_BY_HEADS && p->by != DT_BY_COLUMNS &&
           dt_cut_of(&x->g->node[node]) != DT_CUT_TILES;
}

static void kernel_reads(dt_exec *x, int node, dt_reader *read, int number) {
    for (int k = 0; k < x->g->node[node].n_in; k++) {
        int in = x->g->node[node].in[k];
        read(x, in, number);
        if (x->p->piece[in].absorbed) kernel_reads(x, in, read, number);
    }
}

static void step_reads(dt_exec *x, const dt_step *step, dt_reader *read, int number) {
    if (step->kernel == &dt_kernel_fused) dt_fused_reads(x, step, read, number);
    else if (step->kernel != &dt_kernel_copy_back) kernel_reads(x, step->node, read, number);
}

static void leave_to_arena(dt_exec *x, int node, int group) {
    const int owner = x->slot[node].owner;
    if (x->slot[owner].home == DT_HOME_TASK && x->p->piece[owner].group != group)
        x->slot[owner].home = DT_HOME_ARENA;
}

static void choose(dt_exec *x) {
    for (int i = 0; i < x->g->n_nodes; i++)
        if (may_be_own(x, i)) x->slot[i].home = DT_HOME_TASK;
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++)
            step_reads(x, &x->group[i].step[k], leave_to_arena, i);
}

/* ---- the steps from which and to which a value is used ---- */

/* Sets number[i], for each node i that a step computes, to the index of that step in its group. A
 * fused step counts only for its last node. A node whose value another step makes (made_by) gets
 * the index of that step. */
static void number_steps(const dt_exec *x, int *number) {
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++)
            if (x->group[i].step[k].kernel != &dt_kernel_copy_back)
                number[x->group[i].step[k].node] = k;
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++) {
            const dt_step *s = &x->group[i].step[k];
            if (s->kernel != &dt_kernel_copy_back && s->kernel != &dt_kernel_fused)
                number[s->node] = number[s->made_by];
        }
}

/* Sets number[i] to the index in its group of fused step i, as numbered in fused_in. */
static void number_fused(const dt_exec *x, int *number) {
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++)
            if (x->group[i].step[k].kernel == &dt_kernel_fused)
                number[x->fused_in[x->group[i].step[k].node]] = k;
}

static void read_until_step(dt_exec *x, int node, int step) {
    dt_value_slot *owner = &x->slot[x->slot[node].owner];
    if (owner->home == DT_HOME_TASK && step > owner->last) owner->last = step;
}

static void find_lifetimes(dt_exec *x, dt_arena *scratch) {
    int *of_node = dt_arena_array(scratch, int, x->g->n_nodes + 1),
        *of_fused = dt_arena_array(scratch, int, x->g->n_nodes + 1);

    number_steps(x, of_node);
    number_fused(x, of_fused);
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->slot[i].home == DT_HOME_TASK)
            x->slot[i].first = x->slot[i].last =
                x->fused_in[i] >= 0 ? of_fused[x->fused_in[i]] : of_node[i];
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++)
            step_reads(x, &x->group[i].step[k], read_until_step, k);
}

/* ---- places in task memory ---- */

static int64_t row_bytes(const dt_exec *x, int node) {
    return dt_piece_elements(x, node) * dt_element_bytes(x, node);
}

static int64_t largest_piece(const dt_exec *x, int node, int units) {
    int64_t most = 0, lo, hi;
    for (int u = 0; u < units; u++) {
        dt_part_rows(x->p, node, u, units, &lo, &hi);
        most = hi - lo > most ? hi - lo : most;
    }
    return most * row_bytes(x, node);
}

/* Lists the values that each group keeps in task memory, including their other names. */
static void list_values(dt_exec *x) {
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < x->g->n_nodes; i++) {
            const int owner = x->slot[i].owner;
            if (x->slot[owner].home != DT_HOME_TASK) continue;
            dt_group *group = &x->group[x->p->piece[owner].group];
            if (pass == 0) {
                group->most_own++;
                continue;
            }
            if (!group->own) group->own = dt_arena_array(x->arena, int, group->most_own);
            group->own[group->n_own++] = i;
        }
}

static void place_values(dt_exec *x, dt_group *group, dt_taken *blocks) {
    int n = 0;
    for (int i = 0; i < group->n_own; i++) {
        const int node = group->own[i];
        dt_value_slot *s = &x->slot[node];
        if (s->owner != node) continue;
        s->bytes = dt_aligned(largest_piece(x, node, group->units));
        blocks[n++] = (dt_taken){node, s->bytes};
    }
    group->own_bytes = dt_place_blocks(x, blocks, n);
}

/* Reserves task memory in a segment: the largest task's bytes for each lane, or the bytes of all
 * tasks if that is not more. Raises x->task_bytes to it. */
static void make_room(dt_exec *x, int segment) {
    int64_t most = 0, all = 0, lanes = dt_engine_threads(x->engine);

    for (int i = 0; i < x->n_groups; i++) {
        dt_group *group = &x->group[i];
        if (group->segment != segment || group->n_own == 0) continue;
        group->own_at = all;
        most = dt_max(most, group->own_bytes);
        all += group->own_bytes * group->units;
    }
    x->segment[segment].lane_bytes = most * lanes < all ? most : 0;
    x->task_bytes = dt_max(x->task_bytes, most * lanes < all ? most * lanes : all);
}

void dt_plan_task_memory(dt_exec *x) {
    dt_arena *scratch = dt_arena_create();

    choose(x);
    find_lifetimes(x, scratch);
    list_values(x);
    dt_taken *blocks = dt_arena_array(scratch, dt_taken, x->g->n_nodes + 1);
    for (int i = 0; i < x->n_groups; i++)
        if (x->group[i].n_own) place_values(x, &x->group[i], blocks);
    for (int i = 0; i < x->n_segments; i++) make_room(x, i);
    dt_arena_destroy(scratch);
    if (x->task_bytes == 0) return;
    x->n_views = dt_engine_threads(x->engine);
    x->view = dt_arena_array(x->arena, dt_exec, x->n_views);
    for (int l = 0; l < x->n_views; l++)
        x->view[l].at = dt_arena_array(x->arena, void *, x->g->n_nodes + 1);
}

int64_t dt_task_memory_in(const dt_exec *x, int node, int segment) {
    const dt_node_division *p = &x->p->piece[node];
    if (p->segment != segment) return 0;
    return x->slot[node].bytes *
           (x->segment[segment].lane_bytes ? dt_engine_threads(x->engine) : p->units);
}

/* ---- views of the lanes in a run ---- */

void dt_open_views(dt_exec *x) {
    for (int l = 0; l < x->n_views; l++) {
        void **at = x->view[l].at;
        memcpy(at, x->at, (size_t)x->g->n_nodes * sizeof *at);
        x->view[l] = *x;
        x->view[l].at = at;
    }
}

void dt_begin_views(dt_exec *x) {
    for (int l = 0; l < x->n_views; l++) {
        x->view[l].env = x->env;
        x->view[l].run = x->run;
    }
}

const dt_exec *dt_view_of_task(const dt_exec *x, const dt_exec_task *t, int lane) {
    const dt_group *group = &x->group[t->group];
    const int64_t by_lane = x->segment[group->segment].lane_bytes;

    /* the tasks of a group without values in task memory need no view */
    if (group->n_own == 0) return x;
    const dt_exec *view = &x->view[lane];
    char *room = x->memory + x->arena_bytes +
                 (by_lane ? by_lane * lane : group->own_at + group->own_bytes * t->unit);
    for (int i = 0; i < group->n_own; i++) {
        const int node = group->own[i], owner = x->slot[node].owner;
        int64_t lo, hi;
        dt_part_rows(x->p, owner, t->unit, group->units, &lo, &hi);
        view->at[node] = (void *)((uintptr_t)room + (uintptr_t)x->slot[owner].offset -
                                  (uintptr_t)(lo * row_bytes(x, owner)));
    }
    return view;
}

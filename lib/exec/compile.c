/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a program into steps. Element-wise nodes of one shape in a group become fused steps. Such a
 * step stays open while kernels that do not depend on it are emitted; it is closed when its results
 * are needed, when memory that it reads is about to be written, or at the end of the group.
 */
#include <stdlib.h>
#include <string.h>

#include "base/reserve.h"
#include "base/size.h"
#include "exec/exec_impl.h"

typedef struct assembler {
    dt_exec *x;
    dt_arena *scratch;
    /* [nodes] 1 + the index in `open` of the set in which the node waits to become part of a fused
     * step; 0: it waits in no set */
    int *in_set;
    /* [nodes] the bits of the open and closed sets that read the node (bit_of) */
    uint64_t *readers;
    /* `node` lists the nodes of each group, in order; those of group i begin at node[first[i]] */
    int *node, *first;
    int n_sets, cap_sets;
    /* sets of nodes that have one shape and will become a fused step; more nodes may be added. An
     * empty list: that set is closed */
    dt_fused_list *open;
    int n_lists, cap_lists;
    /* [n_lists] the closed sets; x->fused_in[node] is an index into this array */
    dt_fused_list *list;
} assembler;

/* ---- kernels and sizes ---- */

const dt_kernel *dt_kernel_find(const dt_graph *g, int node) {
    static const dt_kernel *const rows[] = {
#define DT_KERNEL(name) &dt_kernel_##name,
#include "exec/kernels.h"
#undef DT_KERNEL
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((!rows[i]->op || rows[i]->op == g->node[node].op) &&
            (!rows[i]->fits || rows[i]->fits(g, node)))
            return rows[i];
    return &dt_kernel_eval;
}

int64_t dt_row_elements(const dt_exec *x, int node) {
    const dt_type *t = &x->type[node];
    int64_t n = 1;
    for (int d = 1; d < t->rank; d++) n *= t->dim[d];
    return n;
}

int64_t dt_steps_of(const dt_exec *x, int node) {
    return x->p->piece[node].by == DT_BY_TIME ? x->type[node].dim[1] : 1;
}

int64_t dt_piece_elements(const dt_exec *x, int node) {
    const int64_t steps = dt_steps_of(x, node);
    return steps ? dt_row_elements(x, node) / steps : 0;
}

/* ---- sets and steps ---- */

static dt_step *add_step(dt_group *group) {
    DT_GROW(group->step, group->cap_steps, group->n_steps + 1);
    return &group->step[group->n_steps++];
}

static void close_set(assembler *a, dt_group *group, int which) {
    dt_fused_list *s = &a->open[which];

    if (s->node.n == 0) return;
    for (int i = 0; i < s->node.n; i++) {
        a->in_set[s->node.v[i]] = 0;
        a->x->fused_in[s->node.v[i]] = a->n_lists;
    }
    *add_step(group) =
        (dt_step){.kernel = &dt_kernel_fused, .node = a->n_lists, .pieces_of = s->shape};
    DT_GROW(a->list, a->cap_lists, a->n_lists + 1);
    a->list[a->n_lists++] = *s;
    *s = (dt_fused_list){0};
}

static void close_all(assembler *a, dt_group *group) {
    for (int i = 0; i < a->n_sets; i++) close_set(a, group, i);
}

static int set_for(assembler *a, int shape) {
    const dt_graph *g = a->x->g;
    int spare = -1;

    for (int i = 0; i < a->n_sets; i++) {
        if (a->open[i].node.n == 0) spare = i;
        else if (dt_type_same_shape(&g->node[a->open[i].shape].type, &g->node[shape].type))
            return i;
    }
    if (spare < 0) {
        DT_GROW(a->open, a->cap_sets, a->n_sets + 1);
        spare = a->n_sets++;
    }
    a->open[spare] = (dt_fused_list){.shape = shape, .segment = a->x->p->piece[shape].segment};
    return spare;
}

/* Closes the sets other than `keep` whose results the node reads, directly or through an input that
 * is computed as a part of the node (absorbed). */
static void close_inputs(assembler *a, dt_group *group, int node, int keep) {
    const dt_node *n = &a->x->g->node[node];

    for (int k = 0; k < n->n_in; k++) {
        if (a->x->p->piece[n->in[k]].absorbed) close_inputs(a, group, n->in[k], keep);
        if (a->in_set[n->in[k]] && a->in_set[n->in[k]] - 1 != keep)
            close_set(a, group, a->in_set[n->in[k]] - 1);
    }
}

/* Returns the bit that stands for a set. Every 64th set has the same bit, so equal bits only mean
 * that the sets must be compared. */
static uint64_t bit_of(int set) { return UINT64_C(1) << (set & 63); }

static bool set_reads(const assembler *a, const dt_fused_list *s, int node) {
    const dt_graph *g = a->x->g;

    for (int i = 0; i < s->node.n; i++)
        for (int k = 0; k < g->node[s->node.v[i]].n_in; k++)
            if (dt_named_by(g, g->node[s->node.v[i]].in[k]) == node) return true;
    return false;
}

/* Closes the sets other than `keep` that read the old value of the variable that the node
 * overwrites, so that their steps run before the variable is overwritten. */
static void close_readers(assembler *a, dt_group *group, int node, int keep) {
    int variable = a->x->overwrites[node];

    for (int i = 0; variable >= 0 && a->readers[variable] && i < a->n_sets; i++)
        if (i != keep && (a->readers[variable] & bit_of(i)) && set_reads(a, &a->open[i], variable))
            close_set(a, group, i);
}

static void add_fused(assembler *a, dt_group *group, int node) {
    bool sums = dt_is_fused_sum(a->x->g, node);
    int which = set_for(a, sums ? a->x->g->node[node].in[0] : node);
    dt_fused_list *s = &a->open[which];

    close_inputs(a, group, node, which);
    close_readers(a, group, node, which);
    s->segment = a->x->p->piece[node].segment;
    DT_GROW(s->node.v, s->node.cap, s->node.n + 1);
    s->node.v[s->node.n++] = node;
    a->in_set[node] = which + 1;
    for (int k = 0; k < a->x->g->node[node].n_in; k++)
        a->readers[dt_named_by(a->x->g, a->x->g->node[node].in[k])] |= bit_of(which);
}

static void add_kernel(assembler *a, dt_group *group, int node) {
    close_inputs(a, group, node, -1);
    close_readers(a, group, node, -1);
    const dt_kernel *kernel =
        a->x->renamed[node] ? &dt_kernel_alias : dt_kernel_find(a->x->g, node);
    *add_step(group) =
        (dt_step){.kernel = kernel, .node = node, .pieces_of = node, .made_by = node};
}

/* ---- groups ---- */

/* Estimates the work of a node: the number of its elements + its floating-point operations / 8, so
 * an element counts as much as four multiply-adds. */
static double work_of(const dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    dt_view in[DT_MAX_IN];

    for (int k = 0; k < n->n_in; k++) in[k] = (dt_view){.type = x->type[n->in[k]]};
    const dt_call c = {.node = n, .in = in, .out = {.type = x->type[node]}};
    return (double)dt_type_elements(&x->type[node]) + dt_cost_of(&c).flops / 8;
}

static void open_groups(dt_exec *x) {
    x->n_groups = x->p->n_groups;
    x->group = dt_arena_array(x->arena, dt_group, x->n_groups + 1);
    for (int i = 0; i < x->g->n_nodes; i++) {
        const dt_node_division *piece = &x->p->piece[i];
        if (piece->segment < 0) continue;
        dt_group *group = &x->group[piece->group];
        group->units = piece->units;
        group->node = i;
        group->segment = piece->segment;
        group->work += work_of(x, i);
    }
}

static void assemble_group(assembler *a, int which, const int *node, int n) {
    for (int k = 0; k < n; k++) {
        const int i = node[k];
        if (dt_can_fuse(a->x->g, i) && !a->x->renamed[i]) add_fused(a, &a->x->group[which], i);
        else add_kernel(a, &a->x->group[which], i);
    }
    close_all(a, &a->x->group[which]);
}

/* Allocates the arrays of the assembler, and fills `node` and `first`, which list the nodes of each
 * group. */
static void prepare_lists(assembler *a) {
    const dt_exec *x = a->x;
    const int n = x->g->n_nodes + 1;

    a->in_set = dt_arena_array(a->scratch, int, n);
    a->readers = dt_arena_array(a->scratch, uint64_t, n);
    a->node = dt_arena_array(a->scratch, int, n);
    a->first = dt_arena_array(a->scratch, int, x->n_groups + 2);
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->p->piece[i].segment >= 0) a->first[x->p->piece[i].group + 2]++;
    for (int i = 2; i < x->n_groups + 2; i++) a->first[i] += a->first[i - 1];
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->p->piece[i].segment >= 0) a->node[a->first[x->p->piece[i].group + 1]++] = i;
}

/* ---- values that outlive their step ---- */

static void mark_stored(dt_exec *x) {
    const dt_graph *g = x->g;

    for (int i = 0; i < g->n_nodes; i++) {
        bool leaf = x->p->piece[i].segment < 0;
        x->slot[i].stored = !leaf && x->fused_in[i] < 0;
        for (int k = 0; k < g->node[i].n_in; k++)
            if (x->fused_in[g->node[i].in[k]] != x->fused_in[i] || x->fused_in[i] < 0)
                x->slot[g->node[i].in[k]].stored = true;
    }
    for (int i = 0; i < g->n_results; i++) x->slot[g->result[i].node].stored = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) x->slot[g->state[i].update].stored = true;
    for (int i = 0; i < g->n_nodes; i++)
        if (x->p->piece[i].absorbed) x->slot[i].stored = false;
}

static bool leaves_nothing(const assembler *a, const dt_step *step) {
    const dt_node_list *of = &a->list[step->node].node;
    for (int i = 0; i < of->n; i++)
        if (a->x->slot[of->v[i]].stored) return false;
    return true;
}

/* Drops fused steps of which no value is stored, because all readers compute the values again. If a
 * group then has no steps, it is in no segment (-1). */
static void drop_steps(const assembler *a, dt_group *group) {
    int kept = 0;
    for (int k = 0; k < group->n_steps; k++)
        if (group->step[k].kernel != &dt_kernel_fused || !leaves_nothing(a, &group->step[k]))
            group->step[kept++] = group->step[k];
    group->n_steps = kept;
    if (kept == 0) group->segment = -1;
}

/* Marks the constants that need memory: those that a kernel reads, and those that are a result or
 * an update. Fused steps have the values of constants in their programs. */
static void mark_constants(dt_exec *x) {
    const dt_graph *g = x->g;
    bool *kernel_reads = dt_alloc((size_t)g->n_nodes + 1);

    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++)
            if (x->fused_in[i] < 0) kernel_reads[g->node[i].in[k]] = true;
    for (int i = 0; i < g->n_results; i++) kernel_reads[g->result[i].node] = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) kernel_reads[g->state[i].update] = true;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op->role == DT_ROLE_CONSTANT) x->slot[i].stored = kernel_reads[i];
    free(kernel_reads);
}

/* ---- all steps ---- */

static dt_status *prepare_step(assembler *a, dt_step *step) {
    DT_TRY(dt_reserve_check());
    if (step->kernel == &dt_kernel_fused) return dt_fused_step(a->x, &a->list[step->node], step);
    return step->kernel->prepare ? step->kernel->prepare(a->x, step) : NULL;
}

/* Raises x->scratch_bytes to the scratch memory of this step if that is more, since the steps of a
 * lane share it. Adds the step's kept memory, which each step has separately, to x->kept_bytes, and
 * sets step->kept_at. */
static void count_memory(dt_exec *x, dt_step *step) {
    const int64_t scratch = dt_aligned((int64_t)step->scratch);
    x->scratch_bytes = (size_t)dt_max((int64_t)x->scratch_bytes, scratch);
    step->kept_at = x->kept_bytes;
    x->kept_bytes += (size_t)dt_aligned((int64_t)step->kept);
}

static dt_status *prepare_steps(assembler *a) {
    dt_exec *x = a->x;
    dt_status *s = NULL;

    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; !s && k < x->group[i].n_steps; k++) {
            s = prepare_step(a, &x->group[i].step[k]);
            count_memory(x, &x->group[i].step[k]);
        }
    return s;
}

/* Adds a last segment with steps that copy new values into variables, for all updates that are not
 * computed in the variable's memory (copy_back). Adds nothing if there are none. */
static void add_copies(dt_exec *x) {
    dt_group *group = &x->group[x->n_groups];

    x->n_segments = x->p->n_segments;
    for (int s = 0; s < x->g->n_states; s++)
        if (x->g->state[s].update >= 0 && x->p->copy_back[s])
            *add_step(group) = (dt_step){.kernel = &dt_kernel_copy_back, .node = s};
    if (group->n_steps == 0) return;
    group->units = 1;
    group->node = -1;
    group->segment = x->n_segments++;
    x->n_groups++;
}

static void find_updates(dt_exec *x) {
    for (int i = 0; i < x->g->n_nodes; i++) x->overwrites[i] = -1;
    for (int s = x->g->n_states - 1; s >= 0; s--)
        if (x->g->state[s].update >= 0 && !x->p->copy_back[s])
            x->overwrites[x->g->state[s].update] = x->g->state[s].node;
}

dt_status *dt_build_steps(dt_exec *x) {
    assembler a = {.x = x, .scratch = dt_arena_create()};
    dt_status *s;

    for (int i = 0; i < x->g->n_nodes; i++) x->fused_in[i] = -1;
    find_updates(x);
    dt_choose_storage(x);
    open_groups(x);
    prepare_lists(&a);
    for (int i = 0; i < x->n_groups; i++)
        assemble_group(&a, i, a.node + a.first[i], a.first[i + 1] - a.first[i]);
    mark_stored(x);
    dt_plan_recomputing(x, a.list, a.n_lists);
    for (int i = 0; i < x->n_groups; i++) drop_steps(&a, &x->group[i]);
    mark_constants(x);
    s = prepare_steps(&a);
    dt_code_seal(&x->code);
    add_copies(x);
    for (int i = 0; i < a.n_lists; i++) {
        free(a.list[i].node.v);
        free(a.list[i].again.v);
    }
    free(a.list);
    free(a.open);
    dt_arena_destroy(a.scratch);
    return s;
}

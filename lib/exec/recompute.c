/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are computed again instead of being stored. An element-wise value that several fused
 * steps read would be written to memory once and read by each. Often it is cheaper that each step
 * computes it again from values that it reads anyway. Batch normalization is an example:
 *
 *     x ── centred ── squared (summed)          forward, then, once the sums are known
 *           └────────  y = relu(centred * a + b)
 *           └────────  the same in both sweeps back
 *
 * Only x and y are stored in memory; `centred` and the relu's mask never are.
 *
 * Decisions are made in the order of the graph, so those about a value's inputs are made before it.
 * A value is computed again by the steps that read it if each of them can do so (see `recipe`) and
 * then reads at most one further array. A value that has to be stored anyway, because a kernel
 * reads it or another step cannot compute it, is computed again only by steps that then read no
 * further array.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec_impl.h"

enum { MOST_OPS = 12, MOST_ARRAYS = 4 };

typedef struct planner {
    dt_exec *x;
    dt_fused_list *list;
    int n_lists;
    /* [lists] the arrays that each list of nodes reads and that have the list's shape */
    dt_node_list *reads;
    /* [nodes] the lists of the same shape, except the node's own, that read each node */
    dt_node_list *readers;
    /* [nodes] whether the node's value must be in memory: a kernel or a fused step of another shape
     * reads it, or it is a result or an update */
    bool *must;
    /* [nodes] the segment in which the variable of the node is updated in place; INT_MAX: none */
    int *overwritten;
} planner;

/* The ops and arrays from which a value can be computed again. */
typedef struct recipe {
    int n_ops, n_arrays, op[MOST_OPS], array[MOST_ARRAYS];
    /* index of the first segment that updates, in place, a variable that the recipe reads; INT_MAX:
     * none does */
    int until;
    bool fits;
} recipe;

static bool has(const dt_node_list *s, int v) {
    for (int i = 0; i < s->n; i++)
        if (s->v[i] == v) return true;
    return false;
}

static void put(dt_node_list *s, int v) {
    if (has(s, v)) return;
    DT_GROW(s->v, s->cap, s->n + 1);
    s->v[s->n++] = v;
}

static bool same_shape(const dt_graph *g, int a, int b) {
    return dt_type_same_shape(&g->node[a].type, &g->node[b].type);
}

/* ---- readers of values ---- */

static void note_readers(planner *p, int node) {
    const dt_graph *g = p->x->g;
    int list = p->x->fused_in[node];

    for (int k = 0; k < g->node[node].n_in; k++) {
        int in = g->node[node].in[k], from = p->x->fused_in[in];
        bool alike = list >= 0 && same_shape(g, in, p->list[list].shape);
        if (list < 0 || (from >= 0 && !alike)) p->must[in] = true;
        else if (from < 0 && alike) put(&p->reads[list], in);
        else if (from >= 0 && from != list) put(&p->readers[in], list);
    }
}

static void note_all(planner *p) {
    const dt_graph *g = p->x->g;

    for (int i = 0; i < g->n_nodes; i++) {
        p->overwritten[i] = INT_MAX;
        if (p->x->p->piece[i].segment >= 0 || p->x->p->piece[i].absorbed) note_readers(p, i);
    }
    for (int i = 0; i < g->n_results; i++) p->must[g->result[i].node] = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) {
            p->must[g->state[i].update] = true;
            p->overwritten[g->state[i].node] =
                p->x->p->copy_back[i] ? INT_MAX : p->x->p->piece[g->state[i].update].segment;
        }
}

/* ---- recipes ---- */

static void add_array(const planner *p, recipe *r, int node, int shape) {
    int until = p->overwritten[dt_named_by(p->x->g, node)];
    r->until = until < r->until ? until : r->until;
    /* an array of another shape, which is broadcast, has few elements and costs little to read, so
     * it is not counted */
    if (!same_shape(p->x->g, node, shape)) return;
    for (int i = 0; i < r->n_arrays; i++)
        if (r->array[i] == node) return;
    r->fits &= r->n_arrays < MOST_ARRAYS;
    if (r->fits) r->array[r->n_arrays++] = node;
}

static void add_op(const planner *p, recipe *r, int node) {
    const dt_graph *g = p->x->g;

    for (int i = 0; i < r->n_ops; i++)
        if (r->op[i] == node) return;
    r->fits &= r->n_ops < MOST_OPS;
    if (!r->fits) return;
    r->op[r->n_ops++] = node;
    for (int k = 0; k < g->node[node].n_in && r->fits; k++) {
        int in = g->node[node].in[k];
        if (g->node[in].op->role == DT_ROLE_CONSTANT) continue;
        if (p->x->fused_in[in] >= 0 && !p->x->slot[in].stored && same_shape(g, in, node))
            add_op(p, r, in);
        else add_array(p, r, in, r->op[0]);
    }
}

static int new_arrays(const planner *p, const recipe *r, int list) {
    int n = 0;
    for (int i = 0; i < r->n_arrays; i++) n += !has(&p->reads[list], r->array[i]);
    return n;
}

static bool can_make(const planner *p, const recipe *r, int list, int most) {
    return r->fits && p->list[list].segment < r->until && new_arrays(p, r, list) <= most;
}

static void make_again(planner *p, const recipe *r, int list) {
    for (int i = 0; i < r->n_ops; i++) put(&p->list[list].again, r->op[i]);
    for (int i = 0; i < r->n_arrays; i++) put(&p->reads[list], r->array[i]);
}

/* ---- the decision ---- */

static void decide(planner *p, int node) {
    const dt_node_list *readers = &p->readers[node];
    bool keep = p->must[node];
    /* a sum cannot be computed again by its readers, because it needs all its terms */
    recipe r = {.fits = !dt_is_fused_sum(p->x->g, node), .until = INT_MAX};

    if (readers->n == 0) return;
    add_op(p, &r, node);
    for (int i = 0; i < readers->n; i++) keep |= !can_make(p, &r, readers->v[i], 1);
    p->x->slot[node].stored = keep;
    for (int i = 0; i < readers->n; i++)
        if (!keep || can_make(p, &r, readers->v[i], 0)) make_again(p, &r, readers->v[i]);
        else put(&p->reads[readers->v[i]], node);
}

void dt_plan_recomputing(dt_exec *x, dt_fused_list *list, int n_lists) {
    int n = x->g->n_nodes;
    planner p = {.x = x, .list = list, .n_lists = n_lists};

    p.reads = dt_alloc((size_t)(n_lists + 1) * sizeof *p.reads);
    p.readers = dt_alloc((size_t)(n + 1) * sizeof *p.readers);
    p.must = dt_alloc((size_t)(n + 1) * sizeof *p.must);
    p.overwritten = dt_alloc((size_t)(n + 1) * sizeof *p.overwritten);
    note_all(&p);
    for (int i = 0; i < n; i++)
        if (x->fused_in[i] >= 0) decide(&p, i);
    for (int i = 0; i < n_lists; i++) free(p.reads[i].v);
    for (int i = 0; i < n; i++) free(p.readers[i].v);
    free(p.reads);
    free(p.readers);
    free(p.must);
    free(p.overwritten);
}

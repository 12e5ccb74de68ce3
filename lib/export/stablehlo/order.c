/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of statements. It does not matter to a compiler, but repeat.c finds blocks as repeated
 * sequences of statements. So the statements of a block must be adjacent, and in the same order in
 * every block:
 *
 *     1  arguments and states, then values that depend on no examples, weights or random numbers
 *        (positions, learning rates)
 *     2  the forward pass: the values that results need, each as soon as possible; is_before says
 *        which of several comes first
 *     3  the backward pass and updates in the same way, beginning with the gradient of the loss. So
 *        a weight's gradient, and its update if that waits for nothing else, come before the
 *        gradient for the block below
 *
 * Other values are written when they are first needed. Values that depend on weights only (gathered
 * or converted weights) are computed again for the backward pass: otherwise a loop would keep them
 * for all blocks. A step of a mask is computed again for each reader, because two layers may read
 * it in different blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "export/stablehlo/blocks.h"

typedef struct ordering {
    const dt_graph *g;
    dt_hlo_order *out;
    /* [nodes] needed: results or updates depend on the node; forward: results do; gradient: it is
     * or depends on the gradient of the loss, and is not in the forward pass; fresh: see
     * find_fresh; constant: it depends on no arguments, states or random numbers; the others: see
     * classify */
    bool *needed, *forward, *flows, *drawn, *early, *light, *constant, *gradient, *fresh;
    /* [nodes] height: the length of the longest path from the node to a result or update; waits:
     * number of the node's inputs in this pass that have not been written yet */
    int *height, *waits;
    /* for [0] the forward pass and [1] what follows: the item of each node; -1: the node has not
     * been written, or is written again for the next reader */
    int *item[2];
    int pass;
    /* the readers of node i are user[users_at[i]] to user[users_at[i + 1] - 1] */
    int *user, *users_at;
    int *heap, n_heap, cap_heap;
    bool numbered; /* whether sequences are read and assembled by numbered steps (steps.c) */
    int *stack, cap_stack;
    dt_hlo_item *items;
    int cap_items;
} ordering;

static const dt_node *node_at(const ordering *o, int i) { return &o->g->node[i]; }

static int input(const ordering *o, int i, int k) { return node_at(o, i)->in[k]; }

/* ---- properties of nodes ---- */

static bool is_fed(const dt_node *n) {
    return n->op->role == DT_ROLE_ARGUMENT || n->op->role == DT_ROLE_STATE;
}

/* Finds the properties of node i. A state that is a single number does not count as a weight here.
 * flows: it depends on examples. drawn: it depends on examples or random numbers. light: it depends
 * on neither examples nor weights, and is cheap: a renaming, a broadcast, a node without inputs,
 * or, if it moves or is element-wise, an op on constants. early: it depends on no examples, weights
 * or random numbers, and is light or has no batch dimension. */
static void classify(ordering *o, int i) {
    const dt_node *n = node_at(o, i);
    dt_role role = n->op->role;
    bool cheap = dt_is_elementwise(n->op) || role == DT_ROLE_MOVE,
         again = role == DT_ROLE_REPEAT || role == DT_ROLE_NAME || n->n_in == 0;
    o->flows[i] = role == DT_ROLE_ARGUMENT && dt_type_has_batch(&n->type);
    o->drawn[i] = o->flows[i] || n->op->attr.number;
    o->early[i] = role == DT_ROLE_STATE ? n->type.rank == 0 : !o->flows[i];
    o->constant[i] = !is_fed(n) && !n->op->attr.number;
    for (int k = 0; k < n->n_in; k++) {
        o->flows[i] |= o->flows[input(o, i, k)];
        o->drawn[i] |= o->drawn[input(o, i, k)];
        o->early[i] &= o->early[input(o, i, k)];
        o->constant[i] &= o->constant[input(o, i, k)];
    }
    o->light[i] = o->early[i] && !is_fed(n) && (again || (cheap && o->constant[i]));
    o->early[i] &= !o->drawn[i] && (o->light[i] || !dt_type_has_batch(&n->type));
}

/* Finds single time steps that are only broadcast over units, like the steps of a mask, and their
 * broadcasts. */
static void find_fresh(ordering *o) {
    const int n = o->g->n_nodes;
    for (int i = 0; i < n; i++) o->fresh[i] = dt_hlo_takes_step(node_at(o, i));
    for (int i = 0; i < n; i++)
        for (int k = 0; o->needed[i] && k < node_at(o, i)->n_in; k++)
            if (node_at(o, i)->op->role != DT_ROLE_REPEAT) o->fresh[input(o, i, k)] = false;
    for (int i = 0; i < n; i++)
        if (node_at(o, i)->op->role == DT_ROLE_REPEAT &&
            dt_hlo_takes_step(node_at(o, input(o, i, 0))))
            o->fresh[i] = o->fresh[input(o, i, 0)];
}

static void mark(const ordering *o, bool *marks) {
    for (int i = o->g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; marks[i] && k < node_at(o, i)->n_in; k++) marks[input(o, i, k)] = true;
}

static void find_needed(ordering *o) {
    const dt_graph *g = o->g;
    for (int i = 0; i < g->n_results; i++)
        o->forward[g->result[i].node] = o->needed[g->result[i].node] = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) o->needed[g->state[i].update] = true;
    mark(o, o->needed);
    mark(o, o->forward);
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; o->needed[i] && k < node_at(o, i)->n_in; k++) {
            int in = input(o, i, k);
            o->height[in] = o->height[i] >= o->height[in] ? o->height[i] + 1 : o->height[in];
        }
}

/* Finds the gradient of the loss, with which the backward pass begins. Of the values after
 * the forward pass that depend on it directly, it is the one with the longest path to the end of
 * the step. */
static void find_gradients(ordering *o) {
    int seed = -1;
    for (int i = 0; i < o->g->n_nodes; i++) {
        bool starts = o->needed[i] && !o->forward[i] && o->flows[i];
        for (int k = 0; starts && k < node_at(o, i)->n_in; k++)
            starts = o->forward[input(o, i, k)] || !o->flows[input(o, i, k)];
        if (starts && (seed < 0 || o->height[i] > o->height[seed])) seed = i;
    }
    for (int i = seed; seed >= 0 && i < o->g->n_nodes; i++) {
        o->gradient[i] = i == seed;
        for (int k = 0; o->needed[i] && !o->forward[i] && k < node_at(o, i)->n_in; k++)
            o->gradient[i] |= o->gradient[input(o, i, k)];
    }
}

/* Whether node i is written as soon as possible in this pass. */
static bool is_eager(const ordering *o, int i) {
    return o->needed[i] && !o->fresh[i] && !is_fed(node_at(o, i)) &&
           (o->pass == 0 ? o->forward[i] && o->flows[i] : o->gradient[i]);
}

static void list_users(ordering *o, dt_arena *arena) {
    int n = o->g->n_nodes, *at = dt_arena_array(arena, int, n + 2);
    o->user = dt_arena_array(arena, int, n *DT_MAX_IN + 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; o->needed[i] && k < node_at(o, i)->n_in; k++) at[input(o, i, k) + 1]++;
    for (int i = 0; i < n; i++) at[i + 1] += at[i];
    o->users_at = dt_arena_copy(arena, at, ((size_t)n + 1) * sizeof *at);
    for (int i = 0; i < n; i++)
        for (int k = 0; o->needed[i] && k < node_at(o, i)->n_in; k++)
            o->user[at[input(o, i, k)]++] = i;
}

/* ---- the heap of nodes that can be written ---- */

/* Whether node i is a time step of a sequence or, if steps are not numbered, a piece of a gradient.
 * Such nodes are written only when no others can be, those with the longest path to the end of the
 * step first. Otherwise statements of several steps would alternate and form no blocks. */
static bool is_piece(const ordering *o, int i) {
    return dt_hlo_takes_step(node_at(o, i)) ||
           (o->pass == 1 && !o->numbered && dt_pad_of(node_at(o, i)) != NULL);
}

static bool is_before(const ordering *o, int a, int b) {
    const bool waits = is_piece(o, a);
    if (waits != is_piece(o, b)) return !waits;
    if (waits && o->height[a] != o->height[b]) return o->height[a] > o->height[b];
    return o->height[a] != o->height[b] ? o->height[a] < o->height[b] : a < b;
}

static void push(ordering *o, int node) {
    int i = o->n_heap++;
    DT_GROW(o->heap, o->cap_heap, o->n_heap);
    for (; i > 0 && is_before(o, node, o->heap[(i - 1) / 2]); i = (i - 1) / 2)
        o->heap[i] = o->heap[(i - 1) / 2];
    o->heap[i] = node;
}

static int pop(ordering *o) {
    int top = o->heap[0], last = o->heap[--o->n_heap], i = 0;
    for (int child = 1; child < o->n_heap; i = child, child = 2 * i + 1) {
        child += child + 1 < o->n_heap && is_before(o, o->heap[child + 1], o->heap[child]);
        if (!is_before(o, o->heap[child], last)) break;
        o->heap[i] = o->heap[child];
    }
    o->heap[i] = last;
    return top;
}

/* ---- writing down, and creating the order ---- */

static void put(ordering *o, int node) {
    dt_hlo_order *out = o->out;
    DT_GROW(o->items, o->cap_items, out->n + 1);
    dt_hlo_item *item = &o->items[out->n];
    bool again = !o->drawn[node] && !o->early[node] && !is_fed(node_at(o, node));
    item->node = node;
    item->light = o->light[node];
    for (int k = 0; k < node_at(o, node)->n_in; k++)
        item->in[k] = o->item[o->pass][input(o, node, k)];
    o->item[o->pass][node] = out->n;
    if (!again) o->item[0][node] = o->item[1][node] = out->n;
    for (int k = 0; k < node_at(o, node)->n_in; k++) {
        const int in = input(o, node, k);
        if (o->fresh[in]) o->item[0][in] = o->item[1][in] = -1;
    }
    out->n++;
}

/* Writes the node. First writes those of its inputs that have not been written. */
static void demand(ordering *o, int node) {
    int n = 0;
    DT_GROW(o->stack, o->cap_stack, 1);
    o->stack[n++] = node;
    while (n > 0) {
        int top = o->stack[n - 1], had = n;
        for (int k = 0; o->item[o->pass][top] < 0 && k < node_at(o, top)->n_in && n == had; k++)
            if (o->item[o->pass][input(o, top, k)] < 0) {
                DT_GROW(o->stack, o->cap_stack, n + 1);
                o->stack[n++] = input(o, top, k);
            }
        if (n > had) continue;
        if (o->item[o->pass][top] < 0) put(o, top);
        n--;
    }
}

static void put_eager(ordering *o, int pass) {
    o->pass = pass;
    for (int i = 0; i < o->g->n_nodes; i++) {
        o->waits[i] = 0;
        for (int k = 0; is_eager(o, i) && k < node_at(o, i)->n_in; k++)
            o->waits[i] += is_eager(o, input(o, i, k));
        if (is_eager(o, i) && o->waits[i] == 0) push(o, i);
    }
    while (o->n_heap > 0) {
        int node = pop(o);
        demand(o, node);
        for (int u = o->users_at[node]; u < o->users_at[node + 1]; u++)
            if (is_eager(o, o->user[u]) && --o->waits[o->user[u]] == 0) push(o, o->user[u]);
    }
}

static void put_all(ordering *o) {
    const dt_graph *g = o->g;
    for (int i = 0; i < g->n_args; i++) put(o, g->arg[i].node);
    for (int i = 0; i < g->n_states; i++) put(o, g->state[i].node);
    for (int i = 0; i < g->n_nodes; i++)
        if (o->needed[i] && o->early[i] && !is_fed(node_at(o, i))) put(o, i);
    o->out->from = o->out->n;
    put_eager(o, 0);
    put_eager(o, 1);
}

static int ending(ordering *o, int node) {
    demand(o, node);
    return o->item[o->pass][node];
}

static void fill_ends(ordering *o, dt_arena *arena) {
    const dt_graph *g = o->g;
    dt_hlo_order *out = o->out;
    out->arg = dt_arena_array(arena, int, g->n_args + 1);
    out->state = dt_arena_array(arena, int, g->n_states + 1);
    out->result = dt_arena_array(arena, int, g->n_results + 1);
    out->update = dt_arena_array(arena, int, g->n_states + 1);
    for (int i = 0; i < g->n_args; i++) out->arg[i] = o->item[0][g->arg[i].node];
    for (int i = 0; i < g->n_results; i++) out->result[i] = ending(o, g->result[i].node);
    for (int i = 0; i < g->n_states; i++) {
        out->state[i] = o->item[0][g->state[i].node];
        out->update[i] = g->state[i].update >= 0 ? ending(o, g->state[i].update) : -1;
    }
}

dt_hlo_order *dt_hlo_order_create(const dt_graph *g, dt_arena *arena) {
    size_t n = (size_t)g->n_nodes + 1;
    ordering o = {.g = g, .out = dt_arena_new(arena, dt_hlo_order)};
    int **ints[] = {&o.height, &o.waits, &o.item[0], &o.item[1]};
    bool **bools[] = {&o.needed, &o.forward,  &o.flows,    &o.drawn, &o.early,
                      &o.light,  &o.constant, &o.gradient, &o.fresh};
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        *ints[i] = dt_arena_array(arena, int, n);
    for (size_t i = 0; i < sizeof bools / sizeof *bools; i++)
        *bools[i] = dt_arena_array(arena, bool, n);
    *o.out = (dt_hlo_order){.g = g};
    for (int i = 0; i < g->n_nodes; i++) {
        classify(&o, i);
        o.numbered |= dt_hlo_takes_step(&g->node[i]);
        o.item[0][i] = o.item[1][i] = -1;
    }
    find_needed(&o);
    find_gradients(&o);
    find_fresh(&o);
    list_users(&o, arena);
    put_all(&o);
    fill_ends(&o, arena);
    o.out->item = dt_arena_copy(arena, o.items, dt_size_mul((size_t)o.out->n, sizeof *o.items));
    free(o.items);
    free(o.heap);
    free(o.stack);
    return o.out;
}

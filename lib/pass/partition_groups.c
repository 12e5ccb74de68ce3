/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms groups: a task computes a piece of all nodes of a group, one after the other.
 *
 *     group 0   2 pieces   h = x W    z = h V    dz    dh        nodes of one segment that read
 *                                                                each other's pieces
 *     group 1   1 piece    dV = h' dz, Adam, V    sums of rows   a whole gradient of a kernel, with
 *                                                                the small remaining nodes of the
 *                                                                segment
 *     group 2   1 piece    dW = x' dh, Adam, W                   another one: two threads compute
 *                                                                them at the same time
 */
#include <string.h>

#include "op/workers.h"
#include "pass/partition_impl.h"

int dt_find_group(dt_cutter *c, int i) {
    while (c->parent[i] != i) i = c->parent[i] = c->parent[c->parent[i]];
    return i;
}

/* Joins the groups of those nodes of a segment that need each other's pieces with the same
 * number. */
static void join_inputs(dt_cutter *c, int i, const dt_node *reader) {
    for (int k = 0; k < reader->n_in; k++) {
        const int j = reader->in[k];
        if (c->p->piece[j].absorbed) join_inputs(c, i, &c->g->node[j]);
        else if (c->p->piece[j].segment == c->p->piece[i].segment)
            c->parent[dt_find_group(c, i)] = dt_find_group(c, j);
    }
}

static bool is_whole(const dt_cutter *c, int i) {
    return c->p->piece[i].segment >= 0 && c->p->piece[i].units == 1;
}

/* [nodes] For the node that represents a group: whether the group computes the gradient of a kernel
 * and takes part in no exchange. (Groups with exchanges must not be moved, because all workers make
 * exchanges in the same order.) */
static bool *find_products(dt_cutter *c, dt_arena *scratch) {
    bool *product = dt_arena_array(scratch, bool, c->g->n_nodes + 1);
    for (int i = 0; i < c->g->n_nodes; i++)
        if (is_whole(c, i))
            product[dt_find_group(c, i)] |= dt_is_kernel_gradient(c->g, &c->g->node[i]);
    for (int i = 0; i < c->g->n_nodes; i++)
        if (c->p->piece[i].segment >= 0 && dt_is_exchange(&c->g->node[i]))
            product[dt_find_group(c, i)] = false;
    return product;
}

/* Of the groups that are computed as a whole, each gradient of a kernel with its readers becomes a
 * task. All remaining groups of a segment join the first such task, or each other. */
static void join_odds_and_ends(dt_cutter *c, dt_arena *scratch) {
    const bool *product = find_products(c, scratch);
    /* [segments + 1] 1 + a node of the group that they join */
    int *first = dt_arena_array(scratch, int, c->p->n_segments + 1);

    for (int i = c->g->n_nodes - 1; i >= 0; i--)
        if (is_whole(c, i) && product[dt_find_group(c, i)]) first[c->p->piece[i].segment] = i + 1;
    for (int i = 0; i < c->g->n_nodes; i++) {
        if (!is_whole(c, i) || product[dt_find_group(c, i)]) continue;
        int *with = &first[c->p->piece[i].segment];
        if (!*with) *with = i + 1;
        c->parent[dt_find_group(c, i)] = dt_find_group(c, *with - 1);
    }
}

/* Joins the gradients of one attention, so that they are computed together. */
static void join_gradients(dt_cutter *c, int i) {
    const dt_node_division *piece = c->p->piece;
    for (int j = 0; j < i && piece[i].by == DT_BY_HEADS; j++)
        if (piece[j].by == DT_BY_HEADS && piece[j].segment == piece[i].segment &&
            c->g->node[j].op == c->g->node[i].op &&
            memcmp(c->g->node[j].in, c->g->node[i].in, sizeof c->g->node[i].in) == 0)
            c->parent[dt_find_group(c, i)] = dt_find_group(c, j);
}

static void join_groups(dt_cutter *c, dt_arena *scratch) {
    for (int i = 0; i < c->g->n_nodes; i++)
        if (c->p->piece[i].segment >= 0) join_inputs(c, i, &c->g->node[i]);
    for (int i = 0; i < c->g->n_nodes; i++) join_gradients(c, i);
    dt_join_readers(c);
    join_odds_and_ends(c, scratch);
}

static void number_groups(dt_cutter *c) {
    DT_LOCAL int *number = dt_alloc(((size_t)c->g->n_nodes + 1) * sizeof *number);

    for (int i = 0; i < c->g->n_nodes; i++) {
        if (c->p->piece[i].segment < 0) {
            c->p->piece[i].group = -1;
            continue;
        }
        int root = dt_find_group(c, i);
        if (!number[root]) number[root] = ++c->p->n_groups;
        c->p->piece[i].group = number[root] - 1;
    }
}

void dt_make_groups(dt_cutter *c, dt_arena *scratch) {
    join_groups(c, scratch);
    number_groups(c);
}

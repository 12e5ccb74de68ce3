/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets: collectives that go out in one launch. Sums that are neighbours in the program's
 * sequence of collectives share one when they are of one kind, over the same axes and of one dtype,
 * and none needs what another of them gives:
 *
 *     %8 = all_reduce(dw2)      bucket 3
 *     %9 = update of w2         waits for the bucket, as all its readers do
 *     %12 = all_reduce(dw1)     bucket 3: needs nothing of %8
 *
 * A bucket goes out when its last member is ready. What reads a member comes later, other
 * collectives stand before or behind all of it: so there is always an order. This is an analysis
 * beside the program, which stays as it is. What is gathered is not collected so: it would have to
 * stay in memory from the first use to the last.
 */
#include "pass/spmd/spmd_impl.h"

typedef struct packing {
    const dt_spmd *s;
    int *bucket, *needs; /* by node: its bucket; the last bucket that it needs, -1: none */
    int open;            /* the bucket that may still grow: the last one */
    int last;            /* its last member; -1: empty */
} packing;

static bool travels(const dt_node *n, dt_mesh_axes time) {
    return n->op->across && n->op->role == DT_ROLE_COLLECTIVE &&
           ((const dt_across_attr *)n->attr)->axes != time;
}

static bool are_alike(const dt_node *a, const dt_node *b) {
    const dt_across_attr *x = a->attr, *y = b->attr;
    return a->op == b->op && a->type.dtype == b->type.dtype && x->axes == y->axes &&
           x->kind == y->kind;
}

static void pack(packing *p, int i) {
    const dt_node *n = &p->s->local->node[i];
    bool joins = dt_across_sums(n) && p->last >= 0 && p->needs[i] < p->open &&
                 are_alike(n, &p->s->local->node[p->last]);
    p->open += joins ? 0 : 1;
    p->last = i;
    p->bucket[i] = p->needs[i] = p->open;
}

int *dt_spmd_buckets(const dt_spmd *s, dt_arena *arena) {
    int n = s->local->n_nodes;
    packing p = {.s = s,
                 .bucket = dt_arena_array(arena, int, n + 1),
                 .needs = dt_arena_array(arena, int, n + 1),
                 .open = -1,
                 .last = -1};
    for (int i = 0; i < n; i++) {
        const dt_node *node = &s->local->node[i];
        p.bucket[i] = p.needs[i] = -1;
        for (int k = 0; k < node->n_in; k++)
            if (p.needs[node->in[k]] > p.needs[i]) p.needs[i] = p.needs[node->in[k]];
        if (travels(node, s->mesh.time)) pack(&p, i);
    }
    return p.bucket;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the collectives of a program on the links of its slice. The devices of the mesh have
 * places in the topology. All groups of devices that differ in other axes run a collective at the
 * same time, so they share links. Results are kept, because equal blocks of a model have equal
 * collectives.
 */
#include <stdlib.h>
#include <string.h>

#include "coll/exchange.h"
#include "cost/cost_impl.h"
#include "op/across.h"

/* The collective of an op. each: a device contributes one of as many parts of the buffer as there
 * are ranks; false: a device contributes the whole buffer. */
typedef struct kind {
    dt_collective collective;
    bool each;
} kind;

static const kind kinds[DT_ACROSS_KINDS] = {
    [DT_ACROSS_ALL_REDUCE] = {DT_ALL_REDUCE, false},
    [DT_ACROSS_REDUCE_SCATTER] = {DT_REDUCE_SCATTER, false},
    [DT_ACROSS_ALL_GATHER] = {DT_ALL_GATHER, true},
    [DT_ACROSS_ALL_TO_ALL] = {DT_ALL_TO_ALL, true},
    [DT_ACROSS_COLLECTIVE_PERMUTE] = {DT_COLLECTIVE_PERMUTE, false},
};

typedef struct asked {
    const dt_op *op;
    dt_mesh_axes axes;
    int from, to;
    double bytes;
    dt_link_price price;
} asked;

struct dt_links {
    const dt_priced_program *r;
    const dt_assignment *assignment;
    /* [replicas] the replicas in the order of their coordinates; NULL: the mesh of the program has
     * them in the order of their numbers */
    int *order;
    dt_arena *arena;
    int n, cap;
    asked *asked;
};

/* Returns the replicas in the order of their coordinates (spmd/replicas.c), if the replicas span
 * several axes of the mesh and form a grid. Otherwise returns NULL: they are in the order of their
 * numbers. */
static int *order_of(const dt_assignment *a, const dt_mesh *m, dt_arena *arena) {
    int grid[4], *order = dt_arena_array(arena, int, a->replicas);
    const bool several = m->replicas & (m->replicas - 1);
    return several && dt_assignment_grid(a, grid, order) ? order : NULL;
}

dt_links *dt_links_create(const dt_priced_program *r, dt_arena *arena) {
    dt_links *l = dt_arena_new(arena, dt_links);
    *l = (dt_links){.r = r,
                    .assignment = r->assignment ? dt_assignment_ref((dt_assignment *)r->assignment)
                                                : dt_assignment_each_core(r->topology),
                    .arena = arena};
    l->order = order_of(l->assignment, &r->program->mesh, arena);
    return l;
}

void dt_links_destroy(dt_links *l) {
    dt_device_assignment_unref((dt_assignment *)l->assignment);
    free(l->asked);
}

/* ---- places ---- */

static const int *coordinates_of(const dt_links *l, int device) {
    const dt_mesh *m = &l->r->program->mesh;
    dt_mesh_axes all = ((dt_mesh_axes)1 << m->n) - 1;
    int replica = m->replicas ? dt_mesh_rank(m, device, m->replicas) : 0,
        logical = dt_mesh_rank(m, device, all & ~m->replicas & ~m->time);
    replica %= l->assignment->replicas;
    return dt_assignment_at(l->assignment, l->order ? l->order[replica] : replica,
                            logical % l->assignment->logical);
}

/* Returns [groups][ranks][4], the coordinates of devices by group, and sets x->groups and x->ranks.
 * Devices that differ only in `axes` form a group. Micro-batches do not count as devices. The
 * caller frees the array. */
static int *groups_over(const dt_links *l, dt_mesh_axes axes, dt_collective_request *x) {
    const dt_mesh *m = &l->r->program->mesh;
    dt_mesh_axes others = (((dt_mesh_axes)1 << m->n) - 1) & ~axes & ~m->time;
    int *place;
    x->ranks = dt_mesh_parts(m, axes);
    x->groups = dt_mesh_parts(m, others);
    place = dt_alloc(dt_size_mul((size_t)x->ranks * (size_t)x->groups, 4 * sizeof *place));
    for (int d = 0; d < dt_mesh_devices(m); d++)
        if (dt_mesh_rank(m, d, m->time) == 0)
            memcpy(&place[4 * (dt_mesh_rank(m, d, others) * x->ranks + dt_mesh_rank(m, d, axes))],
                   coordinates_of(l, d), 4 * sizeof *place);
    return place;
}

/* Returns [groups][ranks][4] coordinates, one group for each replica: logical device a->dim and the
 * one that it sends to, a->to, or all others if a->to < 0. Sets x->groups and x->ranks. The caller
 * frees the array. */
static int *pairs(const dt_links *l, const dt_across_attr *a, dt_collective_request *x) {
    const dt_assignment *as = l->assignment;
    int *place;
    x->groups = as->replicas;
    x->ranks = a->to < 0 ? as->logical : 2;
    place = dt_alloc(dt_size_mul((size_t)x->ranks * (size_t)x->groups, 4 * sizeof *place));
    for (int g = 0; g < x->groups; g++)
        for (int k = 0; k < x->ranks; k++) {
            int logical = a->to < 0 ? (a->dim + k) % as->logical : k == 0 ? a->dim : a->to;
            memcpy(&place[4 * (g * x->ranks + k)], dt_assignment_at(as, g, logical % as->logical),
                   4 * sizeof *place);
        }
    return place;
}

/* ---- costs ---- */

static const kind *kind_of(const dt_node *n) {
    dt_across_kind k = dt_across_kind_of(n);
    return k < DT_ACROSS_KINDS ? &kinds[k] : NULL;
}

/* Returns the bytes that a device sends in collective i if it contributes `bytes`. For a halo,
 * these are as many as it receives. */
static double sent(const dt_links *l, int i, double bytes) {
    const dt_node *n = &l->r->program->local->node[i];
    dt_type in = dt_priced_type(l->r, n->in[0]);
    double all = (double)dt_type_bytes(&in);
    return all > 0 && dt_across_kind_of(n) == DT_ACROSS_COLLECTIVE_PERMUTE
               ? bytes * n->op->across->bytes(n->attr, &in) / all
               : bytes;
}

/* Whether a group with ranks on several chips has one on the chip at `at`. */
static bool uses_links_of(const dt_collective_request *x, const int at[3]) {
    for (int g = 0; g < x->groups; g++) {
        bool here = false, elsewhere = false;
        for (int k = 0; k < x->ranks; k++) {
            const int *c = &x->place[4 * (g * x->ranks + k)];
            bool is = c[0] == at[0] && c[1] == at[1] && c[2] == at[2];
            here |= is;
            elsewhere |= !is;
        }
        if (here && elsewhere) return true;
    }
    return false;
}

/* Returns the factor, at least 1, by which a collective's time without latency is longer than on
 * normal links: that of the slowest chip whose links it uses. */
static double slowness(const dt_links *l, const dt_collective_request *x) {
    double most = 1;
    for (int i = 0; i < l->r->n_slow; i++)
        if (l->r->slow[i].times > most && uses_links_of(x, l->r->slow[i].at))
            most = l->r->slow[i].times;
    return most;
}

static dt_link_price price(const dt_links *l, int i, double bytes) {
    const dt_node *n = &l->r->program->local->node[i];
    const dt_across_attr *a = n->attr;
    const kind *k = kind_of(n);
    dt_collective_request x = {.topology = l->r->topology,
                               .collective = k           ? k->collective
                                             : a->to < 0 ? DT_COLLECTIVE_BROADCAST
                                                         : DT_COLLECTIVE_PERMUTE};
    dt_exchange_price p;
    int *place = k ? groups_over(l, a->axes & ~l->r->program->mesh.time, &x) : pairs(l, a, &x);
    x.place = place;
    x.bytes = sent(l, i, bytes) * (k && k->each ? x.ranks : 1);
    dt_exchange_price_of(&x, &p);
    double seconds = p.latency_s + (p.seconds - p.latency_s) * slowness(l, &x);
    free(place);
    dt_link_price out = {
        .seconds = seconds, .ranks = x.ranks, .schedule = dt_arena_strdup(l->arena, p.schedule)};
    memcpy(out.way, p.way, sizeof out.way);
    return out;
}

dt_link_price dt_links_price(dt_links *l, int i, double bytes) {
    const dt_node *n = &l->r->program->local->node[i];
    const dt_across_attr *a = n->attr;
    bool pair = !kind_of(n);
    for (int k = 0; k < l->n; k++) {
        const asked *q = &l->asked[k];
        if (q->op == n->op && q->axes == a->axes && q->bytes == bytes &&
            (!pair || (q->from == a->dim && q->to == a->to)))
            return q->price;
    }
    DT_GROW(l->asked, l->cap, l->n + 1);
    l->asked[l->n++] = (asked){n->op, a->axes, a->dim, a->to, bytes, price(l, i, bytes)};
    return l->asked[l->n - 1].price;
}

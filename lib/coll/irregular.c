/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/irregular.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "coll/links.h"

static const int *coordinates_of(const dt_collective_request *x, int group, int rank) {
    return &x->place[4 * (group * x->ranks + rank)];
}

/* Adds the loads of a step of the ring: every rank sends one byte to the next rank or, if `back`,
 * to the previous one. */
static void add_step(dt_loads *l, const dt_collective_request *x, bool back) {
    for (int g = 0; g < x->groups; g++)
        for (int r = 0; r < x->ranks; r++) {
            const int *a = coordinates_of(x, g, r), *b = coordinates_of(x, g, (r + 1) % x->ranks);
            dt_loads_add(l, back ? b : a, back ? a : b, 1);
        }
}

static void note_links(dt_wire_price *p, const dt_loads *l, double bytes) {
    p->busiest_link = bytes * dt_loads_link(l);
    for (int axis = 0; axis < 3; axis++)
        for (int up = 0; up < 2; up++) p->way[axis][up] = bytes * dt_loads_way(l, axis, up);
}

/* Returns the seconds of all rounds of an all-gather, given the loads of one step of the ring.
 * both: chunks travel both ways round, so there are about half as many rounds. */
static double gather_seconds(const dt_collective_request *x, bool both, const dt_loads *l,
                             const dt_wires *w) {
    const double link = dt_loads_link(l), chip = dt_loads_chip(l), chunk = x->bytes / x->ranks;
    if (!both) return (x->ranks - 1) * dt_wires_round(w, l->hops, link * chunk, chip * chunk);
    /* With an even number of ranks, the last round brings half of a chunk from each side. */
    const int near = (x->ranks - 1) / 2, far = x->ranks / 2;
    return near * dt_wires_round(w, l->hops, link * chunk, chip * chunk) +
           (far - near) * dt_wires_round(w, l->hops, link * chunk / 2, chip * chunk / 2);
}

/* Adds the cost of an all-gather round the ring, or of a reduce-scatter (`back`: it goes round in
 * the other direction), to *p, and the loads of one step to *total. both: chunks travel both ways
 * round. */
static void add_half(dt_wire_price *p, dt_loads *total, const dt_collective_request *x, bool both,
                     bool back, const dt_wires *w) {
    dt_loads l = dt_loads_create(x->topology);
    const int rounds = both ? x->ranks / 2 : x->ranks - 1;
    add_step(&l, x, back);
    if (both) add_step(&l, x, !back);
    p->seconds += gather_seconds(x, both, &l, w);
    p->latency_s += rounds * l.hops * w->hop_s;
    for (int i = 0; i < l.links; i++) total->link[i] += l.link[i];
    dt_loads_release(&l);
}

dt_wire_price dt_ring_cost(const dt_collective_request *x, bool both, const dt_wires *w) {
    dt_loads total = dt_loads_create(x->topology);
    dt_wire_price p = {0};
    const double travels = x->bytes / x->ranks * (x->ranks - 1);
    if (x->collective != DT_ALL_GATHER) add_half(&p, &total, x, both, true, w);
    if (x->collective != DT_REDUCE_SCATTER) add_half(&p, &total, x, both, false, w);
    note_links(&p, &total, both ? travels / 2 : travels);
    dt_loads_release(&total);
    return p;
}

/* ---- doubling ---- */

/* Adds the loads of a round of an all-gather: every rank sends `bytes` to the rank `distance`
 * before it. */
static void add_distance(dt_loads *l, const dt_collective_request *x, int distance, double bytes) {
    for (int g = 0; g < x->groups; g++)
        for (int r = 0; r < x->ranks; r++)
            dt_loads_add(l, coordinates_of(x, g, r),
                         coordinates_of(x, g, (r - distance + x->ranks) % x->ranks), bytes);
}

dt_wire_price dt_doubling_cost(const dt_collective_request *x, const dt_wires *w) {
    const int times = x->collective == DT_ALL_REDUCE ? 2 : 1;
    const double chunk = x->bytes / x->ranks;
    dt_loads total = dt_loads_create(x->topology);
    dt_wire_price p = {0};
    for (int have = 1; have < x->ranks; have *= 2) {
        const int chunks = have < x->ranks - have ? have : x->ranks - have;
        dt_loads l = dt_loads_create(x->topology);
        add_distance(&l, x, have, chunks * chunk);
        p.seconds += times * dt_wires_round(w, l.hops, dt_loads_link(&l), dt_loads_chip(&l));
        p.latency_s += times * l.hops * w->hop_s;
        for (int i = 0; i < l.links; i++) total.link[i] += l.link[i];
        dt_loads_release(&l);
    }
    note_links(&p, &total, times);
    dt_loads_release(&total);
    return p;
}

/* ---- direct messages ---- */

/* About the most pairs of ranks that are routed. If there are more pairs, an evenly chosen subset
 * represents all of them. */
enum { PAIRS = 1 << 18 };

static void add_all_pairs(dt_loads *l, const dt_collective_request *x) {
    const double pairs = (double)x->groups * x->ranks * x->ranks;
    const int step = pairs > PAIRS ? (int)(pairs / PAIRS) + 1 : 1,
              counted = (x->ranks - 2) / step + 1;
    const double each = x->bytes / x->ranks / x->ranks * (x->ranks - 1) / counted;
    for (int g = 0; g < x->groups; g++)
        for (int a = 0; a < x->ranks; a++)
            for (int d = 1; d < x->ranks; d += step)
                dt_loads_add(l, coordinates_of(x, g, a), coordinates_of(x, g, (a + d) % x->ranks),
                             each);
}

static void add_neighbours(dt_loads *l, const dt_collective_request *x) {
    for (int g = 0; g < x->groups; g++)
        for (int r = 0; r + 1 < x->ranks; r++)
            dt_loads_add(l, coordinates_of(x, g, r), coordinates_of(x, g, r + 1), x->bytes);
}

dt_wire_price dt_direct_cost(const dt_collective_request *x, const dt_wires *w) {
    dt_loads l = dt_loads_create(x->topology);
    dt_wire_price p = {0};
    if (x->collective == DT_ALL_TO_ALL) add_all_pairs(&l, x);
    else add_neighbours(&l, x);
    p.latency_s = l.hops * w->hop_s;
    p.seconds = p.latency_s + dt_wires_round(w, 0, dt_loads_link(&l), dt_loads_chip(&l));
    note_links(&p, &l, 1);
    dt_loads_release(&l);
    return p;
}

/* ---- trees ---- */

static int steps_along(const dt_grid_axis *x, int from, int to) {
    int steps = abs(to - from) / (x->stride ? x->stride : 1);
    return x->ring && 2 * steps > x->ranks ? x->ranks - steps : steps;
}

static dt_branch branch_in_grid(const dt_grid *grid, const int *root, const int *at) {
    dt_branch b = {0};
    memcpy(b.from, at, sizeof b.from);
    for (int a = DT_GRID_AXES - 1; a >= 0; a--) {
        const dt_grid_axis *x = &grid->axis[a];
        const int steps = steps_along(x, root[a], at[a]), ahead = (at[a] + x->stride) % x->size;
        if (steps > 0 && b.depth == 0) {
            const bool on = at[a] + x->stride < x->size || x->ring;
            b.from[a] = on && steps_along(x, root[a], ahead) < steps
                            ? ahead
                            : (at[a] - x->stride + x->size) % x->size;
        }
        b.depth += steps;
    }
    return b;
}

/* Returns where a rank of a group receives the broadcast from, and how many steps it is from rank
 * 0. Without a grid (NULL), ranks up to ranks / 2 receive from the rank before them, and the others
 * from the rank after them, the last one from rank 0. `rank` must not be 0. */
dt_branch dt_branch_to(const dt_collective_request *x, const dt_grid *grid, int group, int rank) {
    const bool behind = 2 * rank > x->ranks;
    if (grid)
        return branch_in_grid(grid, coordinates_of(x, group, 0), coordinates_of(x, group, rank));
    dt_branch b = {.depth = behind ? x->ranks - rank : rank};
    memcpy(b.from, coordinates_of(x, group, behind ? (rank + 1) % x->ranks : rank - 1),
           sizeof b.from);
    return b;
}

dt_wire_price dt_spread_cost(const dt_collective_request *x, const dt_grid *grid, const dt_wires *w,
                             int *pieces) {
    dt_loads l = dt_loads_create(x->topology);
    dt_wire_price p = {0};
    int depth = 0;
    for (int g = 0; g < x->groups; g++)
        for (int r = 1; r < x->ranks; r++) {
            const dt_branch b = dt_branch_to(x, grid, g, r);
            dt_loads_add(&l, b.from, coordinates_of(x, g, r), 1);
            depth = b.depth > depth ? b.depth : depth;
        }
    const double all = dt_wires_round(w, 0, dt_loads_link(&l) * x->bytes,
                                      dt_loads_chip(&l) * x->bytes),
                 way = l.hops * w->hop_s;
    *pieces = way > 0 && all > way ? (int)fmin(all / way, 1e6) : 1;
    p.latency_s = depth * way;
    p.seconds = (depth + *pieces - 1.0) * fmax(all / *pieces, way);
    note_links(&p, &l, x->bytes);
    dt_loads_release(&l);
    return p;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twisted slices. The links that close a short axis are shifted by k along the long axes, so a ring
 * along the short axis goes round several times (laps) and is as long as the longest axis. With k =
 * 4 and sizes 4 x 8, in x
 *
 *     (0,0) (1,0) (2,0) (3,0)  (0,4) (1,4) (2,4) (3,4)  and back to (0,0)
 *
 * A colour whose first phase is that ring uses another grid of the same chips: 8 x 4, with a ring
 * of 8 and lines of 4. Such views keep every link busy: six colours, whose first phases are rings
 * of the same length along all axes, both ways. The lines of later phases carry one part in 8 (the
 * length of the ring) of the bytes.
 */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "coll/links.h"
#include "coll/torus.h"

static int longest_axis(const dt_grid *g) {
    int longest = 0;
    for (int a = 1; a < DT_CORE_AXIS; a++)
        longest = g->axis[a].size >= g->axis[longest].size ? a : longest;
    return longest;
}

/* Adds the view for a colour whose first phase is a ring of all laps along `axis`. The longest axis
 * is divided into as many blocks as there are laps. */
static void add_view(dt_torus *s, int axis) {
    dt_grid *v = &s->view[s->views];
    *v = s->view[0];
    dt_grid_axis *ring = &v->axis[axis], *cut = &v->axis[longest_axis(v)];
    const int k = ring->size, laps = cut->size / k;
    *ring = (dt_grid_axis){.size = laps * k,
                           .wrap = true,
                           .ranks = laps * k,
                           .stride = 1,
                           .ring = true,
                           .bases = 1,
                           .based = {true}};
    cut->ranks = k;
    cut->ring = false;
    cut->bases = laps;
    for (int lap = 0; lap < laps; lap++) cut->based[lap * k] = true;
    s->twisted[s->views++] = axis;
}

bool dt_grid_is_whole(const dt_grid *g) {
    for (int a = 0; a < DT_CORE_AXIS; a++)
        if (g->axis[a].ranks != g->axis[a].size) return false;
    return g->axis[DT_CORE_AXIS].bases == 1;
}

static void add_color(dt_torus *s, int view, int first, bool down) {
    dt_color *c = &s->color[s->colors++];
    *c = (dt_color){.view = view};
    if (s->view[0].axis[DT_CORE_AXIS].ranks > 1)
        c->phase[c->phases++] = (dt_phase){dt_algorithm_find("line"), DT_CORE_AXIS, false};
    for (int i = 0; i < DT_CORE_AXIS; i++) {
        const int axis = (first + i) % DT_CORE_AXIS;
        const bool ring = s->view[view].axis[axis].ring;
        c->phase[c->phases++] =
            (dt_phase){dt_algorithm_find(ring ? "ring" : "line"), axis, ring && down};
    }
}

bool dt_torus_twisted(const dt_topology *t, const dt_grid *g, dt_torus *out) {
    if (!t->slice || !t->slice->twisted || !dt_grid_is_whole(g)) return false;
    *out = (dt_torus){.view = {*g}, .twisted = {-1}, .views = 1};
    for (int axis = 0; axis < DT_CORE_AXIS; axis++) {
        const bool twisted = dt_topology_twist(t, axis, longest_axis(g)) > 0;
        if (twisted) add_view(out, axis);
        for (int down = 0; down < 2; down++)
            add_color(out, twisted ? out->views - 1 : 0, axis, down);
    }
    snprintf(out->name, sizeof out->name, "twisted torus %d colours %d phases", out->colors,
             out->color[0].phases);
    return true;
}

/* ---- all to all ---- */

/* How a message from chip 0 to one other chip travels if it arrives at each chip evenly over the
 * last links of the shortest routes: the average number of hops along each axis in each
 * direction. */
typedef struct share {
    double way[3][2];
} share;

static void add_last_steps(const dt_topology *t, share *all, int chip) {
    share *s = &all[chip];
    int n = 0;
    for (int way = 0; way < 6; way++) {
        const int from = dt_topology_neighbour(t, chip, way / 2, way % 2 == 0);
        if (from < 0 || t->distance[from] != t->distance[chip] - 1) continue;
        for (int i = 0; i < 6; i++) s->way[i / 2][i % 2] += all[from].way[i / 2][i % 2];
        /* The last hop goes from `from` to `chip`; way % 2 is 1 for upwards. */
        s->way[way / 2][way % 2]++;
        n++;
    }
    for (int i = 0; n > 0 && i < 6; i++) s->way[i / 2][i % 2] /= n;
}

/* Returns the cost of an all_to_all of `bytes` per group. All chips are equivalent, so the traffic
 * along an axis in one direction is spread evenly over its links. */
dt_wire_price dt_twisted_all_to_all_cost(const dt_topology *t, const dt_grid *g, double bytes,
                                         const dt_wires *wires) {
    const int chips = t->mesh[0] * t->mesh[1] * t->mesh[2], far = dt_topology_diameter(t);
    /* number of bytes between two chips */
    const double each = bytes / g->ranks / g->ranks * g->cores * g->cores;
    DT_LOCAL share *all = dt_alloc((size_t)chips * sizeof *all);
    dt_wire_price p = {.latency_s = far * wires->hop_s};
    for (int d = 1; d <= far; d++)
        for (int chip = 0; chip < chips; chip++)
            if (t->distance[chip] == d) add_last_steps(t, all, chip);
    for (int chip = 0; chip < chips; chip++)
        for (int i = 0; i < 6; i++) p.way[i / 2][i % 2] += each * all[chip].way[i / 2][i % 2];
    for (int i = 0; i < 6; i++)
        p.busiest_link =
            p.way[i / 2][i % 2] > p.busiest_link ? p.way[i / 2][i % 2] : p.busiest_link;
    p.seconds =
        p.latency_s +
        dt_wires_round(wires, 0, p.busiest_link,
                       g->axis[DT_CORE_AXIS].ranks > 1 ? 2 * bytes / g->ranks / g->ranks : 0);
    return p;
}

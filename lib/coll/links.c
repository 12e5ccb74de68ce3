/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/links.h"

#include <stdlib.h>

#include "base/arena.h"

dt_wires dt_wires_of(const dt_topology *t, const int *place) {
    const dt_chip *c = t->slice->chip;
    const double inside = c->core_link_Bps > 0 ? c->core_link_Bps : c->core_hbm_Bps * c->cores / 2;
    return (dt_wires){.topology = t,
                      .place = place,
                      .link_Bps = c->link_Bps,
                      .hop_s = c->hop_s,
                      .chip_Bps = inside};
}

dt_loads dt_loads_create(const dt_topology *t) {
    dt_loads l = {.topology = t, .chips = t->mesh[0] * t->mesh[1] * t->mesh[2]};
    l.links = 6 * l.chips;
    l.link = dt_alloc(dt_size_mul((size_t)l.links, sizeof *l.link));
    l.chip = dt_alloc(dt_size_mul((size_t)l.chips, sizeof *l.chip));
    return l;
}

void dt_loads_release(dt_loads *l) {
    free(l->link);
    free(l->chip);
}

static int chip_index(const dt_topology *t, const int at[3]) {
    return at[0] + t->mesh[0] * (at[1] + t->mesh[1] * at[2]);
}

/* Adds `bytes` to each link of a number of steps along an axis, from a chip on. A link belongs to
 * the chip at its lower end; the link that closes a ring belongs to the last chip. */
static void step_along(dt_loads *l, const int from[3], int axis, int steps, bool up, double bytes) {
    int at[3] = {from[0], from[1], from[2]};
    const int size = l->topology->mesh[axis];
    for (int i = 0; i < steps; i++) {
        const int next = (at[axis] + (up ? 1 : size - 1)) % size;
        if (!up) at[axis] = next;
        l->link[2 * (3 * chip_index(l->topology, at) + axis) + up] += bytes;
        at[axis] = next;
    }
}

/* Moves the position `at` along one axis to coordinate `to`, by the shorter direction if the axis
 * wraps around, and adds the bytes to the links on the way; if both directions are equally long,
 * half to each. Returns the number of links of one direction. */
static int go(dt_loads *l, int at[3], int axis, int to, double bytes) {
    const dt_topology *t = l->topology;
    const int size = t->mesh[axis], ahead = (to - at[axis] + size) % size, behind = size - ahead;
    const bool wraps = dt_topology_wraps(t, axis);
    const bool up = wraps ? ahead <= behind : to > at[axis], both = wraps && ahead == behind;
    if (up) step_along(l, at, axis, ahead, true, both ? bytes / 2 : bytes);
    if (!up || both) step_along(l, at, axis, behind, false, both ? bytes / 2 : bytes);
    at[axis] = to;
    return up ? ahead : behind;
}

/* Routes a message between chips of a twisted slice, adds its bytes to the links on the way, and
 * raises l->hops to the length of the route. */
static void add_route(dt_loads *l, const int *from, const int *to, double bytes) {
    const dt_topology *t = l->topology;
    dt_link route[3 * 256];
    const int hops = dt_topology_route(t, from, to, route);
    for (int i = 0; i < hops; i++)
        l->link[2 * (3 * (route[i].up ? route[i].from : route[i].to) + route[i].axis) +
                route[i].up] += bytes;
    if (hops > l->hops) l->hops = hops;
}

void dt_loads_add(dt_loads *l, const int *from, const int *to, double bytes) {
    int axes[3], n = 0, hops = 0;
    for (int axis = 0; axis < 3; axis++)
        if (from[axis] != to[axis]) axes[n++] = axis;
    if (n > 0 && l->topology->slice && l->topology->slice->twisted) {
        add_route(l, from, to, bytes);
        return;
    }
    for (int turn = 0; turn < n; turn++) {
        int at[3] = {from[0], from[1], from[2]};
        hops = 0;
        for (int i = 0; i < n; i++)
            hops += go(l, at, axes[(turn + i) % n], to[axes[(turn + i) % n]], bytes / n);
    }
    if (n == 0) l->chip[chip_index(l->topology, from)] += bytes;
    if (hops > l->hops) l->hops = hops;
}

static double largest(const double *v, int n, int step) {
    double most = 0;
    for (int i = 0; i < n; i += step) most = v[i] > most ? v[i] : most;
    return most;
}

double dt_loads_link(const dt_loads *l) { return largest(l->link, l->links, 1); }

double dt_loads_chip(const dt_loads *l) { return largest(l->chip, l->chips, 1); }

double dt_loads_way(const dt_loads *l, int axis, bool up) {
    const int first = 2 * axis + up;
    return largest(&l->link[first], l->links - first, 6);
}

double dt_wires_round(const dt_wires *w, int hops, double link, double chip) {
    double seconds = link / w->link_Bps, latency = hops * w->hop_s,
           inside = w->chip_Bps > 0 ? chip / w->chip_Bps : 0;
    seconds = latency > seconds ? latency : seconds;
    return inside > seconds ? inside : seconds;
}

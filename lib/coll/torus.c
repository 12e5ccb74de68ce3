/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to use a grid. The names and the numbers of colours are those that the compiler of real
 * TPUs gives: for large buffers one-way rings, with a colour for each rotation of the axes and
 * each direction; for small buffers two-way rings ("pincer"), which have half the hops.
 */
#include <stdio.h>
#include <string.h>

#include "coll/torus.h"

static void add_phase(dt_color *c, dt_phase phase) { c->phase[c->phases++] = phase; }

static dt_color *add_color(dt_torus *s) {
    dt_color *c = &s->color[s->colors++];
    memset(c, 0, sizeof *c);
    if (s->view[0].axis[DT_CORE_AXIS].ranks > 1)
        add_phase(c, (dt_phase){dt_algorithm_find("line"), DT_CORE_AXIS, false});
    return c;
}

static void name_it(dt_torus *s, const char *what, int axes) {
    const int phases = s->color[0].phases;
    if (axes > 1)
        snprintf(s->name, sizeof s->name, "%s %d colours %d phases", what, s->colors, phases);
    else snprintf(s->name, sizeof s->name, "%s", what);
}

/* Uses each of n rings in both directions: the buffer has 2 n parts (colours), each of which starts
 * with another axis and direction. False: some axis is not a ring. */
static bool one_way(const dt_grid *g, dt_torus *s) {
    int axes[3], n = dt_grid_axes(g, axes);
    for (int i = 0; i < n; i++)
        if (!g->axis[axes[i]].ring) return false;
    for (int down = 0; down < 2; down++)
        for (int turn = 0; turn < n; turn++) {
            dt_color *c = add_color(s);
            for (int i = 0; i < n; i++)
                add_phase(c, (dt_phase){dt_algorithm_find("ring"), axes[(turn + i) % n], down});
        }
    name_it(s, n > 1 ? "torus" : "ring", n);
    return n > 0;
}

/* Uses two-way rings and lines: n colours on n axes. False: it is not possible. */
static bool pincer(const dt_grid *g, dt_torus *s) {
    int axes[3], n = dt_grid_axes(g, axes);
    bool rings = false;
    for (int turn = 0; turn < n; turn++) {
        dt_color *c = add_color(s);
        for (int i = 0; i < n; i++) {
            const int axis = axes[(turn + i) % n];
            const bool ring = g->axis[axis].ring;
            rings = rings || ring;
            add_phase(c,
                      (dt_phase){dt_algorithm_find(ring ? "two_way_ring" : "line"), axis, false});
        }
    }
    name_it(s, n > 1 ? (rings ? "pincer" : "mesh") : rings ? "pincer ring" : "line", n);
    return n > 0;
}

/* Uses partners at doubling distances, axis after axis. False: it is not possible. */
static bool halving(const dt_grid *g, dt_torus *s) {
    int axes[3], n = dt_grid_axes(g, axes);
    dt_color *c = add_color(s);
    for (int i = 0; i < n; i++) {
        if (g->axis[axes[i]].ranks & (g->axis[axes[i]].ranks - 1)) return false;
        add_phase(c, (dt_phase){dt_algorithm_find("halving"), axes[i], false});
    }
    name_it(s, "halving", 1);
    return n > 0;
}

/* Uses the links within a chip, for groups within one chip. False: the groups are larger. */
static bool in_chip(const dt_grid *g, dt_torus *s) {
    int axes[3];
    if (dt_grid_axes(g, axes) > 0) return false;
    add_color(s);
    name_it(s, "in the chip", 1);
    return true;
}

int dt_torus_ways(const dt_topology *t, const dt_grid *g, dt_torus out[DT_TORUS_WAYS]) {
    static bool (*const makers[])(const dt_grid *, dt_torus *) = {one_way, pincer, in_chip,
                                                                  halving};
    /* in a twisted slice, distant partners use other links than those along the axis */
    const bool twisted = t->slice && t->slice->twisted;
    int n = dt_torus_twisted(t, g, &out[0]);
    for (size_t i = 0; i < sizeof makers / sizeof *makers - twisted; i++) {
        out[n] = (dt_torus){.view = {*g}, .twisted = {-1}, .views = 1};
        n += makers[i](g, &out[n]);
    }
    return n;
}

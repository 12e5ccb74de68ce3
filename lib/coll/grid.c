/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Reads the positions of a group's ranks along one axis: sets ranks and stride of *out, whose
 * size is known, and *base to the smallest coordinate. Returns false if they are not at equal
 * distances. */
static bool read_axis(const int *place, int ranks, int axis, dt_grid_axis *out, int *base) {
    bool seen[DT_GRID_SIDE] = {false};
    int last = -1;
    for (int r = 0; r < ranks; r++) seen[place[4 * r + axis]] = true;
    out->ranks = out->stride = 0;
    for (int at = 0; at < out->size; at++) {
        if (!seen[at]) continue;
        if (out->ranks == 0) *base = at;
        else if (out->ranks == 1) out->stride = at - last;
        else if (at - last != out->stride) return false;
        out->ranks++;
        last = at;
    }
    return true;
}

static bool read_group(const int *place, int ranks, dt_grid *g, int base[DT_GRID_AXES]) {
    int product = 1;
    for (int a = 0; a < DT_GRID_AXES; a++) {
        if (!read_axis(place, ranks, a, &g->axis[a], &base[a])) return false;
        product *= g->axis[a].ranks;
    }
    g->ranks = ranks;
    return product == ranks;
}

static bool same_shape(const dt_grid *a, const dt_grid *b) {
    for (int k = 0; k < DT_GRID_AXES; k++)
        if (a->axis[k].ranks != b->axis[k].ranks || a->axis[k].stride != b->axis[k].stride)
            return false;
    return true;
}

static bool inside(const dt_topology *t, const int *at) {
    for (int a = 0; a < DT_GRID_AXES; a++)
        if (at[a] < 0 || at[a] >= t->mesh[a]) return false;
    return true;
}

/* Whether all n ranks are at different positions, and inside the mesh. */
static bool all_apart(const dt_topology *t, const int *place, int n) {
    const size_t places =
        (size_t)t->mesh[0] * (size_t)t->mesh[1] * (size_t)t->mesh[2] * (size_t)t->mesh[3];
    bool *taken = dt_alloc(places), apart = true;
    for (int i = 0; i < n && apart; i++) {
        apart = inside(t, &place[4 * i]);
        bool *here = apart ? &taken[dt_topology_id(t, &place[4 * i])] : taken;
        apart = apart && !*here;
        *here = true;
    }
    free(taken);
    return apart;
}

/* Whether going round the axis once ends at another position than where it began, so that groups
 * along the axis are not rings. */
static bool is_twisted(const dt_topology *t, int axis) {
    return dt_topology_twist(t, axis, 0) || dt_topology_twist(t, axis, 1) ||
           dt_topology_twist(t, axis, 2);
}

static void set_sizes(const dt_topology *t, dt_grid *g) {
    memset(g, 0, sizeof *g);
    for (int a = 0; a < DT_GRID_AXES; a++) {
        g->axis[a].size = t->mesh[a];
        g->axis[a].wrap = a < DT_CORE_AXIS && dt_topology_wraps(t, a) && !is_twisted(t, a);
    }
}

static void note_base(dt_grid *g, const int base[DT_GRID_AXES]) {
    for (int a = 0; a < DT_GRID_AXES; a++) {
        g->axis[a].bases += !g->axis[a].based[base[a]];
        g->axis[a].based[base[a]] = true;
    }
}

bool dt_grid_find(const dt_topology *t, int groups, int ranks, const int *place, dt_grid *out) {
    int base[DT_GRID_AXES], product = 1;
    set_sizes(t, out);
    for (int a = 0; a < DT_GRID_AXES; a++)
        if (out->axis[a].size > DT_GRID_SIDE) return false;
    if (!all_apart(t, place, groups * ranks)) return false;
    for (int g = 0; g < groups; g++) {
        dt_grid one = *out;
        if (!read_group(&place[4 * g * ranks], ranks, &one, base) ||
            (g > 0 && !same_shape(out, &one)))
            return false;
        note_base(&one, base);
        *out = one;
    }
    for (int a = 0; a < DT_GRID_AXES; a++) {
        dt_grid_axis *x = &out->axis[a];
        x->ring = x->wrap && x->ranks > 2 && x->ranks * x->stride == x->size;
        product *= x->bases;
    }
    out->cores = out->axis[DT_CORE_AXIS].ranks * out->axis[DT_CORE_AXIS].bases;
    return product == groups;
}

int dt_grid_axes(const dt_grid *g, int axes[3]) {
    int n = 0;
    for (int a = 0; a < DT_CORE_AXIS; a++) {
        int at = n;
        for (; g->axis[a].ranks > 1 && at > 0 && g->axis[axes[at - 1]].ranks < g->axis[a].ranks;
             at--)
            axes[at] = axes[at - 1];
        if (g->axis[a].ranks > 1) {
            axes[at] = a;
            n++;
        }
    }
    return n;
}

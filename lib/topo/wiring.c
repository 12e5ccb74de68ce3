/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines which chips are linked, how many links apart they are, and the route of a message.
 * dt_topology_neighbour defines the links, with wraparound and twists. Routes, and the distances in
 * twisted slices, are found by it; distances in other slices, by the coordinates.
 *
 * A wraparound link leads from the last chip of an axis to the first one. In a twisted slice (k x k
 * x 2k, k x 2k x 2k and longer) the wraparound links of the short axes do not end in the row where
 * they started, but k further on every long axis:
 *
 *     k = 4, sizes 4 x 8:   (3,0) is linked to (0,4), (3,1) to (0,5), ... (3,7) to (0,3)
 *
 * So a chip of 4x4x8 is at most 6 links from any other instead of 8, and all axes are equivalent (a
 * face-centred cubic lattice; k x 2k x 2k is a body-centred one [Camara et al., Twisted Torus
 * Topologies for Enhanced Interconnection Networks, 2010, cited by the TPU v4 paper]). A torus,
 * twisted or not, looks the same from every chip, so distances from chip 0 are enough.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "topo/topo_impl.h"

static int chips_of(const dt_topology *t) { return t->mesh[0] * t->mesh[1] * t->mesh[2]; }

static int index_of(const dt_topology *t, const int at[3]) {
    return at[0] + t->mesh[0] * (at[1] + t->mesh[1] * at[2]);
}

static void coordinates_of(const dt_topology *t, int chip, int at[3]) {
    at[0] = chip % t->mesh[0];
    at[1] = chip / t->mesh[0] % t->mesh[1];
    at[2] = chip / t->mesh[0] / t->mesh[1];
}

/* ---- links ---- */

/* Whether an axis has wraparound links. Two chips of an axis are joined by a single link in any
 * case, so an axis of two has none. */
bool dt_topology_wraps(const dt_topology *t, int axis) {
    return t->slice && t->slice->wrap[axis] && t->mesh[axis] > 2;
}

static int shortest_side(const dt_topology *t) {
    int k = t->mesh[0] < t->mesh[1] ? t->mesh[0] : t->mesh[1];
    return k < t->mesh[2] ? k : t->mesh[2];
}

int dt_topology_twist(const dt_topology *t, int axis, int along) {
    const int k = shortest_side(t);
    bool twisted = t->slice && t->slice->twisted && t->mesh[axis] == k && t->mesh[along] > k;
    return twisted ? k : 0;
}

/* Goes round the end of an axis; with a twist this also moves along the other axes. */
static void go_round(const dt_topology *t, int axis, bool up, int at[3]) {
    at[axis] = up ? 0 : t->mesh[axis] - 1;
    for (int along = 0; along < 3; along++) {
        int by = dt_topology_twist(t, axis, along);
        at[along] = (at[along] + (up ? by : t->mesh[along] - by)) % t->mesh[along];
    }
}

int dt_topology_neighbour(const dt_topology *t, int chip, int axis, bool up) {
    int at[3];
    if (t->slice && t->slice->chip->is_host)
        return -1; /* Hosts of a cluster are linked to a switch, not to each other. */
    coordinates_of(t, chip, at);
    bool end = at[axis] == (up ? t->mesh[axis] - 1 : 0);
    if (end && !dt_topology_wraps(t, axis)) return -1;
    if (end) go_round(t, axis, up, at);
    else at[axis] += up ? 1 : -1;
    return index_of(t, at);
}

int dt_topology_links(const dt_topology *t) {
    int n = 0;
    for (int axis = 0; axis < 3 && !(t->slice && t->slice->chip->is_host); axis++)
        n += chips_of(t) / t->mesh[axis] * (t->mesh[axis] - 1 + dt_topology_wraps(t, axis));
    return n;
}

/* ---- distances of a twisted slice ---- */

int *dt_topology_distances(const dt_topology *t) {
    const int chips = chips_of(t);
    int *distance = dt_alloc((size_t)chips * sizeof *distance),
        *queue = dt_alloc((size_t)chips * sizeof *queue), n = 1;
    for (int i = 1; i < chips; i++) distance[i] = -1;
    for (int i = 0; i < n; i++)
        for (int way = 0; way < 6; way++) {
            int next = dt_topology_neighbour(t, queue[i], way / 2, way % 2 == 0);
            if (next >= 0 && distance[next] < 0) {
                distance[next] = distance[queue[i]] + 1;
                queue[n++] = next;
            }
        }
    free(queue);
    return distance;
}

/* Returns the number of the chip that is at the same position relative to chip 0 as chip b is to
 * chip a. */
static int seen_from(const dt_topology *t, const int a[3], const int b[3]) {
    int d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    for (int axis = 0; axis < 3; axis++)
        if (d[axis] < 0) {
            d[axis] += t->mesh[axis];
            for (int along = 0; along < 3; along++) d[along] -= dt_topology_twist(t, axis, along);
        }
    /* Going round an axis here changes no other coordinate: only short axes have a twist, and the
     * loop above has taken it into account. */
    for (int axis = 0; axis < 3; axis++)
        d[axis] = (d[axis] % t->mesh[axis] + t->mesh[axis]) % t->mesh[axis];
    return index_of(t, d);
}

/* ---- routes ---- */

int dt_topology_hops(const dt_topology *t, const dt_coords a, const dt_coords b) {
    if (t->distance) return t->distance[seen_from(t, a, b)];
    int hops = 0;
    for (int axis = 0; axis < 3; axis++) {
        int d = abs(a[axis] - b[axis]), round = t->mesh[axis] - d;
        hops += dt_topology_wraps(t, axis) && round < d ? round : d;
    }
    return hops;
}

/* Returns the next link on a shortest route from `at` to another chip, `to`: along the first axis
 * that has one, upwards if both directions are equally short. If chips are not linked, as hosts of
 * a cluster, the link's `to` is -1. */
static dt_link next_link(const dt_topology *t, const dt_coords at, const dt_coords to) {
    const int here = index_of(t, at), far = dt_topology_hops(t, at, to);
    for (int way = 0; way < 6; way++) {
        dt_link l = {.from = here, .axis = way / 2, .up = way % 2 == 0};
        dt_coords next = {0};
        l.to = dt_topology_neighbour(t, here, l.axis, l.up);
        if (l.to < 0) continue;
        coordinates_of(t, l.to, next);
        if (dt_topology_hops(t, next, to) == far - 1) return l;
    }
    return (dt_link){.from = here, .to = -1};
}

int dt_topology_route(const dt_topology *t, const dt_coords a, const dt_coords b, dt_link *links) {
    dt_coords at = {a[0], a[1], a[2]};
    const int n = dt_topology_hops(t, a, b);
    for (int i = 0; i < n; i++) {
        links[i] = next_link(t, at, b);
        coordinates_of(t, links[i].to, at);
    }
    return n;
}

int dt_topology_diameter(const dt_topology *t) {
    int far = 0, sum = 0;
    for (int axis = 0; axis < 3; axis++)
        sum += dt_topology_wraps(t, axis) ? t->mesh[axis] / 2 : t->mesh[axis] - 1;
    for (int i = 0; t->distance && i < chips_of(t); i++)
        far = t->distance[i] > far ? t->distance[i] : far;
    return t->distance ? far : sum;
}

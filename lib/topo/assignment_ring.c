/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries on an assignment: where a replica is, which replicas a host has, the grid that replicas
 * form, and the order in which a ring collective should visit them. The order of replica numbers
 * makes a bad ring if they count the chips row by row: on v3-8 with a replica per core, two of its
 * steps lead to the diagonally opposite chip. The ring through all chips (dt_ring) visits the
 * replicas in a better order.
 *
 *     r0 r1 -- r2 r3        0 1 2 3 4 5 6 7: from 3 to 4 and from 7 to 0 two links
 *       |        |
 *     r4 r5 -- r6 r7        0 1 2 3 6 7 4 5: one link at most
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "topo/topo_impl.h"
#include "topo/topo.h"

/*
 * Rings through blocks of chips, the same as tf.tpu's, so that replicas get the coordinates that
 * TensorFlow gives them. A flat ring goes out and back along pairs of rows and returns through
 * column 0, so that every step is one link, including the last one back to the start:
 *
 *     0 - 1 - 2 - 3
 *     |           |        4 x 4
 *    15   6 - 5 - 4
 *     |   |
 *    14   7 - 8 - 9
 *     |           |
 *    13 -12 -11 -10
 *
 * In three dimensions each layer is a flat ring without its corner (0,0), in forward direction on
 * even layers and backwards on odd ones; the corners of all layers lead back to the start. That
 * needs even sizes; a block with an odd size above 1 is visited row by row, which is not a ring of
 * neighbours.
 */

typedef struct path {
    int (*out)[3];  /* the points of the ring, as x, y, z */
    int n;          /* number of points written so far */
    int fast, slow; /* the two axes in which the flat ring lies */
} path;

static void visit(path *p, int fast, int slow) {
    int *at = p->out[p->n++];
    memset(at, 0, sizeof *p->out);
    at[p->fast] = fast;
    at[p->slow] = slow;
}

static void flat(path *p, int a, int b) {
    visit(p, 0, 0);
    for (int row = 0; row < b; row++) {
        for (int i = 1; i < a; i++) visit(p, row % 2 ? a - i : i, row);
    }
    for (int row = b - 1; row > 0; row--) visit(p, 0, row);
}

static void rows(const int size[3], int (*out)[3]) {
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, out++) memcpy(*out, (int[3]){x, y, z}, sizeof *out);
}

/* Makes the ring of a block with even sizes. out[0 .. layer-1] holds the ring of layer 0. The other
 * layers are copies of it without its first point, the odd ones backwards. Their first points
 * follow at the end, from the last layer to layer 1. */
static void solid(const int size[3], int (*out)[3]) {
    path p = {.out = out, .fast = 0, .slow = 1};
    flat(&p, size[0], size[1]);
    int layer = p.n;
    for (int z = 1; z < size[2]; z++)
        for (int i = 1; i < layer; i++) {
            const int *from = out[z % 2 ? layer - i : i];
            memcpy(out[p.n++], (int[3]){from[0], from[1], z}, sizeof *out);
        }
    for (int z = size[2] - 1; z > 0; z--) memcpy(out[p.n++], (int[3]){0, 0, z}, sizeof *out);
}

void dt_ring(const int size[3], int (*out)[3]) {
    int above_one = 0;
    bool odd = false;
    for (int axis = 0; axis < 3; axis++) {
        above_one += size[axis] > 1;
        odd = odd || (size[axis] > 1 && size[axis] % 2);
    }
    if (above_one <= 1 || odd) {
        rows(size, out);
    } else if (above_one == 3) {
        solid(size, out);
    } else {
        path p = {.out = out, .fast = size[0] > 1 ? 0 : 1, .slow = size[2] > 1 ? 2 : 1};
        flat(&p, size[p.fast], size[p.slow]);
    }
}

const int *dt_assignment_at(const dt_assignment *a, int replica, int logical) {
    return a->core[(size_t)replica * (size_t)a->logical + (size_t)logical];
}

int dt_assignment_lookup(const dt_assignment *a, const dt_topology *t, int task, int logical,
                         int *replicas) {
    int n = 0;
    for (int r = 0; r < a->replicas && logical >= 0 && logical < a->logical; r++)
        if (dt_topology_task(t, dt_assignment_at(a, r, logical)) == task) replicas[n++] = r;
    return n;
}

static int64_t length_of(const dt_assignment *a, const dt_topology *t, const int *order) {
    int64_t hops = 0;
    for (int i = 0; i < a->replicas; i++)
        hops += dt_topology_hops(t, dt_assignment_at(a, order[i], 0),
                                 dt_assignment_at(a, order[(i + 1) % a->replicas], 0));
    return hops;
}

/* Writes the replicas to order[a->replicas] as a ring through all chips reaches the cores of their
 * first logical devices; cores of a chip come in ascending order. */
static void order_by_ring(const dt_assignment *a, const dt_topology *t, int *order) {
    const int chips = t->mesh[0] * t->mesh[1] * t->mesh[2], cores = t->mesh[3];
    int(*ring)[3] = dt_alloc((size_t)chips * sizeof *ring);
    /* [core id] 1 + the replica whose first logical device the core is; 0: no replica's */
    DT_LOCAL int *owner = dt_alloc((size_t)chips * (size_t)cores * sizeof *owner);
    dt_ring(t->mesh, ring);
    for (int r = 0; r < a->replicas; r++)
        owner[dt_topology_id(t, dt_assignment_at(a, r, 0))] = 1 + r;
    for (int i = 0, n = 0; i < chips; i++)
        for (int core = 0; core < cores; core++) {
            int who =
                owner[dt_topology_id(t, (dt_coords){ring[i][0], ring[i][1], ring[i][2], core})];
            if (who) order[n++] = who - 1;
        }
    free(ring);
}

void dt_assignment_ring(const dt_assignment *a, const dt_topology *t, int *order) {
    DT_LOCAL int *other = dt_alloc((size_t)a->replicas * sizeof *other);
    for (int r = 0; r < a->replicas; r++) order[r] = r;
    order_by_ring(a, t, other);
    if (length_of(a, t, other) < length_of(a, t, order))
        memcpy(order, other, (size_t)a->replicas * sizeof *order);
}

/* ---- grids ---- */

static const int by_axis[4] = {2, 1, 0, 3}; /* the axes in the order z, y, x, core */

/* Returns the number of different coordinates that the replicas' first cores have along an axis.
 * at[i], which must be 0 on entry, becomes 1 + the index of coordinate i among them, or stays 0 if
 * no core has that coordinate. */
static int places_along(const dt_assignment *a, int axis, int *at) {
    int n = 0;
    for (int r = 0; r < a->replicas; r++) at[dt_assignment_at(a, r, 0)[axis]] = 1;
    for (int i = 0; i < a->topology->mesh[axis]; i++)
        if (at[i]) at[i] = ++n;
    return n;
}

bool dt_assignment_grid(const dt_assignment *a, int grid[4], int *order) {
    int64_t product = 1;
    DT_LOCAL int *rank = dt_alloc((size_t)a->replicas * sizeof *rank);
    for (int k = 0; k < 4; k++) {
        DT_LOCAL int *at = dt_alloc((size_t)a->topology->mesh[by_axis[k]] * sizeof *at);
        grid[k] = places_along(a, by_axis[k], at);
        product *= grid[k];
        for (int r = 0; r < a->replicas && product <= a->replicas; r++)
            rank[r] = rank[r] * grid[k] + at[dt_assignment_at(a, r, 0)[by_axis[k]]] - 1;
    }
    const bool filled = product == a->replicas;
    for (int r = 0; order && filled && r < a->replicas; r++) order[rank[r]] = r;
    return filled;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of ranks whose places form a grid. Along each axis of the mesh the ranks of a group are at
 * equal distances, and the groups begin at the same coordinates (bases) along each axis, so that
 * all groups together form a grid, too:
 *
 *     an axis of 8, ranks 4, stride 1, bases 0 and 4      a a a a b b b b       two lines (the
 *     ends of the axis may be linked, those of the groups are not)
 *     an axis of 8, ranks 4, stride 2, bases 0 and 1      a b a b a b a b       two rings, if the
 *     ends are linked; both use every link
 *
 * The fourth axis is the cores of a chip.
 */
#ifndef DT_COLL_GRID_H
#define DT_COLL_GRID_H

#include <stdbool.h>

#include "topo/topo.h"

/* DT_GRID_SIDE: the most coordinates along an axis; DT_GRID_AXES: the number of axes, x, y, z and
 * the cores of a chip; DT_CORE_AXIS: the index of the axis of cores */
enum { DT_GRID_SIDE = 256, DT_GRID_AXES = 4, DT_CORE_AXIS = 3 };

typedef struct dt_grid_axis {
    /* size of the topology's mesh along the axis, or the ring's length in a view (dt_torus.view) */
    int size;
    /* whether an untwisted link joins the two ends of the mesh along the axis, or the axis is the
     * ring of a view */
    bool wrap;
    int ranks;  /* number of ranks of a group along the axis; 1: groups do not extend along it */
    int stride; /* distance between neighbouring ranks of a group along the axis; 0: one rank */
    /* Whether the last of 3 or more ranks of a group is as close to the first one, over the link
     * between the ends of the mesh, as any two neighbours. */
    bool ring;
    int bases; /* number of coordinates along the axis at which a group begins */
    /* [coordinate along the axis] whether a group begins there */
    bool based[DT_GRID_SIDE];
} dt_grid_axis;

typedef struct dt_grid {
    dt_grid_axis axis[DT_GRID_AXES];
    int ranks; /* number of ranks of a group */
    int cores; /* number of cores of a chip that take part in all groups together */
} dt_grid;

/* Finds the grid of the groups. place: [groups][ranks][4] coordinates. Returns false if they form
 * no grid, two ranks have the same coordinates, coordinates are outside the mesh, or an axis is
 * longer than DT_GRID_SIDE; *out is then meaningless. */
bool dt_grid_find(const dt_topology *t, int groups, int ranks, const int *place, dt_grid *out);
/* Lists in axes[3] the axes along which a group has more than one rank, the one with the most ranks
 * first, without the axis of the cores. Returns their number. */
int dt_grid_axes(const dt_grid *g, int axes[3]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives on tori, as colours and phases. A colour is one of the equal parts of the buffer. It
 * is exchanged along the axes of the grid one after the other, in one phase for each axis: for
 * example on a ring or a line along that axis, in all rows of the grid at once. Other colours take
 * the axes in another order or in the other direction, so that more links are in use. On a torus of
 * two axes, reduce-scatter:
 *
 *                    phase 1       phase 2
 *     colour 1       x up          y up           of V/4; a phase leaves V/4 / length of the axis,
 *     colour 2       y up          x up           so the first phase is what takes time
 *     colour 3       x down        y down
 *     colour 4       y down        x down
 *
 * An all-gather is this in reverse; an all-reduce consists of both. The cores of a chip are one
 * more axis. If groups have several of them, every colour begins with it, when its part of the
 * buffer is largest, because the cores are close together.
 *
 * The size of a description depends on its colours and phases only, not on the number of chips. All
 * rows of a phase do the same, so the cost of one row is enough (dt_torus_cost); tests list all
 * moves and check that their cost is the same.
 */
#ifndef DT_COLL_TORUS_H
#define DT_COLL_TORUS_H

#include "coll/coll.h"
#include "coll/grid.h"

enum { DT_TORUS_VIEWS = 3 };

typedef struct dt_phase {
    const dt_algorithm *algorithm; /* the algorithm that is used along the axis */
    int axis;
    bool down; /* The direction. true: from the last rank of the axis to the first one. */
} dt_phase;

typedef struct dt_color {
    int view;   /* index of the view of the grid that the colour uses, in dt_torus.view */
    int phases; /* number of phases, which are listed in the order of a reduce-scatter */
    dt_phase phase[DT_GRID_AXES];
} dt_color;

typedef struct dt_torus {
    char name[48]; /* the schedule's name in reports, such as "torus 6 colours 3 phases" */
    /* [0] is the grid itself. Each other view is the grid with one twisted axis as a ring
     * (coll/twist.c). */
    dt_grid view[DT_TORUS_VIEWS];
    int twisted[DT_TORUS_VIEWS]; /* for each view, the axis that is twisted; -1: none */
    int views;
    int colors;
    dt_color color[DT_COLORS];
} dt_torus;

/* Writes the schedules for a grid to `out`, at most DT_TORUS_WAYS. Returns their number
 * (dt_torus_ways). */
enum { DT_TORUS_WAYS = 4 };
int dt_torus_ways(const dt_topology *t, const dt_grid *g, dt_torus out[DT_TORUS_WAYS]);

/* Returns the cost of an all_gather, reduce_scatter or all_reduce of a buffer of `bytes` bytes per
 * group (of an all_gather, the gathered buffer), by all groups of the grid at the same time. */
dt_wire_price dt_torus_cost(const dt_torus *s, dt_collective c, double bytes,
                            const dt_wires *wires);
/* Writes the schedule with a colour for each axis and direction, six in all, for one group with all
 * chips of a twisted slice. Returns false, without writing *out, if the slice is not twisted, or
 * dt_grid_is_whole is false. */
bool dt_torus_twisted(const dt_topology *t, const dt_grid *g, dt_torus *out);
/* Returns the cost of an all_to_all by all groups of a grid that is not twisted, at the same time.
 * Each group holds `bytes` bytes. Every message goes along one axis after the other, in the shorter
 * direction along each. */
dt_wire_price dt_grid_all_to_all_cost(const dt_grid *g, double bytes, const dt_wires *wires);
/* Returns the cost of an all_to_all between all chips of a twisted slice. dt_grid_is_whole must be
 * true. */
dt_wire_price dt_twisted_all_to_all_cost(const dt_topology *t, const dt_grid *g, double bytes,
                                         const dt_wires *wires);
/* Whether the grid has one group, which has all chips of a slice. */
bool dt_grid_is_whole(const dt_grid *g);

#endif

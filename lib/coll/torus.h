/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives on tori, as colours and phases. A colour is an equal share of the buffer; it goes
 * through the axes of the grid one after the other, a phase each: a ring or a line along that axis,
 * in all rows of the grid at once. Colours take the axes in another order, or go the other way
 * round, so that all links work all the time. On a torus of two axes, reduce-scatter:
 *
 *                    phase 1       phase 2
 *     colour 1       x up          y up           of V/4; a phase leaves V/4 / length of the axis,
 *     colour 2       y up          x up           so the first phase is what takes time
 *     colour 3       x down        y down
 *     colour 4       y down        x down
 *
 * An all-gather is this backwards, an all-reduce both. The cores of a chip are one more axis.
 * Every colour takes it first, while its share is largest, because the cores are close together.
 *
 * The size of a description depends on its colours and phases only, not on the number of chips.
 * All rows of a phase do the same, so its price needs one row only (dt_torus_cost); tests list all
 * moves and check that their price is the same.
 */
#ifndef DT_COLL_TORUS_H
#define DT_COLL_TORUS_H

#include "coll/coll.h"
#include "coll/grid.h"

enum { DT_TORUS_VIEWS = 3 };

typedef struct dt_phase {
    const dt_algorithm *algorithm; /* along the axis */
    int axis;
    bool down; /* from the last rank of the axis to the first one */
} dt_phase;

typedef struct dt_color {
    int view;   /* index of the view of the grid that it uses */
    int phases; /* number of phases, in the order of a reduce-scatter */
    dt_phase phase[DT_GRID_AXES];
} dt_color;

typedef struct dt_torus {
    char name[48]; /* "torus 6 colours 3 phases" */
    /* [0]: the grid itself; the others: with one twisted axis as a ring (see coll/twist.c) */
    dt_grid view[DT_TORUS_VIEWS];
    int twisted[DT_TORUS_VIEWS]; /* the twisted axis of each view; -1: none */
    int views;
    int colors;
    dt_color color[DT_COLORS];
} dt_torus;

/* Writes all schedules that are possible on a grid into out[], the one that compilers prefer for
 * large buffers first; returns their number. */
enum { DT_TORUS_WAYS = 4 };
int dt_torus_ways(const dt_topology *t, const dt_grid *g, dt_torus out[DT_TORUS_WAYS]);

/* all_gather, reduce_scatter, all_reduce of a buffer of `bytes` by all groups of the grid at
 * once. */
dt_wire_price dt_torus_cost(const dt_torus *s, dt_collective c, double bytes,
                            const dt_wires *wires);
/* Colours for all chips of a twisted slice. False: the slice is not twisted, or the group is not
 * all of its chips. */
bool dt_torus_twisted(const dt_topology *t, const dt_grid *g, dt_torus *out);
/* all_to_all by all groups at once; every message takes the shortest way. */
dt_wire_price dt_grid_all_to_all_cost(const dt_grid *g, double bytes, const dt_wires *wires);
/* all_to_all between all chips of a twisted slice. */
dt_wire_price dt_twisted_all_to_all_cost(const dt_topology *t, const dt_grid *g, double bytes,
                                         const dt_wires *wires);
/* Whether one group has all chips of a slice. */
bool dt_grid_is_whole(const dt_grid *g);

#endif

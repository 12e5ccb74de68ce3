/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts bytes on links: each message is routed, and its bytes are added to every link on its way,
 * by direction.
 *
 * A message goes the short way along each axis; half of it each way where both are equally long.
 * Where it must go along several axes it is split evenly over the orders in which they can follow
 * each other (x y z, y z x, z x y), so that two places that differ in two axes are joined by two
 * disjoint ways. Bytes between cores of one chip are counted for that chip.
 */
#ifndef DT_COLL_LINKS_H
#define DT_COLL_LINKS_H

#include "coll/coll.h"

typedef struct dt_loads {
    const dt_topology *topology;
    double *link; /* [chip][axis][up] */
    double *chip; /* [chip] */
    int links, chips;
    int hops; /* hops of the longest message */
} dt_loads;

dt_loads dt_loads_create(const dt_topology *t);
void dt_loads_release(dt_loads *l);
/* Adds a message between two coordinates of the topology. */
void dt_loads_add(dt_loads *l, const int *from, const int *to, double bytes);
/* The largest number of bytes on a link, and on a chip. */
double dt_loads_link(const dt_loads *l);
double dt_loads_chip(const dt_loads *l);
/* Bytes on the busiest link along an axis, in one direction. */
double dt_loads_way(const dt_loads *l, int axis, bool up);

/* The time of a round of messages: that of its longest way or of its busiest link or chip,
 * whichever is longer. */
double dt_wires_round(const dt_wires *w, int hops, double link, double chip);

#endif

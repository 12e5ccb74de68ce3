/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts bytes on links: each message is routed, and its bytes are added to every link on its way,
 * by direction.
 *
 * A message takes the shorter direction along each axis that wraps around; if both are equally
 * long, half of it takes each. A message along n axes is split evenly over n orders of them, each
 * of which begins with another axis (x y z, y z x, z x y), so that two chips that differ in two
 * axes are joined by two disjoint routes. In a twisted slice a message is not split: it takes one
 * shortest route (dt_topology_route). Bytes between cores of one chip are counted for that chip.
 */
#ifndef DT_COLL_LINKS_H
#define DT_COLL_LINKS_H

#include "coll/coll.h"

typedef struct dt_loads {
    const dt_topology *topology;
    /* [chip][axis][up] the number of bytes on each link; up: in the direction of larger
     * coordinates */
    double *link;
    double *chip;     /* [chip] the number of bytes between the cores of each chip */
    int links, chips; /* numbers of elements of `link`, 6 * chips, and of `chip` */
    int hops;         /* number of links on the longest route of a message added so far */
} dt_loads;

dt_loads dt_loads_create(const dt_topology *t);
void dt_loads_release(dt_loads *l);
/* Adds a message of `bytes` between two coordinates (x, y, z, core) of the topology. */
void dt_loads_add(dt_loads *l, const int *from, const int *to, double bytes);
/* dt_loads_link returns the bytes on the busiest link, dt_loads_chip the bytes between the cores of
 * the busiest chip. */
double dt_loads_link(const dt_loads *l);
double dt_loads_chip(const dt_loads *l);
/* Returns the number of bytes on the busiest link along an axis. up: in the direction of larger
 * coordinates. */
double dt_loads_way(const dt_loads *l, int axis, bool up);

/* Returns the seconds of a round of messages: the latency of the longest route, which has `hops`
 * links, or the time of the busiest link, which carries `link` bytes, or of the busiest chip,
 * between whose cores `chip` bytes pass, whichever is longest. If w->chip_Bps is 0, bytes between
 * cores take no time. */
double dt_wires_round(const dt_wires *w, int hops, double link, double chip);

#endif

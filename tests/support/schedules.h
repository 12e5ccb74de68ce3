/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules written out, and what they cost move by move: what the prices of lib/coll, which write
 * nothing out, are held against. */
#ifndef TESTS_SCHEDULES_H
#define TESTS_SCHEDULES_H

#include "coll/irregular.h"
#include "coll/torus.h"

/* A torus schedule for one group, whose ranks stand at place[ranks][4]. SCHEDULE: too many
 * ranks. */
dt_status *dt_torus_schedule(dt_schedule **out, const dt_torus *s, dt_collective c,
                             const int *place) DT_MUST_USE;
/* all_to_all and collective_permute of one group; a broadcast down the tree of dt_branch_to.
 * SCHEDULE: too many ranks. */
dt_status *dt_direct_schedule(dt_schedule **out, dt_collective c, int ranks) DT_MUST_USE;
dt_status *dt_tree_schedule(dt_schedule **out, const dt_exchange *x, const dt_grid *grid,
                            int pieces) DT_MUST_USE;
/* The price for a buffer of `bytes` (the whole one: of an all-gather the result). A round lasts as
 * long as its slowest link or message: max(bytes on a link / link_Bps, hops * hop_s), of a direct
 * one their sum; rounds follow each other. Colours go through the rounds of a phase at their own
 * pace; a phase lasts as long as its slowest colour, or the link that carries most of all colours
 * together. */
dt_wire_price dt_schedule_cost(const dt_schedule *s, double bytes, const dt_wires *wires);

#endif

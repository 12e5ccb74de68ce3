/* SPDX-License-Identifier: Apache-2.0 */
/* The part of wiring.c that only this room uses; dt_topology_neighbour, hops and route are in
 * topo/topo.h. */
#ifndef DT_TOPO_WIRING_H
#define DT_TOPO_WIRING_H

#include "topo/topo.h"

/* Links from chip 0 to each chip, for a twisted slice. The caller frees them. */
int *dt_topology_distances(const dt_topology *t);

#endif

/* The parts of a slice's picture. */
#ifndef DT_TOPO_DRAW_H
#define DT_TOPO_DRAW_H

#include "topo/topo.h"

/* The lines under the drawing: where the logical devices of a replica lie, and which links gradients use. */
void dt_draw_traffic(const dt_topology_picture *p, dt_str *out);

#endif

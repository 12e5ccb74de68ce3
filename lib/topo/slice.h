/* How slices are told from each other, for those who find and list them. */
#ifndef DT_TOPO_SLICE_H
#define DT_TOPO_SLICE_H

#include "topo/topo.h"

/* The slice of a generation that Cloud TPU hands out for so many chips; of that shape. False: there is none, *out is untouched. */
bool dt_slice_of_chips(const dt_chip *c, int chips, dt_slice *out);
bool dt_slice_of_shape(const dt_chip *c, const int side[3], bool twisted, dt_slice *out);
/* The smallest slice of a generation (NULL: of any, the oldest of as many chips) with room for a block of that size, and the devices that each
 * chip must show; false: there is none. */
bool dt_slice_with_room(const dt_chip *c, const int64_t block[4], dt_slice *out, int *devices);
/* Whether a block of that size lies in the mesh of a slice whose chips show so many devices. */
bool dt_slice_has_room(const dt_slice *s, int devices, const int64_t block[4]);
/* Chips of one of its hosts. */
void dt_slice_host(const dt_slice *s, int host[3]);

#endif

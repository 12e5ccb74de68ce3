/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that only the files of lib/topo use. */
#ifndef DT_TOPO_IMPL_H
#define DT_TOPO_IMPL_H

#include "topo/topo.h"

/* Returns the number of blocks of a size that fit side by side into the mesh of a slice whose chips
 * show `devices` devices. */
int64_t dt_slice_room(const dt_slice *s, int devices, const int64_t block[4]);
/* Finds the smallest slice of a generation with room for `blocks` blocks of this size, and the
 * number of devices that each chip must show. c NULL: slices of all generations are considered; of
 * equally large ones, the oldest generation is chosen. Returns false if no slice has room. */
bool dt_slice_with_room(const dt_chip *c, const int64_t block[4], int64_t blocks, dt_slice *out,
                        int *devices);
/* Sets host[] to the number of chips of one host of the slice along each axis. */
void dt_slice_host(const dt_slice *s, int host[3]);
/* Returns for each chip of a twisted slice the number of links from chip 0. The caller frees the
 * array. */
int *dt_topology_distances(const dt_topology *t);
/* Writes all points of a block of size[0] * size[1] * size[2], each once, to `out`: in the order in
 * which a ring visits them or, if a size above 1 is odd or all others are 1, row by row. */
void dt_ring(const int size[3], int (*out)[3]);

#endif

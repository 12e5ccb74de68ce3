/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and listing slices: shared by the files of this room. */
#ifndef DT_TOPO_SLICE_H
#define DT_TOPO_SLICE_H

#include "topo/topo.h"

/* The slice of a generation that Cloud TPU offers with this number of chips, or of this shape.
 * False: there is none, *out is not changed. */
bool dt_slice_of_chips(const dt_chip *c, int chips, dt_slice *out);
bool dt_slice_of_shape(const dt_chip *c, const int side[3], bool twisted, dt_slice *out);
/* The number of blocks of a size that fit side by side into the mesh of a slice whose chips show
 * `devices` devices. */
int64_t dt_slice_room(const dt_slice *s, int devices, const int64_t block[4]);
/* The smallest slice of a generation with room for `blocks` blocks of this size, and the number of
 * devices that each chip must show. c NULL: slices of all generations are considered; of equally
 * large ones, the oldest generation is chosen. False: there is none. */
bool dt_slice_with_room(const dt_chip *c, const int64_t block[4], int64_t blocks, dt_slice *out,
                        int *devices);
/* The number of chips of one host of the slice along each axis. */
void dt_slice_host(const dt_slice *s, int host[3]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a ring visits the chips of a block. */
#ifndef DT_TOPO_RING_H
#define DT_TOPO_RING_H

/* Writes all points of a block of size[0] * size[1] * size[2], each once, to `out`, in the order of
 * a ring. */
void dt_ring(const int size[3], int (*out)[3]);

#endif

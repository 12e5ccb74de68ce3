/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs cost on chips and links. Nothing here computes a value or allocates one: types and
 * tables go in, seconds and bytes come out.
 *
 *     program for one device (pass/spmd) -> kernels (fuse.c) -> memory (hbm.c),
 *     virtual clock (clock.c) -> plan (plan.h)
 *
 * A device is a core, or a chip's cores as one. SI units.
 */
#ifndef DT_COST_COST_H
#define DT_COST_COST_H

#include "graph/graph.h"
#include "topo/topo.h"

/* The part of a chip that is one device. */
typedef struct dt_core {
    const dt_chip *chip;
    int cores; /* TensorCores that are one device: 2 with megacore */
} dt_core;

dt_core dt_core_of(const dt_topology *t);

/* The time of a kernel by parts. The first three run side by side, so `seconds` is little more
 * than the longest of them plus the launch. */
typedef struct dt_core_price {
    double seconds;
    double matrix_s, memory_s, vector_s;
    double launch_s; /* until it runs, and the ends of its traffic that nothing hides */
} dt_core_price;

/* The time of one kernel: an op, or fused ops, whose bytes are those of their inputs and
 * results. */
dt_core_price dt_core_time(const dt_core *c, const dt_cost *work);
/* The least that the chip's tables allow, with no constant of ours: operations over peak, bytes
 * over nominal bandwidth. */
dt_core_price dt_core_roofline(const dt_core *c, const dt_cost *work);

/* Bytes of a concrete type in HBM, with the padding of the chip's tiles. */
int64_t dt_padded_bytes(const dt_type *t);

#endif

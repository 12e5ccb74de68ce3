/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates what programs cost on chips and links. No values are computed or allocated: from types
 * and tables follow seconds and bytes.
 *
 *     program for one device (pass/spmd) -> kernels (fuse.c) -> memory (hbm.c),
 *     virtual clock (clock.c) -> plan (plan.h)
 *
 * A device is one core of a chip, or all cores together. All quantities are in SI units.
 */
#ifndef DT_COST_COST_H
#define DT_COST_COST_H

#include "graph/graph.h"
#include "topo/topo.h"

/* A device: one core of a chip, or several. */
typedef struct dt_core {
    const dt_chip *chip;
    int cores; /* number of TensorCores that are one device: 2 with megacore */
} dt_core;

dt_core dt_core_of(const dt_topology *t);

/* The time of a kernel, and its parts. The first three parts run in parallel, so `seconds` is
 * little more than the longest of them plus the launch. */
typedef struct dt_core_price {
    double seconds;
    double matrix_s, memory_s, vector_s;
    /* seconds until the kernel runs, and of the part of its traffic that overlaps with nothing */
    double launch_s;
} dt_core_price;

/* Estimates the time of one kernel: an op, or several fused ops. The bytes in `work` are those of
 * the kernel's inputs and results. */
dt_core_price dt_core_time(const dt_core *c, const dt_cost *work);
/* Returns the least time that the chip's tables allow: operations divided by the peak rate, bytes
 * divided by the nominal bandwidth. Uses no fitted constants. */
dt_core_price dt_core_roofline(const dt_core *c, const dt_cost *work);

/* Returns the bytes of a concrete type in HBM, with the padding of the chip's tiles. */
int64_t dt_padded_bytes(const dt_type *t);

#endif

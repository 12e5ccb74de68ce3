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

/* What the estimates call a device: one core of a chip, or several that work as one. */
typedef struct dt_core {
    const dt_chip *chip;
    int cores; /* number of TensorCores that are one device: 2 with megacore */
    /* The part of the rate of single products that matrix units sustain; 0: all of it. */
    double sustained;
} dt_core;

/* Returns a device of a slice during a training step. */
dt_core dt_core_of(const dt_topology *t);

/* The time of a kernel, and its parts. Matrix units, memory and vector units work in parallel, so
 * `seconds` is launch_s plus dt_core_norm of the three other parts, which is little more than the
 * longest of them; in the result of dt_core_roofline it is the longest of them. */
typedef struct dt_core_price {
    double seconds; /* seconds of the whole kernel */
    /* seconds that the matrix units, the memory and the vector units would need alone */
    double matrix_s, memory_s, vector_s;
    /* Seconds until the kernel runs, plus those of the first reads and last writes, which overlap
     * with nothing; 0 in the result of dt_core_roofline. */
    double launch_s;
} dt_core_price;

/* Estimates the time of one kernel: an op, or several fused ops. The bytes in `work` are those of
 * the kernel's inputs and results. A kernel that has neither products nor vector operations nor
 * bytes takes no time. For a device of a cluster, the result is that of dt_core_roofline. */
dt_core_price dt_core_time(const dt_core *c, const dt_cost *work);
/* Returns the least time that the chip's tables allow: the longest of FLOPs divided by the peak
 * rate (the int8 rate if it is higher and some product has 8-bit operands), bytes divided by the
 * nominal bandwidth, and vector operations divided by the rate of the vector units. No constant is
 * fitted, except dt_kernel_rates.alus in that last rate. */
dt_core_price dt_core_roofline(const dt_core *c, const dt_cost *work);

/* Returns the bytes of a concrete type in HBM, with the padding of the chip's tiles. */
int64_t dt_padded_bytes(const dt_type *t);
/* Returns the bytes in HBM, with padding, of an array (examples, spatial dimensions.., channels)
 * that convolutions read or write: its examples or its channels are along the lanes of tiles. */
int64_t dt_padded_image_bytes(const dt_type *t);

/* Whether the type is that of a matrix that is stored by rows, with dimension 1 along the lanes of
 * tiles, because this takes no more memory than dimension 0 along the lanes. */
bool dt_lies_in_rows(const dt_type *t);

/* ---- parts of the time of a kernel ---- */

#define DT_FIRST_BYTES 2e6 /* the most bytes that a kernel reads before it computes */
#define DT_LAST_BYTES 1e6  /* the most bytes that a kernel writes after it has computed */

/* The cycles of a product on a device whose matrix units run at their full rate: `matrix` for
 * multiplying in the matrix units, `result` for writing the results. For a product with a vector
 * that the vector units compute, `matrix` is 0 and `result` has all cycles. */
typedef struct dt_product_cycles {
    double matrix, result;
} dt_product_cycles;
dt_product_cycles dt_core_product(const dt_core *c, const dt_matrix_work *p);

/* Returns the time of three parts that run in parallel, (a^4 + b^4 + c^4)^(1/4): that of the
 * longest part, and somewhat more if two of them take similar times. */
double dt_core_norm(double a, double b, double c);

#endif

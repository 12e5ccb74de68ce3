/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation runs on, as a row says it: "v6e-256 (16x16)", "v2-8 (4x2 cores)", "v5e mesh X8
 * Y4", "tpu7x, one device = one TensorCore". */
#ifndef CMD_SIMULATOR_DEVICE_H
#define CMD_SIMULATOR_DEVICE_H

#include "cost/cost.h"
#include "topo/topo.h"

/* The chip and the sides of the mesh that a text names: "v5e mesh X8 Y4", "v6e-256 (16x16)". */
typedef struct dt_placement {
    const dt_chip *chip; /* the first one named; NULL: none */
    double side[3];      /* X, Y, Z; 0: not said */
} dt_placement;
dt_placement dt_placement_read(const char *text);

/* A device of the chip that a text names: "one TensorCore" is one, else what programs see by
 * default. False: it names none. */
bool dt_device_read(const char *text, dt_core *out);
/* The slice that a text names, or that has the chip and the mesh that it names. False: there is
 * none of that form. */
bool dt_slice_read(const char *text, dt_slice *out);
/* The dtype of a row's word, as the cost model has it: 16 bits are bfloat16. False: an unknown
 * one. */
bool dt_dtype_read(const char *text, dt_dtype *out);
/* The work of a product of (m, k) and (k, n). False: these are no sizes, below 1 or above 2^53. */
bool dt_matmul_work(dt_dtype dtype, double m, double k, double n, dt_cost *out);

#endif

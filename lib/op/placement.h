/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which logical device of a replica an op runs, without the SPMD mode. As in TensorFlow:
 *
 *   device 0 unless something else is said; `assign` moves an op, and with it those that follow an
 *   op that reads a value which is split, or on all devices, runs on all what needs no argument
 *   (constants, variables, sizes, what is made of them alone) goes where it is needed
 *
 * If inputs are on different devices, an input that was moved decides, rather than one on the
 * default device; then the larger input; then the later one.
 */
#ifndef DT_OP_PLACEMENT_H
#define DT_OP_PLACEMENT_H

#include "op/op.h"

enum { DT_EVERYWHERE = -1, DT_ANYWHERE = -2 };

typedef struct dt_placement {
    int32_t device; /* a logical device, DT_EVERYWHERE or DT_ANYWHERE */
    bool moved;     /* set by an annotation; false: by default */
    int64_t size;   /* elements of the value before broadcasting */
} dt_placement;

/* The placement of a node whose inputs have placements. */
dt_placement dt_placement_of(const dt_node *n, const dt_placement *in);
/* The placement of a value of a trace; ANYWHERE when it depends on no argument. */
dt_placement dt_placement_of_value(dt_value x);
/* x, brought to a device. */
dt_value dt_move_to(dt_value x, int device);

#endif

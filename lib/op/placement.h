/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which logical device of a replica an op runs, without the SPMD mode. As in TensorFlow:
 *
 *   An op runs on device 0 by default. `assign` moves an op, and the ops that use its result follow
 *   it. An op that reads a value which is split, or on all devices, runs on all devices. Values
 *   that depend on no argument (constants, variables, sizes and what is computed from them) are
 *   placed on the device that needs them.
 *
 * If the inputs of an op are on different devices, the op runs on the device of the input that was
 * moved by `assign`; if several or none were, on that of the largest of these inputs; of equally
 * large ones, the last.
 */
#ifndef DT_OP_PLACEMENT_H
#define DT_OP_PLACEMENT_H

#include "op/op.h"

enum { DT_EVERYWHERE = -1, DT_ANYWHERE = -2 };

typedef struct dt_placement {
    int32_t device; /* a logical device, DT_EVERYWHERE or DT_ANYWHERE */
    bool moved;     /* the placement was set by an annotation; false: it is the default */
    int64_t size;   /* the number of elements of the value before broadcasting */
} dt_placement;

/* The placement of a node whose inputs have placements. */
dt_placement dt_placement_of(const dt_node *n, const dt_placement *in);
/* The placement of a value of a trace; ANYWHERE when it depends on no argument. */
dt_placement dt_placement_of_value(dt_value x);
/* x, transferred to a device. */
dt_value dt_move_to(dt_value x, int device);

#endif

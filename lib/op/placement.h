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

/* Which logical device has a value. */
typedef struct dt_placement {
    /* number of a logical device; DT_EVERYWHERE: each has the value or a part of it; DT_ANYWHERE:
     * the device that needs it */
    int32_t device;
    bool moved;   /* the placement was set by an annotation; false: it is the default */
    int64_t size; /* the number of elements of the value before broadcasting */
} dt_placement;

/* Returns the device of a node's value, by the rules above. in: the placements of its inputs. */
dt_placement dt_placement_of(const dt_node *n, const dt_placement *in);
/* The same for a value of a trace, whose inputs it also places. The device is DT_ANYWHERE if the
 * value depends on no argument. */
dt_placement dt_placement_of_value(dt_value x);
/* x, transferred to a device. */
dt_value dt_move_to(dt_value x, int device);

#endif

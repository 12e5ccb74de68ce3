/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which logical device of a replica an op runs, without the SPMD mode. As in TensorFlow:
 *
 *   An op runs on device 0 by default. `assign` moves an op, and the ops that use its result follow
 *   it. An op that reads a value which is split, or on all devices, runs on all devices. Values
 *   without any of these annotations that depend on no argument (constants, variables, sizes and
 *   what is computed from them) are placed on the device that needs them.
 *
 * If the inputs of an op are on different devices, the op runs on the device of the largest input
 * among those that were moved by `assign`, or among all inputs if none was moved. Of equally large
 * inputs, the last one counts.
 */
#ifndef DT_OP_PLACEMENT_H
#define DT_OP_PLACEMENT_H

#include "op/op.h"

enum { DT_EVERYWHERE = -1, DT_ANYWHERE = -2 };

/* The logical device of a replica that has a value. */
typedef struct dt_placement {
    /* index of a logical device; DT_EVERYWHERE: each has the value or a part of it; DT_ANYWHERE:
     * the device that needs it */
    int32_t device;
    /* whether the placement comes from an annotation of the value, or of an input that it follows;
     * false: the op is where the default rule puts it */
    bool moved;
    int64_t size; /* number of elements of the value; of a broadcast, those of its input */
} dt_placement;

/* Returns the device of a node's value, by the rules at the top of this file. in: the placements of
 * its inputs. */
dt_placement dt_placement_of(const dt_node *n, const dt_placement *in);
/* Like dt_placement_of, for a value of a trace: first finds the placements of its inputs, and of
 * their inputs. The device is DT_ANYWHERE if the value depends neither on an argument nor on an
 * annotated value, apart from their sizes, and 0 if x is not a value of a trace. */
dt_placement dt_placement_of_value(dt_value x);
/* Returns x, transferred to a device. */
dt_value dt_move_to(dt_value x, int device);

#endif

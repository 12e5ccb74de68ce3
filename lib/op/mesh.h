/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meshes and layouts: how a value is divided over the devices that compute one program.
 *
 * The devices form a mesh with axes, the first one major: device 5 of a mesh [2, 4] is at (1, 1). A
 * layout says for every dimension of a value which axes cut it; devices along the other axes hold
 * copies, or terms of a partial value, unless only one device holds the value. If several axes cut
 * one dimension, the first is major, so that a part is contiguous and its number is the rank of the
 * device among those axes.
 *
 *     mesh [2, 4], f32[8,12] with axes {0} on dimension 1:   devices 0..3 hold [:, 0:6],
 *                                                            devices 4..7 hold [:, 6:12]
 *
 * A value is PARTIAL over axes when the devices along them hold terms of it: the value is the sum
 * (or the maximum, or the minimum) of these terms.
 *
 * MICRO-BATCHES are one more axis, the first: it cuts the batch in time instead of over devices. A
 * device computes one part after the other; a sum along this axis is an accumulation, and nothing
 * is sent.
 *
 * The batch: while a program is divided over devices, a size -k in a type stands for k * B / parts
 * rows. `parts` is the product of the sizes of all axes that cut the batch of some value, so that
 * every part of the batch can be expressed. A whole dimension of k * B rows is then -k * parts.
 */
#ifndef DT_OP_MESH_H
#define DT_OP_MESH_H

#include "graph/graph.h"

/* enough for a slice of 9,216 chips with two cores each, whose number of devices has 13 prime
 * factors, and for micro-batches */
enum { DT_MAX_AXES = 20 };

/* A set of axes of the mesh: bit a is axis a. */
typedef uint32_t dt_mesh_axes;

typedef struct dt_mesh {
    int32_t n;
    int32_t size[DT_MAX_AXES]; /* size of each axis; unused ones are 0 */
    /* the innermost axes, along which the replicas are, if there is more than one replica; 0
     * otherwise */
    dt_mesh_axes replicas;
    /* the axis along which micro-batches lie, if there is more than one; 0 otherwise */
    dt_mesh_axes time;
} dt_mesh;

/* Returns the number of devices, each of them counted once for each micro-batch. */
int dt_mesh_devices(const dt_mesh *m);
int dt_mesh_logical(const dt_mesh *m); /* the number of devices of a replica */
/* Returns the number of parts that these axes make: the product of their sizes. */
int dt_mesh_parts(const dt_mesh *m, dt_mesh_axes axes);
/* Returns the rank of the device among those that differ from it in `axes` only. */
int dt_mesh_rank(const dt_mesh *m, int device, dt_mesh_axes axes);
/* Returns the device with rank `rank` among those that differ from `device` in `axes` only. */
int dt_mesh_peer(const dt_mesh *m, int device, dt_mesh_axes axes, int rank);
/* prints the indices of the axes: "{0,2}" */
void dt_mesh_print_axes(dt_mesh_axes axes, dt_str *out);

typedef struct dt_layout {
    dt_mesh_axes axes[DT_MAX_RANK];
    dt_mesh_axes partial;
    /* for a partial value: the dt_reduce_kind by which devices' terms are combined; also DT_INSIDE
     * (pass/spmd.h) */
    int32_t kind;
    /* 1 + the only logical device that holds the value; 0: all devices hold it or a part of it */
    int32_t on;
} dt_layout;

bool dt_layout_equal(const dt_layout *a, const dt_layout *b);
/* Returns the axes that cut at least one dimension. */
dt_mesh_axes dt_layout_axes(const dt_layout *l);
/* Returns the type of a device's part of a value of type `whole`. The comment at the top of this
 * file explains `parts`. */
dt_type dt_layout_type(const dt_type *whole, const dt_layout *l, const dt_mesh *m, int64_t parts);
/* Prints the axes that cut each dimension, "[-, {0}, {1,2}]", or "whole" if none is cut; then ",
 * partial sum over {0}" if the value is partial. */
void dt_layout_print(const dt_layout *l, int rank, dt_str *out);

#endif

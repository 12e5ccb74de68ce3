/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where devices lie in the mesh of a slice, and which of them a replica has: numbers and names, without anything that runs.
 */
#ifndef DTRAIN_TOPOLOGY_H
#define DTRAIN_TOPOLOGY_H

#include "base.h"

DT_BEGIN_C

/* ---- topologies and device assignments ---------------------------------------------------------------------------- */

typedef struct dt_topology dt_topology;
typedef struct dt_device_assignment dt_device_assignment;

/* tf.tpu.experimental.Topology: which device of which task (host) lies where in the mesh of a slice. Coordinates are (x, y, z, core).
 * Topologies and assignments are counted and never change. */
typedef struct dt_topology_options {
    const int64_t *mesh_shape;         /* mesh_rank sizes: x, y, z, core; each at least 1 */
    int mesh_rank;                     /* 4 */
    const int64_t *device_coordinates; /* (tasks, devices of a task, 4), row-major; of devices at one place the last counts */
    const int64_t *coordinates_shape;  /* coordinates_rank sizes: tasks, devices of a task, 4 */
    int coordinates_rank;              /* 3 */
} dt_topology_options;
/* ValueError: a shape of another form. IndexError: coordinates outside the mesh. */
DT_API dt_status *dt_topology_create(dt_topology **out, const dt_topology_options *options) DT_CHECKED;
/* From TopologyProto bytes. DecodeError: no such message; ValueError: what it says is no topology. */
DT_API dt_status *dt_topology_parse(dt_topology **out, const void *serialized, size_t size) DT_CHECKED;
DT_API void dt_topology_unref(dt_topology *t);
/* As TopologyProto bytes, lent: those it was parsed from, or new ones. */
DT_API const void *dt_topology_serialized(const dt_topology *t, size_t *size);
DT_API void dt_topology_mesh_shape(const dt_topology *t, int shape[4]); /* zeros for NULL */
DT_API int dt_topology_tasks(const dt_topology *t);          /* num_tasks */
DT_API int dt_topology_tpus_per_task(const dt_topology *t);  /* num_tpus_per_task */
/* The i-th place of the mesh, counted row-major, that has no device; false: there are no more. */
DT_API bool dt_topology_missing_device(const dt_topology *t, int i, int coordinates[4]);
/* device_coordinates[task][device]; false: no such device. */
DT_API bool dt_topology_device_coordinates(const dt_topology *t, int task, int device, int coordinates[4]);
/* At coordinates: IndexError outside the mesh and where a device is missing. */
DT_API dt_status *dt_topology_task_ordinal(const dt_topology *t, const int coordinates[4], int *task) DT_CHECKED;
DT_API dt_status *dt_topology_tpu_ordinal(const dt_topology *t, const int coordinates[4], int *device) DT_CHECKED; /* within its task */
/* "/job:worker/task:0/device:TPU:3", and "/job:worker/task:0/device:CPU:0" of its host; job NULL: "/task:0/...". The caller frees *name. */
DT_API dt_status *dt_topology_tpu_device(const dt_topology *t, const int coordinates[4], const char *job, char **name) DT_CHECKED;
DT_API dt_status *dt_topology_cpu_device(const dt_topology *t, const int coordinates[4], const char *job, char **name) DT_CHECKED;

/* tf.tpu.experimental.DeviceAssignment: where the logical devices of each replica lie. How replicas and their logical devices follow each other: round rings of neighbours where these are possible, rings or an error, or in
 * the order of coordinates. */
typedef enum dt_device_order { DT_ORDER_AUTO, DT_ORDER_RING, DT_ORDER_MESH } dt_device_order;
typedef struct dt_device_assignment_options {
    const int64_t *computation_shape;  /* shape_rank sizes, the block of cores of a replica: x, y, z, core; NULL: ones */
    int shape_rank;                    /* 4 */
    const int64_t *computation_stride; /* stride_rank steps between them; NULL: ones */
    int stride_rank;                   /* 4 */
    int64_t num_replicas;              /* 0: none, an empty assignment */
    dt_device_order device_order_mode;
} dt_device_assignment_options;
/* DeviceAssignment.build; options NULL: one replica of one core. ValueError: lists that are not 4 numbers of at least 1, a block that does
 * not fit the mesh, more replicas than fit, rings that are not possible. AssertionError: devices are missing where all are needed. */
DT_API dt_status *dt_device_assignment_build(dt_device_assignment **out, const dt_topology *topology,
                                             const dt_device_assignment_options *options) DT_CHECKED;
/* Core by core: core_assignment is (replicas, logical devices, 4), row-major; `shape` has these `rank` (3) sizes. ValueError: another shape.
 * IndexError: no core there. */
DT_API dt_status *dt_device_assignment_create(dt_device_assignment **out, const dt_topology *topology, const int64_t *core_assignment,
                                              const int64_t *shape, int rank) DT_CHECKED;
DT_API void dt_device_assignment_unref(dt_device_assignment *a);
DT_API const dt_topology *dt_device_assignment_topology(const dt_device_assignment *a); /* lent */
DT_API int dt_device_assignment_replicas(const dt_device_assignment *a);        /* num_replicas */
DT_API int dt_device_assignment_logical_devices(const dt_device_assignment *a); /* num_cores_per_replica */
/* Of a replica's logical device. IndexError: no such replica or logical device. */
DT_API dt_status *dt_device_assignment_coordinates(const dt_device_assignment *a, int replica, int logical, int coordinates[4]) DT_CHECKED;
DT_API dt_status *dt_device_assignment_tpu_ordinal(const dt_device_assignment *a, int replica, int logical, int *device) DT_CHECKED;
/* Names as dt_topology_tpu_device has them; the caller frees *name. */
DT_API dt_status *dt_device_assignment_tpu_device(const dt_device_assignment *a, int replica, int logical, const char *job,
                                                  char **name) DT_CHECKED;
DT_API dt_status *dt_device_assignment_host_device(const dt_device_assignment *a, int replica, int logical, const char *job,
                                                   char **name) DT_CHECKED;
/* The replicas whose logical device lies in the task, ascending: *n of them, in replicas, which has room for all replicas. ValueError: none. */
DT_API dt_status *dt_device_assignment_lookup_replicas(const dt_device_assignment *a, int task, int logical, int *replicas, int *n) DT_CHECKED;

DT_END_C

#endif

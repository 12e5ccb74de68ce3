/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinates of devices in the mesh of a slice, and the devices of each replica. These are
 * numbers and names only; nothing here computes.
 */
#ifndef DTRAIN_TOPOLOGY_H
#define DTRAIN_TOPOLOGY_H

#include "base.h"

DT_BEGIN_C

/* ---- topologies and device assignments ---- */

typedef struct dt_topology dt_topology;
typedef struct dt_device_assignment dt_device_assignment;

/* tf.tpu.experimental.Topology: the coordinates (x, y, z, core) of each device of each task (host)
 * in the mesh of a slice. Topologies and assignments are reference-counted and immutable. */
typedef struct dt_topology_options {
    const int64_t *mesh_shape; /* mesh_rank sizes: x, y, z, core; each at least 1 */
    int mesh_rank;             /* length of mesh_shape: 4 */
    /* (tasks, devices of a task, 4), row-major; if devices share coordinates, the last one
     * counts */
    const int64_t *device_coordinates;
    const int64_t *coordinates_shape; /* coordinates_rank sizes: tasks, devices of a task, 4 */
    int coordinates_rank;             /* length of coordinates_shape: 3 */
} dt_topology_options;
/* Creates a topology. ValueError: shapes other than those in dt_topology_options, or more than 2^24
 * positions or devices. IndexError: coordinates outside the mesh. */
DT_API dt_status *dt_topology_create(dt_topology **out,
                                     const dt_topology_options *options) DT_CHECKED;
/* Reads TopologyProto bytes. DecodeError: not such a message. ValueError: the message does not
 * describe a valid topology. */
DT_API dt_status *dt_topology_parse(dt_topology **out, const void *serialized,
                                    size_t size) DT_CHECKED;
DT_API void dt_topology_unref(dt_topology *t);
/* The topology as TopologyProto bytes (those it was parsed from, if any); lent. */
DT_API const void *dt_topology_serialized(const dt_topology *t, size_t *size);
DT_API void dt_topology_mesh_shape(const dt_topology *t, int shape[4]); /* all 0 for NULL */
DT_API int dt_topology_tasks(const dt_topology *t);                     /* TensorFlow's num_tasks */
DT_API int dt_topology_tpus_per_task(const dt_topology *t); /* TensorFlow's num_tpus_per_task */
/* The i-th position of the mesh, in row-major order, that has no device; false: at most i positions
 * have no device. */
DT_API bool dt_topology_missing_device(const dt_topology *t, int i, int coordinates[4]);
/* device_coordinates[task][device]; false: no such device. */
DT_API bool dt_topology_device_coordinates(const dt_topology *t, int task, int device,
                                           int coordinates[4]);
/* The task, or the device within its task, at given coordinates. IndexError: they are outside the
 * mesh, or the device there is missing. */
DT_API dt_status *dt_topology_task_ordinal(const dt_topology *t, const int coordinates[4],
                                           int *task) DT_CHECKED;
DT_API dt_status *dt_topology_tpu_ordinal(const dt_topology *t, const int coordinates[4],
                                          int *device) DT_CHECKED;
/* The name of the device at given coordinates, "/job:worker/task:0/device:TPU:3", or of its host's
 * CPU, "/job:worker/task:0/device:CPU:0". With job NULL the name begins with "/task:0". The caller
 * frees *name. */
DT_API dt_status *dt_topology_tpu_device(const dt_topology *t, const int coordinates[4],
                                         const char *job, char **name) DT_CHECKED;
DT_API dt_status *dt_topology_cpu_device(const dt_topology *t, const int coordinates[4],
                                         const char *job, char **name) DT_CHECKED;

/* tf.tpu.experimental.DeviceAssignment: the coordinates of each replica's logical devices. Replicas
 * and their logical devices are ordered as follows. AUTO: in rings of neighbours where possible.
 * RING: in rings, or it is an error. MESH: by coordinates. */
typedef enum dt_device_order { DT_ORDER_AUTO, DT_ORDER_RING, DT_ORDER_MESH } dt_device_order;
typedef struct dt_device_assignment_options {
    /* shape_rank sizes: the block of cores of a replica, x, y, z, core; NULL: all 1 */
    const int64_t *computation_shape;
    int shape_rank;                    /* length of computation_shape: 4 */
    const int64_t *computation_stride; /* stride_rank steps between these cores; NULL: all 1 */
    int stride_rank;                   /* length of computation_stride: 4 */
    int64_t num_replicas;              /* number of replicas; 0: an empty assignment */
    dt_device_order device_order_mode;
} dt_device_assignment_options;
/* DeviceAssignment.build; options NULL: one replica with one core. ValueError: a list is not 4
 * numbers of at least 1, the block or the replicas do not fit the mesh, or rings are not possible.
 * If the topology lacks devices, a replica is not a block, but consecutive devices in the order of
 * tasks, whatever device_order_mode is. AssertionError: there are not enough of them, or a stride
 * is not 1. */
DT_API dt_status *
dt_device_assignment_build(dt_device_assignment **out, const dt_topology *topology,
                           const dt_device_assignment_options *options) DT_CHECKED;
/* Creates an assignment core by core. core_assignment has shape (replicas, logical devices, 4),
 * row-major; shape[rank] holds these sizes, with rank 3. ValueError: a different shape. IndexError:
 * no core at these coordinates. */
DT_API dt_status *dt_device_assignment_create(dt_device_assignment **out,
                                              const dt_topology *topology,
                                              const int64_t *core_assignment, const int64_t *shape,
                                              int rank) DT_CHECKED;
DT_API void dt_device_assignment_unref(dt_device_assignment *a);
DT_API const dt_topology *dt_device_assignment_topology(const dt_device_assignment *a); /* lent */
DT_API int
dt_device_assignment_replicas(const dt_device_assignment *a); /* TensorFlow's num_replicas */
/* TensorFlow's num_cores_per_replica */
DT_API int dt_device_assignment_logical_devices(const dt_device_assignment *a);
/* The coordinates of a replica's logical device, or its number within its task. IndexError: no such
 * replica or logical device. */
DT_API dt_status *dt_device_assignment_coordinates(const dt_device_assignment *a, int replica,
                                                   int logical, int coordinates[4]) DT_CHECKED;
DT_API dt_status *dt_device_assignment_tpu_ordinal(const dt_device_assignment *a, int replica,
                                                   int logical, int *device) DT_CHECKED;
/* The name of a replica's logical device, or of its host's CPU, as in dt_topology_tpu_device. The
 * caller frees *name. */
DT_API dt_status *dt_device_assignment_tpu_device(const dt_device_assignment *a, int replica,
                                                  int logical, const char *job,
                                                  char **name) DT_CHECKED;
DT_API dt_status *dt_device_assignment_host_device(const dt_device_assignment *a, int replica,
                                                   int logical, const char *job,
                                                   char **name) DT_CHECKED;
/* The replicas that have the given logical device in the given task, in ascending order. `replicas`
 * must have room for all replicas; *n is how many were found. ValueError: no replica was found. */
DT_API dt_status *dt_device_assignment_lookup_replicas(const dt_device_assignment *a, int task,
                                                       int logical, int *replicas,
                                                       int *n) DT_CHECKED;

DT_END_C

#endif

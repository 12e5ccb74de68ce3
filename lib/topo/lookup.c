/* SPDX-License-Identifier: Apache-2.0 */
/* Queries on topologies and assignments, named as in tf.tpu.experimental: ordinals, coordinates,
 * device names. */
#include <string.h>

#include "base/arena.h"
#include "topo/topo.h"

/* ---- topologies ---- */

DT_API void dt_topology_mesh_shape(const dt_topology *t, int shape[4]) {
    DT_LIVE(t);
    static const int none[4];
    if (shape) memcpy(shape, t ? t->mesh : none, sizeof none);
}

DT_API int dt_topology_tasks(const dt_topology *t) { return DT_LIVE(t) ? t->tasks : 0; }

DT_API int dt_topology_tpus_per_task(const dt_topology *t) { return DT_LIVE(t) ? t->devices : 0; }

DT_API bool dt_topology_device_coordinates(const dt_topology *t, int task, int device,
                                           int coordinates[4]) {
    DT_LIVE(t);
    if (!t || !coordinates || task < 0 || task >= t->tasks || device < 0 || device >= t->devices)
        return false;
    memcpy(coordinates, t->coordinates[(size_t)task * (size_t)t->devices + (size_t)device],
           sizeof(dt_coords));
    return true;
}

static void place_at(const dt_topology *t, int index, int coordinates[4]) {
    for (int k = 3; k >= 0; k--) {
        coordinates[k] = index % t->mesh[k];
        index /= t->mesh[k];
    }
}

DT_API bool dt_topology_missing_device(const dt_topology *t, int i, int coordinates[4]) {
    DT_LIVE(t);
    if (!t || !coordinates || i < 0 || i >= t->missing) return false;
    place_at(t, t->missing_place[i], coordinates);
    return true;
}

static dt_status *outside(const dt_topology *t, const int at[4], int axis) {
    return dt_fail(DT_E_COORDINATES, NULL,
                   "coordinates %s are outside the mesh, where axis %d has size %d",
                   dt_text_of_4(at).s, axis, t->mesh[axis]);
}

static dt_status *check_at(const dt_topology *t, const int at[4]) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_topology_given(t));
    if (!at)
        return dt_fail(DT_E_COORDINATES, NULL,
                       "no coordinates were given; they are [x, y, z, core]");
    for (int k = 0; k < 4; k++)
        if (at[k] < 0 || at[k] >= t->mesh[k]) return outside(t, at, k);
    if (dt_topology_has(t, at)) return NULL;
    return dt_fail(DT_E_COORDINATES, NULL, "no device at %s: it is missing from the topology",
                   dt_text_of_4(at).s);
}

DT_API dt_status *dt_topology_task_ordinal(const dt_topology *t, const int coordinates[4],
                                           int *task) {
    DT_LIVE(t);
    DT_TRY(check_at(t, coordinates));
    DT_TRY(dt_want(task, "dt_topology_task_ordinal", "place for the task"));
    *task = dt_topology_task(t, coordinates);
    return NULL;
}

DT_API dt_status *dt_topology_tpu_ordinal(const dt_topology *t, const int coordinates[4],
                                          int *device) {
    DT_LIVE(t);
    DT_TRY(check_at(t, coordinates));
    DT_TRY(dt_want(device, "dt_topology_tpu_ordinal", "place for the device"));
    *device = dt_topology_device(t, coordinates);
    return NULL;
}

static dt_status *name_at(const dt_topology *t, const int at[4], const char *job, bool host,
                          char **name) {
    dt_str text = {0};
    DT_TRY(check_at(t, at));
    DT_TRY(dt_want(name, "a call for a device", "place for its name"));
    if (job) dt_str_printf(&text, "/job:%s", job);
    dt_str_printf(&text, "/task:%d/device:%s:%d", dt_topology_task(t, at), host ? "CPU" : "TPU",
                  host ? 0 : dt_topology_device(t, at));
    *name = dt_str_take(&text);
    return NULL;
}

DT_API dt_status *dt_topology_tpu_device(const dt_topology *t, const int coordinates[4],
                                         const char *job, char **name) {
    DT_LIVE(t);
    return name_at(t, coordinates, job, false, name);
}

DT_API dt_status *dt_topology_cpu_device(const dt_topology *t, const int coordinates[4],
                                         const char *job, char **name) {
    DT_LIVE(t);
    return name_at(t, coordinates, job, true, name);
}

/* ---- assignments ---- */

static dt_status *no_assignment(void) {
    return dt_fail(DT_E_TOPOLOGY, NULL,
                   "no device assignment was given; make one with dt_device_assignment_build");
}

/* Sets *at to the coordinates of a logical device, which belong to the assignment. Fails with
 * TOPOLOGY if `a` is NULL, with COORDINATES if the replica or the logical device does not exist,
 * and with an error that was kept earlier (dt_status_kept). */
static dt_status *find(const dt_device_assignment *a, int replica, int logical, const int **at) {
    DT_TRY(dt_status_kept());
    if (!a) return no_assignment();
    if (replica < 0 || replica >= a->replicas)
        return dt_fail(DT_E_COORDINATES, NULL, "no replica %d: the assignment has %d", replica,
                       a->replicas);
    if (logical < 0 || logical >= a->logical)
        return dt_fail(DT_E_COORDINATES, NULL, "no logical device %d: a replica has %d", logical,
                       a->logical);
    *at = dt_assignment_at(a, replica, logical);
    return NULL;
}

DT_API const dt_topology *dt_device_assignment_topology(const dt_device_assignment *a) {
    return DT_LIVE(a) ? a->topology : NULL;
}

DT_API int dt_device_assignment_replicas(const dt_device_assignment *a) {
    return DT_LIVE(a) ? a->replicas : 0;
}

DT_API int dt_device_assignment_logical_devices(const dt_device_assignment *a) {
    return DT_LIVE(a) ? a->logical : 0;
}

DT_API dt_status *dt_device_assignment_coordinates(const dt_device_assignment *a, int replica,
                                                   int logical, int coordinates[4]) {
    DT_LIVE(a);
    const int *at = NULL;
    DT_TRY(find(a, replica, logical, &at));
    DT_TRY(dt_want(coordinates, "dt_device_assignment_coordinates", "place for the coordinates"));
    memcpy(coordinates, at, sizeof(dt_coords));
    return NULL;
}

DT_API dt_status *dt_device_assignment_tpu_ordinal(const dt_device_assignment *a, int replica,
                                                   int logical, int *device) {
    DT_LIVE(a);
    const int *at = NULL;
    DT_TRY(find(a, replica, logical, &at));
    return dt_topology_tpu_ordinal(a->topology, at, device);
}

DT_API dt_status *dt_device_assignment_tpu_device(const dt_device_assignment *a, int replica,
                                                  int logical, const char *job, char **name) {
    DT_LIVE(a);
    const int *at = NULL;
    DT_TRY(find(a, replica, logical, &at));
    return name_at(a->topology, at, job, false, name);
}

DT_API dt_status *dt_device_assignment_host_device(const dt_device_assignment *a, int replica,
                                                   int logical, const char *job, char **name) {
    DT_LIVE(a);
    const int *at = NULL;
    DT_TRY(find(a, replica, logical, &at));
    return name_at(a->topology, at, job, true, name);
}

DT_API dt_status *dt_device_assignment_lookup_replicas(const dt_device_assignment *a, int task,
                                                       int logical, int *replicas, int *n) {
    DT_LIVE(a);
    DT_TRY(dt_status_kept());
    if (!a) return no_assignment();
    DT_TRY(dt_want(replicas, "dt_device_assignment_lookup_replicas", "place for the replicas"));
    DT_TRY(dt_want(n, "dt_device_assignment_lookup_replicas", "place for their number"));
    *n = dt_assignment_lookup(a, a->topology, task, logical, replicas);
    if (*n > 0) return NULL;
    return dt_fail(DT_E_LOGICAL_DEVICE, NULL, "no replica has its logical device %d in task %d",
                   logical, task);
}

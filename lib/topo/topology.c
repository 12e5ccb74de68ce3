/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies, given or of a slice: the coordinates of each host's devices. In a slice, a host has a
 * block of neighbouring chips. Hosts are numbered along x first, then y, then z, and so are the
 * chips of a host. On v3-32 (4 x 4 chips), host 0 has the chips
 *
 *     (0,0) (1,0) (0,1) (1,1)        host 1 starts at (2,0), host 2 at (0,2)
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "topo/topo.h"
#include "topo/topo_impl.h"

enum { MOST_PLACES = 1 << 24 };

static int place_index(const int mesh[4], const int at[4]) {
    return ((at[0] * mesh[1] + at[1]) * mesh[2] + at[2]) * mesh[3] + at[3];
}

static int places(const int mesh[4]) { return mesh[0] * mesh[1] * mesh[2] * mesh[3]; }

/* ---- creating and releasing ---- */

static dt_status *bad_mesh(const dt_topology_options *o, const char *what) {
    return dt_fail(DT_E_TOPOLOGY, NULL, "mesh_shape %s, got %s", what,
                   dt_text_of_list(o->mesh_shape, dt_min(o->mesh_rank, 8)).s);
}

/* Returns the number of positions in a mesh with these sizes, each at least 1. Returns 0 if there
 * are too many. */
static int topology_places(const int64_t mesh[4]) {
    int64_t product = 1;
    for (int i = 0; i < 4; i++)
        if (!dt_mul_fits(product, mesh[i], &product) || product > MOST_PLACES) return 0;
    return (int)product;
}

static dt_status *check_mesh(const dt_topology_options *o) {
    if (o->mesh_rank != 4) return bad_mesh(o, "must be 4 positive numbers");
    for (int i = 0; i < 4; i++)
        if (o->mesh_shape[i] < 1) return bad_mesh(o, "must be 4 positive numbers");
    return topology_places(o->mesh_shape) ? NULL : bad_mesh(o, "is too large");
}

/* Checks coordinates_shape. Fails with TOPOLOGY unless it is [tasks][devices of a task][4] with at
 * most MOST_PLACES devices in all. */
static dt_status *check_shape(const dt_topology_options *o) {
    const int64_t *shape = o->coordinates_shape;
    int64_t devices;
    if (o->coordinates_rank != 3 || shape[2] != 4) {
        return dt_fail(DT_E_TOPOLOGY, NULL,
                       "device_coordinates must have the 3 dimensions [tasks, devices of a task, "
                       "4 coordinates in the mesh %s], got %d: %s",
                       dt_text_of_list(o->mesh_shape, 4).s, o->coordinates_rank,
                       dt_text_of_list(shape, dt_min(o->coordinates_rank, 8)).s);
    }
    if (shape[0] < 0 || shape[1] < 0 || !dt_mul_fits(shape[0], shape[1], &devices) ||
        devices > MOST_PLACES)
        return dt_fail(DT_E_TOPOLOGY, NULL,
                       "a topology can have 0 to %d devices, got %lld tasks with %lld each",
                       MOST_PLACES, (long long)shape[0], (long long)shape[1]);
    return NULL;
}

static dt_status *check_coordinates(const dt_topology_options *o) {
    static const char *const axis[] = {"x", "y", "z", "core"};
    const int64_t *shape = o->coordinates_shape;
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        for (int k = 0; k < 4; k++) {
            int64_t c = o->device_coordinates[4 * i + k];
            if (c < 0 || c >= o->mesh_shape[k])
                return dt_fail(DT_E_COORDINATES, NULL,
                               "device %lld of task %lld: %s %lld is outside the mesh, where axis "
                               "%d has size %lld",
                               (long long)(i % shape[1]), (long long)(i / shape[1]), axis[k],
                               (long long)c, k, (long long)o->mesh_shape[k]);
        }
    return NULL;
}

static dt_topology *allocate(const int mesh[4], int tasks, int devices) {
    dt_topology *t = dt_alloc(sizeof *t);
    t->refs = 1;
    memcpy(t->mesh, mesh, sizeof t->mesh);
    t->tasks = tasks;
    t->devices = devices;
    t->coordinates =
        dt_alloc(dt_size_mul((size_t)tasks * (size_t)devices + 1, sizeof *t->coordinates));
    t->place = dt_alloc(dt_size_mul((size_t)places(mesh), sizeof *t->place));
    return t;
}

/* Fills t->place, which device is at each position, and t->missing_place, the positions without
 * one. If several devices have the same coordinates, the last one is used, as in TensorFlow. */
static void index_places(dt_topology *t) {
    int n = places(t->mesh);
    for (int i = 0; i < n; i++) t->place[i] = -1;
    for (int i = 0; i < t->tasks * t->devices; i++)
        t->place[place_index(t->mesh, t->coordinates[i])] = i;
    for (int i = 0; i < n; i++) t->missing += t->place[i] < 0;
    t->missing_place = dt_alloc(dt_size_mul((size_t)t->missing, sizeof *t->missing_place));
    for (int i = 0, k = 0; i < n; i++)
        if (t->place[i] < 0) t->missing_place[k++] = i;
}

/* Checks that the options and their lists are given. Fails with TOPOLOGY if `o`, or a list whose
 * rank is not 0, is NULL, or a rank is negative. */
static dt_status *check_given(const dt_topology_options *o) {
    if (!o || (!o->mesh_shape && o->mesh_rank != 0) || o->mesh_rank < 0)
        return dt_fail(DT_E_TOPOLOGY, NULL, "mesh_shape must be 4 positive numbers, got none");
    if (o->coordinates_rank < 0 || (!o->coordinates_shape && o->coordinates_rank != 0) ||
        (o->coordinates_rank && !o->device_coordinates))
        return dt_fail(
            DT_E_TOPOLOGY, NULL,
            "device_coordinates must be given, with their shape [tasks, devices of a task, 4]");
    return NULL;
}

DT_API dt_status *dt_topology_create(dt_topology **out, const dt_topology_options *o) {
    DT_REQUIRE({out, "place for the topology"});
    DT_TRY(check_given(o));
    DT_TRY(check_mesh(o));
    DT_TRY(check_shape(o));
    DT_TRY(check_coordinates(o));
    const int mesh[4] = {(int)o->mesh_shape[0], (int)o->mesh_shape[1], (int)o->mesh_shape[2],
                         (int)o->mesh_shape[3]};
    dt_topology *t = allocate(mesh, (int)o->coordinates_shape[0], (int)o->coordinates_shape[1]);
    for (int i = 0; i < t->tasks * t->devices; i++)
        for (int k = 0; k < 4; k++)
            t->coordinates[i][k] = (int)o->device_coordinates[4 * (int64_t)i + k];
    index_places(t);
    dt_topology_write(t, &t->serialized);
    dt_topology_unref(*out);
    *out = t;
    return NULL;
}

/* Writes the coordinates of one host's devices to `out`: core varies fastest, then x, y, z within
 * its block of chips, which has host[0] x host[1] x host[2] chips and begins at the chip `first`.
 * Each chip has `cores` devices. */
static void fill_host(const int first[3], const int host[3], int cores, dt_coords *out) {
    for (int z = 0; z < host[2]; z++)
        for (int y = 0; y < host[1]; y++)
            for (int x = 0; x < host[0]; x++)
                for (int core = 0; core < cores; core++, out++)
                    memcpy(*out, (dt_coords){first[0] + x, first[1] + y, first[2] + z, core},
                           sizeof *out);
}

dt_topology *dt_topology_of_slice(const dt_slice *s) {
    return dt_topology_of_cores(s, s->chip->devices);
}

dt_topology *dt_topology_of_cores(const dt_slice *s, int cores) {
    const int mesh[4] = {s->chips[0], s->chips[1], s->chips[2], cores};
    int host[3], hosts[3];
    dt_slice_host(s, host);
    /* The division is exact, since all slices consist of whole hosts. */
    for (int axis = 0; axis < 3; axis++) hosts[axis] = s->chips[axis] / host[axis];
    int devices = host[0] * host[1] * host[2] * cores;
    dt_topology *t = allocate(mesh, hosts[0] * hosts[1] * hosts[2], devices);
    t->own = *s;
    t->slice = &t->own;
    t->distance = s->twisted ? dt_topology_distances(t) : NULL;
    for (int task = 0; task < t->tasks; task++) {
        const int at[3] = {task % hosts[0], task / hosts[0] % hosts[1], task / hosts[0] / hosts[1]};
        fill_host((int[3]){at[0] * host[0], at[1] * host[1], at[2] * host[2]}, host, cores,
                  &t->coordinates[(size_t)task * (size_t)devices]);
    }
    index_places(t);
    dt_topology_write(t, &t->serialized);
    return t;
}

dt_topology *dt_topology_ref(const dt_topology *t) {
    /* The cast drops const, because the references of a constant topology are counted, too. */
    dt_topology *counted = (dt_topology *)t;
    counted->refs++;
    return counted;
}

DT_API void dt_topology_unref(dt_topology *t) {
    if (!DT_LAST(t)) return;
    dt_str_release(&t->serialized);
    free(t->coordinates);
    free(t->place);
    free(t->missing_place);
    free(t->distance);
    DT_RETIRE(t);
}

/* ---- queries and texts ---- */

int dt_topology_cores(const dt_topology *t) { return places(t->mesh) - t->missing; }

int dt_topology_device_cores(const dt_topology *t) { return t->slice->chip->cores / t->mesh[3]; }

bool dt_topology_has(const dt_topology *t, const dt_coords at) {
    for (int k = 0; k < 4; k++)
        if (at[k] < 0 || at[k] >= t->mesh[k]) return false;
    return t->place[place_index(t->mesh, at)] >= 0;
}

int dt_topology_task(const dt_topology *t, const dt_coords at) {
    return t->place[place_index(t->mesh, at)] / t->devices;
}

int dt_topology_device(const dt_topology *t, const dt_coords at) {
    return t->place[place_index(t->mesh, at)] % t->devices;
}

int dt_topology_id(const dt_topology *t, const dt_coords at) {
    return at[3] + t->mesh[3] * (at[0] + t->mesh[0] * (at[1] + t->mesh[1] * at[2]));
}

const char *dt_topology_name(const dt_topology *t) {
    return t->slice ? t->slice->name : "this topology";
}

void dt_list_print(dt_str *out, const int64_t *v, int n) {
    dt_str_putc(out, '[');
    for (int i = 0; i < n; i++) dt_str_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
    dt_str_putc(out, ']');
}

void dt_list_print_4(dt_str *out, const int v[4]) {
    dt_list_print(out, (int64_t[4]){v[0], v[1], v[2], v[3]}, 4);
}

dt_text dt_text_of_list(const int64_t *v, int n) {
    dt_str s = {0};
    dt_list_print(&s, v, n);
    return dt_text_take(&s);
}

dt_text dt_text_of_4(const int v[4]) {
    dt_str s = {0};
    dt_list_print_4(&s, v);
    return dt_text_take(&s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints a slice as JSON for programs: `dtrain topology --json`. Devices are ordered by host and,
 * within a host, by id.
 */

#include "base/arena.h"
#include "base/json.h"
#include "topo/topo.h"

static void put_ints(dt_json *j, const char *key, const int *v, int n) {
    dt_json_open(j, key, '[');
    for (int i = 0; i < n; i++) dt_json_int(j, NULL, v[i]);
    dt_json_close(j, ']');
}

static void put_slice(dt_json *j, const dt_topology_picture *p) {
    const dt_topology *t = p->topology;
    const dt_slice *s = t->slice;
    dt_json_string(j, "type", s->name);
    dt_json_string(j, "generation", s->chip->generation);
    dt_json_bool(j, "simulated", p->simulated);
    dt_json_int(j, "chips", dt_slice_chips(s));
    dt_json_int(j, "hosts", t->tasks);
    dt_json_int(j, "cores_per_chip", t->mesh[3]);
    put_ints(j, "mesh_shape", t->mesh, 4);
    dt_json_open(j, "wrap", '[');
    for (int axis = 0; axis < 3; axis++) dt_json_bool(j, NULL, s->wrap[axis]);
    dt_json_close(j, ']');
    dt_json_bool(j, "twisted", s->twisted);
}

static void put_device(dt_json *j, const dt_topology *t, const dt_coords at) {
    dt_json_open(j, NULL, '{');
    dt_json_int(j, "id", dt_topology_id(t, at));
    dt_json_int(j, "task", dt_topology_task(t, at));
    put_ints(j, "coords", at, 4);
    dt_json_close(j, '}');
}

static void put_devices(dt_json *j, const dt_topology *t) {
    dt_json_open(j, "devices", '[');
    for (int i = 0; i < t->tasks * t->devices; i++) put_device(j, t, t->coordinates[i]);
    dt_json_close(j, ']');
}

static void put_replicas(dt_json *j, const dt_topology *t, const dt_assignment *a) {
    dt_json_open(j, "replicas", '[');
    for (int r = 0; r < a->replicas; r++) {
        dt_json_open(j, NULL, '[');
        for (int l = 0; l < a->logical; l++)
            dt_json_int(j, NULL, dt_topology_id(t, dt_assignment_at(a, r, l)));
        dt_json_close(j, ']');
    }
    dt_json_close(j, ']');
}

void dt_topology_json(const dt_topology_picture *p, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    put_slice(&j, p);
    put_devices(&j, p->topology);
    if (p->assignment) put_replicas(&j, p->topology, p->assignment);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

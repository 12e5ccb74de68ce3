/* SPDX-License-Identifier: Apache-2.0 */
/* tf.tpu.experimental.DeviceAssignment: built or given core by core, asked for everything. */
#include "placement.h"

#include <stdlib.h>

static json_t *coordinates_of(verdict *v, const dt_device_assignment *a, int replica) {
    json_t *list = json_array();
    int at[4] = {0};

    for (int l = 0; l < dt_device_assignment_logical_devices(a); l++) {
        expect_ok(v, "coordinates", dt_device_assignment_coordinates(a, replica, l, at));
        json_array_append_new(list, json_of_ints(at, 4));
    }
    return list;
}

typedef dt_status *name_call(const dt_device_assignment *, int, int, const char *, char **);

static json_t *names_of(verdict *v, const dt_device_assignment *a, int replica, name_call *call) {
    json_t *list = json_array();

    for (int l = 0; l < dt_device_assignment_logical_devices(a); l++) {
        char *name = NULL;
        expect_ok(v, "a name", call(a, replica, l, "worker", &name));
        json_array_append_new(list, json_string(name ? name : "?"));
        free(name);
    }
    return list;
}

static json_t *ordinals_of(verdict *v, const dt_device_assignment *a, int replica) {
    json_t *list = json_array();

    for (int l = 0; l < dt_device_assignment_logical_devices(a); l++) {
        int ordinal = -1;
        expect_ok(v, "tpu_ordinal", dt_device_assignment_tpu_ordinal(a, replica, l, &ordinal));
        json_array_append_new(list, json_integer(ordinal));
    }
    return list;
}

static dt_status *lookup(const dt_device_assignment *a, const json_t *task, const json_t *logical,
                         json_t **out) {
    int *replicas = calloc((size_t)dt_device_assignment_replicas(a) + 1, sizeof *replicas), n = 0;
    dt_status *s = dt_device_assignment_lookup_replicas(
        a, (int)json_integer_value(task), (int)json_integer_value(logical), replicas, &n);

    *out = json_of_ints(replicas, s ? 0 : n);
    free(replicas);
    return s;
}

static void expect_lookups(verdict *v, const dt_device_assignment *a, const json_t *want) {
    const json_t *one;
    json_t *got;
    size_t i;

    json_array_foreach(want, i, one) {
        expect_ok(
            v, "lookup_replicas",
            lookup(a, json_object_get(one, "task"), json_object_get(one, "logical_core"), &got));
        expect_json(v, "lookup_replicas", json_object_get(one, "replicas"), got, EXACT);
    }
}

static void expect_assignment(const golden_case *c, verdict *v, const dt_device_assignment *a) {
    json_t *cores = json_array(), *tpus = json_array(), *hosts = json_array(),
           *ordinals = json_array();

    for (int r = 0; r < dt_device_assignment_replicas(a); r++) {
        json_array_append_new(cores, coordinates_of(v, a, r));
        json_array_append_new(tpus, names_of(v, a, r, dt_device_assignment_tpu_device));
        json_array_append_new(hosts, names_of(v, a, r, dt_device_assignment_host_device));
        json_array_append_new(ordinals, ordinals_of(v, a, r));
    }
    expect_int(v, "num_replicas", json_object_get(c->out, "num_replicas"),
               dt_device_assignment_replicas(a));
    expect_int(v, "num_cores_per_replica", json_object_get(c->out, "num_cores_per_replica"),
               dt_device_assignment_logical_devices(a));
    expect_json(v, "core_assignment", json_object_get(c->out, "core_assignment"), cores, EXACT);
    expect_json(v, "tpu_device", json_object_get(c->out, "tpu_device_job_worker"), tpus, EXACT);
    expect_json(v, "host_device", json_object_get(c->out, "host_device_job_worker"), hosts, EXACT);
    expect_json(v, "tpu_ordinal", json_object_get(c->out, "tpu_ordinal"), ordinals, EXACT);
    expect_lookups(v, a, json_object_get(c->out, "lookup_replicas"));
}

static void finish(const golden_case *c, verdict *v, dt_status *s, const dt_device_assignment *a) {
    if (c->error) {
        expect_error(v, s);
        return;
    }
    expect_ok(v, "making the assignment", s);
    expect_assignment(c, v, a);
}

static void run_build(const golden_case *c, verdict *v) {
    dt_topology *t = NULL;
    dt_device_assignment *a = NULL;

    expect_ok(v, "the topology", topology_of(json_object_get(c->in, "topology"), &t));
    dt_status *s = assignment_of(c->in, t, &a);
    finish(c, v, s, a);
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
}

static void run_construct(const golden_case *c, verdict *v) {
    nest core = nest_of(json_object_get(c->in, "core_assignment"));
    dt_topology *t = NULL;
    dt_device_assignment *a = NULL;

    expect_ok(v, "the topology", topology_of(json_object_get(c->in, "topology"), &t));
    dt_status *s = dt_device_assignment_create(&a, t, core.data, core.shape, core.rank);
    finish(c, v, s, a);
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
    free(core.data);
}

/* Something other than a topology: in C, NULL. */
static void run_bad_topology(const golden_case *c, verdict *v) {
    nest core = nest_of(json_object_get(c->in, "core_assignment"));
    dt_device_assignment *a = NULL;

    if (core.rank > 0)
        expect_error(v, dt_device_assignment_create(&a, NULL, core.data, core.shape, core.rank));
    else expect_error(v, assignment_of(c->in, NULL, &a));
    free(core.data);
}

static void run_lookup(const golden_case *c, verdict *v) {
    dt_topology *t = NULL;
    dt_device_assignment *a = NULL;
    json_t *got = NULL;

    expect_ok(v, "the topology", topology_of(json_object_get(c->in, "topology"), &t));
    expect_ok(v, "the assignment", assignment_of(c->in, t, &a));
    dt_status *s =
        lookup(a, json_object_get(c->in, "task_id"), json_object_get(c->in, "logical_core"), &got);
    if (c->error) {
        expect_error(v, s);
        json_decref(got);
    } else {
        expect_ok(v, "lookup_replicas", s);
        expect_json(v, "replicas", json_object_get(c->out, "replicas"), got, EXACT);
    }
    dt_device_assignment_unref(a);
    dt_topology_unref(t);
}

const golden_op device_assignment_ops[] = {
    {"device_assignment_build", run_build, NULL},
    {"device_assignment_construct", run_construct, NULL},
    {"device_assignment_build_bad_topology", run_bad_topology, NULL},
    {"device_assignment_construct_bad_topology", run_bad_topology, NULL},
    {"lookup_replicas", run_lookup, NULL},
    {NULL, NULL, NULL},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TPU strategies: places replicas on the cores of a slice, and answers queries about their devices
 * and hosts.
 *
 *     replica r, logical device l  --assignment-->  coordinates  --topology-->
 *         /job:worker/replica:0/task:T/device:TPU:D
 *
 * Logical device 0 represents its replica: it is the replica's worker device, and its host feeds
 * the replica.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/place.h"

/* ---- placing ---- */

static char *name_of(const dt_strategy *s, int task, int device) {
    dt_device_name d = {.type = DT_DEVICE_TPU, .task = task, .index = device};
    memcpy(d.job, s->resolver->job, sizeof d.job);
    return dt_full_name(&d);
}

/* Names devices by the number of their core. Coordinates would not be unique, because several
 * devices may have the same ones. */
static void name_cores(dt_strategy *s, const dt_topology *t) {
    for (int r = 0; r < s->replicas; r++)
        s->device_name[r] = name_of(s, r / t->devices, r % t->devices);
}

static void name_assigned(dt_strategy *s, const dt_topology *t) {
    s->logical = s->assignment->logical;
    s->logical_name =
        dt_alloc(dt_size_mul((size_t)s->replicas * (size_t)s->logical, sizeof *s->logical_name));
    for (int i = 0; i < s->replicas * s->logical; i++) {
        const int *at = s->assignment->core[i];
        s->logical_name[i] = name_of(s, dt_topology_task(t, at), dt_topology_device(t, at));
    }
    for (int r = 0; r < s->replicas; r++)
        s->device_name[r] = dt_strdup(s->logical_name[r * s->logical]);
}

static bool same_topology(const dt_topology *a, const dt_topology *b) {
    return a == b || (memcmp(a->mesh, b->mesh, sizeof a->mesh) == 0 && a->tasks == b->tasks &&
                      a->devices == b->devices &&
                      memcmp(a->coordinates, b->coordinates,
                             sizeof *a->coordinates * (size_t)a->tasks * (size_t)a->devices) == 0);
}

static dt_status *check_assignment(const dt_assignment *a, const dt_topology *t) {
    if (!same_topology(a->topology, t))
        return dt_fail(
            DT_E_REPLICAS, NULL,
            "the device assignment was built for a different topology than the resolver's (%s, %s)",
            dt_topology_name(a->topology), dt_topology_name(t));
    if (a->logical < 1)
        return dt_fail(DT_E_REPLICAS, NULL,
                       "the replicas of the device assignment have no logical devices");
    return NULL;
}

dt_status *dt_place_slice(dt_strategy *s, const dt_strategy_spec *spec) {
    const dt_topology *t = spec->resolver->topology;
    dt_str what = {0};

    if (!t)
        return dt_fail(DT_E_TOPOLOGY, NULL,
                       "the resolver's cluster has no TPU system; make one with dt_tpu_resolver");
    /* the cast drops const, but only the reference count changes */
    s->resolver = dt_resolver_ref((dt_resolver *)spec->resolver);
    if (spec->assignment) DT_TRY(check_assignment(spec->assignment, t));
    s->assigned = spec->assignment != NULL;
    s->assignment = s->assigned ? dt_assignment_ref(spec->assignment) : dt_assignment_each_core(t);
    if (s->assignment->replicas < 1 || s->assignment->replicas > DT_MAX_REPLICAS)
        return dt_fail(DT_E_REPLICAS, NULL,
                       "a TPU strategy can have 1 to %d replicas, but the %s %d", DT_MAX_REPLICAS,
                       s->assigned ? "device assignment has" : "topology has cores for",
                       s->assignment->replicas);
    s->replicas = s->assignment->replicas;
    s->device_name = dt_alloc(dt_size_mul((size_t)s->replicas, sizeof *s->device_name));
    s->spmd = spec->spmd;
    dt_str_printf(&what, "%s%s", s->resolver->simulated ? "sim:" : "", dt_topology_name(t));
    s->what = dt_str_take(&what);
    (s->assigned ? name_assigned : name_cores)(s, t);
    return NULL;
}

/* ---- constructors ---- */

dt_status *dt_tpu_strategy(dt_strategy **out, dt_resolver *r, const dt_tpu_options *options) {
    DT_LIVE(r);
    static const dt_tpu_options none;
    const dt_tpu_options *o = options ? options : &none;
    dt_resolver *local = NULL;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_launched_alone());
    DT_TRY(dt_want_live(o->device_assignment, "dt_tpu_strategy", "device assignment"));
    if (!r && o->device_assignment)
        DT_TRY(dt_tpu_resolver_of_topology(&local, NULL, o->device_assignment->topology));
    else if (!r) DT_TRY(dt_tpu_resolver(&local, "local"));
    dt_status *s = dt_strategy_open(out, &(dt_strategy_spec){.row = &dt_strategy_tpu,
                                                             .resolver = r ? r : local,
                                                             .assignment = o->device_assignment,
                                                             .spmd = o->spmd});
    dt_resolver_unref(local);
    return s;
}

dt_status *dt_experimental_tpu_strategy(dt_strategy **out, dt_resolver *r,
                                        const dt_device_assignment *device_assignment) {
    DT_LIVE(r);
    DT_LIVE(device_assignment);
    return dt_tpu_strategy(out, r, &(dt_tpu_options){.device_assignment = device_assignment});
}

/* ---- queries ---- */

int dt_strategy_logical_devices(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->logical : 0;
}

const dt_device_assignment *dt_strategy_device_assignment(const dt_strategy *s) {
    DT_LIVE(s);
    return s && s->assigned ? s->assignment : NULL;
}

bool dt_strategy_spmd(const dt_strategy *s) {
    DT_LIVE(s);
    return s && s->spmd;
}

dt_status *dt_strategy_logical_device(const dt_strategy *s, int replica, int logical,
                                      const char **name) {
    DT_LIVE(s);
    DT_TRY(dt_status_kept());
    if (!s)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                       "cannot look up a logical device: no strategy was given");
    DT_TRY(dt_want(name, "dt_strategy_logical_device", "place for the name"));
    if (!dt_strategy_has_devices(s))
        return dt_fail(
            DT_E_NO_WORKER_DEVICES, NULL,
            "the default strategy has no devices; use another one, such as dt_one_device_strategy");
    if (replica < 0 || replica >= s->replicas)
        return dt_fail(DT_E_COORDINATES, NULL, "no replica %d: the strategy has %d", replica,
                       s->replicas);
    if (logical >= s->logical)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL, "no logical device %d: a replica has %d", logical,
                       s->logical);
    if (logical < -s->logical)
        return dt_fail(DT_E_COORDINATES, NULL,
                       "no logical device %d: axis 1 of [replica][logical device] has size %d",
                       logical, s->logical);
    int l = logical < 0 ? logical + s->logical : logical;
    *name = s->logical_name ? s->logical_name[replica * s->logical + l] : s->device_name[replica];
    return NULL;
}

int dt_strategy_num_hosts(const dt_strategy *s) {
    DT_LIVE(s);
    if (!s) return 0;
    return s->assignment && !s->assigned ? s->resolver->topology->tasks : s->hosts;
}

int dt_strategy_replicas_per_host(const dt_strategy *s) {
    DT_LIVE(s);
    if (!s) return 0;
    if (!s->assignment) return s->replicas / s->hosts;
    int cores = s->resolver->topology->devices;
    if (!s->assigned) return cores;
    return s->replicas < cores / s->logical ? s->replicas : cores / s->logical;
}

const char *dt_strategy_host_device(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->host_name[0] : NULL;
}

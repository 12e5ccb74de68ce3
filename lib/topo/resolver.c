/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TPUClusterResolver finds the slice of a name. "", NULL or "local" means this machine's own TPU,
 * which environment variables describe on Google Cloud. The slice is simulated unless its plug-in
 * computes (back end pjrt); the resolver keeps a sentence that says so, unless the user named the
 * slice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/environment.h"
#include "topo/topo.h"

static const char fallback[] = "v3-8";

/* What errors about the name of a slice need: the error for an unknown name, and the location of
 * the name; NULL: it has no location. */
typedef struct lookup {
    dt_error unknown;
    const dt_location *at;
} lookup;

static dt_status *from_variable(dt_resolver *r, const lookup *how, const char *variable,
                                const char *type, dt_slice *out) {
    dt_str why = {0};
    dt_status *s = dt_slice_find(type, how->unknown, how->at, out);
    if (s)
        return dt_note(
            s,
            "the slice is named by the environment variable %s; to simulate another, use 'sim:%s'",
            variable, fallback);
    dt_str_printf(&why, "simulated: %s is %s; --backend pjrt --plugin libtpu.so computes on it",
                  variable, out->name);
    r->why = dt_str_take(&why);
    return NULL;
}

/* Finds the slice for an accelerator type, and sets r->why. If TPU_TOPOLOGY is set, it gives the
 * shape, because the number of chips alone is not enough: v4-512 may be 4x4x16 instead of 4x8x8.
 * Fails with how->unknown if there is no such slice, or the two have different numbers of chips. */
static dt_status *from_type(dt_resolver *r, const lookup *how, const char *type, dt_slice *out) {
    const char *shape = dt_environment("TPU_TOPOLOGY");
    dt_slice whole;
    DT_TRY(from_variable(r, how, "TPU_ACCELERATOR_TYPE", type, out));
    if (!shape) return NULL;
    dt_local_str name = {0};
    dt_str_printf(&name, "%s:%s", out->chip->generation, shape);
    dt_status *s = dt_slice_find(dt_str_text(&name), how->unknown, how->at, &whole);
    if (!s && dt_slice_chips(&whole) != dt_slice_chips(out))
        s = dt_fail(how->unknown, how->at,
                    "TPU_ACCELERATOR_TYPE %.80s has %d chips, but TPU_TOPOLOGY %.80s has %d", type,
                    dt_slice_chips(out), shape, dt_slice_chips(&whole));
    else if (s)
        s = dt_note(s,
                    "the slice is named by the environment variables TPU_ACCELERATOR_TYPE and "
                    "TPU_TOPOLOGY; to simulate another, use 'sim:%s'",
                    fallback);
    if (!s) *out = whole;
    return s;
}

static bool names_a_slice(const char *name) {
    dt_slice slice;
    dt_status *s = dt_slice_find(name, DT_E_UNKNOWN_SLICE, NULL, &slice);
    dt_status_free(s);
    return !s;
}

/* Finds this machine's TPU: by TPU_ACCELERATOR_TYPE, which Cloud TPU sets; else by TPU_NAME if it
 * is the name of a slice; else uses the slice `fallback`. Sets r->why. */
static dt_status *from_machine(dt_resolver *r, const lookup *how, dt_slice *out) {
    const char *type = dt_environment("TPU_ACCELERATOR_TYPE"), *name = dt_environment("TPU_NAME");
    if (type) return from_type(r, how, type, out);
    if (name && names_a_slice(name)) return from_variable(r, how, "TPU_NAME", name, out);
    dt_str why = {0};
    dt_str_puts(&why, "simulated: ");
    if (name) {
        dt_str_puts(&why, "TPU_NAME is ");
        dt_str_escaped(&why, name, strlen(name), 60);
        dt_str_puts(&why, ", but TPU_ACCELERATOR_TYPE, which gives its type, is not set");
    } else {
        dt_str_puts(&why,
                    "this machine has no TPU (neither TPU_NAME nor TPU_ACCELERATOR_TYPE is set)");
    }
    r->why = dt_str_take(&why);
    return dt_slice_find(fallback, how->unknown, how->at, out);
}

dt_status *dt_resolver_open(dt_resolver **out, const char *tpu, dt_error unknown,
                            const dt_location *at) {
    DT_TRY(dt_want(out, "dt_tpu_resolver", "place for the resolver"));
    dt_resolver *r = dt_alloc(sizeof *r);
    const lookup how = {unknown, at};
    r->refs = 1;
    r->simulated = true;
    strcpy(r->job, "worker");
    bool local = tpu && strcmp(tpu, "local") == 0;
    dt_slice slice;
    dt_status *s = tpu && *tpu && !local ? dt_slice_find(tpu, unknown, at, &slice)
                                         : from_machine(r, &how, &slice);
    if (s) {
        dt_resolver_unref(r);
        return s;
    }
    r->topology = dt_topology_of_slice(&slice);
    r->slice = r->topology->slice;
    r->tasks = r->topology->tasks;
    if (local) strcpy(r->job, "localhost");
    dt_resolver_unref(*out);
    *out = r;
    return NULL;
}

/* A chip whose cores work as one device can also show each core; for other chips there is only one
 * possibility. */
dt_status *dt_resolver_show_cores(dt_resolver *r, int64_t cores, const dt_location *at) {
    const dt_chip *c = r->slice->chip;
    bool can = cores == c->devices || (c->devices < c->cores && cores == c->cores);
    if (!can)
        return dt_fail(DT_E_RANGE, at, "cores_per_chip must be %d%s, got %lld: %s", c->devices,
                       c->devices < c->cores ? " or 2" : "", (long long)cores,
                       c->devices < c->cores ? "a chip is one device, or one per core"
                                             : "each core of these chips is a device");
    dt_topology *shown = dt_topology_of_cores(r->slice, (int)cores);
    dt_topology_unref(r->topology);
    r->topology = shown;
    r->slice = shown->slice;
    return NULL;
}

dt_resolver *dt_resolver_ref(dt_resolver *r) {
    r->refs++;
    return r;
}

dt_resolver *dt_resolver_of_workers(int workers) {
    dt_resolver *r = dt_alloc(sizeof *r);
    *r = (dt_resolver){.refs = 1, .job = "worker", .tasks = workers};
    return r;
}

DT_API dt_status *dt_tpu_resolver(dt_resolver **out, const char *tpu) {
    DT_TRY(dt_status_kept());
    return dt_resolver_open(out, tpu, DT_E_UNKNOWN_SLICE, NULL);
}

DT_API dt_status *dt_tpu_resolver_of_topology(dt_resolver **out, const char *job,
                                              const dt_topology *topology) {
    DT_LIVE(topology);
    char name[DT_JOB_NAME];
    DT_REQUIRE({out, "place for the resolver"});
    DT_TRY(dt_topology_given(topology));
    DT_TRY(dt_job_name_parse(job ? job : "localhost", NULL, name));
    dt_resolver *r = dt_alloc(sizeof *r);
    *r = (dt_resolver){.refs = 1,
                       .slice = topology->slice,
                       .topology = dt_topology_ref(topology),
                       .simulated = true,
                       .tasks = topology->tasks};
    memcpy(r->job, name, sizeof name);
    dt_resolver_unref(*out);
    *out = r;
    return NULL;
}

DT_API void dt_resolver_unref(dt_resolver *r) {
    if (!DT_LAST(r)) return;
    dt_topology_unref(r->topology);
    free(r->why);
    DT_RETIRE(r);
}

/* ---- connecting to a TPU system, initializing and shutting it down ---- */

static dt_status *no_resolver(void) {
    return dt_fail(DT_E_TOPOLOGY, NULL, "no resolver was given; make one with dt_tpu_resolver");
}

static dt_status *check_slice(const dt_resolver *r) {
    DT_TRY(dt_status_kept());
    if (!r) return no_resolver();
    if (!r->topology)
        return dt_fail(DT_E_TOPOLOGY, NULL,
                       "the resolver's cluster of %d workers has no TPU system", r->tasks);
    return NULL;
}

DT_API dt_status *dt_tpu_connect(dt_resolver *r) {
    DT_LIVE(r);
    return check_slice(r); /* A simulated slice has nothing to connect to. */
}

DT_API dt_status *dt_tpu_initialize(dt_resolver *r, const dt_topology **topology) {
    DT_LIVE(r);
    DT_TRY(check_slice(r));
    if (topology) *topology = r->topology;
    return NULL;
}

DT_API dt_status *dt_tpu_shutdown(dt_resolver *r) {
    DT_LIVE(r);
    return check_slice(r); /* Nothing is released, since handles hold references. */
}

/* ---- queries ---- */

DT_API const char *dt_resolver_master(const dt_resolver *r) {
    DT_LIVE(r);
    return r && r->topology && r->topology->slice ? r->topology->slice->name : "";
}

DT_API const char *dt_resolver_task_type(const dt_resolver *r) {
    return DT_LIVE(r) ? r->job : NULL;
}

DT_API int dt_resolver_task_id(const dt_resolver *r) { return DT_LIVE(r) ? r->task : -1; }

DT_API int dt_resolver_tasks(const dt_resolver *r) { return DT_LIVE(r) ? r->tasks : 0; }

DT_API int dt_resolver_accelerators(const dt_resolver *r) {
    DT_LIVE(r);
    return r && r->topology ? r->topology->devices : 0;
}

const dt_topology *dt_resolver_slice(const dt_resolver *r) { return r ? r->topology : NULL; }

DT_API bool dt_resolver_simulated(const dt_resolver *r) {
    DT_LIVE(r);
    return r && r->simulated;
}

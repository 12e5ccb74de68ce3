/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of strategies: creation and queries. */
#include "strategy/cluster.h"
#include "strategy/place.h"

#include <stdlib.h>
#include <string.h>

dt_status *dt_strategy_open(dt_strategy **out, const dt_strategy_spec *spec) {
    DT_TRY(dt_want(out, spec->row->kind.name, "place for the strategy"));
    dt_strategy *s = dt_alloc(sizeof *s);

    s->refs = 1;
    s->row = spec->row;
    s->logical = 1;
    s->verify_replicas = spec->verify_replicas;
    s->sealed = spec->sealed;
    s->backend = spec->backend && strcmp(spec->backend, spec->row->backend) != 0
                     ? dt_strdup(spec->backend)
                     : NULL;
    s->plugin = spec->plugin ? dt_strdup(spec->plugin) : NULL;
    s->settings = dt_pjrt_settings_copy(spec->settings);
    dt_status *bad = spec->row->place(s, spec);
    if (bad) {
        dt_strategy_unref(s);
        return bad;
    }
    dt_place_hosts(s);
    dt_strategy_unref(*out);
    *out = s;
    return NULL;
}

dt_strategy *dt_strategy_ref(dt_strategy *s) {
    s->refs++;
    return s;
}

void dt_strategy_unref(dt_strategy *s) {
    if (!DT_LAST(s)) return;
    if (s->owns_cluster) dt_cluster_close(s->cluster, false);
    dt_device_close(s->device);
    dt_device_close(s->inherited);
    for (int r = 0; s->device_name && r < s->replicas; r++) free(s->device_name[r]);
    free(s->device_name);
    for (int h = 0; h < s->hosts; h++) free(s->host_name[h]);
    free(s->host_name);
    free(s->host_of);
    for (int i = 0; s->logical_name && i < s->replicas * s->logical; i++) free(s->logical_name[i]);
    free(s->logical_name);
    free(s->what);
    free(s->backend);
    free(s->plugin);
    dt_pjrt_settings_destroy(s->settings);
    dt_servers_release(&s->servers);
    free(s->ordinal);
    dt_device_assignment_unref(s->assignment);
    dt_resolver_unref(s->resolver);
    DT_RETIRE(s);
}

/* ---- constructors of the C API ---- */

dt_status *dt_mirrored_strategy(dt_strategy **out, const char *const *devices, int n) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_mirrored_strategy", "handle to fill"));
    DT_TRY(dt_launched_alone());
    if (n < 0)
        return dt_fail(DT_E_RANGE, NULL, "the number of devices must be at least 0, got %d", n);
    return dt_strategy_open(out, &(dt_strategy_spec){.row = &dt_strategy_mirrored,
                                                     .devices = devices,
                                                     .n_devices = devices ? n : 0});
}

dt_status *dt_one_device_strategy(dt_strategy **out, const char *device) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_one_device_strategy", "handle to fill"));
    DT_TRY(dt_launched_alone());
    /* The empty name causes an error message that shows how devices are named. */
    if (!device) device = "";
    return dt_strategy_open(
        out,
        &(dt_strategy_spec){.row = &dt_strategy_one_device, .devices = &device, .n_devices = 1});
}

dt_status *dt_default_strategy(dt_strategy **out) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_default_strategy", "handle to fill"));
    DT_TRY(dt_launched_alone());
    return dt_strategy_open(out, &(dt_strategy_spec){.row = &dt_strategy_default_});
}

enum { PATIENCE_S = 60 }; /* seconds to wait for workers to start, and for a message */

/* Connects this process, one of several workers, with the other workers. */
static dt_status *join_workers(dt_strategy *s, const dt_launch *l) {
    DT_TRY(dt_cluster_open(&s->cluster, l,
                           &(dt_cluster_spec){.start_s = PATIENCE_S, .message_s = PATIENCE_S}));
    s->owns_cluster = true;
    s->resolver->task = l->rank;
    DT_TRY(dt_cluster_compare(s->cluster, "dtrain's version", dt_version()));
    return dt_cluster_compare(s->cluster, "the strategy", s->what);
}

static dt_status *open_workers(dt_strategy **out, const dt_multi_worker_options *o,
                               const dt_launch *l) {
    dt_strategy *s = NULL;

    if (l->workers && o->workers && o->workers != l->workers)
        return dt_fail(
            DT_E_LAUNCH, NULL,
            "workers is %d, but %s says %d; leave it 0 in a program that a launcher starts",
            o->workers, l->by, l->workers);
    DT_TRY(dt_strategy_open(&s, &(dt_strategy_spec){.row = &dt_strategy_multi_worker_mirrored,
                                                    .workers = l->workers ? l->workers : o->workers,
                                                    .replicas = o->devices_per_worker,
                                                    .devices = o->devices,
                                                    .n_devices = o->devices ? o->n_devices : 0}));
    dt_status *bad = l->workers ? join_workers(s, l) : NULL;
    if (bad) {
        dt_strategy_unref(s);
        return bad;
    }
    dt_strategy_unref(*out);
    *out = s;
    return NULL;
}

dt_status *dt_multi_worker_mirrored_strategy(dt_strategy **out,
                                             const dt_multi_worker_options *options) {
    static const dt_multi_worker_options none;
    const dt_multi_worker_options *o = options ? options : &none;
    dt_launch launch;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_multi_worker_mirrored_strategy", "handle to fill"));
    if (o->workers < 0 || o->devices_per_worker < 0 || o->n_devices < 0)
        return dt_fail(
            DT_E_RANGE, NULL,
            "workers, devices_per_worker and n_devices must be at least 0, got %d, %d and %d",
            o->workers, o->devices_per_worker, o->n_devices);
    if (o->devices && o->n_devices && o->devices_per_worker &&
        o->devices_per_worker != o->n_devices)
        return dt_fail(DT_E_REPLICAS, NULL, "%d devices are named, but devices_per_worker is %d",
                       o->n_devices, o->devices_per_worker);
    DT_TRY(dt_launch_find(&launch, &(dt_rank_option){0}));
    dt_status *bad = open_workers(out, o, &launch);
    dt_launch_release(&launch);
    return bad;
}

/* ---- queries ---- */

const char *dt_strategy_type(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->row->kind.name : NULL;
}

int dt_strategy_replicas(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->replicas : 0;
}

/* Returns false for the default strategy: in TensorFlow it computes on any device, and asking it
 * for worker_devices is an error. */
bool dt_strategy_has_devices(const dt_strategy *s) { return s && !s->row->is_default; }

const char *dt_strategy_device(const dt_strategy *s, int replica) {
    DT_LIVE(s);
    return dt_strategy_has_devices(s) && replica >= 0 && replica < s->replicas
               ? s->device_name[replica]
               : NULL;
}

int dt_strategy_input_workers(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->hosts : 0;
}

const char *dt_strategy_input_host(const dt_strategy *s, int worker) {
    DT_LIVE(s);
    return s && worker >= 0 && worker < s->hosts ? s->host_name[worker] : NULL;
}

int dt_strategy_input_worker(const dt_strategy *s, int replica) {
    DT_LIVE(s);
    return s && replica >= 0 && replica < s->replicas ? s->host_of[replica] : -1;
}

const dt_resolver *dt_strategy_cluster_resolver(const dt_strategy *s) {
    DT_LIVE(s);
    return s ? s->resolver : NULL;
}

/* ---- the device, and rows ---- */

void dt_strategy_set_engine(dt_strategy *s, int threads, dt_kernels kernels) {
    s->threads = threads;
    s->kernels = kernels;
}

void dt_strategy_set_hbm(dt_strategy *s, int64_t bytes) { s->hbm = bytes; }

const char *dt_strategy_backend(const dt_strategy *s) {
    return s->backend ? s->backend : s->row->backend;
}

dt_status *dt_strategy_set_backend(dt_strategy *s, const char *backend, const char *plugin) {
    DT_TRY(dt_status_kept());
    DT_LIVE(s);
    DT_TRY(dt_want(s, "dt_strategy_set_backend", "strategy"));
    DT_TRY(dt_want(backend, "dt_strategy_set_backend", "name of the back end"));
    if (s->device)
        return dt_fail(DT_E_MISUSE, NULL,
                       "dt_strategy_set_backend: the strategy has computed already; choose its "
                       "back end before its first step");
    if (!dt_backend_find(backend) ||
        (strcmp(backend, s->row->backend) != 0 && !dt_backend_takes_plugin(backend)))
        return dt_fail(DT_E_BACKEND, NULL, "back end '%.80s' does not go with a %s strategy",
                       backend, s->row->kind.name);
    free(s->backend);
    free(s->plugin);
    s->backend = strcmp(backend, s->row->backend) != 0 ? dt_strdup(backend) : NULL;
    s->plugin = plugin ? dt_strdup(plugin) : NULL;
    return NULL;
}

/* Returns the name of the back end that computes in this process: the row's if the strategy is
 * sealed. With a parameter server, only workers use a plug-in's devices; other processes compute on
 * the cores of their machine. */
static const char *computed_by(const dt_strategy *s) {
    return s->sealed || (s->servers.workers && !s->serves) ? s->row->backend
                                                           : dt_strategy_backend(s);
}

void dt_strategy_serve(dt_strategy *s) {
    if (s->serves || strcmp(computed_by(s), dt_strategy_backend(s)) == 0) return;
    s->serves = true;
    s->inherited = s->device;
    s->device = NULL;
}

dt_status *dt_strategy_device_of(dt_strategy *s, dt_device **out) {
    const bool simulated = s->resolver && s->resolver->simulated && dt_resolver_slice(s->resolver);
    /* Each worker opens only the devices of its own replicas. */
    const int workers = s->cluster ? s->cluster->workers : 1;
    const dt_device_options o = {.threads = s->threads,
                                 .kernels = s->kernels,
                                 .topology = dt_resolver_slice(s->resolver),
                                 .hbm = s->hbm,
                                 .computes = s->sealed ? NULL : s->backend,
                                 .plugin = s->plugin,
                                 .settings = s->settings,
                                 .ordinal = s->ordinal,
                                 .n_ordinals = s->ordinal ? s->n_ordinals
                                                          : s->replicas / workers * s->logical};

    if (!s->device)
        DT_TRY(dt_device_open(&s->device,
                              dt_backend_find(simulated ? s->row->backend : computed_by(s)), &o));
    *out = s->device;
    return NULL;
}

void dt_cut_rows(int64_t rows, int64_t batch, int n, int32_t *offsets) {
    offsets[0] = 0;
    for (int r = 0; r < n; r++) {
        int64_t end = offsets[r] + batch / n + (r < batch % n ? 1 : 0);
        offsets[r + 1] = (int32_t)(end < rows ? end : rows);
    }
}

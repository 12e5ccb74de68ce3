/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pjrt: devices of a plug-in that the user has installed. The plug-in is code, so its path comes
 * from the command line, the environment or the user's own job file, and never from another file.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"
#include "base/environment.h"

/* Returns the path of the plug-in; NULL: none is named. */
static const char *path_of(const char *plugin) {
    return plugin && *plugin ? plugin : dt_environment(DT_PJRT_PLUGIN_ENV);
}

static dt_status *find_path(const dt_device_options *o, const char **out) {
    *out = path_of(o->plugin);
    if (*out) return NULL;
    return dt_suggest(dt_fail(DT_E_PLUGIN, NULL, "back end pjrt: no plug-in is named"),
                      "--plugin PATH, backend: {plugin: PATH} or " DT_PJRT_PLUGIN_ENV);
}

/* Returns the index among the client's devices of the plug-in's device `ordinal`. If the client is
 * confined to a list of devices, that is the index in the sorted list. */
static int index_of(const dt_pjrt_device *p, const dt_device_options *o, int ordinal) {
    int before = 0;
    if (!dt_pjrt_client_is_confined(p->client)) return ordinal;
    for (int i = 0; o->ordinal && i < o->n_ordinals; i++) before += o->ordinal[i] < ordinal;
    return before;
}

/* Sets p->n and p->ordinal to the devices in o->ordinal. If it is NULL, to the first ones: as many
 * as o->n_ordinals says (0: one), or fewer if there are fewer or if they cannot share the replicas
 * evenly. Fails with NO_DEVICE if a device in o->ordinal does not exist. */
static dt_status *choose_devices(dt_pjrt_device *p, const dt_device_options *o) {
    const int there = dt_pjrt_client_devices(p->client), wanted = o->n_ordinals == DT_EVERY_ORDINAL
                                                                      ? there
                                                                  : o->n_ordinals ? o->n_ordinals
                                                                                  : 1;

    p->n = o->ordinal || wanted < there ? wanted : there;
    /* As many devices are used as can share the replicas evenly. */
    while (!o->ordinal && wanted % p->n) p->n--;
    p->ordinal = dt_alloc(dt_size_mul((size_t)p->n, sizeof *p->ordinal));
    if (o->ordinal && dt_pjrt_client_is_confined(p->client) && there != p->n)
        return dt_fail(
            DT_E_NO_DEVICE, NULL,
            "the plug-in (%s) has %d of the %d devices that are named; 'dtrain devices' lists them",
            dt_pjrt_client_platform(p->client), there, p->n);
    for (int i = 0; i < p->n; i++) {
        const int ordinal = o->ordinal ? o->ordinal[i] : i;
        p->ordinal[i] = index_of(p, o, ordinal);
        if (p->ordinal[i] < 0 || p->ordinal[i] >= there)
            return dt_fail(DT_E_NO_DEVICE, NULL, "no device %d; the plug-in (%s) has %d", ordinal,
                           dt_pjrt_client_platform(p->client), there);
    }
    return NULL;
}

static void close(dt_device *d) {
    dt_pjrt_device *p = d->state;
    dt_pjrt_copies_release(p);
    dt_pjrt_client_close(p->client);
    dt_status_free(p->bad); /* an error that no later step has returned */
    pthread_mutex_destroy(&p->lock);
    free(p->ordinal);
    free(p);
}

/* A GPU plug-in reserves memory on each device that it sees. So the client is confined to the
 * devices that will compute: those that were named, or the first one if the job does not ask for
 * several. If several devices are needed but not named, the client sees all, since only the plug-in
 * knows how many there are. */
static dt_pjrt_opening opening_of(const dt_device_options *o) {
    static const int first = 0;
    dt_pjrt_opening how = {.settings = o->settings, .looks = o->looks};
    if (o->ordinal) {
        how.ordinal = o->ordinal;
        how.n_ordinals = o->n_ordinals;
    } else if (o->n_ordinals == 0 || o->n_ordinals == 1) {
        how.ordinal = &first;
        how.n_ordinals = 1;
    }
    return how;
}

static dt_status *open(dt_device *d, const dt_device_options *o) {
    const char *path = NULL;
    DT_TRY(find_path(o, &path));
    dt_pjrt_device *p = d->state = dt_alloc(sizeof *p);
    *p = (dt_pjrt_device){0};
    pthread_mutex_init(&p->lock, NULL);
    dt_pjrt_opening how = opening_of(o);
    dt_status *s = dt_pjrt_client_open(&p->client, path, &how);
    if (!s) s = choose_devices(p, o);
    if (!s) p->memory = dt_pjrt_client_memory(p->client, p->ordinal[0]).limit;
    p->products = o->settings ? o->settings->products : DT_PJRT_FLOAT32;
    d->count = p->n;
    d->runs_ahead = true;
    if (s) close(d);
    return s;
}

static dt_device_facts facts(const dt_device *d) {
    const dt_pjrt_device *p = d->state;
    return (dt_device_facts){.kernels = dt_pjrt_client_describe(p->client), .threads = p->n};
}

static int64_t peak_bytes(const dt_device *d) {
    const dt_pjrt_device *p = d->state;
    int64_t most = 0;
    for (int i = 0; i < p->n; i++) {
        const int64_t peak = dt_pjrt_client_memory(p->client, p->ordinal[i]).peak;
        most = peak > most ? peak : most;
    }
    return most;
}

static const char *largest_layer(const void *executable, dt_arena *arena, int64_t *bytes) {
    (void)executable, (void)arena;
    *bytes = 0;
    return "";
}

/* Records nothing: the plug-in itself can record the work of its devices. */
static void record(dt_device *d, dt_recorder *r) { (void)d, (void)r; }

const dt_backend dt_backend_pjrt = {
    .kind = {.name = "pjrt",
             .about = "devices that a PJRT plug-in drives: GPUs, TPUs, XLA on the CPU"},
    .takes_plugin = true,
    .open = open,
    .close = close,
    .compile = dt_pjrt_compile_graph,
    .release = dt_pjrt_release,
    .start = dt_pjrt_start,
    .finish = dt_pjrt_finish,
    .lend = dt_pjrt_lend_arrays,
    .take_back = dt_pjrt_take_back,
    .host_bytes = dt_pjrt_host_bytes,
    .largest_layer = largest_layer,
    .print = dt_pjrt_print,
    .facts = facts,
    .peak_bytes = peak_bytes,
    .record = record,
};

/* ---- finding accelerators ---- */

static dt_status *describe_device(const dt_pjrt_client *c, int i, dt_accelerator *out) {
    dt_pjrt_device_facts f;
    DT_TRY(dt_pjrt_client_device(c, i, &f));
    *out = (dt_accelerator){.id = f.id, .memory = f.memory, .n_coordinates = f.n_coordinates};
    memcpy(out->kind, f.kind, sizeof out->kind);
    memcpy(out->coordinate, f.coordinate, sizeof out->coordinate);
    return NULL;
}

dt_status *dt_accelerators_find(const char *plugin, const dt_pjrt_settings *settings,
                                dt_accelerators *out) {
    const char *path = path_of(plugin);
    dt_pjrt_client *c = NULL;

    *out = (dt_accelerators){0};
    if (!path) return NULL;
    DT_TRY(dt_pjrt_client_open(&c, path, &(dt_pjrt_opening){.settings = settings, .looks = true}));
    *out = (dt_accelerators){.platform = dt_strdup(dt_pjrt_client_platform(c)),
                             .about = dt_strdup(dt_pjrt_client_describe(c)),
                             .n = dt_pjrt_client_devices(c)};
    out->device = dt_alloc(dt_size_mul((size_t)out->n, sizeof *out->device));
    dt_status *s = NULL;
    for (int i = 0; !s && i < out->n; i++) s = describe_device(c, i, &out->device[i]);
    dt_pjrt_client_close(c);
    if (s) dt_accelerators_release(out);
    return s;
}

void dt_accelerators_release(dt_accelerators *a) {
    free(a->platform);
    free(a->about);
    free(a->device);
    *a = (dt_accelerators){0};
}

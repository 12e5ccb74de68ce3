/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the devices of replicas. CPU devices are virtual: any number of them can share the real
 * cores. */
#include "base/environment.h"
#include "base/thread.h"
#include "strategy/place.h"

#include <stdlib.h>
#include <string.h>

char *dt_full_name(const dt_device_name *d) {
    dt_str text = {0};
    dt_device_name_print(d, &text);
    return dt_str_take(&text);
}

/* Parses the names of devices. Devices other than CPUs belong to a plug-in (PJRT), which must be
 * named. */
static dt_status *parse_names(dt_strategy *s, const dt_strategy_spec *spec, dt_device_name *names) {
    const char *plugin = dt_environment(DT_PJRT_PLUGIN_ENV);
    const dt_location *at = spec->at.source ? &spec->at : NULL;
    const bool chosen = dt_backend_takes_plugin(spec->backend);

    if (!chosen && (spec->backend || !plugin))
        return dt_cpu_devices_parse(spec->devices, spec->n_devices, at, names);
    DT_TRY(dt_accelerators_parse(spec->devices, spec->n_devices, at, names));
    /* The names are virtual CPU devices of this machine. */
    if (!chosen && names[0].type == DT_DEVICE_CPU) return NULL;
    if (!s->backend) s->backend = dt_strdup("pjrt");
    s->ordinal = dt_alloc(dt_size_mul((size_t)spec->n_devices, sizeof *s->ordinal));
    s->n_ordinals = spec->n_devices;
    for (int r = 0; r < spec->n_devices; r++) s->ordinal[r] = names[r].index;
    return NULL;
}

static dt_status *name_cpus(dt_strategy *s, const dt_strategy_spec *spec) {
    DT_LOCAL dt_device_name *names = dt_alloc(dt_size_mul((size_t)s->replicas, sizeof *names));
    dt_status *bad = NULL;

    if (spec->n_devices > 0) bad = parse_names(s, spec, names);
    for (int r = 0; !bad && r < s->replicas; r++) {
        if (spec->n_devices == 0)
            names[r] = (dt_device_name){.job = "localhost", .type = DT_DEVICE_CPU, .index = r};
        s->device_name[r] = dt_full_name(&names[r]);
    }
    return bad;
}

/* Counts the devices of a mirrored strategy that names none: the plug-in's devices if there is a
 * plug-in (1 if it must not be opened), otherwise the cores of this machine. */
static dt_status *count_all(const dt_strategy_spec *spec, int64_t *n) {
    dt_device *device = NULL;
    const bool plugin = dt_backend_takes_plugin(spec->backend);

    *n = plugin ? 1 : dt_cores();
    if (!plugin || spec->sealed) return NULL;
    DT_TRY(dt_device_open(&device, dt_backend_find(spec->backend),
                          &(dt_device_options){.plugin = spec->plugin,
                                               .settings = spec->settings,
                                               .n_ordinals = DT_EVERY_ORDINAL,
                                               .looks = true}));
    *n = dt_device_count(device);
    dt_device_close(device);
    return NULL;
}

dt_status *dt_place_cpus(dt_strategy *s, const dt_strategy_spec *spec) {
    bool every_device = s->row->every_device && spec->n_devices == 0 && spec->replicas == 0;
    int64_t all = 0;
    dt_str what = {0};

    if (every_device) DT_TRY(count_all(spec, &all));
    int64_t replicas = every_device      ? all
                       : spec->n_devices ? spec->n_devices
                       : spec->replicas  ? spec->replicas
                                         : 1;

    if (replicas > DT_MAX_REPLICAS)
        return dt_fail(DT_E_RANGE, spec->at.source ? &spec->at : NULL,
                       "replicas must be at most %d, got %lld", DT_MAX_REPLICAS,
                       (long long)replicas);
    s->replicas = (int)replicas;
    s->uncounted = every_device && spec->sealed && dt_backend_takes_plugin(spec->backend);
    s->device_name = dt_alloc(dt_size_mul((size_t)replicas, sizeof *s->device_name));
    DT_TRY(name_cpus(s, spec));
    const char *kind = strrchr(s->device_name[0], '/') + strlen("/device:");
    if (replicas > 1) dt_str_printf(&what, "%d x ", s->replicas);
    if (s->backend && spec->n_devices == 0) kind = s->backend;
    dt_str_printf(&what, s->uncounted ? "all of %.*s, not counted" : "%.*s",
                  (int)strcspn(kind, ":"), kind);
    s->what = dt_str_take(&what);
    return NULL;
}

/* ---- workers ---- */

static dt_status *count_workers(const dt_strategy_spec *spec, int *workers, int *each) {
    int64_t w = spec->workers ? spec->workers : 1, r = spec->n_devices  ? spec->n_devices
                                                       : spec->replicas ? spec->replicas
                                                                        : 1;

    if (w < 1 || r < 1)
        return dt_fail(
            DT_E_RANGE, NULL,
            "a strategy needs at least one worker with one device, got %lld workers with %lld each",
            (long long)w, (long long)r);
    if (r > DT_MAX_REPLICAS || w > DT_MAX_REPLICAS / r)
        return dt_fail(DT_E_RANGE, spec->at.source ? &spec->at : NULL,
                       "%lld workers with %lld replicas each are more than %d replicas",
                       (long long)w, (long long)r, DT_MAX_REPLICAS);
    *workers = (int)w;
    *each = (int)r;
    return NULL;
}

dt_status *dt_place_workers(dt_strategy *s, const dt_strategy_spec *spec) {
    int workers = 0, each = 0;
    dt_str what = {0};

    DT_TRY(count_workers(spec, &workers, &each));
    /* the names of the devices of one worker */
    DT_LOCAL dt_device_name *first = dt_alloc(dt_size_mul((size_t)each, sizeof *first));
    dt_status *bad = spec->n_devices ? parse_names(s, spec, first) : NULL;
    if (!bad) {
        s->replicas = workers * each;
        s->device_name = dt_alloc(dt_size_mul((size_t)s->replicas, sizeof *s->device_name));
        s->resolver = dt_resolver_of_workers(workers);
        dt_str_printf(&what, "%d worker%s x %d %s", workers, workers == 1 ? "" : "s", each,
                      s->backend ? s->backend : "CPU");
        if (spec->launch.workers)
            dt_str_printf(&what,
                          spec->launch.start ? ", processes that meet as %s says"
                                             : ", processes that %s started",
                          spec->launch.launcher);
        if (spec->launch.workers && strcmp(spec->launch.by, spec->launch.launcher) != 0)
            dt_str_printf(&what, " (%s)", spec->launch.by);
        s->what = dt_str_take(&what);
    }
    for (int i = 0; !bad && i < s->replicas; i++) {
        const dt_device_name d = {.job = "worker",
                                  .task = i / each,
                                  .type = spec->n_devices ? first[i % each].type : DT_DEVICE_CPU,
                                  .index = spec->n_devices ? first[i % each].index : i % each};
        s->device_name[i] = dt_full_name(&d);
    }
    return bad;
}

/* ---- hosts ---- */

/* Returns the full name of a device's host: CPU:0 of the same task. */
static char *host_of_device(const char *device) {
    dt_str host = {0};
    dt_str_printf(&host, "%.*s/device:CPU:0", (int)(strstr(device, "/device:") - device), device);
    return dt_str_take(&host);
}

typedef struct placed {
    char *host;
    int replica;
} placed;

static int by_host(const void *a, const void *b) {
    const placed *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    return order ? order : x->replica - y->replica;
}

/* Sets s->host_of[r] to the first replica on the host of replica r. Sorts replicas by host, because
 * comparing each with all hosts would take minutes if there are as many hosts as replicas. */
static void find_first(dt_strategy *s, placed *p) {
    for (int r = 0; r < s->replicas; r++) p[r] = (placed){host_of_device(s->device_name[r]), r};
    qsort(p, (size_t)s->replicas, sizeof *p, by_host);
    for (int i = 0; i < s->replicas; i++)
        s->host_of[p[i].replica] = i > 0 && strcmp(p[i].host, p[i - 1].host) == 0
                                       ? s->host_of[p[i - 1].replica]
                                       : p[i].replica;
}

/* Numbers the hosts in the order in which replicas first use them. */
void dt_place_hosts(dt_strategy *s) {
    int cap = 0;
    DT_LOCAL placed *p = dt_alloc(dt_size_mul((size_t)s->replicas + 1, sizeof *p));

    s->host_of = dt_alloc(dt_size_mul((size_t)s->replicas + 1, sizeof *s->host_of));
    find_first(s, p);
    for (int r = 0; r < s->replicas; r++) {
        if (s->host_of[r] < r) {
            s->host_of[r] = s->host_of[s->host_of[r]];
            continue;
        }
        DT_GROW(s->host_name, cap, s->hosts + 1);
        s->host_name[s->hosts] = host_of_device(s->device_name[r]);
        s->host_of[r] = s->hosts++;
    }
    for (int i = 0; i < s->replicas; i++) free(p[i].host);
}

/* Devices of replicas. CPU devices are virtual: as many as asked for, on the real cores. */
#include "strategy/place.h"

#include <stdlib.h>
#include <string.h>

static char *full_name(const dt_device_name *d)
{
    dt_str text = { 0 };
    dt_device_name_print(d, &text);
    return dt_str_take(&text);
}

static dt_status *name_cpus(dt_strategy *s, const dt_strategy_spec *spec)
{
    dt_device_name *names = dt_alloc(dt_size_mul((size_t)s->replicas, sizeof *names));
    dt_status *bad = NULL;

    if (spec->n_devices > 0)
        bad = dt_cpu_devices_parse(spec->devices, spec->n_devices, spec->at.source ? &spec->at : NULL, names);
    for (int r = 0; !bad && r < s->replicas; r++) {
        if (spec->n_devices == 0)
            names[r] = (dt_device_name){ .job = "localhost", .type = DT_DEVICE_CPU, .index = r };
        s->device_name[r] = full_name(&names[r]);
    }
    free(names);
    return bad;
}

static dt_status *too_many(const dt_strategy_spec *spec, int64_t replicas)
{
    return dt_fail(DT_E_RANGE, spec->at.source ? &spec->at : NULL, "replicas must be at most %d, got %lld", DT_MAX_REPLICAS, (long long)replicas);
}

dt_status *dt_place_cpus(dt_strategy *s, const dt_strategy_spec *spec)
{
    bool every_core = s->row == &dt_strategy_mirrored && spec->n_devices == 0 && spec->replicas == 0;
    int64_t replicas = every_core ? dt_cores() : spec->n_devices ? spec->n_devices : spec->replicas ? spec->replicas : 1;
    dt_str what = { 0 };

    if (replicas > DT_MAX_REPLICAS)
        return too_many(spec, replicas);
    s->replicas = (int)replicas;
    s->device_name = dt_alloc(dt_size_mul((size_t)replicas, sizeof *s->device_name));
    if (replicas == 1)
        dt_str_puts(&what, "CPU");
    else
        dt_str_printf(&what, "%d x CPU", s->replicas);
    s->what = dt_str_take(&what);
    return name_cpus(s, spec);
}

/* ---- slices ---- */

static void name_cores(dt_strategy *s, const dt_topology *t)
{
    for (int r = 0; r < s->replicas; r++) {
        const int *at = dt_assignment_at(s->assignment, r, 0);
        dt_device_name d = { .job = "worker", .type = DT_DEVICE_TPU, .task = dt_topology_task(t, at), .index = dt_topology_device(t, at) };
        s->device_name[r] = full_name(&d);
    }
}

dt_status *dt_place_slice(dt_strategy *s, const dt_strategy_spec *spec)
{
    const dt_topology *t = spec->resolver->topology;
    dt_str what = { 0 };

    s->resolver = dt_resolver_ref((dt_resolver *)spec->resolver); /* counted, not changed */
    if (spec->replicas > 0)
        DT_TRY(dt_assignment_build(&s->assignment, t, &(dt_assignment_spec){ .replicas = spec->replicas }));
    else
        s->assignment = dt_assignment_each_core(t);
    s->replicas = s->assignment->replicas;
    s->device_name = dt_alloc(dt_size_mul((size_t)s->replicas + 1, sizeof *s->device_name));
    s->spmd = spec->spmd;
    dt_str_printf(&what, "sim:%s", dt_topology_name(t));
    s->what = dt_str_take(&what);
    name_cores(s, t);
    return NULL;
}

/*
 * sim: a slice that is not there. The numbers are real, computed by cpu; the slice's memory is a ceiling that compiling respects,
 * its speed a virtual clock. So a job that would not fit fails here as it would there, before the first step.
 */
#include "backend/cpu.h"

static dt_status *does_not_fit(const dt_price *p, const dt_topology *t)
{
    dt_str need = { 0 }, have = { 0 };

    dt_str_bytes(&need, (double)p->hbm_bytes);
    dt_str_bytes(&have, (double)p->hbm_usable);
    dt_status *s = dt_fail(DT_E_DOES_NOT_FIT, NULL, "the step needs %s of a core's %s on %s", dt_str_text(&need), dt_str_text(&have),
                           dt_topology_name(t));
    dt_str_release(&need);
    dt_str_release(&have);
    return s;
}

static dt_price price_of(const dt_plan *p)
{
    double waits = p->parts.links + p->parts.dcn + p->parts.bubble;
    return (dt_price){ .seconds = p->seconds, .compute_s = p->seconds - waits, .collective_s = waits, .hbm_bytes = p->bytes.total, .hbm_usable = p->bytes.usable };
}

static dt_status *compile(dt_device *d, const dt_compile_request *r, dt_executable *out)
{
    dt_plan *plan = dt_plan_create(&(dt_priced_program){ .program = r->on_device, .topology = d->topology, .assignment = r->assignment });
    out->price = price_of(plan);
    dt_plan_destroy(plan);
    if (out->price.hbm_bytes > out->price.hbm_usable)
        return does_not_fit(&out->price, d->topology);
    return dt_cpu_compile(d, r, out);
}

const dt_backend dt_backend_sim = {
    .kind = { .name = "sim", .about = "a simulated TPU slice: cpu's numbers, the slice's memory and clock" },
    .open = dt_cpu_open, .close = dt_cpu_close, .compile = compile, .run = dt_cpu_run, .release = dt_cpu_release,
};

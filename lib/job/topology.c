/* dtrain topology: a slice, and where the replicas of a job sit on it. */
#include "job/job.h"

static dt_status *no_slice(const dt_job *j)
{
    return dt_fail(DT_E_NO_SLICE, &j->strategy.at, "strategy %s has no slice to draw its replicas on; only tpu has",
                   j->strategy.row->kind.name);
}

/* The slice asked for, else the job's own. */
static dt_status *open_slice(const dt_topology_request *q, dt_resolver **out)
{
    if (q->tpu)
        return dt_resolver_open(out, q->tpu, DT_E_UNKNOWN_SLICE_OPTION, NULL);
    if (!q->job)
        return dt_fail(DT_E_NO_SLICE, NULL, "neither a slice nor a job was given");
    *out = dt_resolver_ref((dt_resolver *)q->job->strategy.resolver); /* counted, not changed */
    return NULL;
}

/* As dt_place_slice does it; the slice may be another than the job's. */
static dt_status *place(const dt_job *j, const dt_topology *t, dt_assignment **out)
{
    if (j->strategy.replicas > 0)
        return dt_device_assignment_build(out, t, &(dt_device_assignment_options){.num_replicas = j->strategy.replicas});
    *out = dt_assignment_each_core(t);
    return NULL;
}

static char *draw(const dt_topology_request *q, const dt_resolver *r, const dt_assignment *a)
{
    const dt_topology_picture p = {.topology = r->topology, .assignment = a, .why = r->why, .simulated = r->simulated, .utf8 = q->utf8};
    dt_str text = {0};
    if (q->json)
        dt_topology_json(&p, &text);
    else
        dt_topology_draw(&p, &text);
    return dt_str_take(&text);
}

DT_API dt_status *dt_topology_text(const dt_topology_request *request, char **text)
{
    dt_resolver *r = NULL;
    dt_assignment *a = NULL;
    if (request->job && !request->job->strategy.resolver)
        return no_slice(request->job);
    DT_TRY(open_slice(request, &r));
    dt_status *s = request->job ? place(request->job, r->topology, &a) : NULL;
    if (!s)
        *text = draw(request, r, a);
    dt_device_assignment_unref(a);
    dt_resolver_unref(r);
    return s;
}

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

/* The job's replicas; on another slice than its own, as many blocks of that form. */
static dt_status *place(const dt_job *j, const dt_topology *t, dt_assignment **out)
{
    const dt_assignment *own = j->strategy.assignment;
    if (!own)
        *out = dt_assignment_each_core(t);
    else if (own->topology == t)
        *out = dt_assignment_ref(own);
    else
        return dt_device_assignment_build(out, t, &(dt_device_assignment_options){
            .computation_shape = (int64_t[]){own->shape[0], own->shape[1], own->shape[2], own->shape[3]}, .shape_rank = 4,
            .computation_stride = (int64_t[]){own->stride[0], own->stride[1], own->stride[2], own->stride[3]}, .stride_rank = 4,
            .num_replicas = own->replicas, .device_order_mode = own->order});
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
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(request, "dt_topology_text", "request"));
    DT_TRY(dt_want(text, "dt_topology_text", "place for the text"));
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

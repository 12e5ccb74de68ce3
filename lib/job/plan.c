/* dtrain plan: a job's programs, each priced on the job's slice. */
#include "job/plan_check.h"

#include <stdlib.h>

static dt_status *check_slice(const dt_job *j)
{
    if (j->strategy.resolver && j->strategy.resolver->topology)
        return NULL;
    return dt_fail(DT_E_NO_SLICE, &j->strategy.at, "strategy %s has no slice to be planned for; only tpu has", j->strategy.row->kind.name);
}

static dt_status *price(dt_job_plan *p, int i)
{
    const dt_resolver *r = p->job->strategy.resolver;
    dt_priced_program priced = { .topology = r->topology, .assignment = p->session.strategy->assignment };
    DT_TRY(dt_trainer_priced(p->session.trainer, &p->step[i], &priced.program));
    p->plan[i] = dt_plan_create(&priced);
    return NULL;
}

static void count_parameters(dt_job_plan *p)
{
    const dt_variables *v = &p->session.model->trainable;
    for (int i = 0; i < v->n; i++)
        p->parameters += (double)dt_type_elements(&v->v[i]->type);
}

static dt_status *fill(dt_job_plan *p)
{
    DT_TRY(check_slice(p->job));
    DT_TRY(dt_session_outline(p->job, &p->session));
    p->replicas = p->session.strategy->replicas;
    p->logical = p->session.strategy->logical;
    count_parameters(p);
    p->n = dt_trainer_outlined(p->session.trainer, p->step);
    for (int i = 0; i < p->n; i++)
        DT_TRY(price(p, i));
    return NULL;
}

dt_status *dt_job_plan_create(dt_job_plan **out, dt_job *j)
{
    dt_job_plan *p = dt_alloc(sizeof *p);
    p->job = j;
    dt_status *s = fill(p);
    if (s) {
        dt_job_plan_destroy(p);
        return s;
    }
    *out = p;
    return NULL;
}

void dt_job_plan_destroy(dt_job_plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->n; i++)
        dt_plan_destroy(p->plan[i]);
    dt_plan_check_destroy(p->check);
    dt_session_close(&p->session);
    free(p);
}

bool dt_job_plan_fits(const dt_job_plan *p)
{
    for (int i = 0; i < p->n; i++)
        if (p->plan[i]->bytes.total > p->plan[i]->bytes.usable)
            return false;
    return true;
}

static void print(const dt_job_plan *p, bool json, dt_str *out)
{
    if (json)
        dt_job_plan_json(p, out);
    else
        dt_job_plans_print((const dt_job_plan *const[]){ p }, (const char *const[]){ "" }, 1, out);
    if (p->check && !json)
        dt_plan_check_print(p->check, out);
}

DT_API dt_status *dt_plan_text(const dt_plan_request *request, char **text, bool *fits)
{
    dt_job_plan *p = NULL;
    dt_str out = { 0 };
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(request, "dt_plan_text", "request"));
    DT_TRY(dt_want(request->job, "dt_plan_text", "job"));
    DT_TRY(dt_want(text, "dt_plan_text", "place for the text"));
    DT_TRY(dt_job_plan_create(&p, request->job));
    dt_status *bad = request->compiler ? dt_plan_check_create(&p->check, p, request->compiler) : NULL;
    if (!bad) {
        print(p, request->json, &out);
        *text = dt_str_take(&out);
        if (fits)
            *fits = dt_job_plan_fits(p);
    }
    dt_job_plan_destroy(p);
    return bad;
}

/* dtrain trace: one virtual step of a job, for trace viewers. */
#include "verb.h"

struct trace {
    struct common common;
    struct place place;
};

static dt_status *trace(const struct call *call, char **text)
{
    const struct trace *my = call->settings;
    dt_job_source source;
    dt_job *job = NULL;
    dt_status *s = take_job(call, &my->place, &source);
    source.purpose = DT_FOR_PLAN;
    if (!s)
        s = dt_job_open(&job, &source);
    if (!s)
        s = dt_plan_text(&(dt_plan_request){.jobs = &job, .labels = (const char *const[]){""}, .n_jobs = 1, .form = DT_PLAN_TRACE}, text, NULL);
    dt_job_unref(job);
    return s;
}

static int run(const struct call *call)
{
    char *text = NULL;
    dt_status *s = trace(call, &text);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    PLACE_OPTIONS(struct trace),
    OPTIONS_END
};
const struct verb verb_trace = {
    .name = "trace",
    .group = "Look",
    .line = "one virtual step of a job on all cores, as a file for trace viewers",
    .operands = "JOB [key.path=value...]",
    .examples = "  dtrain trace job.yaml > step.json     open it in Perfetto or chrome://tracing\n",
    .options = options,
    .size = sizeof(struct trace),
    .run = run,
};

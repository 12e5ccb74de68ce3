/* dtrain plan: what a job needs of its slice, before anybody books it. */
#include <stdio.h>
#include <stdlib.h>

#include "verb.h"

enum { EXIT_DOES_NOT_FIT = 78 };

struct plan {
    struct common common;
    struct place place;
    bool json;
    const char *libtpu;
};

static dt_status *plan(const struct call *call, char **text, bool *fits)
{
    const struct plan *my = call->settings;
    dt_job_source source;
    dt_job *job = NULL;
    dt_status *s = take_job(call, &my->place, &source);
    if (!s)
        s = dt_job_open(&job, &source);
    if (!s)
        s = dt_plan_text(&(dt_plan_request){.job = job, .json = my->json, .compiler = my->libtpu}, text, fits);
    dt_job_unref(job);
    return s;
}

static int run(const struct call *call)
{
    char *text = NULL;
    bool fits = false;
    dt_status *s = plan(call, &text, &fits);
    if (!s)
        out_text(call->out, text);
    free(text);
    int code = out_error(call->out, s);
    return code ? code : fits ? 0 : EXIT_DOES_NOT_FIT;
}

static const struct option options[] = {
    FLAG(struct plan, json, "json", "print one JSON object"),
    TEXT(struct plan, libtpu, "check-with-libtpu", "PATH", "compile the step with the libtpu.so at PATH, too, and compare"),
    PLACE_OPTIONS(struct plan),
    OPTIONS_END
};
const struct verb verb_plan = {
    .name = "plan",
    .group = "Check",
    .line = "memory, time and traffic of a job on its slice, without training",
    .operands = "JOB [key.path=value...]",
    .examples = "  dtrain plan job.yaml             bytes of a device by kind, the time of a step and its parts\n"
                "  dtrain plan job.yaml --json      the same for programs\n"
                "  dtrain plan job.yaml --check-with-libtpu ~/libtpu/libtpu.so\n",
    .more = "It exits with 78 when the job does not fit, as fit would.",
    .options = options,
    .size = sizeof(struct plan),
    .run = run,
};

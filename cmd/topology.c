/* dtrain topology: a slice drawn, with the replicas of a job on it. */
#include <stdlib.h>

#include "verb.h"

struct topology {
    struct common common;
    struct place place;
    const char *tpu;
    bool json;
};

static dt_status *open_job(const struct call *call, dt_job **job)
{
    const struct topology *my = call->settings;
    dt_job_source source;
    dt_status *s = take_job(call, &my->place, &source);
    if (s)
        return s;
    source.purpose = DT_FOR_TOPOLOGY;
    return dt_job_open(job, &source);
}

static dt_status *draw(const struct call *call, dt_job **job, char **text)
{
    const struct topology *my = call->settings;
    if (call->operands.n == 0 && !my->tpu)
        return usage_error(call, "a job or --tpu is missing");
    dt_status *s = call->operands.n ? open_job(call, job) : NULL;
    if (s)
        return s;
    dt_topology_request request = {.tpu = my->tpu, .job = *job, .json = my->json, .utf8 = call->out->utf8};
    return dt_topology_text(&request, text);
}

static int run(const struct call *call)
{
    char *text = NULL;
    dt_job *job = NULL;
    dt_status *s = draw(call, &job, &text);
    if (!s)
        out_text(call->out, text);
    free(text);
    dt_job_unref(job);
    return out_error(call->out, s);
}

static const struct option options[] = {
    MAYBE(struct topology, tpu, "tpu", "TYPE", "the slice: v2-8, v3-8; with no TYPE this machine's own, or a simulated v3-8"),
    FLAG(struct topology, json, "json", "print one JSON object"),
    PLACE_OPTIONS(struct topology),
    OPTIONS_END
};
const struct verb verb_topology = {
    .name = "topology",
    .group = "Check",
    .line = "draw a slice: chips, cores, coordinates, and the replicas of a job on them",
    .operands = "[JOB [key.path=value...]]",
    .examples = "  dtrain topology --tpu v3-8              a slice\n"
                "  dtrain topology job.yaml                where the replicas of a job sit\n"
                "  dtrain topology --tpu v2-8 job.yaml     the same job on another slice\n",
    .options = options,
    .size = sizeof(struct topology),
    .run = run,
};

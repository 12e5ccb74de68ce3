/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain config show: prints the resolved job. */
#include "verb.h"

struct config_show {
    struct common common;
    struct place place;
    bool origin;
};

static int run(const struct call *call) {
    const struct config_show *my = call->settings;
    dt_job_source source;
    dt_job *job = NULL;
    char *text = NULL;
    dt_status *s = take_job(call, &my->place, &source);
    if (!s) {
        source.purpose = DT_FOR_TOPOLOGY;
        s = dt_job_open(&job, &source);
    }
    if (!s) s = dt_job_config_text(job, my->origin, &text);
    dt_job_unref(job);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    FLAG(struct config_show, origin, "origin",
         "show where each value comes from: file and line, override or default"),
    PLACE_OPTIONS(struct config_show), OPTIONS_END};
const struct verb verb_config_show = {
    .name = "config show",
    .group = "Inspect",
    .line = "print the job with extends, overrides and variables resolved",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain config show job.yaml                            as a job file, with defaults\n"
        "  dtrain config show --origin job.yaml fit.epochs=3      and where each value comes "
        "from\n",
    .options = options,
    .size = sizeof(struct config_show),
    .run = run,
};

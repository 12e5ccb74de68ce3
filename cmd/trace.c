/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain trace: writes, for trace viewers, what threads did in real steps of a run, or what cores
 * would do in a simulated step of a job. */
#include <sys/stat.h>

#include "verb.h"

struct trace {
    struct common common;
    struct place place;
    const char *tpu;
};

static bool names_run(const struct call *call) {
    struct stat about;
    return call->operands.n > 0 && stat(call->operands.at[0], &about) == 0 &&
           S_ISDIR(about.st_mode);
}

static dt_status *trace_run(const struct call *call, char **text) {
    const struct trace *my = call->settings;
    if (call->operands.n > 1)
        return usage_error(call, "expected a single run, got '%s' after it",
                           cut_word(call->operands.at[1]).text);
    if (my->tpu)
        return usage_error(
            call,
            "--tpu applies to jobs; a run that was recorded cannot be moved to another slice");
    return dt_run_trace_text(call->operands.at[0], text);
}

static dt_status *trace_job(const struct call *call, char **text) {
    const struct trace *my = call->settings;
    struct tpu_job source;
    dt_job *job = NULL;
    dt_status *s = tpu_take_job(call, &my->place, my->tpu, NULL, &source);
    source.source.purpose = DT_FOR_PLAN;
    if (!s) s = tpu_check(my->tpu);
    if (!s) s = dt_job_open(&job, &source.source);
    if (!s)
        s = dt_plan_text(&(dt_plan_request){.jobs = &job,
                                            .labels = (const char *const[]){""},
                                            .n_jobs = 1,
                                            .form = DT_PLAN_TRACE},
                         text, NULL);
    dt_job_unref(job);
    tpu_release(&source);
    return s;
}

static int run(const struct call *call) {
    char *text = NULL;
    dt_status *s = names_run(call) ? trace_run(call, &text) : trace_job(call, &text);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    MAYBE(struct trace, tpu, "tpu", "TYPE",
          "with a job: use this slice instead: v3-32, v4-128, v5p:8x8x8"),
    PLACE_OPTIONS(struct trace), OPTIONS_END};
const struct verb verb_trace = {
    .name = "trace",
    .group = "Inspect",
    .line = "write a trace of a run's steps, or of a job's virtual step, for trace viewers",
    .operands = "RUN | JOB [key.path=value...]",
    .examples = "  dtrain fit job.yaml 'output.trace={steps: [10, 12]}'    record three steps on "
                "this machine\n"
                "  dtrain trace runs/job > steps.json                      print the record; open "
                "it in Perfetto or chrome://tracing\n"
                "  dtrain trace job.yaml > step.json                       a virtual step on the "
                "job's slice\n"
                "  dtrain trace job.yaml --tpu v4-128 > step.json          on another slice\n",
    .more =
        "RUN is the directory that output.dir names. docs/trace.md says what is in the files.\n",
    .options = options,
    .size = sizeof(struct trace),
    .run = run,
};

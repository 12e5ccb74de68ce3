/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain lower: prints one stage of a compiled job. */
#include "env.h"
#include "verb.h"

struct lower {
    struct common common;
    struct place place;
    struct compute compute;
    int stage;
};

static const char *const stages[] = {
    "graph",     "gradient",           "folded", "program", "executable",
    "stablehlo", "stablehlo-gradient", NULL};
enum { PROGRAM = 3, EXECUTABLE = 4 };

static dt_status *lower(const struct call *call, char **text) {
    const struct lower *my = call->settings;
    dt_run_options options = {.threads = env_threads(call->out, my->compute.threads),
                              .kernels = (dt_kernels)my->compute.kernels};
    dt_job_source source;
    dt_job *job = NULL;
    dt_status *s = take_job(call, &my->place, &source);
    /* The other stages are printed without running anything, so the job may use features that
     * cannot be run yet. */
    if (my->stage != EXECUTABLE) source.purpose = DT_FOR_PLAN;
    if (!s) s = dt_job_open(&job, &source);
    if (!s) s = dt_job_lower(job, stages[my->stage], &options, text);
    dt_job_unref(job);
    return s;
}

static int run(const struct call *call) {
    char *text = NULL;
    dt_status *s = lower(call, &text);
    return out_result(call->out, s, text);
}

static const struct option options[] = {
    CHOICE(struct lower, stage, "stage", "STAGE", stages, "which stage", .fallback = PROGRAM),
    COMPUTE_OPTIONS(struct lower), BACKEND_OPTIONS(struct lower), PLACE_OPTIONS(struct lower),
    OPTIONS_END};
const struct verb verb_lower = {
    .name = "lower",
    .group = "Inspect",
    .line = "print a job as the compiler sees it, stage by stage",
    .operands = "JOB [key.path=value...]",
    .examples =
        "  dtrain lower job.yaml                      the program: segments, or collectives of "
        "devices\n"
        "  dtrain lower job.yaml --stage graph        the step of one replica, as the model "
        "defines it\n"
        "  dtrain lower job.yaml --stage executable   segments and buffers on this machine\n"
        "  dtrain lower job.yaml --stage stablehlo    the step of each core, for XLA's compilers\n",
    .options = options,
    .size = sizeof(struct lower),
    .run = run,
};

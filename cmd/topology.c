/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain topology: draws a slice, with the replicas of a job on it, or lists where a replica
 * fits. */
#include "base/arena.h"
#include "verb.h"

struct topology {
    struct common common;
    struct place place;
    struct slice slice;
    const char *fit, *svg;
    bool json;
};

static dt_status *open_job(const struct call *call, dt_job **job) {
    const struct topology *my = call->settings;
    dt_job_source source;
    dt_status *s = take_job(call, &my->place, &source);
    if (s) return s;
    source.purpose = DT_FOR_TOPOLOGY;
    return dt_job_open(job, &source);
}

static dt_status *draw(const struct call *call, dt_job **job, char **text) {
    const struct topology *my = call->settings;
    if (call->operands.n == 0 && !my->slice.tpu && !my->fit)
        return usage_error(call, "a job or --tpu is missing");
    if (my->svg && (my->fit || my->json))
        return usage_error(call, "--svg draws a slice; it cannot be combined with --fit or --json");
    dt_status *s = call->operands.n ? open_job(call, job) : NULL;
    if (s) return s;
    dt_topology_request request = {.tpu = my->slice.tpu,
                                   .job = *job,
                                   .json = my->json,
                                   .utf8 = call->out->utf8,
                                   .columns = out_columns(),
                                   .cores_per_chip = my->slice.cores_per_chip,
                                   .fit = my->fit,
                                   .svg = my->svg};
    return dt_topology_text(&request, text);
}

static int run(const struct call *call) {
    DT_LOCAL char *text = NULL;
    dt_job *job = NULL;
    dt_status *s = draw(call, &job, &text);
    if (!s) out_text(call->out, text);
    if (!s && !*text)
        out_field(call->out, "wrote", "%s", ((const struct topology *)call->settings)->svg);
    dt_job_unref(job);
    return out_error(call->out, s);
}

static const struct option options[] = {
    SLICE_OPTIONS(struct topology),
    TEXT(struct topology, fit, "fit", "X,Y,Z,CORE",
         "list the slices and positions where a replica of this shape fits"),
    PATH(struct topology, svg, "svg", "FILE", "write an SVG file; -: standard output"),
    FLAG(struct topology, json, "json", "print one JSON object"),
    PLACE_OPTIONS(struct topology),
    OPTIONS_END};
const struct verb verb_topology = {
    .name = "topology",
    .group = "Check",
    .line = "draw a slice: chips, cores, coordinates, and the replicas of a job on them",
    .operands = "[JOB [key.path=value...]]",
    .examples = "  dtrain topology --tpu v3-8              a slice\n"
                "  dtrain topology --tpu v4:4x4x8_twisted --svg v4.svg\n"
                "  dtrain topology job.yaml                the replicas of a job\n"
                "  dtrain topology --tpu v2-8 job.yaml     the same job on another slice\n"
                "  dtrain topology --fit 1,2,2,2 --tpu v3-8     where a replica of 8 cores fits\n",
    .options = options,
    .size = sizeof(struct topology),
    .run = run,
};

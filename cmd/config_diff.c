/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain config diff: shows how two jobs, or a job and a run, differ. */
#include <sys/stat.h>

#include "verb.h"

struct config_diff {
    struct common common;
    struct place place;
};

/* The two sides of the comparison: a job, and another job or the folder of a run. */
struct sides {
    dt_job *a, *b;
    const char *run;
};

static dt_status *open_job(const struct call *call, const char *path, bool overridden,
                           dt_job **out) {
    const struct config_diff *my = call->settings;
    dt_job_source source = {
        .path = path, .directory = my->place.directory, .purpose = DT_FOR_TOPOLOGY};
    if (overridden) {
        source.overrides = call->operands.at + 2;
        source.n_overrides = call->operands.n - 2;
    }
    return dt_job_open(out, &source);
}

static dt_status *open_sides(const struct call *call, struct sides *sides) {
    struct stat st;
    const char *const *operand = call->operands.at;
    if (count_jobs(call) != 2 || is_override(operand[0]) || is_override(operand[1]))
        return usage_error(call, "expected two jobs, or a job and the directory of a run");
    dt_status *s = open_job(call, operand[0], false, &sides->a);
    if (s) return s;
    if (stat(operand[1], &st) != 0 || !S_ISDIR(st.st_mode))
        return open_job(call, operand[1], true, &sides->b);
    sides->run = operand[1];
    return call->operands.n == 2
               ? NULL
               : usage_error(call, "a run cannot be overridden: '%s'", cut_word(operand[2]).text);
}

static int run(const struct call *call) {
    struct sides sides = {0};
    char *text = NULL;
    dt_status *s = open_sides(call, &sides);
    if (!s) s = dt_job_config_diff(sides.a, sides.b, sides.run, &text);
    dt_job_unref(sides.a);
    dt_job_unref(sides.b);
    return out_result(call->out, s, text);
}

static const struct option options[] = {PLACE_OPTIONS(struct config_diff), OPTIONS_END};
const struct verb verb_config_diff = {
    .name = "config diff",
    .group = "Inspect",
    .line = "show how two jobs, or a job and a run, differ",
    .operands = "JOB JOB|RUN [key.path=value...]",
    .examples = "  dtrain config diff a.yaml b.yaml               compare key by key, after "
                "extends and substitutions\n"
                "  dtrain config diff a.yaml a.yaml seed=7        what the overrides change\n"
                "  dtrain config diff a.yaml runs/a               what changed since the newest "
                "checkpoint of the run\n",
    .more = "Lines with '-' are from the first, lines with '+' from the second. Prints nothing if "
            "there is no difference; the\n"
            "exit code is 0 either way.\n",
    .options = options,
    .size = sizeof(struct config_diff),
    .run = run,
};
